"""The types of invocations (section 3.3.2): arguments against parameters, what `?` stands for, what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from . import kinds, vendor
from .arguments import bind
from .bent import as_tensor, means, mixed
from .extensions import TRACT
from .kinds import (
    EMPTY_ARRAY,
    GENERIC,
    UNKNOWN,
    Kind,
    Primitive,
    TensorOf,
    TupleOf,
    castable,
    described,
    substitute,
)
from .library import DEPRECATED, deprecation
from .syntax import Expression, Invocation, Literal
from .tree import short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .library import Declaration
    from .syntax import Place

_UNDECLARED: Final = "isn't declared, nor is it one of NNEF 1.0.4"


class Voice(Protocol):
    """Who is told what is wrong, unusual, against the standard but clear, or not supported. `bend` answers whether the
    document is read all the same.
    """

    def report(self, label: str, message: str, place: Place) -> None: ...
    def warn(self, label: str, message: str, place: Place) -> None: ...
    def bend(self, label: str, message: str, place: Place) -> bool: ...
    def refuse(self, message: str, place: Place) -> None: ...


class Invocations:
    """Types of invocations within one body. What is wrong is reported and has the type UNKNOWN."""

    def __init__(self, operations: Mapping[str, Declaration], generic: bool, voice: Voice) -> None:
        self.operations, self.generic = operations, generic
        self.report, self.warn, self.bend, self.refuse = voice.report, voice.warn, voice.bend, voice.refuse

    def of(self, node: Invocation, type_of: Callable[[Expression], Kind], outermost: bool) -> Kind:
        """The type of an invocation, from those of its arguments; `outermost` where it is a whole right side, which may
        return several tensors.
        """
        declaration = self.operations.get(node.operation)
        if declaration is None:
            for argument in node.arguments:
                type_of(argument.value)
            return self._undeclared(node)
        if declaration.vendor and declaration.name in vendor.UNDECLARED:
            self.bend("NNEF.A1", f"operation '{node.operation}' {_UNDECLARED}", node.place)
        if declaration.standard and declaration.name in DEPRECATED:
            self.warn("", deprecation(declaration.name), node.place)
        bound = bind(declaration, node, self.report, self.bend)
        actual = {name: type_of(argument.value) for name, argument in bound.items()}
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
                    (self.bend if means(got, wanted) else self.report)("NNEF.T4", message, value.place)
        if not outermost and not declaration.returns_one_tensor:
            message = f"'{node.operation}' doesn't return a single tensor: assign its results to identifiers first"
            self.report("NNEF.T16", message, node.place)
            return UNKNOWN
        if declaration.generic and not generic:
            return UNKNOWN
        if declaration.vendor and (outputs := vendor.outputs_of(node)):
            return TupleOf((TensorOf("scalar"),) * outputs) if outputs > 1 else TensorOf("scalar")
        results = [substitute(r.kind, generic) if generic else r.kind for r in declaration.results]
        return results[0] if len(results) == 1 else TupleOf(tuple(results))

    def _undeclared(self, node: Invocation) -> Kind:
        if not node.operation.startswith(vendor.PREFIXES):
            self.report("NNEF.A1", f"operation '{node.operation}' {_UNDECLARED}", node.place)
            return UNKNOWN
        known = ", ".join(name for name in vendor.vendor_library() if name.startswith(vendor.PREFIXES))
        why = f"; supported are: {known}" if vendor.EXAMPLE in self.operations else f" without 'extension {TRACT};'"
        self.refuse(f"operation '{node.operation}' isn't supported{why}", node.place)
        return UNKNOWN

    def _generic(self, declaration: Declaration, node: Invocation, actual: dict[str, Kind]) -> str:
        """What `?` stands for in an invocation; empty if nothing, or unknown. Where integers are taken as scalars,
        `actual` has nothing more to say of them.
        """
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
            if isinstance(parameter.kind, TensorOf):
                got = as_tensor(got) or got
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
            meant = mixed(found)
            if len(meant) > 1:
                self.report("NNEF.T13", message, node.place)
            elif self.bend("NNEF.T13", message, node.place):
                actual.update({p.name: UNKNOWN for p in declaration.parameters if kinds.is_generic(p.kind)})
                return meant.pop()
        elif not any(kinds.has_unknown(kind) for kind in actual.values()):
            message = f"the data type of '{declaration.name}' can't be deduced: write '{declaration.name}<type>(...)'"
            self.report("NNEF.T13", message, node.place)
        return ""


def _shown(value: Expression, kind: Kind) -> str:
    if isinstance(value, Literal) and isinstance(kind, Primitive):
        shown = str(value.value).lower() if isinstance(value.value, bool) else repr(value.value)
        return f"the {kind} {short(shown)}"
    return described(kind)
