"""Compiled loops of the tensor operators that stand on the tile: convolution and matrix product.

Geometry travels in one int64 array, whose places are named in `Geometry`, to keep signatures few. A unit of work is a
block of output rows of one image times a group of column panels; each unit packs the input rows it needs (zero point
subtracted, padding as zeros) into the worker's own buffer, where every tile reads its rows in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._jit import inline, jit
from .geometry import (
    BLOCK,
    BLOCKS,
    CHANNELS,
    DEPTH,
    FIRST_X,
    FIRST_Y,
    GROUPS,
    HEIGHT,
    IN_HEIGHT,
    IN_WIDTH,
    JUMP_X,
    JUMP_Y,
    LENGTH,
    PANELS,
    PITCH,
    REPEAT,
    SEGMENTS,
    STEP_X,
    STEP_Y,
    TAIL,
    WIDTH,
    ZERO,
)  # fmt: skip
from .scale import scale_rows
from .tile import MR, NR, tile_float, tile_int16
from .windows import window_rows


@inline
def convert(source: Any, zero: int, target: Any) -> None:
    """target = source - zero. (Slices index from 0: the compiler then knows that no index is negative.)"""
    for i in range(len(target)):
        target[i] = source[i] - zero


@inline
def fill(value: Any, target: Any) -> None:
    for i in range(len(target)):
        target[i] = value


@jit
def pack_rows(x: Any, g: Any, image: int, top: int, count: int, a: Any) -> None:
    """Copy `count` input rows from row `top` on to the buffer `a`; outside the input there are zeros.

    Of float32, the zero point is 0 and subtracting it changes nothing.
    """
    depth, repeat, zero, pitch = g[DEPTH], g[REPEAT], g[ZERO], g[PITCH]
    columns = pitch // (depth * repeat)
    for r in range(count):
        y = top + r * g[STEP_Y]
        row = a[r * pitch : (r + 1) * pitch]
        if y < 0 or y >= g[IN_HEIGHT]:
            fill(0, row)
            continue
        start = (image * g[IN_HEIGHT] + y) * g[IN_WIDTH] * depth
        source = x[start : start + g[IN_WIDTH] * depth]
        if g[STEP_X] == 1 and repeat == 1:
            before = min(-g[FIRST_X], columns) * depth
            inside = max(0, min(columns + g[FIRST_X], g[IN_WIDTH]) * depth)
            fill(0, row[:before])
            convert(source, zero, row[before : before + inside])
            fill(0, row[before + inside :])
        else:
            pack_columns_apart(source, g, zero, columns, row)


@jit
def pack_columns_apart(source: Any, g: Any, zero: int, columns: int, row: Any) -> None:
    """One row with a step between columns, or with every channel repeated."""
    depth, repeat = g[DEPTH], g[REPEAT]
    for p in range(columns):
        column = g[FIRST_X] + p * g[STEP_X]
        pixel = row[p * depth * repeat : (p + 1) * depth * repeat]
        if column < 0 or column >= g[IN_WIDTH]:
            fill(0, pixel)
        elif repeat == 1:
            convert(source[column * depth : (column + 1) * depth], zero, pixel)
        else:
            for i in range(depth):
                fill(source[column * depth + i] - zero, pixel[i * repeat : (i + 1) * repeat])


@jit
def row_starts(g: Any, pixels: int, rows: Any) -> None:
    """Where each output pixel's first input element lies in the packed buffer; the last one repeats to fill a tile."""
    for p in range(pixels + MR):
        pixel = min(p, pixels - 1)
        line = pixel // g[WIDTH]
        rows[p] = line * g[JUMP_Y] * g[PITCH] + (pixel - line * g[WIDTH]) * g[JUMP_X]


@inline
def finish(
    simd: Any,
    g: Any,
    c: Any,
    e32: Any,
    e64: Any,
    pitch: int,
    channel: int,
    limits: Any,
    table: Any,
    out: Any,
    to: int,
    rows: int,
    count: int,
) -> None:
    """The epilogue of `rows` pixels (or matrix rows) of one panel: bias, scale, zero point, clip, table."""
    stride = g[CHANNELS]
    scale_rows(simd, c, e32, e64, pitch, channel, limits, out, to, stride, rows, count)
    if limits[3] != 0:
        for r in range(rows):
            for j in range(count):
                at = to + r * stride + j
                out[at] = table[np.int64(out[at]) + 128]


@jit
def conv_int(
    simd: Any,
    x: Any,
    b: Any,
    g: Any,
    offsets: Any,
    e32: Any,
    e64: Any,
    limits: Any,
    table: Any,
    out: Any,
    a: Any,
    rows: Any,
    c: Any,
    low: int,
    high: int,
) -> int:
    """CONV2D of int8 (or int16 pairs in general) with the epilogue: bias, scale, zero point, clip, table."""
    panel_size = g[SEGMENTS] * g[LENGTH] * 2 * NR
    pitch = g[PANELS] * NR
    for unit in range(low, high):
        group, block = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS]
        image = unit // g[GROUPS] // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], g[HEIGHT] - first)
        pixels = lines * g[WIDTH]
        pack_rows(x, g, image, first * g[STEP_Y] * g[JUMP_Y] + g[FIRST_Y], (lines - 1) * g[JUMP_Y] + 1 + g[TAIL], a)
        row_starts(g, pixels, rows)
        base = (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS]
        for panel in range(g[PANELS] * group // g[GROUPS], g[PANELS] * (group + 1) // g[GROUPS]):
            channel = panel * NR
            count = min(NR, g[CHANNELS] - channel)
            for t in range(0, pixels, MR):
                tile_int16(simd, a, rows, t, b, panel * panel_size, c, offsets, g[SEGMENTS], g[LENGTH])
                to = base + t * g[CHANNELS] + channel
                finish(simd, g, c, e32, e64, pitch, channel, limits, table, out, to, min(MR, pixels - t), count)
    return -1


@jit
def depthwise_int(
    simd: Any,
    x: Any,
    w: Any,
    g: Any,
    offsets: Any,
    e32: Any,
    e64: Any,
    limits: Any,
    table: Any,
    out: Any,
    a: Any,
    rows: Any,
    c: Any,
    low: int,
    high: int,
) -> int:
    """DEPTHWISE_CONV2D of int8 with the same epilogue; vectors run over the channels."""
    pitch = g[PANELS] * NR
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
                to = base + p * g[CHANNELS] + channel
                finish(simd, g, c, e32, e64, pitch, channel, limits, table, out, to, rest, count)
    return -1


@jit
def conv_float(
    simd: Any, x: Any, b: Any, g: Any, offsets: Any, bias: Any, out: Any, a: Any, rows: Any, c: Any, low: int, high: int
) -> int:
    """CONV2D of float32: fused multiply-adds in the order ky, kx, ic, then the bias."""
    panel_size = g[SEGMENTS] * g[LENGTH] * NR
    for unit in range(low, high):
        group, block = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS]
        image = unit // g[GROUPS] // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], g[HEIGHT] - first)
        pixels = lines * g[WIDTH]
        pack_rows(x, g, image, first * g[STEP_Y] * g[JUMP_Y] + g[FIRST_Y], (lines - 1) * g[JUMP_Y] + 1 + g[TAIL], a)
        row_starts(g, pixels, rows)
        base = (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS]
        for panel in range(g[PANELS] * group // g[GROUPS], g[PANELS] * (group + 1) // g[GROUPS]):
            channel = panel * NR
            count = min(NR, g[CHANNELS] - channel)
            for t in range(0, pixels, MR):
                tile_float(simd, a, rows, t, b, panel * panel_size, c, offsets, g[SEGMENTS], g[LENGTH])
                for i in range(min(MR, pixels - t)):
                    to = base + (t + i) * g[CHANNELS] + channel
                    add(c[i * NR : i * NR + count], bias[channel : channel + count], out[to : to + count])
    return -1


@inline
def add(first: Any, second: Any, target: Any) -> None:
    for i in range(len(target)):
        target[i] = first[i] + second[i]


@inline
def multiply_add(first: Any, second: Any, target: Any) -> None:
    for i in range(len(target)):
        target[i] += first[i] * second[i]


@jit
def depthwise_float(
    x: Any, w: Any, g: Any, offsets: Any, bias: Any, out: Any, a: Any, rows: Any, low: int, high: int
) -> int:
    """DEPTHWISE_CONV2D of float32: products and sums each rounded, in the order ky, kx."""
    pitch = g[PANELS] * NR
    for unit in range(low, high):
        block, image = unit % g[BLOCKS], unit // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], g[HEIGHT] - first)
        pixels = lines * g[WIDTH]
        pack_rows(x, g, image, first * g[STEP_Y] * g[JUMP_Y] + g[FIRST_Y], (lines - 1) * g[JUMP_Y] + 1 + g[TAIL], a)
        row_starts(g, pixels, rows)
        base = (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS]
        for p in range(pixels):
            to = base + p * g[CHANNELS]
            pixel = out[to : to + g[CHANNELS]]
            fill(np.float32(0.0), pixel)
            for t in range(g[SEGMENTS]):
                start = rows[p] + offsets[t]
                multiply_add(a[start : start + g[CHANNELS]], w[t * pitch : t * pitch + g[CHANNELS]], pixel)
            add(pixel, bias, pixel)
    return -1


@jit
def matmul_int(
    simd: Any,
    x: Any,
    y: Any,
    g: Any,
    offsets: Any,
    e32: Any,
    e64: Any,
    limits: Any,
    table: Any,
    out: Any,
    a: Any,
    rows: Any,
    c: Any,
    b: Any,
    low: int,
    high: int,
) -> int:
    """MATMUL of int8: a unit is one batch, a block of rows and a group of column panels, which it packs itself."""
    height, width, depth = g[HEIGHT], g[CHANNELS], g[DEPTH]
    pitch, length = g[PANELS] * NR, g[LENGTH]
    for unit in range(low, high):
        group, block, batch = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS], unit // g[GROUPS] // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], height - first)
        source = (batch * height + first) * depth
        convert(x[source : source + lines * depth], g[ZERO], a[: lines * depth])
        for i in range(lines + MR):
            rows[i] = min(i, lines - 1) * depth
        for panel in range(g[PANELS] * group // g[GROUPS], g[PANELS] * (group + 1) // g[GROUPS]):
            channel = panel * NR
            count = min(NR, width - channel)
            pack_panel(y, batch * depth * width + channel, depth, width, count, g[REPEAT], b)
            for t in range(0, lines, MR):
                tile_int16(simd, a, rows, t, b, 0, c, offsets, 1, length)
                to = (batch * height + first + t) * width + channel
                finish(simd, g, c, e32, e64, pitch, channel, limits, table, out, to, min(MR, lines - t), count)
    return -1


@jit
def pack_panel(y: Any, source: int, depth: int, width: int, count: int, zero: int, b: Any) -> None:
    """One panel of a matrix [depth, width] in pairs along depth; missing columns and the odd last row are zeros."""
    fill(0, b)
    for k in range(depth):
        row = y[source + k * width : source + k * width + count]
        pairs = b[k // 2 * 2 * NR + k % 2 : (k // 2 + 1) * 2 * NR]
        for j in range(count):
            pairs[2 * j] = row[j] - zero


@jit
def matmul_float(
    simd: Any, x: Any, y: Any, g: Any, offsets: Any, out: Any, rows: Any, c: Any, b: Any, low: int, high: int
) -> int:
    """MATMUL of float32: fused multiply-adds in the order of c."""
    height, width, depth = g[HEIGHT], g[CHANNELS], g[DEPTH]
    for unit in range(low, high):
        group, batch = unit % g[GROUPS], unit // g[GROUPS]
        for i in range(height + MR):
            rows[i] = (batch * height + min(i, height - 1)) * depth
        for panel in range(g[PANELS] * group // g[GROUPS], g[PANELS] * (group + 1) // g[GROUPS]):
            channel = panel * NR
            count = min(NR, width - channel)
            fill(np.float32(0.0), b)
            for k in range(depth):
                source = (batch * depth + k) * width + channel
                convert(y[source : source + count], 0, b[k * NR : k * NR + count])
            for t in range(0, height, MR):
                tile_float(simd, x, rows, t, b, 0, c, offsets, 1, depth)
                for i in range(min(MR, height - t)):
                    to = (batch * height + t + i) * width + channel
                    convert(c[i * NR : i * NR + count], 0, out[to : to + count])
    return -1
