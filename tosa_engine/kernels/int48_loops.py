"""Compiled loops of int16 convolutions with int48 accumulators, on the int16 tile.

The tile adds up in int32. K is cut into chunks of steps, few enough that no sum of a chunk can leave int32 whatever the
input; the chunks' sums are added in int64. The caller has proved that, and that the results are values of int48.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._jit import few_of, inline, jit, panels_of, rows_of
from .geometry import (
    BLOCK,
    BLOCKS,
    CHANNELS,
    FIRST_Y,
    GROUPS,
    HEIGHT,
    JUMP_Y,
    PANELS,
    SEGMENTS,
    STEP_Y,
    STEPS,
    TAIL,
    WIDTH,
)
from .scale import NR
from .tensor_loops import add, add_bias, fill, group_panels, pack_block, pack_rows, row_starts
from .tile import sums_pairs
from .windows import MR, window_rows


@inline
def accumulate(part: Any, sums: Any) -> None:
    for i in range(len(sums)):
        sums[i] += np.int64(part[i])


@jit
def conv(
    simd: Any,
    x: Any,
    b: Any,
    g: Any,
    offsets: Any,
    chunk: int,
    bias: Any,
    out: Any,
    a: Any,
    rows: Any,
    c: Any,
    sums: Any,
    low: int,
    high: int,
) -> int:
    """CONV2D; `chunk` is the number of steps whose sums fit int32."""
    size = g[STEPS] * 2 * NR
    for unit in range(low, high):
        group, block = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS]
        image = unit // g[GROUPS] // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], g[HEIGHT] - first)
        pixels = lines * g[WIDTH]
        if unit == low or group == 0:
            pack_block(x, g, image, first, lines, a)
            row_starts(g, pixels, rows)
        base = (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS]
        panel, end = group_panels(simd, g, group)
        while panel < end:
            across = min(panels_of(simd), end - panel)
            done = 0
            while done < pixels:
                count = rows_of(simd) if pixels - done >= rows_of(simd) else few_of(simd)
                whole = sums[: across * count * NR]
                fill(0, whole)
                for s in range(0, g[STEPS], chunk):
                    start, steps = panel * size + s * 2 * NR, min(chunk, g[STEPS] - s)
                    sums_pairs(simd, a, rows, done, count, b, start, size, across, c, offsets[s:], steps)
                    accumulate(c, whole)
                to = base + done * g[CHANNELS]
                add_bias(whole, bias, panel * NR, across, count, min(count, pixels - done), out, to, g)
                done += count
            panel += across
    return -1


@jit
def depthwise(
    simd: Any, x: Any, w: Any, g: Any, offsets: Any, bias: Any, out: Any, a: Any, rows: Any, c: Any, low: int, high: int
) -> int:
    """DEPTHWISE_CONV2D; the sums of all taps fit int32."""
    for unit in range(low, high):
        block, image = unit % g[BLOCKS], unit // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], g[HEIGHT] - first)
        pixels = lines * g[WIDTH]
        pack_rows(x, g, image, first * g[STEP_Y] * g[JUMP_Y] + g[FIRST_Y], (lines - 1) * g[JUMP_Y] + 1 + g[TAIL], a)
        row_starts(g, pixels, rows)
        base = (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS]
        for panel in range(g[PANELS]):
            channel = panel * NR
            count = min(NR, g[CHANNELS] - channel)
            start = panel * g[SEGMENTS] * NR
            for p in range(0, pixels, MR):
                rest = min(MR, pixels - p)
                window_rows(simd, a, rows, p, rest, channel, offsets, g[SEGMENTS], w, start, c)
                for i in range(rest):
                    to = base + (p + i) * g[CHANNELS] + channel
                    add(c[i * NR : i * NR + count], bias[channel : channel + count], out[to : to + count])
    return -1
