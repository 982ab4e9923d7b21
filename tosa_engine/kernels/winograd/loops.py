"""The compiled loop of the integer Winograd convolution.

A unit is a range of tiles and one panel of output channels. Tiles are counted by shape, through all images: those that
are tall but not wide, tall and wide, wide only, neither. So the tiles that have a point are neighbours, whatever point
it is. They are transformed when a range begins, and serve all of its panels that the worker has. For each panel,
products are made at each of the 36 points, and transformed back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import inline, jit, native
from ..layout.lines import copy, fill
from .matrices import FACTORS
from .places import (
    AT_FEW,
    BATCH,
    CHANNELS,
    CHUNK,
    CHUNKS,
    COLUMNS,
    DEPTH,
    FETCHED,
    FEW,
    GROUP,
    HEIGHT,
    IN_26_BITS,
    IN_HEIGHT,
    IN_WIDTH,
    LANES,
    LATE,
    PAD_LEFT,
    PAD_TOP,
    PAIRS,
    PANELS,
    POINT,
    POINTS,
    ROWS,
    TALL,
    TAPS,
    TILE,
    TILES,
    TILES_X,
    TILES_Y,
    UNIT,
    WEIGHT_POINT,
    WIDE,
    WIDTH,
    WINDOW,
    ZERO,
)
from .steps import WHOLE_TILES, finish, plain_inputs, plain_product, plain_weights, product, vector

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Compiled, Number
    from .._jit.variants import Variant


@jit
def copy_window(x: Array, g: Array, image: int, top: int, left: int, a: Array) -> None:
    """a[WINDOW, WINDOW, CHUNKS * CHUNK] = pixels from (top, left) on; the zero point outside of the input."""
    depth, whole = g[DEPTH], g[CHUNKS] * CHUNK
    before, end = min(max(0, -left), WINDOW), max(0, min(WINDOW, g[IN_WIDTH] - left))
    for i in range(WINDOW):
        row, y = a[i * WINDOW * whole : (i + 1) * WINDOW * whole], top + i
        if y < 0 or y >= g[IN_HEIGHT] or end <= before:
            fill(g[ZERO], row)
            continue
        start = ((image * g[IN_HEIGHT] + y) * g[IN_WIDTH] + left) * depth
        fill(g[ZERO], row[: before * whole])
        if depth == whole:
            copy(x[start + before * depth : start + end * depth], row[before * whole : end * whole])
        else:
            for p in range(before, end):
                copy(x[start + p * depth : start + (p + 1) * depth], row[p * whole : p * whole + depth])
        fill(g[ZERO], row[end * whole :])


@inline
def counts(g: Array) -> tuple[int, int, int]:
    """Of the tiles that are tall only, tall, and of those that aren't neither."""
    narrow = g[BATCH] * g[TALL] * (g[TILES_X] - g[WIDE])
    tall = g[BATCH] * g[TALL] * g[TILES_X]
    return narrow, tall, tall + g[BATCH] * (g[TILES_Y] - g[TALL]) * g[WIDE]


@inline
def place(g: Array, tile: int) -> tuple[int, int, int, int, int]:
    """Image, first output row and column of a tile, and whether it is tall and wide."""
    narrow, tall, some = counts(g)
    is_tall, is_wide = int(tile < tall), int(narrow <= tile < some)
    tile -= (narrow if is_wide else 0) if is_tall else (tall if is_wide else some)
    across = g[WIDE] if is_wide else g[TILES_X] - g[WIDE]
    down = g[TALL] if is_tall else g[TILES_Y] - g[TALL]
    line = tile // across
    image = line // down
    y, x = line - image * down, tile - line * across
    y = y * TILE if is_tall else g[TALL] * TILE + y * (TILE - 1)
    x = x * TILE if is_wide else g[WIDE] * TILE + x * (TILE - 1)
    return image, y, x, is_tall, is_wide


@inline
def transform_tiles(simd: Variant, x: Array, g: Array, first: int, count: int, a: Array, v: Array, c: Array) -> None:
    """The points of the tiles from `first` on, as v[point, block, chunk, row, CHUNK]."""
    depth = g[CHUNKS] * CHUNK
    for t in range(count):
        image, y, column, tall, wide = place(g, first + t)
        y, column = y - g[PAD_TOP], column - g[PAD_LEFT]
        start = ((image * g[IN_HEIGHT] + y) * g[IN_WIDTH] + column) * depth
        line = g[IN_WIDTH] * depth
        outside = y < 0 or column < 0 or y + WINDOW > g[IN_HEIGHT] or column + WINDOW > g[IN_WIDTH] or g[DEPTH] != depth
        if outside:
            copy_window(x, g, image, y, column, a)
            start, line = 0, WINDOW * depth
        block = t // g[ROWS]
        to = (block * g[ROWS] * g[CHUNKS] + t - block * g[ROWS]) * CHUNK
        for chunk in range(g[CHUNKS]):
            left, target = start + chunk * CHUNK, to + chunk * g[ROWS] * CHUNK
            if native(simd):
                vector.transform_inputs(simd, x, a, int(outside), left, line, depth, v, target, g[POINT], tall, wide)
            else:
                plain_inputs(a if outside else x, left, line, depth, v, target, g[POINT], tall, wide, c)


@inline
def part_of_weights(g: Array, panel: int, part: int, chunk: int) -> Number:
    """Where the weights of a vector of columns begin in w[vector, chunk, pair of channels, tap, column, 2]."""
    vectors = g[COLUMNS] // g[LANES]
    return ((panel * vectors + part) * g[CHUNKS] + chunk) * PAIRS * TAPS * 2 * g[LANES]


@inline
def transform_chunks(simd: Variant, g: Array, panel: int, chunk: int, chunks: int, w: Array, u: Array) -> None:
    """The points of a panel's weights for some chunks, without FACTORS, as u[point, pair, COLUMNS, 2]."""
    lanes = g[LANES]
    for part in range(g[COLUMNS] // lanes):
        start, to = part_of_weights(g, panel, part, chunk), part * 2 * lanes
        if native(simd):
            vector.transform_weights(simd, w, start, chunks * PAIRS, u, to, g[WEIGHT_POINT])
        else:
            plain_weights(w, start, lanes, g[COLUMNS], chunks * PAIRS, u, to, g[WEIGHT_POINT])


@inline
def fetch_chunks(simd: Variant, g: Array, panel: int, chunk: int, p: int, w: Array) -> None:
    """Bring a share of the weights that are transformed next to a cache: all of them, for all points p."""
    parts = g[COLUMNS] // g[LANES]
    size = g[LATE] * PAIRS * TAPS * 2 * g[LANES] * parts // POINTS
    if native(simd):
        if chunk + g[LATE] < g[CHUNKS]:
            chunk += g[LATE]
        else:
            panel, chunk = panel + 1, 0
        product.fetch(w, part_of_weights(g, panel, p % parts, chunk) + p // parts * size, size)


@inline
def multiply_panel(
    simd: Variant, g: Array, panel: int, first: int, count: int, v: Array, w: Array, u: Array, m: Array
) -> None:
    """The products of all points with the weights of one panel, as m[tile, point, COLUMNS]. Weights that come late are
    transformed some chunks at a time, so that they stay in a cache.
    """
    columns, late = g[COLUMNS], g[LATE] != 0
    step = g[LATE] if late else g[CHUNKS]
    narrow, tall, some = counts(g)
    for chunk in range(0, g[CHUNKS], step):
        chunks = min(step, g[CHUNKS] - chunk)
        if late:
            transform_chunks(simd, g, panel, chunk, chunks, w, u)
        for p in range(POINTS):
            if late:
                fetch_chunks(simd, g, panel, chunk, p, w)
            last_y, last_x = p // WINDOW == WINDOW - 1, p % WINDOW == WINDOW - 1
            row = max(0, narrow - first) if last_x else 0
            end = min(count, (tall if last_y else (some if last_x else g[TILES])) - first)
            factor = FACTORS[p // WINDOW] * FACTORS[p % WINDOW] if late and chunk + chunks == g[CHUNKS] else 1
            weights = ((0 if late else panel * POINTS) + p) * g[WEIGHT_POINT]
            while row < end:
                block = row // g[ROWS]
                rows = min((block + 1) * g[ROWS], end) - row
                left = p * g[POINT] + ((block * g[CHUNKS] + chunk - block) * g[ROWS] + row) * CHUNK
                to = (row * POINTS + p) * columns
                if native(simd):
                    product.multiply(
                        simd, rows, g[ROWS], v, left, u, weights, m, to, chunks, chunk > 0, factor, g[FETCHED]
                    )
                else:
                    plain_product(rows, g[ROWS], columns, v, left, u, weights, m, to, chunks, chunk > 0, factor)
                row += rows


@inline
def multiply_few(simd: Variant, g: Array, panel: int, v: Array, w: Array, m: Array) -> None:
    """The same for all tiles at once, which are FEW."""
    lanes = g[LANES]
    narrow, tall, some = counts(g)
    each = int(g[TILES] == FEW and narrow == 1 and tall == 2 and some == 3)
    for part in range(g[COLUMNS] // lanes):
        start = part_of_weights(g, panel, part, 0)
        product.multiply_few(simd, g[TILES], tall, each, g[ROWS], v, g[POINT], w, start, m, part * lanes, g[CHUNKS])


def _storing(scaled: Compiled) -> Compiled:
    """The end of a unit; `scaled` is that of whole tiles whose sums have 26 bits."""

    @inline
    def store_panel(
        simd: Variant, g: Array, panel: int, first: int, count: int, m: Array, seed: Array, c: Array, e32: Array,
        e64: Array, limits: Array, out: Array,
    ) -> None:  # fmt: skip
        """The outputs of the tiles from `first` on, for one panel of channels."""
        columns, pixel = g[COLUMNS], g[CHANNELS]
        line, pitch = g[WIDTH] * pixel, g[PANELS] * columns
        for t in range(count):
            image, y, x, tall, wide = place(g, first + t)
            height, width = min(TILE - 1 + tall, g[HEIGHT] - y), min(TILE - 1 + wide, g[WIDTH] - x)
            for part in range(0, columns, GROUP):
                channel = panel * columns + part
                some = min(GROUP, pixel - channel)
                if some > 0:
                    start = t * POINTS * columns + part
                    to = ((image * g[HEIGHT] + y) * g[WIDTH] + x) * pixel + channel
                    # not in a function of its own: numba would count references to its arrays for every tile
                    if native(simd) and g[IN_26_BITS] != 0 and some == GROUP:
                        scaled(
                            simd, m, start, columns, seed, channel, c, e32, pitch, limits, out, to, line, pixel, tall,
                            wide, height, width,
                        )  # fmt: skip
                    else:
                        finish(
                            simd, m, start, columns, seed, channel, c, e32, e64, pitch, limits, out, to, line, pixel,
                            tall, wide, height, width, some,
                        )  # fmt: skip

    return store_panel


def _conv(scaled: Compiled) -> Compiled:
    """The loop; `scaled` as for `_storing`."""
    store_panel = _storing(scaled)

    @jit
    def conv(
        simd: Variant, x: Array, u: Array, w: Array, g: Array, seed: Array, e32: Array, e64: Array, limits: Array,
        out: Array, v: Array, a: Array, m: Array, c: Array, late: Array, low: int, high: int,
    ) -> int:  # fmt: skip
        """CONV2D of int8, 3 x 3, with the epilogue: bias, scale, zero point, clip."""
        weights = late if g[LATE] != 0 else u
        transformed, ranges = -1, -(-g[TILES] // g[UNIT])
        for unit in range(low, high):
            panel, part = unit % g[PANELS], unit // g[PANELS]
            first = g[TILES] * part // ranges
            count = g[TILES] * (part + 1) // ranges - first
            if first != transformed:
                transform_tiles(simd, x, g, first, count, a, v, c)
                transformed = first
            if native(simd) and g[AT_FEW] != 0:
                multiply_few(simd, g, panel, v, w, m)
            else:
                multiply_panel(simd, g, panel, first, count, v, w, weights, m)
            store_panel(simd, g, panel, first, count, m, seed, c, e32, e64, limits, out)
        return -1

    return conv


conv, conv_rounded = (_conv(scaled) for scaled in WHOLE_TILES)
