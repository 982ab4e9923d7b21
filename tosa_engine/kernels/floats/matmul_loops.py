"""Compiled loops of MATMUL of floats. Sums are in the order of c."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .._jit import jit
from ..layout.lines import copy, fill
from ..scale.places import NR
from ..tile.geometry import BLOCK, BLOCKS, CHANNELS, DEPTH, GROUPS, HEIGHT, IN_PLACE, PACKED, PITCH, STRIPE
from ..tile.loops import group_panels, straight
from .fma import fma
from .tile import clip, tile_width, tiles

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.variants import Variant

STEPS: Final = 4  # of c that `few_rows` takes before it stores sums


@jit
def pack_panels(y: Array, source: int, depth: int, width: int, columns: int, panels: int, b: Array) -> None:
    """Panels of a matrix [depth, width] from `source` on; missing columns are zeros."""
    size = depth * NR
    whole = columns // NR
    if whole < panels:
        fill(np.float32(0.0), b[whole * size : panels * size])
    for k in range(depth):
        at = source + k * width
        for p in range(min(whole, panels)):
            row, panel = y[at + p * NR : at + (p + 1) * NR], b[p * size + k * NR : p * size + (k + 1) * NR]
            for j in range(NR):
                panel[j] = row[j]
        if whole < panels:
            rest, to = columns - whole * NR, whole * size + k * NR
            copy(y[at + whole * NR : at + columns], b[to : to + rest])


@jit
def matmul(
    simd: Variant, x: Array, y: Array, g: Array, offsets: Array, bias: Array, limits: Array, out: Array, rows: Array,
    a: Array, b: Array, low: int, high: int,
) -> int:  # fmt: skip
    """A unit is one batch, a block of rows and a group of column panels, which it packs itself.

    Rows are read in place, or from copies at other distances: those at multiples of 4096 bytes share the lines of the
    first-level cache.
    """
    height, width, depth = g[HEIGHT], g[CHANNELS], g[DEPTH]
    size = depth * NR
    for unit in range(low, high):
        group, block, batch = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS], unit // g[GROUPS] // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], height - first)
        source = x if g[IN_PLACE] else a
        if unit == low or group == 0:
            start = (batch * height + first) * depth
            straight(start if g[IN_PLACE] else 0, g[PITCH], lines, rows)
            for r in range(0 if g[IN_PLACE] else lines):
                copy(x[start + r * depth : start + (r + 1) * depth], a[r * g[PITCH] : r * g[PITCH] + depth])
        stripe, end = group_panels(simd, g, group)
        while stripe < end:
            panel, behind = stripe, min(end, stripe + g[STRIPE])
            column = stripe * NR
            columns = min(width - column, (behind - stripe) * NR)
            if g[PACKED]:
                pack_panels(y, batch * depth * width + column, depth, width, columns, behind - stripe, b)
            while panel < behind:
                across, column = tile_width(simd, lines, behind - panel), panel * NR
                to = (batch * height + first) * width + column
                if g[PACKED]:
                    tiles(
                        simd, source, rows, lines, b, (panel - stripe) * size, size, NR, across, offsets, depth, bias,
                        column, limits, out, to, width, width - column,
                    )  # fmt: skip
                else:
                    tiles(
                        simd, source, rows, lines, y, batch * depth * width + column, NR, width, across, offsets, depth,
                        bias, column, limits, out, to, width, width - column,
                    )  # fmt: skip
                panel += across
            stripe = behind
    return -1


@jit
def few_rows(simd: Variant, x: Array, y: Array, g: Array, limits: Array, out: Array, low: int, high: int) -> int:
    """Where packing isn't worth it: a unit is one batch and BLOCK columns, whose sums stay in the first-level cache."""
    height, width, depth = g[HEIGHT], g[CHANNELS], g[DEPTH]
    for unit in range(low, high):
        block, batch = unit % g[BLOCKS], unit // g[BLOCKS]
        first = block * g[BLOCK]
        columns = min(g[BLOCK], width - first)
        source, left, to = batch * depth * width + first, batch * height * depth, batch * height * width + first
        for r in range(height):
            fill(np.float32(0.0), out[to + r * width : to + r * width + columns])
        for k in range(0, depth - STEPS + 1, STEPS):
            at = source + k * width
            y0, y1, y2, y3 = y[at:], y[at + width :], y[at + 2 * width :], y[at + 3 * width :]
            for r in range(height):
                values, sums = x[left + r * depth + k :], out[to + r * width : to + r * width + columns]
                x0, x1, x2, x3 = values[0], values[1], values[2], values[3]
                for j in range(columns):
                    total = fma(simd, x1, y1[j], fma(simd, x0, y0[j], sums[j]))
                    sums[j] = fma(simd, x3, y3[j], fma(simd, x2, y2[j], total))
        for k in range(depth - depth % STEPS, depth):
            row = y[source + k * width :]
            for r in range(height):
                value, sums = x[left + r * depth + k], out[to + r * width : to + r * width + columns]
                for j in range(columns):
                    sums[j] = fma(simd, value, row[j], sums[j])
        for r in range(height):
            sums = out[to + r * width : to + r * width + columns]
            for j in range(columns):
                sums[j] = clip(sums[j] + np.float32(0.0), limits[0], limits[1])
    return -1
