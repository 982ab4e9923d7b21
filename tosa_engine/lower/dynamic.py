"""Quantization to 8 bits with a scale that follows from the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .elementary import chosen, compared, exact_division, number, round_even
from .reductions import reduced
from .views import shape_of

if TYPE_CHECKING:
    from ..graph import Tensor
    from .writer import Writer

STEPS = 255


class Quantized(NamedTuple):
    """Steps from 0 to 255, the scale and the zero point, which are 0 to 255, too: floats; the last two have extents
    of 1.
    """

    steps: Tensor
    scale: Tensor
    zero_point: Tensor


def quantized(g: Writer, x: Tensor) -> Quantized:
    """The range of the whole tensor, which holds 0; halves go to even steps."""
    axes, zero = range(len(shape_of(x))), number(g, 0.0, x)
    low = g.binary("MINIMUM", reduced(g, "REDUCE_MIN", x, axes), zero)
    high = g.binary("MAXIMUM", reduced(g, "REDUCE_MAX", x, axes), zero)
    scale = exact_division(g, g.binary("SUB", high, low), number(g, float(STEPS), x))
    flat = compared(g, "EQUAL", scale, zero)
    divisor = chosen(g, flat, number(g, 1.0, x), scale)
    offset = round_even(g, g.clamp(exact_division(g, g.negate(low), divisor), 0.0, float(STEPS)))
    steps = g.binary("ADD", round_even(g, exact_division(g, x, divisor)), offset)
    return Quantized(g.clamp(steps, 0.0, float(STEPS)), scale, offset)


def rounded(g: Writer, x: Tensor) -> Tensor:
    """What the steps stand for, as floats."""
    found = quantized(g, x)
    return g.binary("MUL", g.binary("SUB", found.steps, found.zero_point), found.scale)
