"""The steps of the integer Winograd convolution as plain code, and the end that needs no speed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._jit import JIT, inline, native
from ..scale.accumulators import scale_rows
from .matrices import A_T, A_T_SHORT, B_T, B_T_SHORT, REDUCED
from .places import CHUNK, GROUP, INVERSE_OF_9, PAIRS, POINTS, SHIFT, TAPS, TILE, WINDOW

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.variants import Variant

if JIT:
    from . import emit as winograd_emit
    from . import product as winograd_product

    # modules whose functions compiled code takes; without the JIT, nothing does
    vector: Any = winograd_emit
    product: Any = winograd_product
    WHOLE_TILES: tuple[Any, Any] = winograd_emit.transform_and_scale, winograd_emit.transform_and_scale_rounded
else:
    vector = product = None
    WHOLE_TILES = None, None


@inline
def plain_inputs(
    a: Array, start: int, line: int, pixel: int, v: Array, to: int, point: int, tall: int, wide: int, c: Array
) -> None:
    """v[to + p * point + j] = (B^T d B)[p] for the pixels d of `a` from `start` on and CHUNK neighbours j.

    Rows of pixels lie `line` elements apart, pixels `pixel`. A tile that isn't `tall` or `wide` has a row or a column
    less, and misses the last points. `c` is memory for intermediate values.
    """
    down, across = (B_T if tall else B_T_SHORT), (B_T if wide else B_T_SHORT)
    height, width = len(down), len(across)
    for channel in range(CHUNK):
        for i in range(height):
            for j in range(width):
                total = 0
                for k in range(height):
                    total += down[i, k] * np.int64(a[start + k * line + j * pixel + channel])
                c[i * WINDOW + j] = total
        for i in range(height):
            for j in range(width):
                total = 0
                for k in range(width):
                    total += across[j, k] * np.int64(c[i * WINDOW + k])
                v[to + (i * WINDOW + j) * point + channel] = total


@inline
def plain_weights(w: Array, start: int, lanes: int, columns: int, pairs: int, u: Array, to: int, point: int) -> None:
    """u[to + p * point + (pair, column, 2)] = (REDUCED g REDUCED^T)[p] for the weights
    g = w[start + (pair, tap, column, 2)] of `lanes` columns.
    """
    size = 2 * lanes
    for i in range(pairs * size):
        pair = i // size
        first, target = start + pair * TAPS * size + i - pair * size, to + pair * 2 * columns + i - pair * size
        for p in range(POINTS):
            total = 0
            for tap in range(TAPS):
                total += REDUCED[p // WINDOW, tap // 3] * REDUCED[p % WINDOW, tap % 3] * np.int64(w[first + tap * size])
            u[target + p * point] = total


@inline
def plain_product(
    rows: int, pitch: int, columns: int, v: Array, first: int, u: Array, start: int, m: Array, to: int, chunks: int,
    again: bool, factor: int,
) -> None:  # fmt: skip
    """m[to + r * POINTS * columns + j] = `factor` times the sum over channels i of v[r, i] * u[i, j], modulo 2^32;
    `again`: what is there is a part of the sum.

    From `first` on, v is [chunk, pitch, CHUNK]; from `start` on, u is [pair of channels, columns, 2].
    """
    for r in range(rows):
        for j in range(columns):
            at = to + r * POINTS * columns + j
            total = np.int64(m[at]) if again else np.int64(0)
            for k in range(chunks * PAIRS):
                left = first + ((k // PAIRS) * pitch + r) * CHUNK + 2 * (k % PAIRS)
                right = start + (k * columns + j) * 2
                total += np.int64(v[left]) * np.int64(u[right]) + np.int64(v[left + 1]) * np.int64(u[right + 1])
            m[at] = np.int32(total * factor)


@inline
def plain_outputs(
    m: Array, start: int, columns: int, seed: Array, channel: int, c: Array, tall: int, wide: int
) -> None:
    """c[(i * TILE + j) * GROUP + n] = the sum of output pixel (i, j) of a tile, moved as `seed` says.

    The points of channel n are m[start + p * columns + n].
    """
    down, across = (A_T if tall else A_T_SHORT), (A_T if wide else A_T_SHORT)
    for n in range(GROUP):
        for i in range(down.shape[0]):
            for j in range(across.shape[0]):
                total = np.int64(seed[channel + n])
                for p in range(down.shape[1]):
                    for q in range(across.shape[1]):
                        product = np.int64(m[start + (p * WINDOW + q) * columns + n])
                        total += down[i, p] * across[j, q] * product
                scaled = np.int32(np.int64(np.int32(total)) * INVERSE_OF_9)
                c[(i * TILE + j) * GROUP + n] = scaled >> SHIFT


@inline
def finish(
    simd: Variant, m: Array, start: int, columns: int, seed: Array, channel: int, c: Array, e32: Array, e64: Array,
    pitch: int, limits: Array, out: Array, to: int, line: int, pixel: int, tall: int, wide: int, height: int,
    width: int, count: int,
) -> None:  # fmt: skip
    """The first height x width outputs of a tile, scaled and stored: `count` channels from `channel` on."""
    if native(simd):
        vector.transform_products(simd, m, start, columns, seed, channel, c, tall, wide)
    else:
        plain_outputs(m, start, columns, seed, channel, c, tall, wide)
    for i in range(height):
        row = c[i * TILE * GROUP : (i + 1) * TILE * GROUP]
        scale_rows(simd, row, e32, e64, pitch, channel, limits, out, to + i * line, pixel, width, count)
