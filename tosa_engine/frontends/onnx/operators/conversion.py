"""Conversion of element types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....errors import Unsupported
from ....lower import elementary as lower
from ....lower.views import shape_of
from ..elements import BOOL, Element
from ..narrowing import is_wide
from ..values import Value
from ..writer import value_of
from .rounding import truncated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..call import Call


def cast(call: Call) -> Value:
    """CAST; floats lose their fraction on the way to integers, any number but 0 is true."""
    wanted = call.element(1) if call.op == "CastLike" else call.element_of(call.attributes["to"])
    return converted(call, call.value(0), wanted)


def converted(call: Call, value: Value, wanted: Element) -> Value:
    g, given = call.g, value.element
    if value.data is not None:
        return Value(wanted, value.shape, value.data.astype(wanted.storage))
    if wanted.carrier is None:
        raise Unsupported(f"a cast to {wanted}, for which TOSA has no number format")
    x = g.tensor_of(value)
    if given is wanted:
        return value
    if wanted is BOOL:
        return value_of(g.unary("LOGICAL_NOT", lower.compared(g, "EQUAL", x, lower.number(g, 0, x))))
    if given is BOOL:
        rank = len(shape_of(x))
        one = g.scalar(1, wanted.carrier, rank)
        return value_of(lower.chosen(g, x, one, g.scalar(0, wanted.carrier, rank)), wanted)
    if given.is_float and wanted.is_integer:
        whole = call.cast(truncated(g, call.cast(x, types.fp32)), types.i32)
        if is_wide(wanted):
            g.of_floats.append((g.stem, wanted, whole))
            return value_of(whole, wanted)
        return call.wrapped(whole, wanted)
    if given.is_integer and wanted.is_integer:
        return call.wrapped(call.cast(x, types.i32), wanted)
    if given.is_integer:
        x = call.cast(x, types.i32) if x.dtype is not types.i8 and x.dtype is not types.i16 else x
        return value_of(call.cast(call.cast(x, types.fp32), wanted.carrier), wanted)
    narrow = {types.fp8e4m3: 448.0, types.fp8e5m2: 57344.0}
    x = call.cast(x, types.fp32) if x.dtype in narrow and wanted.carrier in narrow else x
    if wanted.carrier in narrow and call.attribute("saturate", 1):
        x = g.clamp(x, -narrow[wanted.carrier], narrow[wanted.carrier])
    return value_of(call.cast(x, wanted.carrier), wanted)


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {"Cast": cast, "CastLike": cast}
