"""From a syntax tree to a document whose every invocation has been checked (section 3.3).

All problems are found in one go and raised together: unknown and unsupported operations, wrong arguments, wrong use
of identifiers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ...errors import ParseError, TosaEngineError, raise_all
from .arguments import bind_arguments, data_type
from .container import GRAPH, Container, open_container, read_text
from .parser import parse_document
from .standard import OPERATIONS, UNSUPPORTED
from .syntax import Name, Place, Sequence, Text

if TYPE_CHECKING:
    import os

    from .syntax import Assignment, SyntaxTree

VERSIONS: Final = ("1.0",)


@dataclass(frozen=True, slots=True)
class Operation:
    """One checked invocation.

    `arguments` has every parameter of the declaration: a Name or a number for a tensor, a tuple of them for an array
    of tensors, plain values for attributes (tuples for arrays). `type` is the data type of the results: scalar,
    integer or logical.
    """

    name: str
    arguments: dict[str, Any]
    results: tuple[Name, ...]
    type: str
    place: Place

    @property
    def result(self) -> str:
        return self.results[0].text


@dataclass(slots=True)
class Document:
    """A checked document: `inputs` and `outputs` are the graph's, `operations` in their order."""

    text: Text
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operations: list[Operation]
    container: Container | None = None

    @property
    def tensors(self) -> list[str]:
        """The names of all tensors, in the order of their definition."""
        return [result.text for operation in self.operations for result in operation.results]

    @property
    def variables(self) -> dict[str, Operation]:
        """Tensor name -> the `variable` operation that introduces it."""
        return {op.result: op for op in self.operations if op.name == "variable"}


def load_document(path: str | os.PathLike[str]) -> Document:
    """Read, parse and check the `graph.nnef` of a folder or archive; tensor files aren't opened.

    Raises DataError, ParseError, Unsupported, or Problems with several of them.
    """
    container = open_container(path)
    document = parse_text(read_text(container, GRAPH), f"{container.label}/{GRAPH}")
    document.container = container
    return document


def parse_text(text: str, file: str) -> Document:
    """A checked document from its text, without tensor files."""
    checker = _Checker(parse_document(text, file))
    document = checker.run()
    raise_all(checker.problems, f"{file}: {len(checker.problems)} problems")
    return document


@dataclass
class _Checker:
    tree: SyntaxTree
    problems: list[TosaEngineError] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)  # tensor name -> data type, "" when unknown
    operations: list[Operation] = field(default_factory=list)

    def error(self, message: str, place: Place) -> None:
        self.problems.append(self.tree.text.error(message, place))

    def run(self) -> Document:
        graph, text = self.tree.graph, self.tree.text
        if self.tree.version not in VERSIONS:
            message = f"version {self.tree.version} of NNEF; this reader knows {', '.join(VERSIONS)}"
            self.problems.append(text.unsupported(message, self.tree.version_place))
        self._unique(graph.parameters, "parameter")
        self._unique(graph.results, "result")
        for assignment in graph.body:
            self._assignment(assignment)
        self._externals()
        for result in graph.results:
            if result.text not in self.types:
                self.error(f"result '{result.text}' of the graph is never assigned", result.place)
        names = tuple(n.text for n in graph.parameters), tuple(n.text for n in graph.results)
        return Document(text, graph.name, *names, self.operations)

    def _unique(self, names: tuple[Name, ...], what: str) -> None:
        seen: set[str] = set()
        for name in names:
            if name.text in seen:
                self.error(f"{what} '{name.text}' of the graph is listed twice", name.place)
            seen.add(name.text)

    def _externals(self) -> None:
        """Parameters of the graph and results of `external` are the same names (section 3.3.2)."""
        external = {op.result: op.place for op in self.operations if op.name == "external"}
        parameters = {name.text: name.place for name in self.tree.graph.parameters}
        for name, place in parameters.items():
            if name not in external:
                self.error(f"parameter '{name}' of the graph isn't the result of an external operation", place)
        for name, place in external.items():
            if name not in parameters:
                self.error(f"external tensor '{name}' isn't a parameter of the graph", place)

    def _assignment(self, assignment: Assignment) -> None:
        invocation, target = assignment.invocation, assignment.target
        declaration = OPERATIONS.get(invocation.operation)
        results = self._results(target)
        kind = ""
        if declaration is None:
            known = invocation.operation in UNSUPPORTED
            reason = "isn't supported" if known else "isn't an operation of NNEF 1.0.4"
            self.problems.append(
                self.tree.text.unsupported(f"operation '{invocation.operation}' {reason}", invocation.place)
            )
        else:
            try:
                arguments = bind_arguments(declaration, invocation, self.tree.text, self.types)
                kind = data_type(declaration, invocation, arguments, self.tree.text, self.types)
                self._structure(declaration.results, target, invocation.operation)
            except ParseError as problem:
                self.problems.append(problem)
            else:
                self.operations.append(Operation(declaration.name, arguments, results, kind, invocation.place))
        self.types.update({name.text: kind for name in results})

    def _results(self, target: Name | Sequence) -> tuple[Name, ...]:
        found: list[Name] = []
        stack: list[Any] = [target]
        while stack:
            item = stack.pop()
            if isinstance(item, Sequence):
                stack.extend(reversed(item.items))
                continue
            if item.text in self.types or any(item.text == name.text for name in found):
                self.error(f"'{item.text}' is assigned twice", item.place)
            found.append(item)
        return tuple(found)

    def _structure(self, results: str, target: Name | Sequence, operation: str) -> None:
        """The left side is built like the operation's results."""
        flat = isinstance(target, Sequence) and all(isinstance(item, Name) for item in target.items)
        if results == "tensor" and not isinstance(target, Name):
            raise self.tree.text.error(f"'{operation}' has one result, not {len(target.items)}", target.place)
        if results == "tensors" and (not flat or not isinstance(target, Sequence) or target.is_tuple):
            message = f"'{operation}' returns an array; assign it to an array of names like [a, b]"
            raise self.tree.text.error(message, target.place)
