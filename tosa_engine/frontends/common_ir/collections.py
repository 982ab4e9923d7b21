"""Lists, tuples and maps whose structure is known before the graph runs: making them and taking them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .rules import TYPE, RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .document import Node

    Groups = Sequence[Sequence[Any]]

DOMAIN: Final = "commonir.collections"


def _of(node: Node, groups: Groups, kind: type, words: str) -> Any:
    found = groups[0][0]
    if not isinstance(found, kind):
        raise RuleError(TYPE, node.place, f"'{node.inputs[0]}' is no {words}")
    return found


def _at(kind: type, words: str) -> Callable[[Node, Groups], Any]:
    def item(node: Node, groups: Groups) -> Any:
        found, index = _of(node, groups, kind, words), node.attributes[0].value
        if not 0 <= index < len(found):
            raise RuleError(TYPE, node.place, f"a {words} of {len(found)} has no item {index}")
        return found[index]

    return item


def _tail(node: Node, groups: Groups) -> Any:
    found = _of(node, groups, list, "list")
    if not found:
        raise RuleError(TYPE, node.place, "the list is empty")
    return found[1:]


def _of_key(node: Node, groups: Groups) -> Any:
    found, key = _of(node, groups, dict, "map"), node.attributes[0].value
    if key not in found:
        raise RuleError(TYPE, node.place, f"the map has no key '{key}'")
    return found[key]


OPERATORS: Final[Mapping[str, Callable[[Node, Groups], Any]]] = {
    "list": lambda _, groups: list(groups[0]),
    "list_append": lambda node, groups: [*_of(node, groups, list, "list"), groups[1][0]],
    "list_tail": _tail,
    "list_at": _at(list, "list"),
    "tuple": lambda _, groups: tuple(groups[0]),
    "tuple_at": _at(tuple, "tuple"),
    "map_at": _of_key,
}
