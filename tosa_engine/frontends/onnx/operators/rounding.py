"""Rounding, and remainders of quotients that are rounded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....lower import elementary as lower
from ....lower.layout import tiled
from ....lower.views import shape_of
from ..writer import value_of
from .elementwise import less, numbers, result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ....lower.writer import Writer
    from ..call import Call
    from ..values import Value


def remainder(call: Call) -> Value:
    """x - y * q; q rounds towards zero with `fmod`, down without it."""
    g, (x, y) = call.g, numbers(call, 0, 1)
    shape = tuple(np.broadcast_shapes(shape_of(x), shape_of(y)))
    towards_zero = bool(call.attribute("fmod", 0))
    if not call.element().is_integer:
        return result(call, _remainder_of_floats(g, x, y, towards_zero=towards_zero))
    rest = g.binary("SUB", x, g.binary("MUL", y, g.operator("INTDIV", [x, y], shape)))
    if towards_zero:
        return result(call, rest, fits=True)
    zero = lower.number(g, 0, rest)
    differ = g.operator("LOGICAL_XOR", [less(g, rest, zero), less(g, y, zero)], shape, types.bool_)
    some = g.unary("LOGICAL_NOT", lower.compared(g, "EQUAL", rest, zero))
    wrong = lower.compared(g, "LOGICAL_AND", differ, some)
    return result(call, lower.chosen(g, wrong, g.binary("ADD", rest, y), rest), fits=True)


def _remainder_of_floats(g: Writer, x: Tensor, y: Tensor, *, towards_zero: bool) -> Tensor:
    """|x| - |y| * floor(|x| / |y|), brought between 0 and |y|, since the quotient may be one too large or too small.

    A finite number keeps its value modulo infinity.
    """
    size, step = g.unary("ABS", x), g.unary("ABS", y)
    endless = lower.compared(g, "EQUAL", step, lower.number(g, math.inf, step))
    quotient = g.unary("FLOOR", lower.division(g, size, step))
    rest = g.binary("SUB", size, g.binary("MUL", step, quotient))
    rest = lower.chosen(g, less(g, rest, lower.number(g, 0.0, rest)), g.binary("ADD", rest, step), rest)
    rest = lower.chosen(g, lower.compared(g, "GREATER_EQUAL", rest, step), g.binary("SUB", rest, step), rest)
    kept = lower.chosen(g, less(g, size, step), _spread(g, size, rest), rest)
    rest = lower.chosen(g, endless, kept, rest)
    zero = lower.number(g, 0.0, rest)
    signed = lower.chosen(g, less(g, x, zero), g.negate(rest), rest)
    if towards_zero:
        return signed
    differ = g.operator("LOGICAL_XOR", [less(g, x, zero), less(g, y, zero)], shape_of(rest), types.bool_)
    some = g.unary("LOGICAL_NOT", lower.compared(g, "EQUAL", rest, zero))
    return lower.chosen(g, lower.compared(g, "LOGICAL_AND", differ, some), g.binary("ADD", signed, y), signed)


def _spread(g: Writer, x: Tensor, like: Tensor) -> Tensor:
    return tiled(g, x, [n // m for m, n in zip(shape_of(x), shape_of(like), strict=True)])


def truncated(g: Writer, x: Tensor, *, towards_zero: bool = True) -> Tensor:
    """Floats without their fraction."""
    down = g.unary("FLOOR", x)
    if not towards_zero:
        return down
    negative = less(g, x, lower.number(g, 0.0, x))
    return lower.chosen(g, negative, g.unary("CEIL", x), down)


def rounded(call: Call) -> Value:
    """Halves go to the even neighbour."""
    return value_of(to_even(call.g, call.tensor(0)), call.element())


def to_even(g: Writer, x: Tensor) -> Tensor:
    """floor(x + 1/2), one less where a half went up to an odd number."""
    up = g.unary("FLOOR", lower.plus(g, x, 0.5))
    half = lower.compared(g, "EQUAL", g.binary("SUB", up, x), lower.number(g, 0.5, x))
    even = lower.times(g, g.unary("FLOOR", lower.times(g, up, 0.5)), 2.0)
    odd = g.unary("LOGICAL_NOT", lower.compared(g, "EQUAL", even, up))
    near = lower.chosen(g, lower.compared(g, "LOGICAL_AND", half, odd), lower.plus(g, up, -1.0), up)
    large = lower.compared(g, "GREATER", g.unary("ABS", x), lower.number(g, float(1 << 22), x))
    return lower.chosen(g, large, x, near)


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {"Mod": remainder, "Round": rounded}
