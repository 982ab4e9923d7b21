"""Softmax over any axes, and batch normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types
from .composites import grouped
from .elementary import division
from .problems import Misfit
from .views import shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
    from .writer import Writer


FEW: Final = 16  # addends of bf16 that are rounded one after the other


def softmax(g: Writer, x: Tensor, axes: Sequence[int]) -> Tensor:
    """exp(x - max) / sum, over all `axes` together.

    A sum of few bf16 is rounded to bf16 at each addition, as sums of that type are; one of more is rounded once.
    """
    if len(axes) == 1 and x.dtype is types.fp32:
        return grouped(g, "softmax", x, axis=axes[0])
    most = x
    for axis in axes:
        most = g.reduce("REDUCE_MAX", most, axis)
    total = exponentials = g.unary("EXP", g.binary("SUB", x, most))
    for axis in axes:
        total = _added(g, total, axis) if x.dtype is types.bf16 else g.reduce("REDUCE_SUM", total, axis)
    return division(g, exponentials, total)


def _added(g: Writer, x: Tensor, axis: int) -> Tensor:
    count = shape_of(x)[axis]
    if count > FEW:
        return g.reduce("REDUCE_SUM", x, axis)
    total = g.section(x, axis, 0, 1)
    for i in range(1, count):
        total = g.binary("ADD", total, g.section(x, axis, i, 1))
    return total


def normalized(
    g: Writer, x: Tensor, mean: Tensor, variance: Tensor, offset: Tensor, scale: Tensor, *, epsilon: float
) -> Tensor:
    """offset + scale * (x - mean) / sqrt(variance + epsilon), of tensors of one rank that broadcast."""
    root = g.unary("RSQRT", g.binary("ADD", variance, g.scalar(epsilon, rank=len(shape_of(x)))))
    scaled = g.binary("MUL", g.binary("MUL", scale, root), g.binary("SUB", x, mean))
    return g.binary("ADD", offset, scaled)


def normalized_by_constants(
    g: Writer, x: Tensor, mean: Tensor, variance: Tensor, offset: Tensor, scale: Tensor, *, epsilon: float
) -> Tensor:
    """The same of constant parameters, as x * k + (offset - mean * k): k and the sum in double precision."""
    found = [t.data.astype(np.float64) for t in (mean, variance, offset, scale) if t.data is not None]
    means, variances, offsets, scales = found
    spread = variances + epsilon
    if not (spread > 0).all():
        raise Misfit("variance + epsilon isn't positive everywhere")
    gain = scales / np.sqrt(spread)
    shift = offsets - means * gain
    scaled = g.binary("MUL", x, g.const(gain, types.fp32, "gain"))
    return g.binary("ADD", scaled, g.const(shift, types.fp32, "offset"))
