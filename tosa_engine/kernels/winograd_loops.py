"""The compiled loop of the integer Winograd convolution.

A unit is a range of tiles, counted through all images, and one panel of output channels. The tiles are transformed when
a range begins, and serve all of its panels that the worker has. For each panel, products are made at each of the 36
points, and transformed back; the panel's weights pass through the caches once.
"""

from __future__ import annotations

from typing import Any

from ._jit import inline, jit, native
from .scale import HAS_TABLE, HIGH_WORDS
from .winograd_places import (
    CHANNELS,
    CHUNK,
    CHUNKS,
    COLUMNS,
    DEPTH,
    GROUP,
    HEIGHT,
    IN_HEIGHT,
    IN_WIDTH,
    PAD_LEFT,
    PAD_TOP,
    PANELS,
    POINT,
    POINTS,
    ROWS,
    STEP,
    TILE,
    TILES,
    TILES_X,
    TILES_Y,
    UNIT,
    WIDTH,
    WINDOW,
    ZERO,
)
from .winograd_steps import finish, look_up, plain_inputs, plain_product, vector


@inline
def convert(source: Any, zero: int, target: Any) -> None:
    """target = source - zero. (Slices index from 0: the compiler then knows that no index is negative.)"""
    for i in range(len(target)):
        target[i] = source[i] - zero


@inline
def clear(target: Any) -> None:
    for i in range(len(target)):
        target[i] = 0


@inline
def copy_line(x: Any, g: Any, image: int, y: int, row: Any) -> None:
    """row = input row y without its zero point: pixels of CHUNKS * CHUNK channels, zeros where there is no input."""
    depth, whole, zero = g[DEPTH], g[CHUNKS] * CHUNK, g[ZERO]
    inside = min(len(row) // whole - g[PAD_LEFT], g[IN_WIDTH])
    if y < 0 or y >= g[IN_HEIGHT] or inside <= 0:
        clear(row)
        return
    start = (image * g[IN_HEIGHT] + y) * g[IN_WIDTH] * depth
    left = g[PAD_LEFT] * whole
    if depth == whole:
        clear(row[:left])
        convert(x[start : start + inside * depth], zero, row[left : left + inside * depth])
        clear(row[left + inside * depth :])
        return
    clear(row)
    for p in range(inside):
        pixel = left + p * whole
        convert(x[start + p * depth : start + (p + 1) * depth], zero, row[pixel : pixel + depth])


@inline
def rows_of(g: Any, block: int, count: int) -> Any:
    """The rows of a block of `count` tiles: ROWS, and in the last one as few as there are products for."""
    return min(g[ROWS], -(-(count - block * g[ROWS]) // g[STEP]) * g[STEP])


@inline
def transform_tiles(simd: Any, x: Any, g: Any, first: int, count: int, a: Any, v: Any, c: Any) -> None:
    """The points of the tiles from `first` on, as v[point, block, chunk, row, CHUNK]; `a` holds a line of tiles."""
    depth = g[CHUNKS] * CHUNK
    pitch = (g[TILES_X] * TILE + WINDOW - TILE) * depth
    line = -1
    for t in range(count):
        tile_line = (first + t) // g[TILES_X]
        if tile_line != line:
            line = tile_line
            image = line // g[TILES_Y]
            top = (line - image * g[TILES_Y]) * TILE - g[PAD_TOP]
            for i in range(WINDOW):
                copy_line(x, g, image, top + i, a[i * pitch : (i + 1) * pitch])
        start = (first + t - line * g[TILES_X]) * TILE * depth
        block = t // g[ROWS]
        rows = rows_of(g, block, count)
        to = block * g[ROWS] * depth + (t - block * g[ROWS]) * CHUNK
        for chunk in range(g[CHUNKS]):
            left, target = start + chunk * CHUNK, to + chunk * rows * CHUNK
            if native(simd):
                vector.transform_inputs(simd, a, left, pitch, depth, v, target, g[POINT])
            else:
                plain_inputs(a, left, pitch, depth, v, target, g[POINT], c)


@inline
def multiply_panel(simd: Any, g: Any, panel: int, count: int, v: Any, u: Any, m: Any) -> None:
    """The products of all points with one panel of weights, as m[tile, point, COLUMNS]."""
    columns, depth = g[COLUMNS], g[CHUNKS] * CHUNK
    for p in range(POINTS):
        weights = (panel * POINTS + p) * depth * columns
        for block in range(-(-count // g[ROWS])):
            first = block * g[ROWS]
            to = (first * POINTS + p) * columns
            rows = rows_of(g, block, count)
            left = p * g[POINT] + first * depth
            if native(simd):
                vector.multiply(simd, rows, v, left, u, weights, m, to, g[CHUNKS])
            else:
                plain_product(rows, columns, v, left, u, weights, m, to, g[CHUNKS])


@inline
def store_panel(
    simd: Any, g: Any, panel: int, first: int, count: int, m: Any, seed: Any, c: Any, e32: Any, e64: Any, limits: Any,
    table: Any, out: Any,
) -> None:  # fmt: skip
    """The outputs of the tiles from `first` on, for one panel of channels."""
    columns, pixel = g[COLUMNS], g[CHANNELS]
    line, pitch = g[WIDTH] * pixel, g[PANELS] * columns
    for t in range(count):
        tile_line = (first + t) // g[TILES_X]
        x = (first + t - tile_line * g[TILES_X]) * TILE
        image = tile_line // g[TILES_Y]
        y = (tile_line - image * g[TILES_Y]) * TILE
        height, width = min(TILE, g[HEIGHT] - y), min(TILE, g[WIDTH] - x)
        for part in range(0, columns, GROUP):
            channel = panel * columns + part
            some = min(GROUP, pixel - channel)
            if some > 0:
                start = t * POINTS * columns + part
                to = ((image * g[HEIGHT] + y) * g[WIDTH] + x) * pixel + channel
                # not in a function of its own: numba would count references to its arrays for every tile
                if native(simd) and limits[HIGH_WORDS] != 0 and some == GROUP:
                    vector.transform_and_scale(
                        simd, m, start, columns, seed, channel, c, e32, pitch, limits, out, to, line, pixel, height,
                        width,
                    )  # fmt: skip
                else:
                    finish(
                        simd, m, start, columns, seed, channel, c, e32, e64, pitch, limits, out, to, line, pixel,
                        height, width, some,
                    )  # fmt: skip
                if limits[HAS_TABLE] != 0:
                    look_up(table, out, to, line, pixel, height, width, some)


@jit
def conv(
    simd: Any, x: Any, u: Any, g: Any, seed: Any, e32: Any, e64: Any, limits: Any, table: Any, out: Any, v: Any, a: Any,
    m: Any, c: Any, low: int, high: int,
) -> int:  # fmt: skip
    """CONV2D of int8, 3 x 3, with the epilogue: bias, scale, zero point, clip, table."""
    transformed = -1
    for unit in range(low, high):
        panel, first = unit % g[PANELS], unit // g[PANELS] * g[UNIT]
        count = min(g[UNIT], g[TILES] - first)
        if first != transformed:
            transform_tiles(simd, x, g, first, count, a, v, c)
            transformed = first
        multiply_panel(simd, g, panel, count, v, u, m)
        store_panel(simd, g, panel, first, count, m, seed, c, e32, e64, limits, table, out)
    return -1
