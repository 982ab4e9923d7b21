"""Compiled loops of int16 convolutions with int48 accumulators, on the int16 tile.

The tile adds up in int32. K is cut into chunks of steps, few enough that no sum of a chunk can leave int32 whatever the
input; the chunks' sums are added in int64. The caller has proved that, that the results are values of int48, and that
they can be scaled.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ._jit import few_of, inline, jit, panels_of, rows_of
from .geometry import BLOCK, BLOCKS, CHANNELS, GROUPS, HEIGHT, PANELS, SEGMENTS, STEPS, WIDTH
from .scale import NR, scale_rows
from .tensor_loops import add, fill, group_panels, pack_block, row_starts
from .tile import sums_pairs
from .windows import MR, window_rows

SCALES: Final = 0  # places of numbers: 1 if results are scaled; then zero point, bounds
ZERO_POINT: Final = 1
LOW: Final = 2
HIGH: Final = 3
FIRST: Final = 4  # behind them a bias for each channel, then a multiplier, then a shift


@inline
def accumulate(part: Any, sums: Any) -> None:
    for i in range(len(sums)):
        sums[i] += np.int64(part[i])


@inline
def finish(sums: Any, numbers: Any, channels: int, channel: int, out: Any) -> None:
    """out = sums + bias, where there are scales by apply_scale_16, with the zero point, clipped."""
    bias = numbers[FIRST + channel : FIRST + channel + len(out)]
    if numbers[SCALES] == 0:
        add(sums, bias, out)
        return
    multiplier = numbers[FIRST + channels + channel : FIRST + channels + channel + len(out)]
    shift = numbers[FIRST + 2 * channels + channel : FIRST + 2 * channels + channel + len(out)]
    zero, low, high = numbers[ZERO_POINT], numbers[LOW], numbers[HIGH]
    for i in range(len(out)):
        scaled = ((sums[i] + bias[i]) * multiplier[i] + (np.int64(1) << (shift[i] - 1))) >> shift[i]
        out[i] = min(max(scaled + zero, low), high)


@jit
def conv(
    simd: Any, x: Any, b: Any, g: Any, offsets: Any, chunk: int, numbers: Any, out: Any, a: Any, rows: Any, c: Any,
    sums: Any, low: int, high: int,
) -> int:  # fmt: skip
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
                for p in range(across):
                    channel = (panel + p) * NR
                    columns = min(NR, g[CHANNELS] - channel)
                    for r in range(min(count, pixels - done)):
                        to, row = base + (done + r) * g[CHANNELS] + channel, (p * count + r) * NR
                        finish(whole[row : row + columns], numbers, g[CHANNELS], channel, out[to : to + columns])
                done += count
            panel += across
    return -1


@inline
def pack_unit(x: Any, g: Any, unit: int, a: Any, rows: Any) -> tuple[int, int]:
    """The input of a unit, which is a block of rows; its first output element and its pixels."""
    block, image = unit % g[BLOCKS], unit // g[BLOCKS]
    first = block * g[BLOCK]
    lines = min(g[BLOCK], g[HEIGHT] - first)
    pixels = lines * g[WIDTH]
    pack_block(x, g, image, first, lines, a)
    row_starts(g, pixels, rows)
    return (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS], pixels


@jit
def depthwise(
    simd: Any, x: Any, w: Any, g: Any, offsets: Any, chunk: int, numbers: Any, out: Any, a: Any, rows: Any, c: Any,
    sums: Any, low: int, high: int,
) -> int:  # fmt: skip
    """DEPTHWISE_CONV2D; `chunk` is the number of taps whose sums fit int32, which is even."""
    for unit in range(low, high):
        base, pixels = pack_unit(x, g, unit, a, rows)
        for panel in range(g[PANELS]):
            channel = panel * NR
            count = min(NR, g[CHANNELS] - channel)
            for p in range(0, pixels, MR):
                rest = min(MR, pixels - p)
                fill(0, sums)
                for t in range(0, g[SEGMENTS], chunk):
                    start, taps = (panel * g[SEGMENTS] + t) * NR, min(chunk, g[SEGMENTS] - t)
                    window_rows(simd, a, rows, p, rest, channel, offsets[t:], taps, w, start, c)
                    accumulate(c, sums[: rest * NR])
                for i in range(rest):
                    to = base + (p + i) * g[CHANNELS] + channel
                    finish(sums[i * NR : i * NR + count], numbers, g[CHANNELS], channel, out[to : to + count])
    return -1


@jit
def depthwise_scaled(
    simd: Any, x: Any, w: Any, g: Any, offsets: Any, e32: Any, e64: Any, limits: Any, out: Any, a: Any, rows: Any,
    c: Any, low: int, high: int,
) -> int:  # fmt: skip
    """DEPTHWISE_CONV2D, its results scaled; the sums of all taps fit int32."""
    for unit in range(low, high):
        base, pixels = pack_unit(x, g, unit, a, rows)
        for panel in range(g[PANELS]):
            channel, start = panel * NR, panel * g[SEGMENTS] * NR
            count = min(NR, g[CHANNELS] - channel)
            for p in range(0, pixels, MR):
                rest, to = min(MR, pixels - p), base + p * g[CHANNELS] + channel
                window_rows(simd, a, rows, p, rest, channel, offsets, g[SEGMENTS], w, start, c)
                scale_rows(simd, c, e32, e64, g[PANELS] * NR, channel, limits, out, to, g[CHANNELS], rest, count)
    return -1
