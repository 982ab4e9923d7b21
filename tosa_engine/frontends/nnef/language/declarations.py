"""What a fragment's declaration must be (section 3.3.2, and the types of 3.3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .kinds import (
    EMPTY_ARRAY,
    OF_PYTHON,
    ArrayOf,
    Kind,
    TensorOf,
    TupleOf,
    castable,
    common,
    described,
    has_tensor,
    is_generic,
    only_tensors,
    parts,
)
from .syntax import Literal, Sequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from .syntax import Expression, FragmentDefinition, ParameterDefinition, Place

    Report = Callable[[str, str, Place], object]


def check_declaration(fragment: FragmentDefinition, report: Report) -> None:
    """Report what is wrong with the declaration of a fragment: label, message, place."""
    members = (*fragment.parameters, *fragment.results)
    seen: set[str] = set()
    for member in members:
        if member.name in seen:
            report("NNEF.D2", f"'{member.name}' is declared twice in '{fragment.name}'", member.place)
        seen.add(member.name)
        _check_kind(member, report)
    if not fragment.parameters:
        report("NNEF.D9", f"fragment '{fragment.name}' has no parameters", fragment.place)
    attribute = ""
    for parameter in fragment.parameters:
        if not has_tensor(parameter.kind):
            attribute = parameter.name
        elif attribute:
            message = f"tensor parameter '{parameter.name}' stands behind the attribute '{attribute}'"
            report("NNEF.D3", message, parameter.place)
        if parameter.default is not None:
            _check_default(parameter, report)
    for result in fragment.results:
        if not only_tensors(result.kind):
            report("NNEF.D4", f"result '{result.name}' must be a tensor, not {described(result.kind)}", result.place)
        elif any(part == TensorOf("") for part in parts(result.kind)):
            report("NNEF.D8", f"result '{result.name}' can't be an unbound tensor", result.place)
    generic = any(is_generic(member.kind) for member in members)
    if generic and not fragment.generic:
        report("NNEF.D6", f"'{fragment.name}' uses '?' but isn't declared as '{fragment.name}<?>'", fragment.place)
    if fragment.generic and not generic:
        report("NNEF.D6", f"'{fragment.name}<?>' has no parameter or result of type '?'", fragment.place)


def _check_kind(member: ParameterDefinition, report: Report) -> None:
    for part in parts(member.kind):
        if isinstance(part, TupleOf) and len({has_tensor(item) for item in part.items}) == 2:
            report("NNEF.D7", f"the tuple type of '{member.name}' mixes tensors and attributes", member.place)


def _check_default(parameter: ParameterDefinition, report: Report) -> None:
    assert parameter.default is not None
    kind = literal_kind(parameter.default)
    if kind is None or not castable(kind, parameter.kind):
        got = described(kind) if kind is not None else "an array of mixed types"
        message = f"the default of '{parameter.name}' must be {described(parameter.kind)}, got {got}"
        report("NNEF.D5", message, parameter.default.place)


def literal_kind(expression: Expression) -> Kind | None:
    """The type of a literal expression; None when the items of an array have none in common."""
    if isinstance(expression, Sequence):
        kinds = [literal_kind(item) for item in expression.items]
        if expression.is_tuple:
            return TupleOf(tuple(k for k in kinds if k is not None)) if None not in kinds else None
        if not kinds:
            return EMPTY_ARRAY
        item = kinds[0]
        for kind in kinds[1:]:
            item = None if item is None or kind is None else common(item, kind)
        return None if item is None else ArrayOf(item)
    assert isinstance(expression, Literal)
    return OF_PYTHON[type(expression.value)]
