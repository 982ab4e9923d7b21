"""From a checked syntax tree to a flat list of operations (chapter 6): fragments are expanded, expressions computed.

Tensors that a document doesn't name are called after the identifier that they are computed for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from . import arithmetic
from .bent import fitted, mixed
from .constant import Constants
from .emission import Emission, Frame, first_name
from .kinds import OF_PYTHON, is_generic, substitute
from .syntax import Literal, Name, Sequence
from .tree import Wrong
from .typecheck import OPERATION_OF, UNARY_OPERATION_OF
from .vendor import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ....types import Shape
    from .library import Declaration
    from .syntax import Assignment, Binary, BuiltIn, Expression, Invocation, Place, Unary

MAX_CALLS: Final = 200  # of fragments in each other
MAX_STEPS: Final = 1 << 20
MAX_NESTING: Final = 2000  # of expressions, those of fragments included
ShapeOf = Callable[[str], "Shape"]


class Evaluator(Emission, Constants):
    """Makes `operations` of assignments. Which compounds are kept is what `keep` says of a declaration."""

    def __init__(
        self,
        library: Mapping[str, Declaration],
        keep: Callable[[Declaration], bool],
        shape_of: ShapeOf,
        reserved: set[str],
    ) -> None:
        super().__init__(reserved)
        self.library, self.keep, self._shape_of = library, keep, shape_of
        self._steps, self._depth = MAX_STEPS, 0

    # expressions

    def value(self, node: Expression, scope: Mapping[str, Any], wanted: Any = None) -> Any:
        if len(self.frames) == 1 and type(node) is Literal:
            return node.value
        self._steps -= len(self.frames) - 1  # what the document writes out costs nothing
        self._depth += 1
        if self._steps < 0 or self._depth > MAX_NESTING:
            raise Wrong("NNEF.LIMIT", "the fragments are too deep or too large to be expanded", node.place)
        result = super().value(node, scope, wanted)
        self._depth -= 1
        return result

    def name(self, node: Name, scope: Mapping[str, Any]) -> Any:
        value = scope[node.text]
        return Name(value.text, node.place) if isinstance(value, Name) else value

    def binary(self, node: Binary, scope: Mapping[str, Any], wanted: Any) -> Any:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        if node.operator != "in" and (isinstance(left, Name) or isinstance(right, Name)):
            return self._call(self.library[OPERATION_OF[node.operator]], [left, right], node.place, wanted)
        if {type(left), type(right)} == {int, float}:
            left, right = float(left), float(right)
        value = arithmetic.binary(node.operator, left, right, node.place)
        if isinstance(value, tuple):
            self._steps -= len(value) // 4
        return value

    def unary(self, node: Unary, scope: Mapping[str, Any], wanted: Any) -> Any:
        operand = self.value(node.operand, scope, wanted if node.operator == "()" else None)
        if node.operator != "()" and isinstance(operand, Name):
            return self._call(self.library[UNARY_OPERATION_OF[node.operator]], [operand], node.place, wanted)
        return arithmetic.unary(node.operator, operand, node.place)

    def builtin(self, node: BuiltIn, scope: Mapping[str, Any]) -> Any:
        value = self.value(node.argument, scope)
        if node.function == "shape_of":
            return self.shape_of(value)
        return arithmetic.builtin(node.function, value, node.place)

    def shape_of(self, tensor: Any) -> Shape:
        """The shape of a tensor, or of a number in its place."""
        return self._shape_of(tensor.text) if isinstance(tensor, Name) else ()

    def _call(self, declaration: Declaration, values: list[Any], place: Place, wanted: Any) -> Any:
        """An operation that an operator stands for."""
        arguments = {p.name: value for p, value in zip(declaration.parameters, values, strict=True)}
        return self.invoke(declaration, arguments, "", place, wanted)

    # invocations

    def invocation(self, node: Invocation, scope: Mapping[str, Any], wanted: Any) -> Any:
        declaration = self.library[node.operation]
        given = {}
        for number, argument in enumerate(node.arguments):
            if number >= len(declaration.parameters):
                break  # literals that no parameter takes
            name = argument.name or declaration.parameters[number].name
            given[name] = self.value(argument.value, scope)
        generic = self.frames[-1].generic if node.type_name == "?" else node.type_name
        return self.invoke(declaration, given, generic, node.place, wanted)

    def invoke(self, declaration: Declaration, given: dict[str, Any], generic: str, place: Place, wanted: Any) -> Any:
        """The results of an operation: one, or a tuple of them."""
        special = SPECIAL.get(declaration.name) if declaration.vendor else None
        if special is None:
            generic = generic or declaration.generic_type or self._deduced(declaration, given, place)
        arguments = {}
        for parameter in declaration.parameters:
            name, kind = parameter.name, parameter.kind
            arguments[name] = given.get(name, parameter.default)
            if name in given:
                declared = substitute(kind, generic) if generic else kind
                arguments[name] = fitted(self, given[name], declared, name, place)
        if special is not None:
            return special(self, arguments, place, wanted)
        if declaration.body is None or self.keep(declaration):
            return self.emit(declaration, arguments, generic, place, wanted)
        return self.expand(declaration, arguments, generic, place, wanted)

    def _deduced(self, declaration: Declaration, given: dict[str, Any], place: Place) -> str:
        if not declaration.generic:
            return ""
        found: set[str] = set()
        for parameter in declaration.parameters:
            if is_generic(parameter.kind) and parameter.name in given:
                found.update(self._types_in(given[parameter.name]))
        found = mixed(found)
        if len(found) != 1:
            shown = "mixes the data types " + " and ".join(sorted(found)) if found else "has no data type"
            raise Wrong("NNEF.T13", f"'{declaration.name}' {shown}", place)
        return found.pop()

    def _types_in(self, value: Any) -> Iterator[str]:
        if isinstance(value, tuple):
            for item in value:
                yield from self._types_in(item)
        else:
            yield self.types[value.text] if isinstance(value, Name) else OF_PYTHON[type(value)].name

    def expand(
        self, declaration: Declaration, arguments: dict[str, Any], generic: str, place: Place, wanted: Any
    ) -> Any:
        """The body of a fragment with these arguments."""
        assert declaration.body is not None
        if len(self.frames) > MAX_CALLS:
            message = f"'{declaration.name}': fragments call each other more than {MAX_CALLS} deep"
            raise Wrong("NNEF.LIMIT", message, place)
        outer = self.frames[-1]
        results = declaration.results
        given = wanted if len(results) > 1 and isinstance(wanted, tuple) else (wanted,)
        at = place if declaration.standard and outer.place is None else outer.place
        frame = Frame(generic, self.stem(wanted, declaration), at, {}, declaration.name, place)
        if wanted is None and declaration.returns_one_tensor:
            given = (frame.stem,)
        frame.names = {result.name: name for result, name in zip(results, given) if name is not None}
        self.frames.append(frame)
        scope = dict(arguments)
        for assignment in declaration.body:
            self.assign(assignment, scope)
        self.frames.pop()
        values = tuple(scope[result.name] for result in results)
        return values[0] if len(values) == 1 else values

    # statements

    def assign(self, assignment: Assignment, scope: dict[str, Any]) -> None:
        """One statement of a body; `scope` gets what it assigns."""
        wanted = self._wanted(assignment.target)
        if len(self.frames) == 1:
            self.frames[0].stem = first_name(wanted)
        value = self.value(assignment.value, scope, wanted)
        self._unpack(assignment.target, value, scope)

    def _wanted(self, target: Expression) -> Any:
        if isinstance(target, Sequence):
            return tuple(self._wanted(item) for item in target.items)
        assert isinstance(target, Name)
        frame = self.frames[-1]
        return frame.names.get(target.text) or f"{frame.stem}_{target.text}"

    def _unpack(self, target: Expression, value: Any, scope: dict[str, Any]) -> None:
        if isinstance(target, Sequence):
            if len(target.items) != len(value):
                message = f"{len(value)} items can't be unpacked to {len(target.items)} names"
                raise Wrong("NNEF.E2", message, target.place)
            for item, part in zip(target.items, value):
                self._unpack(item, part, scope)
        else:
            assert isinstance(target, Name)
            scope[target.text] = value


@contextmanager
def deep_recursion(frames: int = 12_000) -> Iterator[None]:
    """Python's own limit out of the way of MAX_CALLS and MAX_DEPTH, which are reached first."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, frames))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
