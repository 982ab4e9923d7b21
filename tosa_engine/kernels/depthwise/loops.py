"""The compiled loop of DEPTHWISE_CONV2D of int8, on quads of rows.

A unit of work is a block of output rows that share their quads, times a group of neighbouring channels: small enough
that its quads stay in the first-level cache. Where the last group of channels overlaps the one before, so that both
are whole vectors, one unit does both. Geometry travels in one int64 array: the places below, the distances of the
taps in columns, the fields of each group, then `limits` of the epilogue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import inline, jit
from ..scale.accumulators import scale_rows
from ..scale.places import NR
from .places import (  # fmt: skip
    APART,
    BEFORE,
    BLOCKS,
    BY_CHUNKS,
    CHANNEL,
    CHANNELS,
    CHUNKS,
    CODE,
    COLUMNS,
    COLUMNS_OF_CODE,
    DEPTH,
    FIELDS,
    GROUPS,
    HEIGHT,
    IN_HEIGHT,
    IN_WIDTH,
    LEFT,
    LENGTH,
    LINES,
    NUMBERS,
    PITCH,
    PIXELS,
    PLANE,
    QUADS,
    REACH,
    REPEAT,
    ROW_BYTES,
    ROW_STEP,
    ROWS,
    SIZE,
    SPAN,
    STAGED,
    STEP_X,
    STEP_Y,
    TAPS,
    TOP,
    VECTORS,
    WEIGHTS,
    WIDTH,
)
from .quad_sums import row_in_registers, tile_sums
from .quads import interleave

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Compiled
    from .._jit.variants import Variant


@jit
def row_starts(g: Array, image: int, first: int, lines: int, rows: Array) -> None:
    """Where the input rows of a block of output rows start; -1 for those that are padding or that no output reads."""
    reach = (lines - 1) * g[STEP_Y] + g[REACH]
    for r in range(g[QUADS] * ROWS):
        y = first * g[STEP_Y] - g[TOP] + r * g[ROW_STEP]
        inside = r < reach and 0 <= y < g[IN_HEIGHT]
        rows[r] = (image * g[IN_HEIGHT] + y) * g[IN_WIDTH] * g[DEPTH] if inside else -1


@jit
def stage(x: Array, g: Array, rows: Array, channel: int, width: int, staged: Array, starts: Array) -> None:
    """Copy rows with each channel repeated, `width` output channels from `channel` on; `starts` is where they start."""
    count, first = min(width, g[CHANNELS] - channel), channel // g[REPEAT]
    places = starts[g[QUADS] * ROWS :]
    for j in range(count):
        places[j] = (channel + j) // g[REPEAT] - first
    for r in range(g[QUADS] * ROWS):
        starts[r] = r * g[IN_WIDTH] * width if rows[r] >= 0 else -1
        for p in range(g[IN_WIDTH] if rows[r] >= 0 else 0):
            source, target = x[rows[r] + p * g[DEPTH] + first :], staged[starts[r] + p * width :]
            for j in range(count):
                target[j] = source[places[j]]


@inline
def fill(part: Array, value: int) -> None:
    for i in range(len(part)):
        part[i] = value


@jit
def copy_row(x: Array, pad: int, g: Array, image: int, copied: Array, starts: Array) -> None:
    """The row of an image with its padding, and where the rows of its quads start."""
    depth = g[DEPTH]
    first, end = g[BEFORE] * depth, (g[BEFORE] + g[LENGTH]) * depth
    at = image * g[ROW_BYTES]
    fill(copied[:first], pad)
    source, target = x[at : at + end - first], copied[first:end]
    for i in range(len(target)):
        target[i] = source[i]
    fill(copied[end : g[IN_WIDTH] * depth], pad)
    for r in range(ROWS):
        starts[r] = r * g[APART] * depth


@inline
def interleave_all(
    simd: Variant, x: Array, pad: Array, g: Array, rows: Array, shift: int, step: int, width: int, a: Array
) -> None:
    """All quads of a unit and group."""
    before = min(g[LEFT], g[COLUMNS])
    inside = min(g[IN_WIDTH], g[COLUMNS] - before)
    counts = (before, inside, g[COLUMNS] - before - inside, g[STEP_X], g[PLANE])
    for quad in range(g[QUADS]):
        at = quad * g[STEP_X] * g[PLANE] * VECTORS * width
        interleave(simd, x, pad, rows, quad * ROWS, shift, step, a, at, width, counts)


@inline
def scaled_row(
    simd: Variant, a: Array, g: Array, offsets: Array, w: Array, start: int, channel: int, width: int, numbers: Array,
    place: int, e64: Array, limits: Array, out: Array, to: int, c: Array, pitch: int, count: int, kind: int,
) -> None:  # fmt: skip
    """`count` outputs of a row by way of `c`, for every type, scale and kind of kernel."""
    for first in range(0, count, PIXELS):
        tile_sums(simd, a, first * VECTORS * width, offsets, g[TAPS], w, start, width, c)
        pixels = min(PIXELS, count - first)
        for panel in range(0, width, NR):
            columns = min(NR, g[CHANNELS] - channel - panel)
            sums, at = c[panel * PIXELS :], to + first * pitch + panel
            scale_rows(simd, sums, numbers, e64, g[PITCH], channel + panel, limits, out, at, pitch, pixels, columns)


def _depthwise(row: Compiled) -> Compiled:
    @jit
    def depthwise(
        simd: Variant, x: Array, w: Array, numbers: Array, e64: Array, g: Array, pad: Array, out: Array, rows: Array,
        a: Array, c: Array, low: int, high: int,
    ) -> int:  # fmt: skip
        offsets = g[SIZE : SIZE + g[TAPS]]
        groups = g[SIZE + g[TAPS] : SIZE + g[TAPS] + g[GROUPS] * FIELDS]
        limits = g[SIZE + g[TAPS] + g[GROUPS] * FIELDS :]
        starts, staged = rows[g[QUADS] * ROWS :], a[g[STAGED] :]
        for unit in range(low, high):
            chunk, block = unit % g[CHUNKS], unit // g[CHUNKS] % g[BLOCKS]
            if g[BY_CHUNKS] != 0:
                chunk, block = unit // g[BLOCKS] % g[CHUNKS], unit % g[BLOCKS]
            image, first = unit // g[CHUNKS] // g[BLOCKS], block * g[LINES]
            lines = min(g[LINES], g[HEIGHT] - first)
            if g[APART] != 0:
                copy_row(x, pad[0], g, image, staged, starts)
            else:
                row_starts(g, image, first, lines, rows)
            for group in range(chunk, g[GROUPS] if chunk == g[CHUNKS] - 1 else chunk + 1):
                fields = groups[group * FIELDS : (group + 1) * FIELDS]
                channel, width = fields[CHANNEL], fields[SPAN]
                if g[APART] != 0:
                    interleave_all(simd, staged, pad, g, starts, channel, g[DEPTH], width, a)
                elif g[STAGED]:
                    stage(x, g, rows, channel, width, staged, starts)
                    interleave_all(simd, staged, pad, g, starts, 0, width, width, a)
                else:
                    interleave_all(simd, x, pad, g, rows, channel, g[DEPTH], width, a)
                for j in range(lines):
                    to = (image * g[HEIGHT] + first + j) * g[WIDTH] * g[CHANNELS] + channel
                    at = fields[WEIGHTS] + j * VECTORS * g[TAPS] * width
                    row(
                        simd, a, g, offsets, w, at, channel, width, numbers, fields[NUMBERS], e64, limits, out, to, c,
                        g[CHANNELS], g[WIDTH], g[CODE],
                    )  # fmt: skip
        return -1

    return depthwise


# Each is code for every width of vectors, 1 - 2 s of compiling: one for the kernels of a network is enough.
THROUGH_SUMS = _depthwise(scaled_row)
IN_REGISTERS = {
    (columns, double): _depthwise(row_in_registers(columns, double))
    for columns in sorted({*COLUMNS_OF_CODE})
    for double in (False, True)
}  # by the columns of the kernel, and whether scales are DOUBLE_ROUND


def loop_of(code: int, double: bool, direct: bool) -> Compiled:
    """`direct`: bytes are made of sums in registers."""
    return IN_REGISTERS[COLUMNS_OF_CODE[code], double] if direct else THROUGH_SUMS
