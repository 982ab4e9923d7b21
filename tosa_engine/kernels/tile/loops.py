"""Compiled loops over tiles: convolution and matrix product.

Geometry travels in one int64 array, whose places are named in `geometry`, to keep signatures few. A unit of work is a
block of output rows of one image times a group of column panels; each unit packs the input rows it needs (zero point
subtracted, padding as zeros) into the worker's own buffer, where every tile reads its rows in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import inline, jit, panels_of
from .._jit.variants import MOST_ROWS, PANELS_OF_ONE
from ..layout.lines import fill
from ..scale.places import NR
from .geometry import (  # fmt: skip
    APART,
    BLOCK,
    BLOCKS,
    CHANNELS,
    COPIED,
    CUT,
    DEPTH,
    FIRST_X,
    FIRST_Y,
    GROUPS,
    HEIGHT,
    IN_HEIGHT,
    IN_PLACE,
    IN_WIDTH,
    JUMP_X,
    JUMP_Y,
    MERGE,
    PADDING,
    PANELS,
    PITCH,
    REPEAT,
    STEP_X,
    STEP_Y,
    STEPS,
    TAIL,
    WIDTH,
    ZERO,
)
from .micro_kernel import row_tiles, tiles_pairs, tiles_quads

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Compiled, Number
    from .._jit.variants import Variant


@inline
def convert(source: Array, zero: int, target: Array) -> None:
    """target = source - zero. (Slices index from 0: the compiler then knows that no index is negative.)"""
    for i in range(len(target)):
        target[i] = source[i] - zero


@jit
def pack_rows(x: Array, g: Array, image: int, top: int, count: int, a: Array) -> None:
    """Copy `count` input rows from row `top` on to the buffer `a`, ZERO subtracted; outside the input stands PADDING.

    Of float32, ZERO is 0 and subtracting it changes nothing.
    """
    depth, repeat, zero, padding, pitch = g[DEPTH], g[REPEAT], g[ZERO], g[PADDING], g[PITCH]
    columns = pitch // (depth * repeat)
    for r in range(count):
        y = top + r * g[STEP_Y]
        row = a[r * pitch : (r + 1) * pitch]
        if y < 0 or y >= g[IN_HEIGHT]:
            fill(padding, row)
            continue
        start = (image * g[IN_HEIGHT] + y) * g[IN_WIDTH] * depth
        source = x[start : start + g[IN_WIDTH] * depth]
        if g[STEP_X] == 1 and repeat == 1:
            before = min(-g[FIRST_X], columns) * depth
            inside = max(0, min(columns + g[FIRST_X], g[IN_WIDTH]) * depth)
            fill(padding, row[:before])
            convert(source, zero, row[before : before + inside])
            fill(padding, row[before + inside :])
        else:
            pack_columns_apart(source, g, zero, columns, row)


@jit
def pack_columns_apart(source: Array, g: Array, zero: int, columns: int, row: Array) -> None:
    """One row with a step between columns, or with every channel repeated."""
    depth, repeat = g[DEPTH], g[REPEAT]
    for p in range(columns):
        column = g[FIRST_X] + p * g[STEP_X]
        pixel = row[p * depth * repeat : (p + 1) * depth * repeat]
        if column < 0 or column >= g[IN_WIDTH]:
            fill(g[PADDING], pixel)
        elif repeat == 1:
            convert(source[column * depth : (column + 1) * depth], zero, pixel)
        else:
            for i in range(depth):
                fill(source[column * depth + i] - zero, pixel[i * repeat : (i + 1) * repeat])


@inline
def pack_block(x: Array, g: Array, image: int, first: int, lines: int, a: Array) -> None:
    """The input of `lines` output rows, from row `first` on."""
    pack_rows(x, g, image, first * g[STEP_Y] * g[JUMP_Y] + g[FIRST_Y], (lines - 1) * g[JUMP_Y] + 1 + g[TAIL], a)


@inline
def straight(start: int, step: int, pixels: int, rows: Array) -> None:
    """Rows at equal distances; the last one repeats to fill a tile."""
    for p in range(pixels + MOST_ROWS):
        rows[p] = start + min(p, pixels - 1) * step


@inline
def steps_from(start: int, step: int, target: Array) -> None:
    for i in range(len(target)):
        target[i] = start + i * step


@jit
def row_starts(g: Array, lines: int, rows: Array) -> None:
    """Where the first input element of each output pixel of `lines` lies in the packed buffer; the last one repeats to
    fill a tile.
    """
    width, jump, pixels = g[WIDTH], g[JUMP_X], lines * g[WIDTH]
    for line in range(lines):
        steps_from(line * g[JUMP_Y] * g[PITCH], jump, rows[line * width : (line + 1) * width])
    fill(rows[pixels - 1], rows[pixels : pixels + MOST_ROWS])


@jit
def starts_apart(g: Array, image: int, first: int, lines: int, rows: Array) -> None:
    """As `row_starts`, in the input itself, which has pixels between those that are read."""
    last, p = np.int64(0), 0
    for line in range(lines):
        start = image * g[IN_HEIGHT] * g[IN_WIDTH] * g[DEPTH] + (first + line) * g[PITCH]
        for _ in range(g[WIDTH]):
            last = start
            rows[p] = start
            start += g[JUMP_X]
            p += 1
    rows[p : p + MOST_ROWS] = last


@inline
def group_panels(simd: Variant, g: Array, group: int) -> Number:
    """The first panel of a group, and the one behind its last. Groups are cut where tiles are, unless CUT is set."""
    across = 1 if g[CUT] != 0 else panels_of(simd)
    tiles = -(-g[PANELS] // across)
    return tiles * group // g[GROUPS] * across, min(g[PANELS], tiles * (group + 1) // g[GROUPS] * across)


@inline
def from_input(x: Array, a: Array, g: Array) -> Number:
    """What tiles read: the input itself where it is IN_PLACE."""
    return x if g[IN_PLACE] != 0 else a


@inline
def from_copy(x: Array, a: Array, g: Array) -> Number:
    return a


def _conv(tiles: Compiled, width: int, source_of: Compiled) -> Compiled:
    @jit
    def conv(
        simd: Variant, x: Array, b: Array, g: Array, offsets: Array, e32: Array, e64: Array, limits: Array, out: Array,
        a: Array, rows: Array, c: Array, low: int, high: int,
    ) -> int:  # fmt: skip
        """CONV2D of integers, with the epilogue: bias, scale, zero point, clip."""
        size = g[STEPS] * width * NR
        unit = low
        while unit < high:
            group, block = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS]
            image = unit // g[GROUPS] // g[BLOCKS]
            blocks = min(g[MERGE], high - unit, g[BLOCKS] - block)
            first = block * g[BLOCK]
            lines = min(blocks * g[BLOCK], g[HEIGHT] - first)
            pixels = lines * g[WIDTH]
            source = source_of(x, a, g)
            if unit == low or group == 0:
                if g[IN_PLACE] == APART:
                    starts_apart(g, image, first, lines, rows)
                elif g[IN_PLACE] == COPIED:
                    convert(x[first * g[PITCH] : (first + lines) * g[PITCH]], g[ZERO], a[: lines * g[PITCH]])
                    straight(0, g[PITCH], pixels, rows)
                elif g[IN_PLACE] != 0:
                    straight(first * g[PITCH], g[PITCH], pixels, rows)
                else:
                    pack_block(x, g, image, first, lines, a)
                    row_starts(g, lines, rows)
            base = (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS]
            panel, end = group_panels(simd, g, group)
            while panel < end:
                across = min(panels_of(simd), end - panel)
                columns = min(across * NR, g[CHANNELS] - panel * NR)
                tiles(
                    simd, source, rows, pixels, b, panel * size, size, across, c, offsets, g[STEPS], e32, e64,
                    g[PANELS] * NR, panel * NR, limits, out, base + panel * NR, g[CHANNELS], columns,
                )  # fmt: skip
                panel += across
            unit += blocks
        return -1

    return conv


# for each of scale.places.FORMS
conv_quads = [_conv(tiles, 4, from_input) for tiles in tiles_quads]
conv_pairs = [_conv(tiles, 2, from_copy) for tiles in tiles_pairs]  # of int8: zero points are subtracted
conv_pairs_int16 = [_conv(tiles, 2, from_input) for tiles in tiles_pairs]
high_pairs = tiles_pairs[0]  # compiled code can't see lists


def _conv_pixel(some: Compiled, one: Compiled) -> Compiled:
    @jit
    def conv_pixel(
        simd: Variant, x: Array, b: Array, g: Array, offsets: Array, e32: Array, e64: Array, limits: Array, out: Array,
        low: int, high: int,
    ) -> int:  # fmt: skip
        """CONV2D with one output pixel, whose window is the whole input, in quads. A unit is PANELS_OF_ONE panels.

        The first offset is 0, and so is where the row starts. Sums are never stored, so that e32 stands for them, too.
        """
        size = g[STEPS] * 4 * NR
        for unit in range(low, high):
            panel, end = unit * PANELS_OF_ONE, min((unit + 1) * PANELS_OF_ONE, g[PANELS])
            if end - panel == PANELS_OF_ONE:
                some(
                    simd, x, offsets, 0, b, panel * size, size, e32, offsets, g[STEPS], e32, e64, g[PANELS] * NR,
                    panel * NR, limits, out, panel * NR, 0, g[CHANNELS] - panel * NR, True,
                )  # fmt: skip
                continue
            for p in range(panel, end):
                one(
                    simd, x, offsets, 0, b, p * size, size, e32, offsets, g[STEPS], e32, e64, g[PANELS] * NR,
                    p * NR, limits, out, p * NR, 0, g[CHANNELS] - p * NR, True,
                )  # fmt: skip
        return -1

    return conv_pixel


conv_pixel_quads = [_conv_pixel(some, one) for some, one in row_tiles]


@inline
def add_bias(
    c: Array, bias: Array, channel: int, across: int, pitch: int, rows: int, out: Array, to: int, g: Array
) -> None:
    """out[to + r * CHANNELS + channel + j] = c[panel, r, NR] + bias for `rows` of the tile's `pitch` rows."""
    for p in range(across):
        first = channel + p * NR
        count = min(NR, g[CHANNELS] - first)
        for r in range(rows):
            at = to + r * g[CHANNELS] + first
            add(
                c[(p * pitch + r) * NR : (p * pitch + r) * NR + count],
                bias[first : first + count],
                out[at : at + count],
            )


@inline
def add(first: Array, second: Array, target: Array) -> None:
    for i in range(len(target)):
        target[i] = first[i] + second[i]


@jit
def matmul_pairs(
    simd: Variant, x: Array, y: Array, g: Array, offsets: Array, e32: Array, e64: Array, limits: Array, out: Array,
    a: Array, rows: Array, c: Array, b: Array, low: int, high: int,
) -> int:  # fmt: skip
    """MATMUL of int8: a unit is one batch, a block of rows and a group of column panels, which it packs itself."""
    height, width, depth = g[HEIGHT], g[CHANNELS], g[DEPTH]
    size = g[STEPS] * 2 * NR
    for unit in range(low, high):
        group, block, batch = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS], unit // g[GROUPS] // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], height - first)
        if unit == low or group == 0:
            source = (batch * height + first) * depth
            convert(x[source : source + lines * depth], g[ZERO], a[: lines * depth])
            straight(0, depth, lines, rows)
        panel, end = group_panels(simd, g, group)
        while panel < end:
            across = min(panels_of(simd), end - panel)
            columns = min(across * NR, width - panel * NR)
            for p in range(across):
                column = (panel + p) * NR
                count = min(NR, width - column)
                pack_panel(
                    y, batch * depth * width + column, depth, width, count, g[REPEAT], b[p * size : (p + 1) * size]
                )
            to = (batch * height + first) * width + panel * NR
            high_pairs(
                simd, a, rows, lines, b, 0, size, across, c, offsets, g[STEPS], e32, e64, g[PANELS] * NR,
                panel * NR, limits, out, to, width, columns,
            )  # fmt: skip
            panel += across
    return -1


@jit
def pack_panel(y: Array, source: int, depth: int, width: int, count: int, zero: int, b: Array) -> None:
    """One panel of a matrix [depth, width] in pairs along depth; missing columns and the odd last row are zeros."""
    fill(0, b)
    for k in range(depth):
        row = y[source + k * width : source + k * width + count]
        pairs = b[k // 2 * 2 * NR + k % 2 : (k // 2 + 1) * 2 * NR]
        for j in range(count):
            pairs[2 * j] = row[j] - zero
