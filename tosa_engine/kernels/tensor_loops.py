"""Compiled loops of the tensor operators that stand on the tile: convolution and matrix product.

Geometry travels in one int64 array, whose places are named in `Geometry`, to keep signatures few. A unit of work is a
block of output rows of one image times a group of column panels; each unit packs the input rows it needs (zero point
subtracted, padding as zeros) into the worker's own buffer, where every tile reads its rows in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._jit import jit
from .geometry import (
    BATCH, BLOCK, BLOCKS, CHANNELS, DEPTH, FIRST_X, FIRST_Y, GROUPS, HEIGHT, IN_HEIGHT, IN_WIDTH, JUMP_X, JUMP_Y, LENGTH,
    NATIVE, PANELS, PITCH, REPEAT, SEGMENTS, STEP_X, STEP_Y, TAIL, WIDTH, ZERO,
)  # fmt: skip
from .tile import MR, NR, tile_float, tile_int16
from .vector import scale_row, window_row


@jit
def pack_rows(x: Any, g: Any, image: int, top: int, count: int, a: Any) -> None:
    """Copy `count` input rows from row `top` on (rows and columns outside the input are zeros) to the buffer `a`."""
    depth, repeat, zero, pitch = g[DEPTH], g[REPEAT], g[ZERO], g[PITCH]
    wide = depth * repeat
    columns = pitch // wide
    for r in range(count):
        y = top + r * g[STEP_Y]
        to = r * pitch
        if y < 0 or y >= g[IN_HEIGHT]:
            for i in range(pitch):
                a[to + i] = 0
            continue
        row = (image * g[IN_HEIGHT] + y) * g[IN_WIDTH] * depth
        if g[STEP_X] == 1 and repeat == 1:
            before = min(max(0, -g[FIRST_X]), columns) * depth
            inside = max(0, min(columns, g[IN_WIDTH] - g[FIRST_X]) * depth - before)
            source = row + max(0, g[FIRST_X]) * depth
            for i in range(before):
                a[to + i] = 0
            for i in range(inside):
                a[to + before + i] = x[source + i] - zero
            for i in range(before + inside, pitch):
                a[to + i] = 0
            continue
        for p in range(columns):
            column = g[FIRST_X] + p * g[STEP_X]
            outside = column < 0 or column >= g[IN_WIDTH]
            for d in range(depth):
                value = 0 if outside else np.int64(x[row + column * depth + d]) - zero
                for m in range(repeat):
                    a[to + p * wide + d * repeat + m] = value


@jit
def pack_float(x: Any, g: Any, image: int, top: int, count: int, a: Any) -> None:
    """pack_rows for float32, without zero points."""
    depth, repeat, pitch = g[DEPTH], g[REPEAT], g[PITCH]
    wide = depth * repeat
    for r in range(count):
        y = top + r * g[STEP_Y]
        for p in range(pitch // wide):
            column = g[FIRST_X] + p * g[STEP_X]
            to = r * pitch + p * wide
            if y < 0 or y >= g[IN_HEIGHT] or column < 0 or column >= g[IN_WIDTH]:
                for i in range(wide):
                    a[to + i] = np.float32(0.0)
                continue
            source = ((image * g[IN_HEIGHT] + y) * g[IN_WIDTH] + column) * depth
            for d in range(depth):
                for m in range(repeat):
                    a[to + d * repeat + m] = x[source + d]


@jit
def row_starts(g: Any, pixels: int, rows: Any) -> None:
    """Where each output pixel's first input element lies in the packed buffer; the last one repeats to fill a tile."""
    for p in range(pixels + MR):
        pixel = min(p, pixels - 1)
        line = pixel // g[WIDTH]
        rows[p] = line * g[JUMP_Y] * g[PITCH] + (pixel - line * g[WIDTH]) * g[JUMP_X]


@jit
def conv_int(x: Any, b: Any, g: Any, offsets: Any, e32: Any, e64: Any, limits: Any, table: Any, out: Any, a: Any, rows: Any, c: Any, low: int, high: int) -> int:
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
                tile_int16(g[NATIVE] != 0, a, rows, t, b, panel * panel_size, c, offsets, g[SEGMENTS], g[LENGTH])
                for i in range(min(MR, pixels - t)):
                    to = base + (t + i) * g[CHANNELS] + channel
                    scale_row(g[NATIVE] != 0, c, i * NR, e32, e64, pitch, channel, limits, out, to, count)
                    if limits[3] != 0:
                        for j in range(count):
                            out[to + j] = table[np.int64(out[to + j]) + 128]
    return -1


@jit
def depthwise_int(x: Any, w: Any, g: Any, offsets: Any, e32: Any, e64: Any, limits: Any, table: Any, out: Any, a: Any, rows: Any, c: Any, low: int, high: int) -> int:
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
        for p in range(pixels):
            for channel in range(0, g[CHANNELS], NR):
                count = min(NR, g[CHANNELS] - channel)
                window_row(g[NATIVE] != 0, a, rows[p] + channel, offsets, g[SEGMENTS], w, channel, pitch, c)
                to = base + p * g[CHANNELS] + channel
                scale_row(g[NATIVE] != 0, c, 0, e32, e64, pitch, channel, limits, out, to, count)
                if limits[3] != 0:
                    for j in range(count):
                        out[to + j] = table[np.int64(out[to + j]) + 128]
    return -1


@jit
def conv_float(x: Any, b: Any, g: Any, offsets: Any, bias: Any, out: Any, a: Any, rows: Any, c: Any, low: int, high: int) -> int:
    """CONV2D of float32: fused multiply-adds in the order ky, kx, ic, then the bias."""
    panel_size = g[SEGMENTS] * g[LENGTH] * NR
    for unit in range(low, high):
        group, block = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS]
        image = unit // g[GROUPS] // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], g[HEIGHT] - first)
        pixels = lines * g[WIDTH]
        pack_float(x, g, image, first * g[STEP_Y] * g[JUMP_Y] + g[FIRST_Y], (lines - 1) * g[JUMP_Y] + 1 + g[TAIL], a)
        row_starts(g, pixels, rows)
        base = (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS]
        for panel in range(g[PANELS] * group // g[GROUPS], g[PANELS] * (group + 1) // g[GROUPS]):
            channel = panel * NR
            for t in range(0, pixels, MR):
                tile_float(g[NATIVE] != 0, a, rows, t, b, panel * panel_size, c, offsets, g[SEGMENTS], g[LENGTH])
                for i in range(min(MR, pixels - t)):
                    to = base + (t + i) * g[CHANNELS] + channel
                    for j in range(min(NR, g[CHANNELS] - channel)):
                        out[to + j] = c[i * NR + j] + bias[channel + j]
    return -1


@jit
def depthwise_float(x: Any, w: Any, g: Any, offsets: Any, bias: Any, out: Any, a: Any, rows: Any, low: int, high: int) -> int:
    """DEPTHWISE_CONV2D of float32: products and sums each rounded, in the order ky, kx."""
    pitch = g[PANELS] * NR
    for unit in range(low, high):
        block, image = unit % g[BLOCKS], unit // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], g[HEIGHT] - first)
        pixels = lines * g[WIDTH]
        pack_float(x, g, image, first * g[STEP_Y] * g[JUMP_Y] + g[FIRST_Y], (lines - 1) * g[JUMP_Y] + 1 + g[TAIL], a)
        row_starts(g, pixels, rows)
        base = (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS]
        for p in range(pixels):
            to = base + p * g[CHANNELS]
            for j in range(g[CHANNELS]):
                out[to + j] = np.float32(0.0)
            for t in range(g[SEGMENTS]):
                start = rows[p] + offsets[t]
                for j in range(g[CHANNELS]):
                    out[to + j] += a[start + j] * w[t * pitch + j]
            for j in range(g[CHANNELS]):
                out[to + j] += bias[j]
    return -1


@jit
def matmul_int(x: Any, y: Any, g: Any, offsets: Any, e32: Any, e64: Any, limits: Any, table: Any, out: Any, a: Any, rows: Any, c: Any, b: Any, low: int, high: int) -> int:
    """MATMUL of int8: a unit is one batch, a block of rows and a group of column panels, which it packs itself."""
    height, width, depth = g[HEIGHT], g[CHANNELS], g[DEPTH]
    pitch, length = g[PANELS] * NR, g[LENGTH]
    for unit in range(low, high):
        group, block, batch = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS], unit // g[GROUPS] // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], height - first)
        source = (batch * height + first) * depth
        for i in range(lines * depth):
            a[i] = x[source + i] - g[ZERO]
        for i in range(lines + MR):
            rows[i] = min(i, lines - 1) * depth
        for panel in range(g[PANELS] * group // g[GROUPS], g[PANELS] * (group + 1) // g[GROUPS]):
            channel = panel * NR
            count = min(NR, width - channel)
            pack_columns(y, batch * depth * width + channel, depth, width, count, g[REPEAT], b)
            for t in range(0, lines, MR):
                tile_int16(g[NATIVE] != 0, a, rows, t, b, 0, c, offsets, 1, length)
                for i in range(min(MR, lines - t)):
                    to = (batch * height + first + t + i) * width + channel
                    scale_row(g[NATIVE] != 0, c, i * NR, e32, e64, pitch, channel, limits, out, to, count)
                    if limits[3] != 0:
                        for j in range(count):
                            out[to + j] = table[np.int64(out[to + j]) + 128]
    return -1


@jit
def pack_columns(y: Any, source: int, depth: int, width: int, count: int, zero: int, b: Any) -> None:
    """One panel of a matrix [depth, width] in pairs along depth; missing columns and the odd last row are zeros."""
    for k in range((depth + 1) // 2):
        for j in range(NR):
            at = (k * NR + j) * 2
            present = j < count
            b[at] = np.int64(y[source + 2 * k * width + j]) - zero if present else 0
            odd = present and 2 * k + 1 < depth
            b[at + 1] = np.int64(y[source + (2 * k + 1) * width + j]) - zero if odd else 0


@jit
def matmul_float(x: Any, y: Any, g: Any, offsets: Any, out: Any, rows: Any, c: Any, b: Any, low: int, high: int) -> int:
    """MATMUL of float32: fused multiply-adds in the order of c."""
    height, width, depth = g[HEIGHT], g[CHANNELS], g[DEPTH]
    for unit in range(low, high):
        group, batch = unit % g[GROUPS], unit // g[GROUPS]
        for i in range(height + MR):
            rows[i] = (batch * height + min(i, height - 1)) * depth
        for panel in range(g[PANELS] * group // g[GROUPS], g[PANELS] * (group + 1) // g[GROUPS]):
            channel = panel * NR
            count = min(NR, width - channel)
            for k in range(depth):
                for j in range(NR):
                    b[k * NR + j] = y[(batch * depth + k) * width + channel + j] if j < count else np.float32(0.0)
            for t in range(0, height, MR):
                tile_float(g[NATIVE] != 0, x, rows, t, b, 0, c, offsets, 1, depth)
                for i in range(min(MR, height - t)):
                    for j in range(count):
                        out[(batch * height + t + i) * width + channel + j] = c[i * NR + j]
    return -1
