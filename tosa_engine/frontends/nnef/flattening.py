"""From a syntax tree that was analysed to a flat document, and the expansion of the standard's compounds.

All problems are raised together. What asks for the shapes of a document's tensors is given by the caller.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import TosaEngineError, raise_all
from .language.emission import Exact, Frame
from .language.evaluate import Evaluator, deep_recursion
from .language.extensions import names_of
from .language.flat import Document, Operation
from .language.kinds import OF_PYTHON
from .language.library import standard_library
from .language.syntax import Name, Sequence, names_in
from .language.tree import Wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .language.evaluate import ShapeOf
    from .language.library import Declaration
    from .language.semantics import Checker
    from .language.syntax import Assignment, Expression, SyntaxTree


def evaluate(tree: SyntaxTree, checker: Checker, shapes: Callable[[Document], ShapeOf]) -> Document:
    """The flat document of a syntax tree that was analysed. `shapes` makes what tells the shapes of its tensors.

    Raises ParseError, or Problems with several.
    """
    with deep_recursion():
        document, problems = _Graph(tree, checker, shapes).run()
    raise_all(problems, f"{tree.text.file}: {len(problems)} problems")
    document.warn(*checker.warnings)
    document.strict, document.own = checker.strict, checker.own
    return document


def lower(
    document: Document, keep: Callable[[Declaration], bool], shape_of: ShapeOf, taken: Iterable[str] = ()
) -> Document:
    """The document with the standard's compounds expanded that aren't kept; new tensors get no name in `taken`."""
    if all(op.declaration.body is None or keep(op.declaration) for op in document.operations):
        return document
    evaluator = Evaluator(standard_library(), keep, shape_of, {*document.tensors, *taken})
    with deep_recursion():
        try:
            for operation in document.operations:
                _lower_one(evaluator, operation)
        except Wrong as wrong:
            raise _located(document.text.error, wrong, evaluator) from None
    return replace(document, operations=evaluator.operations)


def _lower_one(evaluator: Evaluator, operation: Operation) -> None:
    declaration = operation.declaration
    if declaration.body is None or evaluator.keep(declaration):
        evaluator.operations.append(operation)
        evaluator.types.update(zip((name.text for name in operation.results), operation.types))
        return
    evaluator.frames = [Frame("", operation.result, operation.place)]
    names: Iterator[str] = (Exact(name.text) for name in operation.results)
    wanted: Any = next(names) if declaration.returns_one_tensor else tuple(names)
    values = evaluator.expand(declaration, operation.arguments, operation.generic, operation.place, wanted)
    for name, value in zip(operation.results, values if isinstance(values, tuple) else (values,), strict=True):
        bind_name(evaluator, name, value)


def bind_name(evaluator: Evaluator, name: Name, value: Any) -> None:
    """See to it that the tensor `name` has a value that may be another tensor's, or a number."""
    if isinstance(value, Name):
        if value.text != name.text:
            kind = evaluator.types[value.text]
            evaluator.invoke(evaluator.library["copy"], {"x": value}, kind, name.place, Exact(name.text))
    else:
        given = {"shape": (), "value": (value,)}
        kind = OF_PYTHON[type(value)].name
        evaluator.invoke(evaluator.library["constant"], given, kind, name.place, Exact(name.text))


def _located(error: Callable[..., TosaEngineError], wrong: Wrong, evaluator: Evaluator) -> TosaEngineError:
    """The error of something wrong, at the innermost place that the user wrote, with the calls that led there."""
    inner = evaluator.frames[1:]
    place = next((frame.place for frame in evaluator.frames if frame.place is not None), wrong.place)
    calls = "".join(f", in '{frame.fragment}' called on line {frame.call.line}" for frame in reversed(inner[-3:]))
    return error(wrong.message + calls, place, wrong.label)


class _Graph:
    """The graph's body, statement by statement. A statement that needs one with a problem is passed over."""

    def __init__(self, tree: SyntaxTree, checker: Checker, shapes: Callable[[Document], ShapeOf]) -> None:
        self.tree = tree
        names = [name.text for statement in tree.graph.body for name in names_in(statement.target)]
        parameters, results = tree.graph.parameters, tree.graph.results
        self.document = Document(
            tree.text, tree.graph.name, tuple(n.text for n in parameters), tuple(n.text for n in results), []
        )
        self.document.extensions = frozenset(names_of(tree.extensions))
        own = checker.own
        self.evaluator = Evaluator(
            checker.operations,
            lambda declaration: declaration.name not in own and not declaration.vendor,
            shapes(self.document),
            set(names),
        )
        self.evaluator.operations = self.document.operations
        self.frame = Frame("", "", None)
        self.later = Counter(names)  # how often each name is still to be assigned: only a cast assigns one again
        self.scope: dict[str, Any] = {}
        self.lost: set[str] = set()

    def run(self) -> tuple[Document, list[TosaEngineError]]:
        problems: list[TosaEngineError] = []
        for assignment in self.tree.graph.body:
            if self.lost and any(name.text in self.lost for name in names_in(assignment.value)):
                self._lose(assignment)
                continue
            self.evaluator.frames = [self.frame]
            self._expect(assignment.target)
            try:
                self.evaluator.assign(assignment, self.scope)
                self._name(assignment.target)
            except Wrong as wrong:
                problems.append(_located(self.tree.text.error, wrong, self.evaluator))
                self._lose(assignment)
            except TosaEngineError as problem:  # of a shape that was asked for
                problems.append(problem)
                self._lose(assignment)
        return self.document, problems

    def _expect(self, target: Expression) -> None:
        """A name is that of the tensor that it is assigned last."""
        for name in names_in(target):
            self.later[name.text] -= 1
            again = self.later[name.text] > 0
            self.frame.names[name.text] = f"{name.text}_before_cast" if again else Exact(name.text)

    def _lose(self, assignment: Assignment) -> None:
        self.lost.update(name.text for name in names_in(assignment.target))

    def _name(self, target: Expression) -> None:
        """Each identifier of the graph is a tensor of that name, whatever expression gave it its value."""
        if isinstance(target, Sequence):
            for item in target.items:
                self._name(item)
        else:
            assert isinstance(target, Name)
            if not self.later[target.text]:
                bind_name(self.evaluator, target, self.scope[target.text])
                self.scope[target.text] = target
