"""Compiled loops that sum in 64 bits, in the specification's order, testing every partial sum: for int48 accumulators,
and for int8 operators whose int32 accumulators can't be proved never to overflow.

Each returns -1, or the flat index of the first output element (of its units) for which a REQUIRE fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import jit

if TYPE_CHECKING:
    from ...types import Array


@jit
def conv(x: Array, weight: Array, bias: Array, g: Array, out: Array, low: int, high: int) -> int:
    """CONV2D; a unit is one output position (n, oy, ox)."""
    IH, IW, IC, OH, OW, OC, KH, KW = g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8]
    zero, limit, checked = g[15], g[16], g[17] != 0
    zero32 = np.int32(zero)
    for unit in range(low, high):
        n, oy, ox = unit // OW // OH, unit // OW % OH, unit % OW
        for oc in range(OC):
            acc = np.int64(0)
            bad = False
            for ky in range(KH):
                y = oy * g[9] - g[13] + ky * g[11]
                if y < 0 or y >= IH:
                    continue
                for kx in range(KW):
                    column = ox * g[10] - g[14] + kx * g[12]
                    if column < 0 or column >= IW:
                        continue
                    left, right = ((n * IH + y) * IW + column) * IC, ((oc * KH + ky) * KW + kx) * IC
                    if checked:
                        for ic in range(IC):
                            acc += (np.int64(x[left + ic]) - zero) * np.int64(weight[right + ic])
                            bad |= acc > limit or acc < -limit - 1
                    else:
                        values, weights = x[left : left + IC], weight[right : right + IC]
                        for ic in range(IC):
                            acc += np.int64(np.int32(np.int32(values[ic]) - zero32) * weights[ic])
            acc += bias[oc]
            if bad or acc > limit or acc < -limit - 1:
                return int(unit * OC + oc)
            out[unit * OC + oc] = acc
    return -1


@jit
def depthwise(x: Array, weight: Array, bias: Array, g: Array, out: Array, low: int, high: int) -> int:
    """DEPTHWISE_CONV2D; a unit is one output position (n, oy, ox)."""
    IH, IW, C, OH, OW, M, KH, KW = g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8]
    zero, limit = g[15], g[16]
    for unit in range(low, high):
        n, oy, ox = unit // OW // OH, unit // OW % OH, unit % OW
        for c in range(C):
            for m in range(M):
                acc = np.int64(0)
                bad = False
                for ky in range(KH):
                    y = oy * g[9] - g[13] + ky * g[11]
                    if y < 0 or y >= IH:
                        continue
                    for kx in range(KW):
                        column = ox * g[10] - g[14] + kx * g[12]
                        if column < 0 or column >= IW:
                            continue
                        value = np.int64(x[((n * IH + y) * IW + column) * C + c]) - zero
                        acc += value * np.int64(weight[((ky * KW + kx) * C + c) * M + m])
                        bad |= acc > limit or acc < -limit - 1
                acc += bias[c * M + m]
                at = (unit * C + c) * M + m
                if bad or acc > limit or acc < -limit - 1:
                    return int(at)
                out[at] = acc
    return -1


@jit
def matmul(x: Array, y: Array, g: Array, out: Array, sums: Array, low: int, high: int) -> int:
    """MATMUL; a unit is one row (n, h), whose W sums grow together in the order of c."""
    H, W, C, zero, limit = g[1], g[2], g[3], g[5], g[6]
    for unit in range(low, high):
        first_bad = np.int64(-1)
        for w in range(W):
            sums[w] = 0
        for c in range(C):
            left = np.int64(x[unit * C + c]) - g[4]
            row = (unit // H * C + c) * W
            values = y[row : row + W]
            bad = False
            for w in range(W):
                sums[w] += left * (np.int64(values[w]) - zero)
                bad |= sums[w] > limit or sums[w] < -limit - 1
            if bad:
                for w in range(W):
                    if (sums[w] > limit or sums[w] < -limit - 1) and (first_bad < 0 or w < first_bad):
                        first_bad = np.int64(w)
        if first_bad >= 0:
            return int(unit * W + first_bad)
        for w in range(W):
            out[unit * W + w] = sums[w]
    return -1
