"""The steps of the integer Winograd convolution as plain code, and the end that needs no speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._jit import JIT, inline, native
from .scale import scale_rows
from .winograd_matrices import A_T, B_T
from .winograd_places import CHUNK, GROUP, INVERSE_OF_9, PAIRS, POINTS, TILE, WINDOW

if JIT:
    from . import winograd_emit

    vector: Any = winograd_emit
else:
    vector = None


@inline
def plain_inputs(a: Any, start: int, line: int, pixel: int, v: Any, to: int, point: int, c: Any) -> None:
    """v[to + p * point + j] = (B^T d B)[p] for the 6 x 6 pixels d of `a` from `start` on and CHUNK neighbours j.

    Rows of pixels lie `line` elements apart, pixels `pixel`. `c` is memory for intermediate values.
    """
    for channel in range(CHUNK):
        for i in range(WINDOW):
            for j in range(WINDOW):
                total = 0
                for k in range(WINDOW):
                    total += B_T[i, k] * np.int64(a[start + k * line + j * pixel + channel])
                c[i * WINDOW + j] = total
        for i in range(WINDOW):
            for j in range(WINDOW):
                total = 0
                for k in range(WINDOW):
                    total += B_T[j, k] * np.int64(c[i * WINDOW + k])
                v[to + (i * WINDOW + j) * point + channel] = total


@inline
def plain_product(
    rows: int, columns: int, v: Any, first: int, u: Any, start: int, m: Any, to: int, chunks: int
) -> None:
    """m[to + r * POINTS * columns + j] = sum over channels i of v[r, i] * u[i, j], modulo 2^32.

    From `first` on, v is [chunk, rows, CHUNK]; from `start` on, u is [pair of channels, columns, 2].
    """
    for r in range(rows):
        for j in range(columns):
            total = np.int64(0)
            for k in range(chunks * PAIRS):
                left = first + ((k // PAIRS) * rows + r) * CHUNK + 2 * (k % PAIRS)
                right = start + (k * columns + j) * 2
                total += np.int64(v[left]) * np.int64(u[right]) + np.int64(v[left + 1]) * np.int64(u[right + 1])
            m[to + r * POINTS * columns + j] = np.int32(total)


@inline
def plain_outputs(m: Any, start: int, columns: int, seed: Any, channel: int, c: Any) -> None:
    """c[(i * TILE + j) * GROUP + n] = the sum of output pixel (i, j) of a tile without the middle of its bounds.

    The points of channel n are m[start + p * columns + n].
    """
    for n in range(GROUP):
        for i in range(TILE):
            for j in range(TILE):
                total = 16 * np.int64(seed[channel + n])
                for p in range(POINTS):
                    factor = A_T[i, p // WINDOW] * A_T[j, p % WINDOW]
                    total += factor * np.int64(m[start + p * columns + n])
                scaled = np.int32(np.int64(np.int32(total)) * INVERSE_OF_9)
                c[(i * TILE + j) * GROUP + n] = scaled >> 6


@inline
def finish(
    simd: Any, m: Any, start: int, columns: int, seed: Any, channel: int, c: Any, e32: Any, e64: Any, pitch: int,
    limits: Any, out: Any, to: int, line: int, pixel: int, height: int, width: int, count: int,
) -> None:  # fmt: skip
    """The first height x width outputs of a tile, scaled and stored: `count` channels from `channel` on."""
    if native(simd):
        vector.transform_products(simd, m, start, columns, seed, channel, c)
    else:
        plain_outputs(m, start, columns, seed, channel, c)
    for i in range(height):
        row = c[i * TILE * GROUP : (i + 1) * TILE * GROUP]
        scale_rows(simd, row, e32, e64, pitch, channel, limits, out, to + i * line, pixel, width, count)


@inline
def look_up(table: Any, out: Any, to: int, line: int, pixel: int, height: int, width: int, count: int) -> None:
    """The epilogue's table of 256 entries on the stored outputs of a tile."""
    for i in range(height):
        for j in range(width):
            for n in range(to + i * line + j * pixel, to + i * line + j * pixel + count):
                out[n] = table[np.int64(out[n]) + 128]
