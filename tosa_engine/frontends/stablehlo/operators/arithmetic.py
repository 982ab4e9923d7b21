"""Sums, products, quotients and limits, of floats and of integers modulo their width."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....lower.elementary import chosen, compared, division, number
from ....lower.views import shape_of
from ....lower.wrapping import (
    absolute,
    divided,
    divided_unsigned,
    in_order,
    wrapped_product,
    wrapped_sum,
)
from .. import recognized
from ..elements import U32, is_wide
from .bodies import is_identity
from .floats import in_fp32, is_small

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call
    from ..elements import Element
    from ..values import Value

OPS: Final = {"add": "ADD", "subtract": "SUB", "multiply": "MUL"}
LIMITS: Final = {"maximum": "MAXIMUM", "minimum": "MINIMUM"}
OF_BOOL: Final = {"add": "LOGICAL_OR", "multiply": "LOGICAL_AND", "maximum": "LOGICAL_OR", "minimum": "LOGICAL_AND"}


def binary(call: Call) -> Value:
    """add, subtract, multiply."""
    element, op = call.inputs[0].element, OPS[call.name]
    x, y = call.operands()
    if is_wide(element) and call.name == "add":
        x, y = _below_zero(call, x, y)
    if element.is_bool:
        return call.elementwise(compared(call.g, OF_BOOL[call.name], x, y))
    if element.is_float:
        return call.elementwise(in_fp32(call, lambda *t: call.g.binary(op, *t), x, y))
    return call.elementwise(call.wrapped(integer(call, call.name, call.wide(x), call.wide(y), element), element))


def _below_zero(call: Call, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The terms of a sum that may be beyond int32, where it is taken only where one of them is below 0."""
    low, high = _ends(call, "add", x, y)
    if types.i32.minimum <= low and high <= types.i32.maximum:
        return x, y
    given = [x, y]
    for index in call.scope.guarded(call.operation):
        given[index] = call.g.binary("MINIMUM", given[index], number(call.g, 0, given[index]))
    return given[0], given[1]


def integer(call: Call, name: str, x: Tensor, y: Tensor, element: Element) -> Tensor:
    """A sum, difference or product in i32: as it is where it fits, else modulo 2^32."""
    low, high = _ends(call, name, x, y)
    call.narrow(low, high, element)
    if types.i32.minimum <= low and high <= types.i32.maximum:  # of numbers without sign their bits, which is the same
        return call.g.binary(OPS[name], x, y)
    if name == "multiply":
        return wrapped_product(call.g, x, y)
    return wrapped_sum(call.g, x, y, op=OPS[name])


def _ends(call: Call, name: str, x: Tensor, y: Tensor) -> tuple[int, int]:
    (a, b), (c, d) = call.g.reach(x), call.g.reach(y)
    if name == "add":
        return a + c, b + d
    if name == "subtract":
        return a - d, b - c
    products = (a * c, a * d, b * c, b * d)
    return min(products), max(products)


def divide(call: Call) -> Value:
    element, g = call.inputs[0].element, call.g
    x, y = call.operands()
    if element.is_float:
        found = recognized.softmax(g, x, y) or in_fp32(call, lambda *t: division(g, *t), x, y)
        return call.elementwise(_without_nan(call, x, y, found))
    return call.elementwise(call.wrapped(quotient(call, call.wide(x), call.wide(y), element), element))


def _without_nan(call: Call, x: Tensor, y: Tensor, found: Tensor) -> Tensor:
    """As integers 0 / 0 is what the stored number 0 stands for: the one that NaN becomes."""
    g, uniform, below = call.g, call.kind.quantized, call.inputs[1].data
    if not g.for_integers or uniform is None or (below is not None and below.all()):
        return found
    nowhere = [compared(g, "EQUAL", one, number(g, 0, one)) for one in (x, y)]
    found.quant = found.quant or uniform.hint
    stored_zero = float(uniform.real(np.zeros(1)).reshape(-1)[0])
    return chosen(g, compared(g, "LOGICAL_AND", *nowhere), number(g, stored_zero, found), found)


def quotient(call: Call, x: Tensor, y: Tensor, element: Element) -> Tensor:
    """Towards zero; of a division by 0 all bits are set, as XLA has it."""
    g = call.g
    (low, _), (least, most) = g.reach(x), g.reach(y)
    positive = least > 0 or (most < 0 and (most < -1 or low > types.i32.minimum))
    if element is U32 and (low < 0 or least < 0):
        return divided_unsigned(g, x, y)
    if positive:
        return g.operator("INTDIV", [x, y], _shape(x, y))
    if is_wide(element):
        call.narrow(types.i32.minimum, types.i32.maximum + 1 if low == types.i32.minimum else 0, element)
    found = divided(g, x, y)
    if not element.is_signed and element is not U32:  # all bits of the type
        none = compared(g, "EQUAL", y, number(g, 0, y))
        found = chosen(g, none, number(g, min(element.maximum, types.i32.maximum), found), found)
    return found


def _shape(x: Tensor, y: Tensor) -> tuple[int, ...]:
    return tuple(max(m, n) for m, n in zip(shape_of(x), shape_of(y), strict=True))


def remainder(call: Call) -> Value:
    """The sign is the dividend's; of a division by 0 it is the dividend."""
    element, g = call.inputs[0].element, call.g
    x, y = call.operands()
    if element.is_float:
        return call.elementwise(in_fp32(call, lambda *t: _float_remainder(call, *t), x, y, small=False))
    x, y = call.wide(x), call.wide(y)
    none = compared(g, "EQUAL", y, number(g, 0, y))
    safe = chosen(g, none, number(g, 1, y), y) if g.reach(y)[0] <= 0 else y
    if element is U32 and (g.reach(x)[0] < 0 or g.reach(safe)[0] < 0):
        found = wrapped_sum(g, x, wrapped_product(g, divided_unsigned(g, x, safe), safe), op="SUB")
    else:
        back = compared(g, "EQUAL", safe, number(g, -1, safe))  # the remainder by -1 is that by 1
        safe = chosen(g, back, number(g, 1, safe), safe) if g.reach(safe)[0] < 0 else safe
        whole = g.binary("MUL", g.operator("INTDIV", [x, safe], _shape(x, safe)), safe)
        found = g.binary("SUB", x, whole)
    if safe is not y:
        found = chosen(g, none, x, found)
    return call.elementwise(call.wrapped(found, element))


STEPS: Final = 24  # bits of the quotient that one step takes off


def _float_remainder(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """|x| less as many |y| as it has, by long division: |y| * 2^k for falling k is taken off where it fits.

    Each difference is exact: of two numbers a >= b, a < 2 b.
    """
    g = call.g
    size, by = g.unary("ABS", x), g.unary("ABS", y)
    rest = size
    for k in range(STEPS, -1, -1):
        part = g.binary("MUL", by, number(g, float(2**k), by))
        fits = compared(g, "GREATER_EQUAL", rest, part)
        rest = chosen(g, fits, g.binary("SUB", rest, part), rest)
    far = compared(g, "GREATER_EQUAL", size, g.binary("MUL", by, number(g, float(2 ** (STEPS + 1)), by)))
    infinite = compared(g, "EQUAL", by, number(g, float("inf"), by))
    nothing = g.binary("SUB", number(g, float("inf"), by), number(g, float("inf"), by))
    rest = chosen(g, far, nothing, rest)
    rest = chosen(g, infinite, chosen(g, compared(g, "GREATER", by, size), size, nothing), rest)
    wrong = compared(g, "LOGICAL_OR", _is_nan(call, x), _is_nan(call, y))
    rest = chosen(g, wrong, nothing, rest)
    return chosen(g, compared(g, "GREATER", number(g, 0.0, x), x), g.negate(rest), rest)


def _is_nan(call: Call, x: Tensor) -> Tensor:
    return call.g.unary("LOGICAL_NOT", compared(call.g, "EQUAL", x, x))


def limit(call: Call) -> Value:
    """maximum, minimum; those with the end of the type are the other operand."""
    element = call.inputs[0].element
    call.inputs = [_saturated(one, call.name) for one in call.inputs]
    for one, other in (call.inputs, call.inputs[::-1]):
        if is_identity(call.name, one) and not call.pointwise and one.shape == other.shape:
            return other
    x, y = call.operands()
    return call.elementwise(limited(call, LIMITS[call.name], x, y, element), element)


def _saturated(value: Value, name: str) -> Value:
    """A known limit beyond int32 on the side where it limits nothing: the end of int32 does as much."""
    if value.data is None or not is_wide(value.element):
        return value
    end, function = (types.i32.minimum, np.maximum) if name == "maximum" else (types.i32.maximum, np.minimum)
    return replace(value, data=function(value.data, value.data.dtype.type(max(end, value.element.minimum))))


def limited(call: Call, op: str, x: Tensor, y: Tensor, element: Element) -> Tensor:
    g = call.g
    if element.is_bool:
        return compared(g, "LOGICAL_OR" if op == "MAXIMUM" else "LOGICAL_AND", x, y)
    if element.is_float:
        return in_fp32(call, lambda *t: g.binary(op, *t), x, y)
    x, y = call.wide(x), call.wide(y)
    if element is U32 and min(g.reach(x)[0], g.reach(y)[0]) < 0:
        return in_order(g, g.binary(op, in_order(g, x), in_order(g, y)))
    return call.cast(g.binary(op, x, y), element.carrier)


def clamp(call: Call) -> Value:
    """min(max(x, low), high): where low is above high it is high."""
    element = call.inputs[1].element
    call.inputs = [
        _saturated(value, side) if side else value
        for value, side in zip(call.inputs, ("maximum", "", "minimum"), strict=True)
    ]
    low, x, high = call.operands()
    ends = [one.data for one in (call.inputs[0], call.inputs[2])]
    if element.is_float and not is_small(element) and all(e is not None and e.size and _same(e) for e in ends):
        least, most = (float(e.reshape(-1)[0]) for e in ends if e is not None)
        if least <= most:
            return call.elementwise(call.g.clamp(x, least, most), element)
    above = limited(call, "MAXIMUM", x, low, element)
    return call.elementwise(limited(call, "MINIMUM", above, high, element), element)


def _same(x: object) -> bool:
    flat = np.asarray(x).reshape(-1)
    return bool((flat == flat[0]).all())


def negate(call: Call) -> Value:
    element = call.inputs[0].element
    x = call.lean(0)
    if element.is_float:
        return call.elementwise(in_fp32(call, call.g.negate, x))
    x = call.wide(x)
    found = integer(call, "subtract", number(call.g, 0, x), x, element)
    return call.elementwise(call.wrapped(found, element))


def size(call: Call) -> Value:
    """abs: that of the least integer is itself."""
    element, g = call.inputs[0].element, call.g
    x = call.lean(0)
    if element.is_float:
        return call.elementwise(in_fp32(call, lambda t: g.unary("ABS", t), x))
    if not element.is_signed:
        return call.elementwise(x)
    x = call.wide(x)
    low = g.reach(x)[0]
    call.narrow(low, -low, element)
    found = g.unary("ABS", x) if low > types.i32.minimum else absolute(g, x)
    return call.elementwise(call.wrapped(found, element))


def sign(call: Call) -> Value:
    """-1, 0, 1; of floats with NaN and the sign of zero."""
    element, g = call.inputs[0].element, call.g
    x = call.lean(0)
    if element.is_float:
        return call.elementwise(in_fp32(call, lambda t: _float_sign(call, t), x))
    x = call.wide(x)
    if not element.is_signed:
        none = compared(g, "EQUAL", x, number(g, 0, x))
        found = chosen(g, none, number(g, 0, x), number(g, 1, x))
    else:
        found = g.binary("MINIMUM", g.binary("MAXIMUM", x, number(g, -1, x)), number(g, 1, x))
    return call.elementwise(call.cast(found, element.carrier))


def _float_sign(call: Call, x: Tensor) -> Tensor:
    g = call.g
    zero = number(g, 0.0, x)
    below = chosen(g, compared(g, "GREATER", zero, x), number(g, -1.0, x), x)
    return chosen(g, compared(g, "GREATER", x, zero), number(g, 1.0, x), below)


def power(call: Call) -> Value:
    element = call.inputs[0].element
    x, y = call.operands()
    if element.is_float:
        return call.elementwise(in_fp32(call, lambda *t: float_power(call, *t), x, y, small=False))
    return call.elementwise(_integer_power(call, call.wide(x), call.wide(y), element))


def float_power(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """|x|^y by POW with the sign of an odd power; NaN of a negative number to a broken power; 1 where y is 0 or x is 1.

    POW is unpredictable for 0 to a power below 0 and for negative numbers: those get a number that it takes.
    """
    g = call.g
    zero, one = number(g, 0.0, x), number(g, 1.0, x)
    size = g.unary("ABS", x)
    none, infinite = compared(g, "EQUAL", size, zero), compared(g, "EQUAL", size, number(g, float("inf"), x))
    safe = chosen(g, compared(g, "LOGICAL_OR", none, infinite), one, size)
    found = g.operator("POW", [safe, y], _shape(safe, y))
    rising = compared(g, "GREATER", y, number(g, 0.0, y))
    ends = [chosen(g, rising, number(g, a, x), number(g, b, x)) for a, b in ((0.0, float("inf")), (float("inf"), 0.0))]
    found = chosen(g, none, ends[0], chosen(g, infinite, ends[1], found))
    half = g.binary("MUL", y, number(g, 0.5, y))
    whole = compared(g, "EQUAL", g.unary("FLOOR", y), y)
    even = compared(g, "EQUAL", g.unary("FLOOR", half), half)
    nan = g.binary("SUB", number(g, float("inf"), x), number(g, float("inf"), x))
    negative = compared(g, "GREATER", zero, x)
    signed = chosen(g, even, found, g.negate(found))
    broken = compared(g, "LOGICAL_AND", g.unary("LOGICAL_NOT", whole), g.unary("LOGICAL_NOT", infinite))
    found = chosen(g, negative, chosen(g, broken, chosen(g, none, found, nan), signed), found)
    found = chosen(g, _is_nan(call, x), x, found)
    unit = compared(g, "LOGICAL_OR", compared(g, "EQUAL", x, one), compared(g, "EQUAL", y, number(g, 0.0, y)))
    return chosen(g, unit, one, found)


def _integer_power(call: Call, x: Tensor, y: Tensor, element: Element) -> Tensor:
    """By squares; a negative power of anything but 1 and -1 is 0."""
    g = call.g
    top = min(element.bits - element.is_signed, 31)
    most = g.reach(y)[1]
    bits = min(top, max(most, 1).bit_length()) if g.reach(y)[0] >= 0 or element.is_signed else top
    found, square = number(g, 1, x), x
    exponent = y if element.is_signed else g.binary("MAXIMUM", y, number(g, 0, y))
    for bit in range(bits):
        clear = compared(g, "EQUAL", _and(call, exponent, 1 << bit), number(g, 0, exponent))
        found = _folded(
            call, integer(call, "multiply", found, chosen(g, clear, number(g, 1, square), square), element), element
        )
        if bit + 1 < bits:
            square = _folded(call, integer(call, "multiply", square, square, element), element)
    if element.is_signed:
        unit = compared(g, "EQUAL", x, number(g, 1, x))
        back = compared(g, "EQUAL", x, number(g, -1, x))
        odd = compared(g, "EQUAL", _and(call, y, 1), number(g, 1, y))
        sided = chosen(g, odd, number(g, -1, x), number(g, 1, x))
        of_negative = chosen(g, unit, number(g, 1, x), chosen(g, back, sided, number(g, 0, x)))
        found = chosen(g, compared(g, "GREATER", number(g, 0, y), y), of_negative, found)
    return call.wrapped(found, element)


def _and(call: Call, x: Tensor, mask: int) -> Tensor:
    return call.g.operator("BITWISE_AND", [x, number(call.g, mask, x)], shape_of(x))


def _folded(call: Call, x: Tensor, element: Element) -> Tensor:
    """A product of a narrow type, brought back into its range before the next one."""
    return call.wide(call.wrapped(x, element)) if element.bits < types.i32.bits else x


OPERATORS: Final[Mapping[str, Callable[[Call], Value]]] = {
    "abs": size, "add": binary, "clamp": clamp, "divide": divide, "maximum": limit, "minimum": limit,
    "multiply": binary, "negate": negate, "power": power, "remainder": remainder, "sign": sign, "subtract": binary,
}  # fmt: skip
