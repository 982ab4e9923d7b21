"""Compiled loops of MATMUL of bytes in quads.

With a' = a + 128 (a itself where a vector unit multiplies signed bytes) and za' likewise,

    sum (a - za) * (b - zb)  =  sum a' * b  -  za' * sum b  -  zb * sum a  +  C * za * zb

The tile computes the first sum. The second one is a term of each column and goes into its bias, together with the last;
the third one is a term of each row. All of it is modulo 2^32: the caller has proved that the result fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import inline, jit, panels_of
from .._jit.variants import MOST_ROWS, TILE
from ..layout.lines import copy, fill
from ..scale.places import NR
from .geometry import BLOCK, BLOCKS, CHANNELS, CONSTANT, DEPTH, GROUPS, HEIGHT, IN_PLACE, PANELS, REPEAT, STEPS, ZERO
from .loops import from_input, group_panels, straight
from .micro_kernel import tiles_terms
from .quad_panels import BYTES, pack

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Compiled
    from .._jit.variants import Variant

PARAMETERS = 5  # rows of the parameters of scaling that are 32 bits wide; two are 64
PITCH = 2 * NR  # of the copy of them that has the terms of columns


@inline
def row_terms(x: Array, source: int, depth: int, lines: int, factor: int, terms: Array) -> None:
    """terms[r] = -factor * the sum of row r."""
    if factor == 0:
        fill(0, terms[: lines + MOST_ROWS])
        return
    for r in range(lines):
        row = x[source + r * depth : source + (r + 1) * depth]
        total = np.int32(0)
        for i in range(len(row)):
            total = np.int32(total + row[i])  # kept to 32 bits: twice as many lanes
        terms[r] = -factor * np.int64(total)


@inline
def pack_columns(
    simd: Variant, y: Array, source: int, width: int, count: int, g: Array, copied: Array, b: Array, start: int,
    sums: Array, at: int,
) -> None:  # fmt: skip
    """One panel of `count` columns; where they are less than NR, numbers stand beside them that nobody looks at."""
    depth, steps = g[DEPTH], g[STEPS]
    blank = copied[depth * NR : (depth + 1) * NR]
    if source + (depth - 1) * width + NR <= len(y):
        pack(simd, y, source, width, depth, steps, blank, b, start, sums, at)
        return
    for k in range(depth):
        row, target = y[source + k * width : source + k * width + count], copied[k * NR : (k + 1) * NR]
        for j in range(count):
            target[j] = row[j]
    pack(simd, copied, 0, NR, depth, steps, blank, b, start, sums, at)


@inline
def with_column_terms(g: Array, e32: Array, e64: Array, channel: int, count: int, own32: Array, own64: Array) -> None:
    """The parameters of `count` columns from `channel` on, the sums of whose columns stand in own32, with their terms
    as the bias.
    """
    pitch = g[PANELS] * NR
    for j in range(count):
        own32[j] = g[CONSTANT] - g[ZERO] * np.int64(own32[j])
    for i in range(1, PARAMETERS):
        copy(e32[i * pitch + channel : i * pitch + channel + count], own32[i * PITCH : i * PITCH + count])
    for i in range(2):
        copy(e64[i * pitch + channel : i * pitch + channel + count], own64[i * PITCH : i * PITCH + count])


def _matmul(tiles: Compiled) -> Compiled:
    @jit
    def matmul(
        simd: Variant, x: Array, y: Array, g: Array, offsets: Array, e32: Array, e64: Array, limits: Array, out: Array,
        a: Array, rows: Array, c: Array, b: Array, copied: Array, own32: Array, own64: Array, low: int, high: int,
    ) -> int:  # fmt: skip
        """A unit is one batch, a block of rows and a group of column panels, which it packs itself."""
        height, width, depth = g[HEIGHT], g[CHANNELS], g[DEPTH]
        size = g[STEPS] * BYTES
        fill(0, copied[depth * NR : (depth + 1) * NR])
        for unit in range(low, high):
            group, block, batch = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS], unit // g[GROUPS] // g[BLOCKS]
            first = block * g[BLOCK]
            lines = min(g[BLOCK], height - first)
            left = from_input(x, a, g)
            if unit == low or group == 0:
                source = (batch * height + first) * depth
                row_terms(x, source, depth, lines, g[REPEAT], c[TILE:])
                if g[IN_PLACE] == 0:
                    copy(x[source : source + lines * depth], a[: lines * depth])
                    source = 0
                straight(source, depth, lines, rows)
            panel, end = group_panels(simd, g, group)
            while panel < end:
                across = min(panels_of(simd), end - panel)
                columns = min(across * NR, width - panel * NR)
                for p in range(across):
                    column = (panel + p) * NR
                    start, count = batch * depth * width + column, min(NR, width - column)
                    pack_columns(simd, y, start, width, count, g, copied, b, p * size, own32, p * NR)
                with_column_terms(g, e32, e64, panel * NR, across * NR, own32, own64)
                to = (batch * height + first) * width + panel * NR
                tiles(
                    simd, left, rows, lines, b, 0, size, across, c, offsets, g[STEPS], own32, own64, PITCH, 0, limits,
                    out, to, width, columns,
                )  # fmt: skip
                panel += across
        return -1

    return matmul


quads = [_matmul(tiles) for tiles in tiles_terms]  # for each of epilogue.FORMS
