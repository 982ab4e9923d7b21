"""Compiled loops of int16 convolutions and matrix products with int48 accumulators, on the int16 tile.

The tile adds up in int32. K is cut into chunks of steps, few enough that no sum of a chunk can leave int32 whatever the
input; the chunks' sums are added in int64. The caller has proved that, that the results are values of int48, and that
they can be scaled. In a product of two matrices of int16, the second one is split in two parts of 8 bits first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import few_of, inline, jit, panels_of, rows_of
from ..layout.lines import copy, fill
from ..scale.accumulators import scale_rows
from ..scale.places import NR
from ..scale.wide import wide_rows
from ..tile.geometry import BLOCK, BLOCKS, CHANNELS, DEPTH, GROUPS, HEIGHT, IN_PLACE, PANELS, SEGMENTS, STEPS, WIDTH
from ..tile.loops import from_input, group_panels, pack_block, row_starts, straight
from ..tile.micro_kernel import sums_pairs
from .places import MR
from .taps import window_rows

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.variants import Variant


@inline
def accumulate(part: Array, sums: Array) -> None:
    for i in range(len(sums)):
        sums[i] += np.int64(part[i])


@jit
def conv(
    simd: Variant, x: Array, b: Array, g: Array, offsets: Array, chunk: int, numbers: Array, out: Array, a: Array,
    rows: Array, c: Array, sums: Array, low: int, high: int,
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
            row_starts(g, lines, rows)
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
                    columns, to = min(NR, g[CHANNELS] - channel), base + done * g[CHANNELS] + channel
                    wide_rows(
                        simd, whole[p * count * NR :], numbers, g[CHANNELS], channel, out, to, g[CHANNELS],
                        min(count, pixels - done), columns,
                    )  # fmt: skip
                done += count
            panel += across
    return -1


@inline
def pack_unit(x: Array, g: Array, unit: int, a: Array, rows: Array) -> tuple[int, int]:
    """The input of a unit, which is a block of rows; its first output element and its pixels."""
    block, image = unit % g[BLOCKS], unit // g[BLOCKS]
    first = block * g[BLOCK]
    lines = min(g[BLOCK], g[HEIGHT] - first)
    pixels = lines * g[WIDTH]
    pack_block(x, g, image, first, lines, a)
    row_starts(g, lines, rows)
    return (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS], pixels


@jit
def depthwise(
    simd: Variant, x: Array, w: Array, g: Array, offsets: Array, chunk: int, numbers: Array, out: Array, a: Array,
    rows: Array, c: Array, sums: Array, low: int, high: int,
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
                to = base + p * g[CHANNELS] + channel
                wide_rows(simd, sums, numbers, g[CHANNELS], channel, out, to, g[CHANNELS], rest, count)
    return -1


@jit
def depthwise_scaled(
    simd: Variant, x: Array, w: Array, g: Array, offsets: Array, e32: Array, e64: Array, limits: Array, out: Array,
    a: Array, rows: Array, c: Array, low: int, high: int,
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


@inline
def split_pairs(even: Array, odd: Array, zero: int, low: Array, high: Array) -> None:
    """Pairs of values of two rows as low + 256 * high: bytes from -128 on, and -128 .. 128. `odd` counts zero times
    where there is no second row. A pair is written at once, as the halves of an int32.
    """
    for j in range(len(even)):
        first, second = np.int32(even[j]), np.int32(np.int32(odd[j]) * zero)
        first_high, second_high = (first + 128) >> 8, (second + 128) >> 8
        low[j] = np.int32((first - (first_high << 8)) & 0xFFFF) | np.int32((second - (second_high << 8)) << 16)
        high[j] = np.int32(first_high & 0xFFFF) | np.int32(second_high << 16)


@inline
def pack_split(y: Array, source: int, g: Array, count: int, b: Array) -> None:
    """Two panels of pairs, low and high parts, of `count` columns of a matrix [DEPTH, CHANNELS]."""
    half, width = g[STEPS] * NR, g[CHANNELS]
    if count < NR:
        fill(0, b)
    for step in range(g[STEPS]):
        even = source + 2 * step * width
        whole = 2 * step + 1 < g[DEPTH]
        odd = even + width if whole else even
        at = step * NR
        split_pairs(
            y[even : even + count], y[odd : odd + count], np.int32(1 if whole else 0), b[at : at + count],
            b[half + at : half + at + count],
        )  # fmt: skip


@inline
def join(c: Array, half: int, first: bool, sums: Array) -> None:
    """sums = (the sums so far, unless these are the first) + low + 256 * high of a tile's two panels."""
    low, high = c[: len(sums)], c[half : half + len(sums)]
    if first:
        for i in range(len(sums)):
            sums[i] = np.int64(low[i]) + (np.int64(high[i]) << 8)
    else:
        for i in range(len(sums)):
            sums[i] += np.int64(low[i]) + (np.int64(high[i]) << 8)


@inline
def sums_split(
    simd: Variant, a: Array, rows: Array, first: int, count: int, b: Array, start: int, size: int, c: Array,
    offsets: Array, steps: int,
) -> None:  # fmt: skip
    """Both panels at once where the tile has room for them."""
    if panels_of(simd) > 1:
        sums_pairs(simd, a, rows, first, count, b, start, size, 2, c, offsets, steps)
    else:
        sums_pairs(simd, a, rows, first, count, b, start, size, 1, c, offsets, steps)
        sums_pairs(simd, a, rows, first, count, b, start + size, size, 1, c[count * NR :], offsets, steps)


@jit
def matmul(
    simd: Variant, x: Array, y: Array, g: Array, offsets: Array, chunk: int, numbers: Array, out: Array, a: Array,
    rows: Array, c: Array, sums: Array, packed: Array, low: int, high: int,
) -> int:  # fmt: skip
    """MATMUL: a unit is one batch, a block of rows and a group of panels, each of which it packs as two."""
    height, width, depth = g[HEIGHT], g[CHANNELS], g[DEPTH]
    size = g[STEPS] * 2 * NR
    source, b = from_input(x, a, g), packed.view(np.int16)
    for unit in range(low, high):
        group, block, batch = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS], unit // g[GROUPS] // g[BLOCKS]
        first = block * g[BLOCK]
        lines, start = min(g[BLOCK], height - first), (batch * height + first) * depth
        if g[IN_PLACE] != 0:
            straight(start, depth, lines, rows)
        else:
            copy(x[start : start + lines * depth], a[: lines * depth])
            straight(0, depth, lines, rows)
        for panel in range(g[PANELS] * group // g[GROUPS], g[PANELS] * (group + 1) // g[GROUPS]):
            column = panel * NR
            columns = min(NR, width - column)
            pack_split(y, batch * depth * width + column, g, columns, packed)
            done = 0
            while done < lines:
                count = rows_of(simd) if lines - done >= rows_of(simd) else few_of(simd)
                whole = sums[: count * NR]
                for s in range(0, g[STEPS], chunk):
                    steps = min(chunk, g[STEPS] - s)
                    sums_split(simd, source, rows, done, count, b, s * 2 * NR, size, c, offsets[s:], steps)
                    join(c, count * NR, s == 0, whole)
                to = (batch * height + first + done) * width + column
                wide_rows(simd, whole, numbers, width, column, out, to, width, min(count, lines - done), columns)
                done += count
    return -1
