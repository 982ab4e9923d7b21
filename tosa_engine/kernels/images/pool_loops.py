"""Compiled loops of MAX_POOL2D and AVG_POOL2D. A unit is one output row; vectors run over the channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...numerics import scale
from .._jit import inline, jit
from ..layout.lines import copy
from ..reductions.folds import fold_window
from ..reductions.places import SUM

if TYPE_CHECKING:
    from ...types import Array

apply_scale_32 = jit(scale.apply_scale_32)


@jit
def bit_length(value: int) -> int:
    bits = 0
    while value > 0:
        value >>= 1
        bits += 1
    return bits


@inline
def rows_of(g: Array, unit: int) -> tuple[int, int, int]:
    """(image, first row, end row) of the windows of a row of outputs, clipped to the input."""
    n = unit // g[4]
    y = (unit - n * g[4]) * g[8] - g[10]
    return n, max(0, y), min(g[1], y + g[6])


@inline
def columns_of(g: Array, ox: int) -> tuple[int, int]:
    """(first column, end column) of a window, clipped to the input."""
    column = ox * g[9] - g[11]
    return max(0, column), min(g[2], column + g[7])


@inline
def raise_to(source: Array, target: Array) -> None:
    """target = max(target, source)"""
    for i in range(len(target)):
        target[i] = max(target[i], source[i])


@jit
def max_int(x: Array, g: Array, out: Array, line: Array, low: int, high: int) -> int:
    """The maxima of all columns first, as a line, then those of neighbouring columns."""
    IH, IW, C, OW = g[1], g[2], g[3], g[5]
    for unit in range(low, high):
        n, top, bottom = rows_of(g, unit)
        source = (n * IH + top) * IW * C
        copy(x[source : source + IW * C], line)
        for y in range(top + 1, bottom):
            source = (n * IH + y) * IW * C
            raise_to(x[source : source + IW * C], line)
        for ox in range(OW):
            left, right = columns_of(g, ox)
            best = out[(unit * OW + ox) * C : (unit * OW + ox + 1) * C]
            copy(line[left * C : (left + 1) * C], best)
            for column in range(left + 1, right):
                raise_to(line[column * C : (column + 1) * C], best)
    return -1


@jit
def max_float(x: Array, g: Array, kind: int, out: Array, low: int, high: int) -> int:
    IH, IW, C, OW = g[1], g[2], g[3], g[5]
    for unit in range(low, high):
        n, top, bottom = rows_of(g, unit)
        for ox in range(OW):
            left, right = columns_of(g, ox)
            source, to = ((n * IH + top) * IW + left) * C, (unit * OW + ox) * C
            fold_window(kind, x, source, bottom - top, IW * C, right - left, C, out, to, C)
    return -1


@jit
def average_int(x: Array, g: Array, limits: Array, out: Array, sums: Array, low: int, high: int) -> int:
    """The mean over the positions inside the input, by numerics.scale.reciprocal_scale of their number."""
    IH, IW, C, OW = g[1], g[2], g[3], g[5]
    zero = limits[0]
    for unit in range(low, high):
        n, top, bottom = rows_of(g, unit)
        for ox in range(OW):
            left, right = columns_of(g, ox)
            to = (unit * OW + ox) * C
            count = (bottom - top) * (right - left)
            k = bit_length(count - 1)
            multiplier, shift = np.int64(((np.int64(1) << 30) + 1) << np.int64(k)) // count, 30 + k
            half = np.int64(1) << np.int64(shift - 1)
            # below this number of positions no sum can leave int32, or the range that the scale takes
            safe = count <= 1 << 15
            for c in range(C):
                sums[c] = 0
            for y in range(top, bottom):
                for column in range(left, right):
                    source = ((n * IH + y) * IW + column) * C
                    values = x[source : source + C]
                    for c in range(C):
                        sums[c] += np.int64(values[c]) - zero
                    if not safe:
                        for c in range(C):
                            if sums[c] > 2147483647 or sums[c] < -2147483648:
                                return int(to + c)
            for c in range(C):
                if sums[c] < -half or sums[c] >= half:
                    return int(to + c)
                value = apply_scale_32(sums[c], multiplier, shift, False) + limits[1]
                out[to + c] = min(max(value, limits[2]), limits[3])
    return -1


@jit
def average_float(x: Array, g: Array, out: Array, low: int, high: int) -> int:
    """Sums in float32 in the order ky, kx, then divided by the number of positions inside the input. Where that isn't
    finite, the sum may have left the range on the way to an average that is in it: again in float64.
    """
    IH, IW, C, OW = g[1], g[2], g[3], g[5]
    for unit in range(low, high):
        n, top, bottom = rows_of(g, unit)
        for ox in range(OW):
            left, right = columns_of(g, ox)
            to = (unit * OW + ox) * C
            sums = out[to : to + C]
            source = ((n * IH + top) * IW + left) * C
            fold_window(SUM, x, source, bottom - top, IW * C, right - left, C, out, to, C)
            count = np.float32((bottom - top) * (right - left))
            finite = True
            for c in range(C):
                sums[c] /= count
                finite &= abs(sums[c]) < np.float32(np.inf)
            if not finite:
                _average_wide(x, sums, (n * IH * IW * C, top, bottom, left, right), IW * C, C)
    return -1


@jit
def _average_wide(x: Array, out: Array, part: Array, line: int, C: int) -> None:
    start, top, bottom, left, right = part
    for c in range(C):
        total = 0.0
        for y in range(top, bottom):
            for column in range(left, right):
                total += float(x[start + y * line + column * C + c])
        out[c] = np.float32(total / ((bottom - top) * (right - left)))
