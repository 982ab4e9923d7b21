"""Semantic analysis of a document (step 2 of chapter 6): declarations, invocations, types, identifiers.

Nothing is evaluated; every problem is found, and reported with the label of its rule (rules.py).
"""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING, Final

from ....errors import raise_all
from .declarations import check_declaration
from .extensions import VENDORS, names_of
from .kinds import UNKNOWN, ArrayOf, Kind, TensorOf, TupleOf, Unknown, castable, described
from .library import Declaration, declare, standard_library
from .syntax import Invocation, Name, Sequence, children
from .typecheck import Types
from .vendor import PROPERTIES, UNDECLARED, vendor_library

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....errors import TosaEngineError
    from .syntax import Assignment, Expression, FragmentDefinition, Place, SyntaxTree


def analyse(tree: SyntaxTree, strict: bool = True) -> Checker:
    """A checker that found nothing. Raises ParseError, Unsupported, or Problems with all that it found.

    Unless it is `strict`, what bends the standard but has a clear meaning is a warning.
    """
    checker = Checker(tree, strict)
    checker.run()
    raise_all(checker.problems, f"{tree.text.file}: {len(checker.problems)} problems")
    return checker


VERSIONS: Final = ("1.0",)
_EXTERNALS: Final = ("external", "tract_core_external")
_CASTS: Final = ("cast", "tract_core_cast")
_ONLY_IN_GRAPHS: Final = {**dict.fromkeys(_EXTERNALS, "NNEF.I5"), "variable": "NNEF.I11", "update": "NNEF.I11"}


class Checker:
    """What is wrong with a syntax tree (`problems`), and what is deprecated or unusual (`warnings`, each once)."""

    def __init__(self, tree: SyntaxTree, strict: bool = True) -> None:
        self.tree, self.strict = tree, strict
        self.problems: list[TosaEngineError] = []
        self._warnings: dict[str, None] = {}
        self.own: dict[str, Declaration] = {}
        vendors = vendor_library()
        self.tract = not VENDORS.isdisjoint(names_of(tree.extensions))
        more = {name: vendors[name] for name in (vendors if self.tract else () if strict else UNDECLARED)}
        self.operations: Mapping[str, Declaration] = ChainMap(self.own, standard_library(), more)  # type: ignore[arg-type]

    def report(self, label: str, message: str, place: Place) -> None:
        self.problems.append(self.tree.text.error(message, place, label))

    def refuse(self, message: str, place: Place) -> None:
        """What a document may have and this engine hasn't."""
        self.problems.append(self.tree.text.unsupported(message, place))

    def bend(self, label: str, message: str, place: Place) -> bool:
        """What the standard forbids, and yet means but one thing. Whether it is read so."""
        (self.report if self.strict else self.warn)(label, message, place)
        return not self.strict

    def warn(self, label: str, message: str, place: Place) -> None:
        """`label` is that of the rule that is bent, if one is."""
        shown = f"{label}: {message}" if label else message
        self._warnings[f"{self.tree.text.file}:{place.line}:{place.column}: {shown}"] = None

    @property
    def warnings(self) -> list[str]:
        return list(self._warnings)

    def run(self) -> None:
        if self.tree.version not in VERSIONS:
            message = f"version {self.tree.version} of NNEF; this reader knows {', '.join(VERSIONS)}"
            self.problems.append(self.tree.text.unsupported(message, self.tree.version_place))
        fragments = [f for f in self.tree.fragments if not (self.tract and f.name == PROPERTIES)]
        for fragment in fragments:
            self._declare(fragment)
        for fragment in fragments:
            if fragment.body is not None:
                _FragmentBody(self, fragment).check(fragment.body)
        _GraphBody(self).check(self.tree.graph.body)

    def _declare(self, fragment: FragmentDefinition) -> None:
        if fragment.name in self.own:
            self.report("NNEF.D1", f"fragment '{fragment.name}' is defined twice", fragment.place)
            return
        if fragment.name in standard_library():
            self.warn("", f"fragment '{fragment.name}' takes the place of the standard's operation", fragment.place)
        check_declaration(fragment, self.report)
        self.own[fragment.name] = declare(fragment)


class _Body:
    """Statements in their order; `scope` is what has been assigned so far."""

    def __init__(self, checker: Checker, generic: bool) -> None:
        self.checker, self.report = checker, checker.report
        self.casts = False  # whether a name is assigned what it was cast to
        self.scope: dict[str, Kind] = {}
        self.types = Types(checker.operations, generic, checker)

    def check(self, body: tuple[Assignment, ...]) -> None:
        for assignment in body:
            self._before(assignment.value)
            kind = self.types.of(assignment.value, self.scope, outermost=True)
            self.casts = casts_itself(assignment)
            if self._fits(assignment.target, kind, assignment.value):
                self._bind(assignment.target, kind)
            else:
                self._bind(assignment.target, UNKNOWN)
        self._finish()

    def _before(self, value: Expression) -> None:
        """What a body may not use."""

    def _finish(self) -> None:
        """What must be true at the end of a body."""

    def _assign(self, name: Name, kind: Kind) -> None:
        if name.text in self.scope:
            tell = self.checker.bend if self.casts else self.report
            tell("NNEF.I9", f"'{name.text}' is assigned twice", name.place)
        self.scope[name.text] = kind

    def _bind(self, target: Expression, kind: Kind) -> None:
        """Give the identifiers of a left side their types."""
        if isinstance(target, Name):
            self._assign(target, kind)
        elif isinstance(target, Sequence):
            for i, item in enumerate(target.items):
                inner: Kind = UNKNOWN
                if isinstance(kind, TupleOf):
                    inner = kind.items[i]
                elif isinstance(kind, ArrayOf) and kind.item is not None:
                    inner = kind.item
                self._bind(item, inner)

    def _fits(self, target: Expression, kind: Kind, value: Expression) -> bool:
        """Whether a left side is built like what is assigned to it (NNEF.I2)."""
        if kind is UNKNOWN:
            return True
        if isinstance(target, Sequence):
            if target.is_tuple and isinstance(kind, TupleOf) and len(target.items) == len(kind.items):
                return all(self._fits(*pair, value) for pair in zip(target.items, kind.items))
            if isinstance(kind, ArrayOf):
                listed = not target.is_tuple or self.checker.bend("NNEF.I2", _misfit(target, kind, value), target.place)
                return listed and (kind.item is None or all(self._fits(t, kind.item, value) for t in target.items))
        elif not isinstance(value, Invocation) or isinstance(kind, (TensorOf, Unknown)):
            return True
        self.report("NNEF.I2", _misfit(target, kind, value), target.place)
        return False


def casts_itself(assignment: Assignment) -> bool:
    """Whether a name is assigned anew what it is cast to: whoever reads it later means the result."""
    target, value = assignment.target, assignment.value
    if not isinstance(target, Name) or not isinstance(value, Invocation) or value.operation not in _CASTS:
        return False
    first = value.arguments[0].value if value.arguments else None
    return isinstance(first, Name) and first.text == target.text


def _misfit(target: Expression, kind: Kind, value: Expression) -> str:
    what = f"'{value.operation}'" if isinstance(value, Invocation) else "the right side"
    if isinstance(kind, ArrayOf):
        return f"{what} returns an array; assign it to an array of names like [a, b]"
    if isinstance(kind, TupleOf):
        return f"{what} returns {len(kind.items)} results; assign them to as many names like a, b"
    count = len(target.items) if isinstance(target, Sequence) else 1
    return f"{what} has one result, not {count}"


class _FragmentBody(_Body):
    def __init__(self, checker: Checker, fragment: FragmentDefinition) -> None:
        super().__init__(checker, bool(fragment.generic))
        self.fragment = fragment
        self.results = {result.name: result for result in fragment.results}
        self.parameters = {parameter.name for parameter in fragment.parameters}
        self.scope.update({parameter.name: parameter.kind for parameter in fragment.parameters})

    def _before(self, value: Expression) -> None:
        pending = [value]
        while pending:
            node = pending.pop()
            pending.extend(children(node))
            name = node.operation if isinstance(node, Invocation) else ""
            if name in _ONLY_IN_GRAPHS and name not in self.checker.own:
                self.report(_ONLY_IN_GRAPHS[name], f"'{name}' can't be used in a fragment", node.place)

    def _assign(self, name: Name, kind: Kind) -> None:
        if name.text in self.parameters:
            self.report("NNEF.I3", f"'{name.text}' is a parameter of the fragment", name.place)
            return
        self.casts = False  # of the names of a graph only
        super()._assign(name, kind)
        result = self.results.get(name.text)
        if result is not None and not castable(kind, result.kind):
            message = f"result '{name.text}' must be {described(result.kind)}, got {described(kind)}"
            self.report("NNEF.T5", message, name.place)

    def _finish(self) -> None:
        for result in self.fragment.results:
            if result.name not in self.scope:
                message = f"result '{result.name}' of '{self.fragment.name}' is never assigned"
                self.report("NNEF.I7", message, result.place)


class _GraphBody(_Body):
    def __init__(self, checker: Checker) -> None:
        super().__init__(checker, generic=False)
        self.graph = checker.tree.graph
        self.external: dict[str, Place] = {}
        for names, what in ((self.graph.parameters, "parameter"), (self.graph.results, "result")):
            seen: set[str] = set()
            for name in names:
                if name.text in seen:
                    self.report("NNEF.I12", f"{what} '{name.text}' of the graph is listed twice", name.place)
                seen.add(name.text)
        parameters = {name.text for name in self.graph.parameters}
        for name in self.graph.results:
            if name.text in parameters:
                message = f"'{name.text}' is both a parameter and a result of the graph"
                self.report("NNEF.I12", message, name.place)

    def check(self, body: tuple[Assignment, ...]) -> None:
        for assignment in body:
            value = assignment.value
            if isinstance(value, Invocation) and value.operation in _EXTERNALS and isinstance(assignment.target, Name):
                self.external[assignment.target.text] = value.place
            else:
                self._nested_externals(value)
        super().check(body)

    def _nested_externals(self, value: Expression) -> None:
        pending = [value]
        while pending:
            node = pending.pop()
            pending.extend(children(node))
            if isinstance(node, Invocation) and node.operation in _EXTERNALS:
                self.report("NNEF.I6", "an external tensor must be assigned to a parameter of the graph", node.place)

    def _assign(self, name: Name, kind: Kind) -> None:
        if not isinstance(kind, (TensorOf, Unknown)):
            message = f"'{name.text}' must be a tensor, as everything named in a graph, not {described(kind)}"
            self.report("NNEF.I10", message, name.place)
            kind = UNKNOWN
        self.casts &= name.text not in self.external
        super()._assign(name, kind)

    def _finish(self) -> None:
        parameters = {name.text: name.place for name in self.graph.parameters}
        for name, place in parameters.items():
            if name not in self.external:
                message = f"parameter '{name}' of the graph isn't the result of an external operation"
                self.report("NNEF.I4", message, place)
        for name, place in self.external.items():
            if name not in parameters:
                self.report("NNEF.I6", f"external tensor '{name}' isn't a parameter of the graph", place)
        for result in self.graph.results:
            if result.text not in self.scope:
                self.report("NNEF.I7", f"result '{result.text}' of the graph is never assigned", result.place)
