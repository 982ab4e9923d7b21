"""Windows over one row: four neighbouring columns of the row take the place of the four rows of a quad.

The quad at a column then holds what the kernel's positions 4 * j .. 4 * j + 3 need there, so that a row of K positions
takes a quarter of the products that it would take with three empty rows in every quad. The row is copied first, with
its padding, and is read from four places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import places as at
from .places import ROWS

if TYPE_CHECKING:
    from ...spec.table import Call
    from ...types import Array


def is_row(call: Call) -> bool:
    row = (call.KH, call.IH, call.OH, call.M, call.pad_top) == (1, 1, 1, 1, 0)
    return row and call.KW > 1 and call.C >= at.WIDTHS[0]


def geometry_of_row(call: Call) -> tuple[dict[int, int], list[int]]:
    """As `packing.geometry`, of the kernel that `kernel_of_row` makes."""
    taps, step, apart = -(-call.KW // ROWS), call.stride_x, ROWS * call.dilation_x
    columns = (call.OW - 1) * step + (taps - 1) * apart + 1
    plane = -(-columns // step)
    distances = [j * apart % step * plane + j * apart // step for j in range(taps)]
    copied = columns + (ROWS - 1) * call.dilation_x
    before = min(call.pad_left, copied)
    g = {
        at.IN_HEIGHT: 1, at.IN_WIDTH: copied, at.DEPTH: call.C, at.REPEAT: 1, at.HEIGHT: 1, at.WIDTH: call.OW,
        at.CHANNELS: call.C, at.TOP: 0, at.LEFT: 0, at.STEP_Y: 1, at.STEP_X: step, at.ROW_STEP: 1, at.REACH: ROWS,
        at.QUADS: 1, at.COLUMNS: columns, at.PLANE: plane, at.TAPS: taps, at.LINES: 1, at.BLOCKS: 1, at.CODE: 0,
        at.APART: call.dilation_x, at.BEFORE: before, at.LENGTH: min(call.IW, copied - before),
        at.ROW_BYTES: call.IW * call.C,
    }  # fmt: skip
    return g, distances


def kernel_of_row(weight: Array) -> Array:
    """[1, K, C] as [row, tap, C]: position row + ROWS * tap of the kernel, or zeros."""
    taps = -(-weight.shape[1] // ROWS)
    padded = np.zeros((taps * ROWS, weight.shape[2]), weight.dtype)
    padded[: weight.shape[1]] = weight[0]
    return padded.reshape(taps, ROWS, -1).transpose(1, 0, 2)
