"""Bits of integers, shifts, and powers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....lower import elementary as lower
from ....lower import integers
from ....lower.views import shape_of
from .elementwise import numbers, result
from .rounding import truncated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call
    from ..values import Value

MOST_PRODUCTS: Final = 4  # the exponent up to which powers of floats are products


def bits(op: str) -> Callable[[Call], Value]:
    def operator(call: Call) -> Value:
        x, y = numbers(call, 0, 1)
        shape = tuple(int(n) for n in np.broadcast_shapes(shape_of(x), shape_of(y)))
        return result(call, call.g.operator(op, [x, y], shape))

    return operator


def bitwise_not(call: Call) -> Value:
    return result(call, call.g.unary("BITWISE_NOT", call.wide(0)))


def shift(call: Call) -> Value:
    """Bits beyond the type are lost. An amount that is negative, or the width and more, moves all bits out."""
    x, amount = numbers(call, 0, 1)
    if call.attributes["direction"] == "LEFT":
        return result(call, integers.shifted_left(call.g, x, amount))
    return result(call, integers.shifted_right(call.g, x, amount, signed=call.element().minimum < 0))


def power(call: Call) -> Value:
    """Of floats POW, products or roots; of integers products, by squares where the exponent is data."""
    g, element, exponent = call.g, call.element(), call.value(1)
    if exponent.data is not None and exponent.data.size == 1:
        number = float(exponent.data.reshape(-1)[0])
        x = call.wide(0) if element.is_integer else call.tensor(0)
        x = call.operands(x, g.const(np.zeros(exponent.shape), x.dtype))[0]
        if number.is_integer() and 0 <= number <= (integers.WORD if element.is_integer else MOST_PRODUCTS):
            return result(call, integers.constant_power(g, x, int(number)))
        if not element.is_integer:
            return result(call, lower.power(g, x, number))
    if element.is_integer:
        return result(call, _power_of_integers(call))
    y = call.tensor(1) if exponent.element.is_float else call.cast(call.wide(1), types.fp32)
    return result(call, g.binary("POW", *call.operands(call.tensor(0), call.cast(y, call.tensor(0).dtype))))


def _power_of_integers(call: Call) -> Tensor:
    """With exponents that are floats, those that are whole are exact, the others POW without its fraction."""
    g, kind = call.g, call.element(1)
    if kind.is_integer:
        x, y = call.operands(call.wide(0), call.wide(1))
        return integers.power(g, x, y, min(kind.maximum.bit_length(), integers.WORD - 1))
    x, y = call.operands(call.wide(0), call.cast(call.tensor(1), types.fp32))
    whole = integers.power(g, x, call.cast(g.unary("FLOOR", y), types.i32), integers.WORD - 1)
    broken = call.cast(truncated(g, g.binary("POW", call.cast(x, types.fp32), y)), types.i32)
    return lower.chosen(g, lower.compared(g, "EQUAL", g.unary("FLOOR", y), y), whole, broken)


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "BitShift": shift,
    "BitwiseAnd": bits("BITWISE_AND"),
    "BitwiseNot": bitwise_not,
    "BitwiseOr": bits("BITWISE_OR"),
    "BitwiseXor": bits("BITWISE_XOR"),
    "Pow": power,
}
