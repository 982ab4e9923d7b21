"""The rules of a document that need more than one of its fields: names, order, declarations, arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import rules
from .data import value_of
from .document import UNSAID, Attribute, Function
from .kinds import ListKind, MapKind, ScalarKind, TensorKind, TupleKind, called
from .rules import FORM, TYPE, RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .document import Document, Node, Port, Signature
    from .imports import Loaded
    from .kinds import Kind


@dataclass(frozen=True, eq=False)
class Definition:
    """An operator or a function, with the document that it is of."""

    item: Signature
    home: Loaded

    @property
    def domain(self) -> str:
        return self.home.document.domain

    @property
    def version(self) -> int:
        return self.home.document.version


class Names:
    """What the nodes of one document can call: what it declares itself, and what it imports."""

    def __init__(self, home: Loaded) -> None:
        self.home = home
        self.found: dict[str, list[Definition]] = {}
        places: dict[tuple[str, str], str] = {}
        for one in home.closure():
            for item in (*one.document.operators, *one.document.functions):
                key = (one.document.domain, item.name)
                if key in places:
                    raise RuleError(
                        "CIR.M6", one.place, f"'{item.name}' of {key[0]} is declared in '{places[key]}', too"
                        if places[key] != one.place else f"'{item.name}' is declared twice"
                    )  # fmt: skip
                places[key] = one.place
                self.found.setdefault(item.name, []).append(Definition(item, one))

    def of(self, node: Node) -> Definition:
        """What a node calls. Raises RuleError where nothing declares it, or several do."""
        able = [one for one in self.found.get(node.operator, []) if node.domain in ("", one.domain)]
        own = [one for one in able if one.home is self.home]
        if not able:
            whose = f" of {node.domain}" if node.domain else ""
            raise RuleError("CIR.M14", node.place, f"the operator '{node.operator}'{whose} isn't declared")
        if len(able) > 1 and not own:
            listed = " and ".join(one.domain for one in able)
            raise RuleError("CIR.M6", node.place, f"'{node.operator}' is declared by {listed}: 'domain' says which")
        return (own or able)[0]


def check(root: Loaded) -> dict[int, Names]:
    """Check a root document and its libraries; what each document can call, by `id`. Raises RuleError."""
    names = {id(one): Names(one) for one in root.closure()}
    for one in root.closure():
        document = one.document
        for signature in (*document.operators, *document.functions):
            _check_signature(signature)
        for function in document.functions:
            _check_function(function, names[id(one)])
        if document.is_graph:
            _check_graph(document, names[id(one)])
    return names


def _check_signature(signature: Signature) -> None:
    label = "CIR.M9" if isinstance(signature, Function) else "CIR.M5"
    ports = [one.name for one in (*signature.inputs, *signature.outputs)]
    _refuse_twice([*ports, *(one.name for one in signature.attributes)], signature.place, label)
    for attribute in signature.attributes:
        if attribute.value is not UNSAID:
            value_of(attribute.kind, attribute.value, f"{signature.place}: attribute '{attribute.name}'")


def _check_function(function: Function, names: Names) -> None:
    place = function.place
    if not function.inputs or not function.outputs:
        raise RuleError(FORM, place, "a function has an input and an output at least")
    known = [one.name for one in function.inputs]
    outputs = {one.name for one in function.outputs}
    made = [name for node in function.nodes for name in (node.name, *node.outputs)]
    _refuse_twice([*known, *(one.name for one in function.attributes), *made], place, "CIR.M9")
    formal = {one.name: one for one in function.attributes}
    _check_nodes(function.nodes, known, names, formal)
    _refuse_strange_outputs(outputs, function.nodes, place)


def _check_graph(document: Document, names: Names) -> None:
    place = document.file
    inputs, held = [one.name for one in document.inputs], [one.name for one in document.initializers]
    made = [name for node in document.nodes for name in (node.name, *node.outputs)]
    _refuse_twice([*inputs, *made], place, "CIR.M8")
    _refuse_twice([*inputs, *made, *held], place, "CIR.M5")
    _refuse_twice([one.name for one in document.outputs], place, "CIR.M8")
    _check_nodes(document.nodes, [*inputs, *held], names, {})
    _refuse_strange_outputs([one.name for one in document.outputs], document.nodes, place)


def _refuse_twice(names: Iterable[str], place: str, label: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise RuleError(label, place, f"the name '{name}' is given twice")
        seen.add(name)


def _refuse_strange_outputs(outputs: Iterable[str], nodes: Sequence[Node], place: str) -> None:
    made = {name for node in nodes for name in node.outputs}
    for name in outputs:
        if name not in made:
            raise RuleError(FORM, place, f"no node computes the output '{name}'")


def _check_nodes(nodes: Sequence[Node], known: Iterable[str], names: Names, formal: Mapping[str, Attribute]) -> None:
    _check_order(nodes, set(known))
    for node in nodes:
        _check_node(node, names.of(node).item, formal)


def _check_order(nodes: Sequence[Node], known: set[str]) -> None:
    """Every node after those that it reads or waits for."""
    made = {name: node for node in nodes for name in node.outputs}
    called_ = {node.name: node for node in nodes}
    done: set[str] = set()
    for node in nodes:
        for name in (*node.inputs, *node.control):
            before = called_.get(name) if name in node.control else made.get(name)
            if before is None and (name in node.control or name not in known):
                what = "waits for the node" if name in node.control else "reads"
                raise RuleError(FORM, node.place, f"{what} '{name}', which there isn't")
            if before is not None and before.name not in done:
                if way := _circle(node, made, called_):
                    raise RuleError("CIR.M1", node.place, f"nodes go in a circle: {' -> '.join(way)}")
                raise RuleError("CIR.M12", node.place, f"comes before the node '{before.name}', which it needs")
        done.add(node.name)


def _circle(start: Node, made: Mapping[str, Node], called_: Mapping[str, Node]) -> list[str]:
    """The names of nodes from one back to itself; none where there is no such way."""

    def needs(node: Node) -> Iterator[Node]:
        yield from (made[name] for name in node.inputs if name in made)
        yield from (called_[name] for name in node.control if name in called_)

    came: dict[str, str] = {}
    stack = [start]
    while stack:
        node = stack.pop()
        for before in needs(node):
            if before is start:
                way, at = [start.name], node.name
                while at != start.name:
                    way.append(at)
                    at = came[at]
                return [*way, start.name]
            if before.name not in came:
                came[before.name] = node.name
                stack.append(before)
    return []


def _check_node(node: Node, item: Signature, formal: Mapping[str, Attribute]) -> None:
    if len(node.arg_count) != len(item.inputs):
        raise RuleError(
            "CIR.M11", node.place,
            f"arg_count has {len(node.arg_count)} entries, '{item.name}' has {len(item.inputs)} parameters",
        )  # fmt: skip
    if sum(node.arg_count) != len(node.inputs):
        raise RuleError(FORM, node.place, f"arg_count says {sum(node.arg_count)} inputs, there are {len(node.inputs)}")
    for port, count in zip(item.inputs, node.arg_count, strict=True):
        if (port.count == "one" and count != 1) or (port.count == "optional" and count > 1):
            raise RuleError(TYPE, node.place, f"arg_count gives the parameter '{port.name}' {count} inputs")
    _check_outputs(node, item.outputs)
    _refuse_twice([one.name for one in node.attributes], node.place, "CIR.M5")
    declared = {one.name: one for one in item.attributes}
    for attribute in node.attributes:
        _check_attribute(node, item, attribute, declared, formal)
    for one in item.attributes:
        if one.required and one.name not in {given.name for given in node.attributes}:
            raise RuleError(TYPE, node.place, f"'{item.name}' needs the attribute '{one.name}'")


def _check_outputs(node: Node, ports: Sequence[Port]) -> None:
    least = sum(port.count == "one" for port in ports)
    most = len(node.outputs) if ports and ports[-1].count == "repeated" else len(ports)
    if node.outputs and not least <= len(node.outputs) <= most:
        raise RuleError(TYPE, node.place, f"has {len(node.outputs)} outputs, '{node.operator}' has {len(ports)}")


def _check_attribute(
    node: Node, item: Signature, given: Attribute, declared: Mapping[str, Attribute], formal: Mapping[str, Attribute]
) -> None:
    place = f"{node.place}: attribute '{given.name}'"
    if given.name not in declared:
        raise RuleError(TYPE, place, f"'{item.name}' declares no such attribute")
    wanted = declared[given.name].kind
    if not fits(given.kind, wanted, item.variables):
        raise RuleError(TYPE, place, f"is a {called(given.kind)}, '{item.name}' declares a {called(wanted)}")
    if given.taken:
        if given.taken not in formal:
            raise RuleError(TYPE, place, f"takes the attribute '{given.taken}', which no function around it has")
        if not fits(formal[given.taken].kind, given.kind, {}):
            raise RuleError(TYPE, place, f"takes '{given.taken}', a {called(formal[given.taken].kind)}")
    else:
        value_of(given.kind, given.value, place)


def fits(kind: Kind, wanted: Kind, variables: Mapping[str, Sequence[str]]) -> bool:
    """Whether a value of a type is one of the declared type, whatever its shape."""
    match kind, wanted:
        case TensorKind(element, _, _), TensorKind(name, _, _):
            return element in variables[name] if name in variables else element == name
        case ListKind(item), ListKind(other):
            return fits(item, other, variables)
        case TupleKind(items), TupleKind(others):
            return len(items) == len(others) and all(map(lambda a, b: fits(a, b, variables), items, others))
        case (ScalarKind(), ScalarKind()) | (MapKind(), MapKind()):
            return kind == wanted
    return False


def warnings(root: Loaded) -> list[str]:
    """What SHOULD be and isn't."""
    found: list[str] = []
    for one in root.closure():
        document, place = one.document, one.place
        bodies: list[Any] = [document.nodes, *(function.nodes for function in document.functions)]
        found += [f"CIR.S1: {node.place}: has no outputs" for nodes in bodies for node in nodes if not node.outputs]
        if not rules.is_reversed(document.domain):
            found.append(f"CIR.S2: {place}: '{document.domain}' is no reverse domain name")
        if not document.more.get("doc_string"):
            found.append(f"CIR.S3: {place}: has no documentation string")
        bare = [item.name for item in (*document.operators, *document.functions) if _is_bare(item)]
        if bare:
            found.append(f"CIR.S4: {place}: operands of {', '.join(map(repr, bare[:5]))} have no shape")
    return found


def _is_bare(item: Signature) -> bool:
    ports = (*item.inputs, *item.outputs)
    return any(isinstance(port.kind, TensorKind) and port.kind.shape is None for port in ports)
