"""The types of expressions (sections 3.3.1 to 3.3.3), without their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from . import kinds, vendor
from .arguments import bind
from .extensions import TRACT
from .kinds import (
    EMPTY_ARRAY,
    GENERIC,
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
from .library import DEPRECATED, deprecation
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
from .tree import short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .library import Declaration
    from .syntax import Place

    Scope = Mapping[str, Kind]

# table 1 of section 3.3.3: the operations that operators on tensors stand for
OPERATION_OF: Final = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "^": "pow", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
    "==": "eq", "!=": "ne", "&&": "and", "||": "or",
}  # fmt: skip
UNARY_OPERATION_OF: Final = {"+": "copy", "-": "neg", "!": "not"}
_NUMBERS: Final = (INTEGER, SCALAR)
_UNDECLARED: Final = "isn't declared, nor is it one of NNEF 1.0.4"


class Voice(Protocol):
    """Who is told what is wrong, unusual, against the standard but clear, or not supported."""

    def report(self, label: str, message: str, place: Place) -> None: ...
    def warn(self, label: str, message: str, place: Place) -> None: ...
    def bend(self, label: str, message: str, place: Place) -> None: ...
    def refuse(self, message: str, place: Place) -> None: ...


class Types:
    """Types of expressions within one body. What is wrong is reported and has the type UNKNOWN."""

    def __init__(self, operations: Mapping[str, Declaration], generic: bool, voice: Voice) -> None:
        self.operations, self.generic = operations, generic
        self.report, self.warn, self.bend, self.refuse = voice.report, voice.warn, voice.bend, voice.refuse

    def of(self, node: Expression, scope: Scope, outermost: bool = False) -> Kind:
        """The type of an expression; `outermost` where a whole right side may return several tensors."""
        if isinstance(node, Literal):
            return OF_PYTHON[type(node.value)]
        if isinstance(node, Name):
            if node.text in scope:
                return scope[node.text]
            return self._wrong("NNEF.I8", f"'{node.text}' isn't defined before this use", node)
        if isinstance(node, Sequence):
            return self._sequence(node, scope)
        if isinstance(node, Invocation):
            return self._invocation(node, scope, outermost)
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

    def _wrong(self, label: str, message: str, node: Expression) -> Unknown:
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
                    return self._wrong("NNEF.T6", message, node)
                kind = both
        return ArrayOf(kind)

    # invocations

    def _invocation(self, node: Invocation, scope: Scope, outermost: bool) -> Kind:
        declaration = self.operations.get(node.operation)
        if declaration is None:
            for argument in node.arguments:
                self.of(argument.value, scope)
            return self._undeclared(node)
        if declaration.vendor and declaration.name in vendor.UNDECLARED:
            self.bend("NNEF.A1", f"operation '{node.operation}' {_UNDECLARED}", node.place)
        if declaration.standard and declaration.name in DEPRECATED:
            self.warn("", deprecation(declaration.name), node.place)
        bound = bind(declaration, node, self.report, self.bend)
        actual = {name: self.of(argument.value, scope) for name, argument in bound.items()}
        for name, argument in bound.items():
            parameter = declaration.parameter(name)
            if argument.name and parameter is not None and parameter.is_tensor and not declaration.vendor:
                self.warn("", f"naming the tensor argument '{name}' is deprecated", argument.place)
        generic = self._generic(declaration, node, actual)
        for parameter in declaration.parameters:
            if parameter.name in bound:
                wanted: Kind = substitute(parameter.kind, generic) if generic else parameter.kind
                value, got = bound[parameter.name].value, actual[parameter.name]
                if (generic or not kinds.is_generic(wanted)) and not castable(got, wanted):
                    message = f"argument '{parameter.name}' must be {described(wanted)}, got {_shown(value, got)}"
                    (self.bend if _clear(got, wanted) else self.report)("NNEF.T4", message, value.place)
        if not outermost and not declaration.returns_one_tensor:
            message = f"'{node.operation}' doesn't return a single tensor: assign its results to identifiers first"
            return self._wrong("NNEF.T16", message, node)
        if declaration.generic and not generic:
            return UNKNOWN
        if declaration.vendor and (outputs := vendor.outputs_of(node)):
            return TupleOf((TensorOf("scalar"),) * outputs) if outputs > 1 else TensorOf("scalar")
        results = [substitute(r.kind, generic) if generic else r.kind for r in declaration.results]
        return results[0] if len(results) == 1 else TupleOf(tuple(results))

    def _undeclared(self, node: Invocation) -> Kind:
        if not node.operation.startswith(vendor.PREFIX):
            return self._wrong("NNEF.A1", f"operation '{node.operation}' {_UNDECLARED}", node)
        known = ", ".join(name for name in vendor.vendor_library() if name.startswith(vendor.PREFIX))
        why = f"; supported are: {known}" if vendor.EXAMPLE in self.operations else f" without 'extension {TRACT};'"
        self.refuse(f"operation '{node.operation}' isn't supported{why}", node.place)
        return UNKNOWN

    def _generic(self, declaration: Declaration, node: Invocation, actual: Mapping[str, Kind]) -> str:
        """What `?` stands for in an invocation; empty if nothing, or unknown."""
        if not declaration.generic:
            if node.type_name:
                message = f"'{declaration.name}' isn't generic: it takes no type name"
                self.report("NNEF.T14", message, node.place)
            return ""
        if node.type_name == GENERIC and not self.generic:
            self.report("NNEF.T15", f"'{declaration.name}<?>' stands outside of a generic fragment", node.place)
            return ""
        if declaration.vendor and (named := vendor.generic_type(node, actual)):
            return named
        if node.type_name or declaration.generic_type:
            return node.type_name or declaration.generic_type
        found: set[str] = set()
        for parameter in declaration.parameters:
            got = actual.get(parameter.name, UNKNOWN)
            types = set(kinds.candidates(parameter.kind, got))
            if not types and kinds.is_generic(parameter.kind) and not kinds.has_unknown(got) and got != EMPTY_ARRAY:
                message = f"argument '{parameter.name}' must be {described(parameter.kind)}, got {described(got)}"
                self.report("NNEF.T4", message, node.place)
                return ""
            found |= types
        if len(found) == 1:
            return next(iter(found))
        if found:
            message = f"'{declaration.name}' mixes the data types {' and '.join(sorted(found))}"
            self.report("NNEF.T13", message, node.place)
        elif not any(kinds.has_unknown(kind) for kind in actual.values()):
            message = f"the data type of '{declaration.name}' can't be deduced: write '{declaration.name}<type>(...)'"
            self.report("NNEF.T13", message, node.place)
        return ""

    # operators

    def _operation(self, name: str, node: Binary | Unary, *given: Kind) -> Kind:
        """An operator on tensors."""
        declaration = self.operations[name]
        generic = "".join(list(kinds.candidates(declaration.parameters[0].kind, given[0]))[:1])
        for parameter, got in zip(declaration.parameters, given, strict=True):
            if not castable(got, substitute(parameter.kind, generic)):
                wanted = described(parameter.kind)
                return self._wrong("NNEF.T7", f"'{node.operator}' needs {wanted} here, got {described(got)}", node)
        return substitute(declaration.results[0].kind, generic)

    def _binary(self, node: Binary, scope: Scope) -> Kind:
        left, right, sign = self.of(node.left, scope), self.of(node.right, scope), node.operator
        if kinds.has_unknown(left) or kinds.has_unknown(right):
            return UNKNOWN
        if sign == "in":
            if isinstance(right, ArrayOf) and (right.item is None or common(left, right.item) is not None):
                return LOGICAL
            message = f"'in' can't look for {described(left)} in {described(right)}"
            return self._wrong("NNEF.T11", message, node)
        if isinstance(left, TensorOf) or isinstance(right, TensorOf):
            return self._operation(OPERATION_OF[sign], node, left, right)
        kind: Kind | None = None
        if isinstance(left, ArrayOf) or left == STRING:
            kind = _joined(sign, left, right)
        if left == right and isinstance(left, Primitive) and kind is None:
            kind = _result(sign, left)
        if kind is None:
            return self._wrong("NNEF.T7", f"'{sign}' can't take {described(left)} and {described(right)}", node)
        return kind

    def _unary(self, node: Unary, scope: Scope, outermost: bool) -> Kind:
        sign = node.operator
        kind = self.of(node.operand, scope, outermost and sign == "()")
        if sign == "()" or kind is UNKNOWN:
            return kind
        if isinstance(kind, TensorOf):
            return self._operation(UNARY_OPERATION_OF[sign], node, kind)
        if kind in ((LOGICAL,) if sign == "!" else _NUMBERS):
            return kind
        return self._wrong("NNEF.T7", f"'{sign}' can't take {described(kind)}", node)

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
            return self._wrong("NNEF.T8", message, node)
        return kind

    def _subscript(self, node: Subscript, scope: Scope) -> Kind:
        subject = self.of(node.subject, scope)
        for end in (node.start, node.stop):
            kind = INTEGER if end is None else self.of(end, scope)
            if kind not in (INTEGER, UNKNOWN):
                return self._wrong("NNEF.T10", f"a subscript must be an integer, got {described(kind)}", node)
        if isinstance(subject, TupleOf):
            return self._tuple_item(node, subject)
        if subject is UNKNOWN or (subject == EMPTY_ARRAY and not node.is_range):
            return UNKNOWN
        if subject == STRING or isinstance(subject, ArrayOf):
            single = subject.item if isinstance(subject, ArrayOf) else subject
            return subject if node.is_range or single is None else single
        return self._wrong("NNEF.T10", f"{described(subject)} has no items", node)

    def _tuple_item(self, node: Subscript, subject: TupleOf) -> Kind:
        index = node.start.value if isinstance(node.start, Literal) and not node.is_range else None
        if not isinstance(index, int):
            return self._wrong("NNEF.T10", "the subscript of a tuple must be an integer literal", node)
        if not 0 <= index < len(subject.items):
            message = f"index {index} is beyond a tuple of {len(subject.items)} items"
            return self._wrong("NNEF.T10", message, node)
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


def _clear(got: Kind, wanted: Kind) -> bool:
    """Whether an attribute of a wrong type can mean but one thing: a single item for an array, a tensor for a number,
    which it must then have before the graph runs.
    """
    if isinstance(wanted, ArrayOf):
        return wanted.item is not None and not kinds.has_tensor(wanted) and got == wanted.item
    return isinstance(wanted, Primitive) and wanted in _NUMBERS and got == TensorOf(wanted.name)


def _shown(value: Expression, kind: Kind) -> str:
    if isinstance(value, Literal) and isinstance(kind, Primitive):
        shown = str(value.value).lower() if isinstance(value.value, bool) else repr(value.value)
        return f"the {kind} {short(shown)}"
    return described(kind)
