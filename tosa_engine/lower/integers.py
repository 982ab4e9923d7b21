"""Integers in i32: shifts by any amount, powers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import types
from .elementary import chosen, compared, number, plus
from .views import shape_of

if TYPE_CHECKING:
    from ..graph import Tensor
    from .writer import Writer

WORD: Final = 32


def shifted_left(g: Writer, x: Tensor, amount: Tensor) -> Tensor:
    """Modulo 2^32; nothing is left where the amount is negative or 32 and more."""
    shifted = _by_bits(g, "LOGICAL_LEFT_SHIFT", x, _limited(g, amount))
    return chosen(g, _inside(g, amount), shifted, number(g, 0, shifted))


def shifted_right(g: Writer, x: Tensor, amount: Tensor, *, signed: bool) -> Tensor:
    """A negative amount, or one of 32 and more, leaves the sign alone, or nothing of numbers without one."""
    if signed:
        every = chosen(g, _inside(g, amount), amount, number(g, WORD - 1, amount))
        return _by_bits(g, "ARITHMETIC_RIGHT_SHIFT", x, every, round=False)
    shifted = _by_bits(g, "LOGICAL_RIGHT_SHIFT", x, _limited(g, amount))
    return chosen(g, _inside(g, amount), shifted, number(g, 0, shifted))


def _by_bits(g: Writer, op: str, x: Tensor, amount: Tensor, **attributes: Any) -> Tensor:
    shape = tuple(int(n) for n in np.broadcast_shapes(shape_of(x), shape_of(amount)))
    return g.operator(op, [x, amount], shape, **attributes)


def _inside(g: Writer, amount: Tensor) -> Tensor:
    positive = compared(g, "GREATER_EQUAL", amount, number(g, 0, amount))
    return compared(g, "LOGICAL_AND", positive, compared(g, "GREATER", number(g, WORD, amount), amount))


def _limited(g: Writer, amount: Tensor) -> Tensor:
    return g.binary("MINIMUM", g.binary("MAXIMUM", amount, number(g, 0, amount)), number(g, WORD - 1, amount))


def tested(g: Writer, x: Tensor, low: int, high: int) -> Tensor:
    """x itself, which every run tests to lie in low .. high: REQUIREs of sums that go to the ends of int32 and back."""
    most, least = types.i32.maximum, types.i32.minimum
    above, below = most - high, low - least
    for amount in (above, -above, -below, below):
        count = -(-abs(amount) // most)
        for i in range(count):
            x = plus(g, x, amount * (i + 1) // count - amount * i // count)
    return x


def constant_power(g: Writer, x: Tensor, exponent: int) -> Tensor:
    """x to a power >= 0 that is constant, by products of squares; of integers and floats."""
    if not exponent:
        return g.const(np.ones(shape_of(x)), x.dtype)
    found = x
    for bit in bin(exponent)[3:]:
        found = g.binary("MUL", found, found)
        found = g.binary("MUL", found, x) if bit == "1" else found
    return found


def power(g: Writer, x: Tensor, exponent: Tensor, bits: int) -> Tensor:
    """x to powers of less than 2^bits, modulo 2^32; a negative power of anything but 1 and -1 is 0."""
    size = g.unary("ABS", exponent)
    found, square = number(g, 1, x), x
    for bit in range(bits):
        clear = compared(g, "EQUAL", _by_bits(g, "BITWISE_AND", size, number(g, 1 << bit, size)), number(g, 0, size))
        found = g.binary("MUL", found, chosen(g, clear, number(g, 1, square), square))
        if bit + 1 < bits:
            square = g.binary("MUL", square, square)
    unit = compared(g, "EQUAL", g.unary("ABS", x), number(g, 1, x))
    positive = compared(g, "GREATER_EQUAL", exponent, number(g, 0, exponent))
    return chosen(g, compared(g, "LOGICAL_OR", positive, unit), found, number(g, 0, found))
