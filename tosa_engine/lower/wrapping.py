"""Integers in i32 modulo 2^32, as processors compute them: TOSA's own sums and products must not leave the range.

A sum is one operator where the intervals of the operands prove that it fits, and made of halves of 16 bits where they
don't. Numbers without sign are their bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import types
from .elementary import chosen, compared, number
from .views import shape_of

if TYPE_CHECKING:
    from ..graph import Tensor
    from .writer import Writer

    Reach = tuple[int, int]

HALF: Final = 16
LOW: Final = (1 << HALF) - 1
SIGN: Final = types.i32.minimum


def _bits(g: Writer, op: str, x: Tensor, y: Tensor, **attributes: Any) -> Tensor:
    shape = tuple(int(n) for n in np.broadcast_shapes(shape_of(x), shape_of(y)))
    return g.operator(op, [x, y], shape, **attributes)


def _low(g: Writer, x: Tensor) -> Tensor:
    return _bits(g, "BITWISE_AND", x, number(g, LOW, x))


def _high(g: Writer, x: Tensor) -> Tensor:
    """The upper half with its sign."""
    return _bits(g, "ARITHMETIC_RIGHT_SHIFT", x, number(g, HALF, x), round=False)


def _joined(g: Writer, high: Tensor, low: Tensor) -> Tensor:
    """high * 2^16 + low modulo 2^32, where the bits of `low` above the half count, too."""
    high = g.binary("ADD", high, _high(g, low))
    return _bits(g, "BITWISE_OR", _bits(g, "LOGICAL_LEFT_SHIFT", high, number(g, HALF, high)), _low(g, low))


def wrapped_sum(g: Writer, x: Tensor, y: Tensor, *, op: str = "ADD") -> Tensor:
    """x + y, or x - y for SUB, modulo 2^32."""
    return _joined(g, g.binary(op, _high(g, x), _high(g, y)), g.binary(op, _low(g, x), _low(g, y)))


def wrapped_product(g: Writer, x: Tensor, y: Tensor) -> Tensor:
    """x * y modulo 2^32: of the halves a and b of x, c and d of y it is (a * d + b * c) * 2^16 + b * d.

    b * d is made of the bytes of d; a * d and b * c count modulo 2^16, so that halves with signs do.
    """
    b, d = _low(g, x), _low(g, y)
    least = _bits(g, "BITWISE_AND", d, number(g, 255, d))
    upper = _bits(g, "LOGICAL_RIGHT_SHIFT", d, number(g, 8, d))
    middle = g.binary("MUL", b, upper)
    kept = _bits(g, "BITWISE_AND", middle, number(g, 255, middle))
    low = g.binary("ADD", g.binary("MUL", b, least), _bits(g, "LOGICAL_LEFT_SHIFT", kept, number(g, 8, kept)))
    carried = _bits(g, "LOGICAL_RIGHT_SHIFT", middle, number(g, 8, middle))
    crossed = g.binary("ADD", _low(g, _cross(g, x, d)), _low(g, _cross(g, y, b)))
    return _joined(g, g.binary("ADD", carried, crossed), low)


def _cross(g: Writer, x: Tensor, half: Tensor) -> Tensor:
    """The upper half of x by a lower half, whose highest bit is read as a sign."""
    shifted = _bits(g, "LOGICAL_LEFT_SHIFT", half, number(g, HALF, half))
    return g.binary("MUL", _high(g, x), _high(g, shifted))


def wrapped_total(g: Writer, x: Tensor, axis: int) -> Tensor:
    """REDUCE_SUM modulo 2^32 over at most 2^15 elements."""
    return _joined(g, g.reduce("REDUCE_SUM", _high(g, x), axis), g.reduce("REDUCE_SUM", _low(g, x), axis))


def in_order(g: Writer, x: Tensor) -> Tensor:
    """Numbers without sign as numbers with one in the same order."""
    return _bits(g, "BITWISE_XOR", x, number(g, SIGN, x))


def absolute(g: Writer, x: Tensor) -> Tensor:
    """The size modulo 2^32: that of the least number is itself."""
    zero = number(g, 0, x)
    return chosen(g, compared(g, "GREATER", zero, x), wrapped_sum(g, zero, x, op="SUB"), x)


def divided(g: Writer, x: Tensor, y: Tensor) -> Tensor:
    """x / y with signs, towards zero; -1 where y is 0, and modulo 2^32."""
    none, back = (compared(g, "EQUAL", y, number(g, value, y)) for value in (0, -1))
    safe = chosen(g, compared(g, "LOGICAL_OR", none, back), number(g, 1, y), y)
    found = _bits(g, "INTDIV", x, safe)
    found = chosen(g, back, wrapped_sum(g, number(g, 0, found), found, op="SUB"), found)
    return chosen(g, none, number(g, -1, found), found)


def divided_unsigned(g: Writer, x: Tensor, y: Tensor) -> Tensor:
    """x / y of numbers without sign; all bits where y is 0.

    Half of x is a number with sign: twice its quotient is at most 1 too small. A divisor of 2^31 and more goes 0 or 1
    times.
    """
    none, great = compared(g, "EQUAL", y, number(g, 0, y)), compared(g, "GREATER", number(g, 0, y), y)
    safe = chosen(g, compared(g, "LOGICAL_OR", none, great), number(g, 1, y), y)
    half = _bits(g, "LOGICAL_RIGHT_SHIFT", x, number(g, 1, x))
    twice = _bits(g, "INTDIV", half, safe)
    twice = _bits(g, "LOGICAL_LEFT_SHIFT", twice, number(g, 1, twice))
    rest = wrapped_sum(g, x, wrapped_product(g, twice, safe), op="SUB")
    more = compared(g, "GREATER_EQUAL", in_order(g, rest), in_order(g, safe))
    one, zero = number(g, 1, twice), number(g, 0, twice)
    found = wrapped_sum(g, twice, chosen(g, more, one, zero))
    once = compared(g, "GREATER_EQUAL", in_order(g, x), in_order(g, y))
    found = chosen(g, great, chosen(g, once, one, zero), found)
    return chosen(g, none, number(g, -1, found), found)
