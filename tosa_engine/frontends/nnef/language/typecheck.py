"""The types of expressions (sections 3.3.1 to 3.3.3), without their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import kinds
from .bent import means
from .invocations import Invocations
from .kinds import (
    EMPTY_ARRAY,
    INTEGER,
    LOGICAL,
    OF_PYTHON,
    SCALAR,
    STRING,
    UNKNOWN,
    ArrayOf,
    Kind,
    Primitive,
    TensorOf,
    TupleOf,
    Unknown,
    castable,
    common,
    described,
    substitute,
)
from .syntax import (
    Binary,
    BuiltIn,
    Comprehension,
    Conditional,
    Expression,
    Invocation,
    Literal,
    Name,
    Sequence,
    Subscript,
    Unary,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .invocations import Voice
    from .library import Declaration

    Scope = Mapping[str, Kind]

# table 1 of section 3.3.3: the operations that operators on tensors stand for
OPERATION_OF: Final = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "^": "pow", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
    "==": "eq", "!=": "ne", "&&": "and", "||": "or",
}  # fmt: skip
UNARY_OPERATION_OF: Final = {"+": "copy", "-": "neg", "!": "not"}
_NUMBERS: Final = (INTEGER, SCALAR)


class Types:
    """Types of expressions within one body. What is wrong is reported and has the type UNKNOWN."""

    def __init__(self, operations: Mapping[str, Declaration], generic: bool, voice: Voice) -> None:
        self.operations, self.report, self.warn, self.bend = operations, voice.report, voice.warn, voice.bend
        self.invocations = Invocations(operations, generic, voice)

    def of(self, node: Expression, scope: Scope, outermost: bool = False) -> Kind:
        """The type of an expression; `outermost` where a whole right side may return several tensors."""
        if isinstance(node, Literal):
            return OF_PYTHON[type(node.value)]
        if isinstance(node, Name):
            if node.text in scope:
                return scope[node.text]
            return self.wrong("NNEF.I8", f"'{node.text}' isn't defined before this use", node)
        if isinstance(node, Sequence):
            return self._sequence(node, scope)
        if isinstance(node, Invocation):
            return self.invocations.of(node, lambda argument: self.of(argument, scope), outermost)
        if isinstance(node, Binary):
            return self._binary(node, scope)
        if isinstance(node, Unary):
            return self._unary(node, scope, outermost)
        if isinstance(node, Conditional):
            return self._conditional(node, scope, outermost)
        if isinstance(node, Subscript):
            return self._subscript(node, scope)
        if isinstance(node, Comprehension):
            return self._comprehension(node, scope)
        return self._builtin(node, scope)

    def wrong(self, label: str, message: str, node: Expression) -> Unknown:
        self.report(label, message, node.place)
        return UNKNOWN

    def _sequence(self, node: Sequence, scope: Scope) -> Kind:
        items = [self.of(item, scope) for item in node.items]
        if node.is_tuple:
            return TupleOf(tuple(items))
        if not items:
            return EMPTY_ARRAY
        kind: Kind = items[0]
        for item in items:
            if item is not kind:
                both = common(kind, item)
                if both is None:
                    message = f"the items of an array need one type, got {described(kind)} and {described(item)}"
                    if {kind, item} != set(_NUMBERS):
                        return self.wrong("NNEF.T6", message, node)
                    if not self.bend("NNEF.T6", message, node.place):
                        return UNKNOWN
                kind = both or SCALAR
        return ArrayOf(kind)

    # operators

    def _operation(self, name: str, node: Binary | Unary, *given: Kind) -> Kind:
        """An operator on tensors."""
        declaration = self.operations[name]
        generic = "".join(list(kinds.candidates(declaration.parameters[0].kind, given[0]))[:1])
        for parameter, got in zip(declaration.parameters, given, strict=True):
            wanted = substitute(parameter.kind, generic)
            if not castable(got, wanted):
                message = f"'{node.operator}' needs {described(parameter.kind)} here, got {described(got)}"
                if not means(got, wanted):
                    return self.wrong("NNEF.T7", message, node)
                if not self.bend("NNEF.T7", message, node.place):
                    return UNKNOWN
        return substitute(declaration.results[0].kind, generic)

    def _binary(self, node: Binary, scope: Scope) -> Kind:
        left, right, sign = self.of(node.left, scope), self.of(node.right, scope), node.operator
        if kinds.has_unknown(left) or kinds.has_unknown(right):
            return UNKNOWN
        if sign == "in":
            if isinstance(right, ArrayOf) and (right.item is None or common(left, right.item) is not None):
                return LOGICAL
            message = f"'in' can't look for {described(left)} in {described(right)}"
            return self.wrong("NNEF.T11", message, node)
        if isinstance(left, TensorOf) or isinstance(right, TensorOf):
            return self._operation(OPERATION_OF[sign], node, left, right)
        kind: Kind | None = None
        if isinstance(left, ArrayOf) or left == STRING:
            kind = _joined(sign, left, right)
        if left == right and isinstance(left, Primitive) and kind is None:
            kind = _result(sign, left)
        if kind is not None:
            return kind
        message = f"'{sign}' can't take {described(left)} and {described(right)}"
        if {left, right} != set(_NUMBERS) or (kind := _result(sign, SCALAR)) is None:
            return self.wrong("NNEF.T7", message, node)
        return kind if self.bend("NNEF.T7", message, node.place) else UNKNOWN

    def _unary(self, node: Unary, scope: Scope, outermost: bool) -> Kind:
        sign = node.operator
        kind = self.of(node.operand, scope, outermost and sign == "()")
        if sign == "()" or kind is UNKNOWN:
            return kind
        if isinstance(kind, TensorOf):
            return self._operation(UNARY_OPERATION_OF[sign], node, kind)
        if kind in ((LOGICAL,) if sign == "!" else _NUMBERS):
            return kind
        return self.wrong("NNEF.T7", f"'{sign}' can't take {described(kind)}", node)

    # the rest

    def _conditional(self, node: Conditional, scope: Scope, outermost: bool) -> Kind:
        condition = self.of(node.condition, scope)
        if condition not in (LOGICAL, UNKNOWN):
            message = f"the condition must be true or false before the graph runs, got {described(condition)}"
            self.report("NNEF.T8", message, node.condition.place)
        yes, no = self.of(node.yes, scope, outermost), self.of(node.no, scope, outermost)
        kind = common(yes, no)
        if kind is None:
            message = f"the branches have no common type: {described(yes)} and {described(no)}"
            return self.wrong("NNEF.T8", message, node)
        return kind

    def _subscript(self, node: Subscript, scope: Scope) -> Kind:
        subject = self.of(node.subject, scope)
        for end in (node.start, node.stop):
            kind = INTEGER if end is None else self.of(end, scope)
            if kind not in (INTEGER, UNKNOWN):
                return self.wrong("NNEF.T10", f"a subscript must be an integer, got {described(kind)}", node)
        if isinstance(subject, TupleOf):
            return self._tuple_item(node, subject)
        if subject is UNKNOWN or (subject == EMPTY_ARRAY and not node.is_range):
            return UNKNOWN
        if subject == STRING or isinstance(subject, ArrayOf):
            single = subject.item if isinstance(subject, ArrayOf) else subject
            return subject if node.is_range or single is None else single
        return self.wrong("NNEF.T10", f"{described(subject)} has no items", node)

    def _tuple_item(self, node: Subscript, subject: TupleOf) -> Kind:
        index = node.start.value if isinstance(node.start, Literal) and not node.is_range else None
        if not isinstance(index, int):
            return self.wrong("NNEF.T10", "the subscript of a tuple must be an integer literal", node)
        if not 0 <= index < len(subject.items):
            message = f"index {index} is beyond a tuple of {len(subject.items)} items"
            return self.wrong("NNEF.T10", message, node)
        return subject.items[index]

    def _comprehension(self, node: Comprehension, scope: Scope) -> Kind:
        inner = dict(scope)
        for name, source in node.iterators:
            kind = self.of(source, scope)
            if not isinstance(kind, (ArrayOf, Unknown)):
                self.report("NNEF.T9", f"only arrays can be iterated, got {described(kind)}", source.place)
            inner[name.text] = (kind.item or UNKNOWN) if isinstance(kind, ArrayOf) else UNKNOWN
        if node.condition is not None:
            condition = self.of(node.condition, inner)
            if condition not in (LOGICAL, UNKNOWN):
                message = f"the condition must be true or false, got {described(condition)}"
                self.report("NNEF.T9", message, node.condition.place)
        return ArrayOf(self.of(node.result, inner))

    def _builtin(self, node: BuiltIn, scope: Scope) -> Kind:
        function, kind = node.function, self.of(node.argument, scope)
        if function == "shape_of":
            self.warn("", "'shape_of' is deprecated", node.place)
            return ArrayOf(INTEGER)
        if function in ("length_of", "range_of"):
            if not isinstance(kind, (ArrayOf, Unknown)) and kind != STRING:
                message = f"'{function}' needs an array or a string, got {described(kind)}"
                self.report("NNEF.T12", message, node.place)
            return INTEGER if function == "length_of" else ArrayOf(INTEGER)
        if not isinstance(kind, (Primitive, Unknown)):
            message = f"'{function}' needs a value of a primitive type, got {described(kind)}"
            self.report("NNEF.T12", message, node.place)
        return Primitive(function)


def _joined(sign: str, left: Kind, right: Kind) -> Kind | None:
    """Arrays or strings, one behind the other or repeated."""
    if sign == "+":
        return common(left, right) if left == STRING or isinstance(right, ArrayOf) else None
    return left if sign == "*" and right == INTEGER else None


def _result(sign: str, kind: Primitive) -> Kind | None:
    """The type of an operator's result on two values of one primitive type."""
    if sign in ("==", "!="):
        return LOGICAL
    if sign in ("&&", "||"):
        return LOGICAL if kind == LOGICAL else None
    if kind not in _NUMBERS:
        return None
    return LOGICAL if sign in ("<", "<=", ">", ">=") else kind
