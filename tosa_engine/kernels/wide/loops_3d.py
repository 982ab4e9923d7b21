"""Compiled loops of CONV3D and TRANSPOSE_CONV2D in 64-bit sums, in the specification's order, every partial sum tested.

A unit is one output position. Each returns -1, or the flat index of the first output element (of its units) for which a
REQUIRE fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import inline, jit

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Number


@inline
def add_products(x: Array, weight: Array, zero: Number, limit: Number, acc: Number) -> tuple[Number, bool]:
    """acc plus the products over the channels, and whether a partial sum was beyond the limit."""
    bad = False
    for i in range(len(x)):
        acc += (np.int64(x[i]) - zero) * np.int64(weight[i])
        bad |= acc > limit or acc < -limit - 1
    return acc, bad


@jit
def conv3d(x: Array, weight: Array, bias: Array, g: Array, out: Array, low: int, high: int) -> int:
    ID, IH, IW, IC, OD, OH, OW, OC = g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]
    KD, KH, KW, zero, limit = g[8], g[9], g[10], g[20], g[21]
    for unit in range(low, high):
        n, od, oy, ox = unit // OW // OH // OD, unit // OW // OH % OD, unit // OW % OH, unit % OW
        for oc in range(OC):
            acc, bad = np.int64(0), False
            for tap in range(KD * KH * KW):
                d = od * g[11] - g[17] + tap // KW // KH * g[14]
                y = oy * g[12] - g[18] + tap // KW % KH * g[15]
                column = ox * g[13] - g[19] + tap % KW * g[16]
                if d < 0 or d >= ID or y < 0 or y >= IH or column < 0 or column >= IW:
                    continue
                left, right = (((n * ID + d) * IH + y) * IW + column) * IC, (oc * KD * KH * KW + tap) * IC
                acc, wrong = add_products(x[left : left + IC], weight[right : right + IC], zero, limit, acc)
                bad |= wrong
            acc += bias[oc]
            if bad or acc > limit or acc < -limit - 1:
                return int(unit * OC + oc)
            out[unit * OC + oc] = acc
    return -1


@jit
def transpose_conv2d(x: Array, weight: Array, bias: Array, g: Array, out: Array, low: int, high: int) -> int:
    IH, IW, IC, OH, OW, OC, KH, KW = g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]
    stride_y, stride_x, zero, limit = g[8], g[9], g[12], g[13]
    for unit in range(low, high):
        n, top, first = unit // OW // OH, unit // OW % OH - g[10], unit % OW - g[11]
        for oc in range(OC):
            acc, bad = np.int64(0), False
            for ky in range(top % stride_y, KH, stride_y):  # kernel positions that meet input positions
                y = (top - ky) // stride_y
                if y < 0 or y >= IH:
                    continue
                for kx in range(first % stride_x, KW, stride_x):
                    column = (first - kx) // stride_x
                    if column < 0 or column >= IW:
                        continue
                    left, right = ((n * IH + y) * IW + column) * IC, ((oc * KH + ky) * KW + kx) * IC
                    acc, wrong = add_products(x[left : left + IC], weight[right : right + IC], zero, limit, acc)
                    bad |= wrong
            acc += bias[oc]
            if bad or acc > limit or acc < -limit - 1:
                return int(unit * OC + oc)
            out[unit * OC + oc] = acc
    return -1
