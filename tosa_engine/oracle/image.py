"""What image operators compute (specification 2.12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arith import IEEE, narrow, wide

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def _positions(inputs: int, outputs: int, n: int, d: int, offset: int) -> tuple[Array, Array, Array]:
    """For the output positions of one axis: the input positions before and after, and n times the way between them."""
    place = np.arange(outputs, dtype=np.int64) * d + offset
    index = place // n  # towards minus infinity, from -1 on
    return np.maximum(index, 0), np.minimum(index + 1, inputs - 1), place - index * n


def resize(call: Call, input: Array, scale: Array, offset: Array, border: Array) -> Array:
    """Input [N,IH,IW,C] sampled every scale_d / scale_n from offset / scale_n on.

    NEAREST: the later of two neighbours from half the way on. BILINEAR: the sum of four neighbours times their
    weights; weights of integers are in units of 1 / (scale_y_n * scale_x_n) and the sum isn't divided by that; floats
    are computed in fp64 and rounded once.
    """
    y_n, y_d, x_n, x_d = (int(v) for v in scale)
    iy0, iy1, dy = _positions(call.IH, call.OH, y_n, y_d, int(offset[0]))
    ix0, ix1, dx = _positions(call.IW, call.OW, x_n, x_d, int(offset[1]))
    if call.mode == "NEAREST":
        iy, ix = np.where(2 * dy >= y_n, iy1, iy0), np.where(2 * dx >= x_n, ix1, ix0)
        return input[:, iy[:, None], ix]
    unit_y, unit_x = y_n, x_n
    if call.in_t.is_float:
        dy, dx, unit_y, unit_x = dy / y_n, dx / x_n, 1, 1
    dy, dx = dy[:, None, None], dx[:, None]
    values = wide(input)
    with np.errstate(**IEEE):
        acc = values[:, iy0[:, None], ix0] * (unit_y - dy) * (unit_x - dx)
        acc += values[:, iy0[:, None], ix1] * (unit_y - dy) * dx
        acc += values[:, iy1[:, None], ix0] * dy * (unit_x - dx)
        acc += values[:, iy1[:, None], ix1] * dy * dx
    return narrow(acc, call.out_t)


ORACLES = {"RESIZE": resize}
