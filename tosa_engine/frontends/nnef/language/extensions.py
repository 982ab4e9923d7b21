"""Extensions (section 3.2.4): which this reader knows, and what may be written only where one is enabled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....errors import raise_all
from .syntax import Invocation, Literal, Name, Sequence, children

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ....errors import TosaEngineError
    from .syntax import Expression, SyntaxTree, Text

FRAGMENTS: Final = "KHR_enable_fragment_definitions"
OPERATORS: Final = "KHR_enable_operator_expressions"
TRACT: Final = "tract_registry tract_core"
VENDORS: Final = frozenset((TRACT, "tract_registry tract_transformers"))  # each brings the operations of vendor.nnef,
# and both extensions of Khronos
KNOWN: Final = frozenset((FRAGMENTS, OPERATORS, *VENDORS))


def names_of(extensions: Iterable[tuple[Name, ...]]) -> set[str]:
    """The extensions of a document; the words of one line are one name."""
    return {" ".join(word.text for word in words) for words in extensions}


def check_extensions(text: Text, extensions: Iterable[tuple[Name, ...]]) -> None:
    """Raise Unsupported for each extension that this reader lacks (NNEF.S4)."""
    problems = []
    for words in extensions:
        name = " ".join(word.text for word in words)
        if words and name not in KNOWN:
            problems.append(text.unsupported(f"extension '{name}' isn't supported", words[0].place))
    raise_all(problems)


def check_use(tree: SyntaxTree, flat: bool = False) -> list[TosaEngineError]:
    """The fragments and operator expressions of a document that doesn't enable them; a `flat` graph has none."""
    enabled = names_of(tree.extensions)
    if not enabled.isdisjoint(VENDORS):
        return []
    problems: list[TosaEngineError] = []
    if tree.fragments and FRAGMENTS not in enabled:
        message = f"fragment definitions need 'extension {FRAGMENTS};'"
        problems.append(tree.text.error(message, tree.fragments[0].place, "NNEF.S2"))
    if OPERATORS not in enabled:
        bodies = [() if flat else tree.graph.body, *(fragment.body or () for fragment in tree.fragments)]
        found = next((e for body in bodies for assignment in body for e in _beyond_flat(assignment.value)), None)
        if found is not None:
            message = f"expressions like this need 'extension {OPERATORS};'"
            problems.append(tree.text.error(message, found.place, "NNEF.S3"))
    return problems


def _beyond_flat(value: Expression) -> Iterator[Expression]:
    """The parts of the right side of an assignment that the flat syntax doesn't have."""
    if not isinstance(value, Invocation):
        yield value
        return
    pending = list(reversed(children(value)))
    while pending:
        node = pending.pop()
        if isinstance(node, Sequence):
            pending.extend(reversed(node.items))
        elif not isinstance(node, (Name, Literal)):
            yield node
