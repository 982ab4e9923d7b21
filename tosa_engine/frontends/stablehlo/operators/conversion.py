"""convert and bitcast_convert. Floats become integers towards zero, integers keep their low bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower.elementary import chosen, compared, number, plus, times
from ....lower.layout import gathered
from ....lower.views import shape_of
from ....types import count
from ..elements import BF16, F16, F32, F64, I32, U32, is_wide

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call
    from ..elements import Element
    from ..values import Value

LAYOUTS: Final = {F32: (23, 127), BF16: (7, 127), F16: (10, 15)}  # bits of the mantissa, bias of the exponent


def convert(call: Call) -> Value:
    before, after = call.inputs[0].element, call.element
    x = call.lean(0)
    if before is after:
        return call.elementwise(x)
    if after.is_bool:
        return call.elementwise(_truth(call, x, before))
    if before.is_bool:
        return call.elementwise(_of_bool(call, x, after))
    if before.is_float and after.is_float:
        return call.elementwise(call.cast(x, after.carrier))
    if before.is_float:
        return call.elementwise(_whole(call, x, after))
    if after.is_float:
        return call.elementwise(_real(call, x, before, after))
    return call.elementwise(_integer(call, x, before, after))


def _truth(call: Call, x: Tensor, before: Element) -> Tensor:
    g = call.g
    x = call.cast(x, types.fp32) if before.is_float else call.wide(x)
    return g.unary("LOGICAL_NOT", compared(g, "EQUAL", x, number(g, 0, x)))


def _of_bool(call: Call, x: Tensor, after: Element) -> Tensor:
    g, rank = call.g, len(shape_of(x))
    dtype = types.fp32 if after.is_float else after.carrier
    return call.cast(chosen(g, x, g.scalar(1, dtype, rank), g.scalar(0, dtype, rank)), after.carrier)


def _whole(call: Call, x: Tensor, after: Element) -> Tensor:
    """Towards zero; beyond the range of the type the end of it."""
    g = call.g
    x = call.cast(x, types.fp32) if x.dtype in (types.fp8e4m3, types.fp8e5m2) else x
    cut = chosen(g, compared(g, "GREATER", number(g, 0.0, x), x), g.unary("CEIL", x), g.unary("FLOOR", x))
    if after is U32:
        return _whole_unsigned(call, call.cast(cut, types.fp32))
    if is_wide(after):
        g.of_floats.append(g.stem)
    if after.carrier is types.i32 or after.bits < 8:
        whole = g.operator("CAST", [cut], shape_of(x), types.i32)
        if after is not I32 and (after.is_signed is False or after.bits < 8):
            least, most = after.minimum, min(after.maximum, types.i32.maximum)
            whole = g.binary("MINIMUM", g.binary("MAXIMUM", whole, number(g, least, whole)), number(g, most, whole))
        return call.cast(whole, after.carrier)
    return g.operator("CAST", [cut], shape_of(x), after.carrier)


def _whole_unsigned(call: Call, x: Tensor) -> Tensor:
    """Numbers from 2^31 on are less by that, and get the highest bit."""
    g = call.g
    great = compared(g, "GREATER_EQUAL", x, number(g, 2.0**31, x))
    less = chosen(g, great, plus(g, x, -(2.0**31)), g.binary("MAXIMUM", x, number(g, 0.0, x)))
    whole = g.operator("CAST", [less], shape_of(x), types.i32)
    high = g.operator("BITWISE_XOR", [whole, number(g, types.i32.minimum, whole)], shape_of(whole))
    return chosen(g, great, high, whole)


def _real(call: Call, x: Tensor, before: Element, after: Element) -> Tensor:
    if before is U32 and call.g.reach(x)[0] < 0:
        found = _real_unsigned(call, x)
    elif after.carrier in (types.fp16, types.bf16, types.fp32):
        return call.cast(x, after.carrier)
    else:
        found = call.cast(x, types.fp32)
    return call.cast(found, after.carrier)


def _real_unsigned(call: Call, x: Tensor) -> Tensor:
    """Both halves are exact, so that their sum is rounded once."""
    g = call.g
    high = g.operator("LOGICAL_RIGHT_SHIFT", [x, number(g, 16, x)], shape_of(x))
    low = g.operator("BITWISE_AND", [x, number(g, 0xFFFF, x)], shape_of(x))
    parts = [g.operator("CAST", [t], shape_of(t), types.fp32) for t in (high, low)]
    return g.binary("ADD", times(g, parts[0], 65536.0), parts[1])


def _integer(call: Call, x: Tensor, before: Element, after: Element) -> Tensor:
    if is_wide(after) and before is U32:
        low = call.g.reach(x)[0]
        call.narrow(0, (1 << 32) + low if low < 0 else 0, after)
    elif is_wide(after) and not after.is_signed:
        call.narrow(call.g.reach(x)[0], 0, after)
    return call.wrapped(call.wide(x), after)


def bitcast(call: Call) -> Value:
    """Between integers and floats of 32 and 16 bits; formats of one width keep their bits."""
    before, after = call.inputs[0].element, call.element
    if before is after and (call.inputs[0].shape == call.shape or call.pointwise):
        return call.elementwise(call.lean(0))
    if before.bits == after.bits and before.is_integer and after.is_integer:
        return call.elementwise(_same_bits(call, before, after))
    if {before, after} & {F64} or (call.inputs[0].shape != call.shape and not call.pointwise):
        raise Unsupported(f"the bits of {before}{list(call.inputs[0].shape)} as {after}{list(call.shape)}")
    widths = [before.storage.itemsize, after.storage.itemsize]
    if widths in ([4, 4], [2, 2]) and before.bits not in (2, 4) and after.bits not in (2, 4):
        return call.elementwise(_by_bits(call, call.lean(0), before, after))
    raise Unsupported(f"the bits of {before} as {after}, which TOSA doesn't tell")


def _by_bits(call: Call, x: Tensor, before: Element, after: Element) -> Tensor:
    """Through the bits, as numbers in i32."""
    if before is F16:
        bits = _bits_of_half(call, call.cast(x, types.fp32))
    elif before is BF16:
        bits = _high_half(call, _bits_of_float(call, call.cast(x, types.fp32)))
    else:
        bits = _bits_of_float(call, x) if before is F32 else call.wide(x)
    if not after.is_float:
        return call.wrapped(bits, after)
    return call.cast(_float_of_bits(call, bits, after), after.carrier)


def _high_half(call: Call, x: Tensor) -> Tensor:
    """Of bf16 the bits are the upper half of those of fp32."""
    return call.g.operator("LOGICAL_RIGHT_SHIFT", [x, number(call.g, 16, x)], shape_of(x))


def _bits_of_half(call: Call, x: Tensor) -> Tensor:
    """The bits of numbers of fp16, given as fp32: the exponent has another bias; denormal ones are whole by 2^-24."""
    g, shape = call.g, shape_of(x)
    wide = _bits_of_float(call, x)
    size = g.operator("BITWISE_AND", [wide, number(g, types.i32.maximum, wide)], shape)
    less = plus(g, g.operator("LOGICAL_RIGHT_SHIFT", [size, number(g, 13, size)], shape), -(112 << 10))
    low = g.unary("ABS", chosen(g, compared(g, "GREATER", number(g, 1 << 10, less), less), x, number(g, 0.0, x)))
    denormal = g.operator("CAST", [times(g, low, 2.0**24)], shape, types.i32)
    found = chosen(g, compared(g, "GREATER", number(g, 1 << 10, less), less), denormal, less)
    infinity = number(g, 0x7F800000, size)
    found = chosen(g, compared(g, "EQUAL", size, infinity), number(g, 0x7C00, found), found)
    found = chosen(g, compared(g, "GREATER", size, infinity), number(g, 0x7E00, found), found)
    signed = g.operator("BITWISE_OR", [found, number(g, 0x8000, found)], shape)
    return chosen(g, compared(g, "GREATER", number(g, 0, wide), wide), signed, found)


def _same_bits(call: Call, before: Element, after: Element) -> Tensor:
    x = call.wide(call.lean(0))
    if is_wide(before):
        call.narrow(call.g.reach(x)[0] if before.is_signed else 0, 0, after)
        return x
    if before.bits == types.i32.bits:
        return x
    return call.wrapped(x, after)


def _powers(bias: int) -> np.ndarray:
    """2^(e - bias) for the exponents of finite numbers; those of denormal numbers have the one of 1."""
    last = 2 * bias + 1
    exponent = np.maximum(np.arange(last + 1), 1).astype(np.float64) - bias
    found: np.ndarray = np.where(np.arange(last + 1) < last, 2.0**exponent, np.inf)
    return found


def _float_of_bits(call: Call, x: Tensor, after: Element) -> Tensor:
    """(1 + m / 2^23) * 2^(e - 127): the power of 2 comes from a table, the product is exact."""
    g, shape = call.g, shape_of(x)
    digits, bias = LAYOUTS[after]
    ones = 1 << digits
    exponent = g.operator("LOGICAL_RIGHT_SHIFT", [x, number(g, digits, x)], shape)
    exponent = g.operator("BITWISE_AND", [exponent, number(g, 2 * bias + 1, exponent)], shape)
    mantissa = g.operator("BITWISE_AND", [x, number(g, ones - 1, x)], shape)
    normal = compared(g, "GREATER", exponent, number(g, 0, exponent))
    hidden = chosen(g, normal, number(g, ones, x), number(g, 0, x))
    whole = g.operator("CAST", [g.binary("ADD", mantissa, hidden)], shape, types.fp32)
    table = g.const(_powers(bias).reshape(1, 2 * bias + 2, 1), types.fp32, "powers")
    power = g.reshape(gathered(g, table, g.reshape(exponent, (1, count(shape)))), shape)
    found = g.binary("MUL", times(g, whole, 1.0 / ones), power)
    last = compared(g, "EQUAL", exponent, number(g, 2 * bias + 1, exponent))
    number_like = compared(g, "EQUAL", mantissa, number(g, 0, mantissa))
    infinity = number(g, float("inf"), found)
    wrong = g.binary("SUB", infinity, infinity)
    found = chosen(g, last, chosen(g, number_like, infinity, wrong), found)
    sign = g.operator("BITWISE_AND", [x, number(g, types.i32.minimum if after is F32 else 1 << 15, x)], shape)
    return chosen(g, compared(g, "EQUAL", sign, number(g, 0, sign)), found, g.negate(found))


def _bits_of_float(call: Call, x: Tensor) -> Tensor:
    """The exponent by halving, then the mantissa as a whole number. NaN gets the usual bits."""
    g, shape = call.g, shape_of(x)
    size = g.unary("ABS", chosen(g, compared(g, "EQUAL", x, x), x, number(g, 1.0, x)))
    rest, exponent = size, g.scalar(127, types.i32, len(shape))
    for k in (64, 32, 16, 8, 4, 2, 1):
        up = compared(g, "GREATER_EQUAL", rest, number(g, 2.0**k, x))
        rest = chosen(g, up, times(g, rest, 2.0**-k), rest)
        exponent = g.binary("ADD", exponent, chosen(g, up, number(g, k, exponent), number(g, 0, exponent)))
    for k in (64, 32, 16, 8, 4, 2, 1):
        down = compared(g, "GREATER", number(g, 2.0 ** (1 - k), x), rest)
        at_end = compared(g, "GREATER", exponent, number(g, k, exponent))
        down = compared(g, "LOGICAL_AND", down, at_end)
        rest = chosen(g, down, times(g, rest, 2.0**k), rest)
        exponent = g.binary("SUB", exponent, chosen(g, down, number(g, k, exponent), number(g, 0, exponent)))
    whole = g.operator("CAST", [times(g, rest, 2.0**23)], shape, types.i32)
    denormal = compared(g, "GREATER", number(g, 1 << 23, whole), whole)
    field = chosen(g, denormal, number(g, 0, exponent), exponent)
    shifted = g.operator("LOGICAL_LEFT_SHIFT", [field, number(g, 23, field)], shape_of(field))
    mantissa = g.operator("BITWISE_AND", [whole, number(g, (1 << 23) - 1, whole)], shape)
    found = g.operator("BITWISE_OR", [shifted, mantissa], shape)
    infinite = compared(g, "EQUAL", size, number(g, float("inf"), x))
    found = chosen(g, infinite, number(g, 0x7F800000, found), found)
    minus = compared(g, "GREATER", number(g, 0.0, x), g.unary("RECIPROCAL", x))
    small = compared(g, "LOGICAL_OR", minus, compared(g, "GREATER", number(g, 0.0, x), x))
    signed = g.operator("BITWISE_OR", [found, number(g, types.i32.minimum, found)], shape)
    found = chosen(g, small, signed, found)
    return chosen(g, compared(g, "EQUAL", x, x), found, number(g, 0x7FC00000, found))


OPERATORS: Final[Mapping[str, Callable[[Call], Value]]] = {"bitcast_convert": bitcast, "convert": convert}
