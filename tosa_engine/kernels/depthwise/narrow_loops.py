"""The compiled loop of DEPTHWISE_CONV2D of few channels: some neighbouring pixels are one pixel of many channels.

With C channels and MERGED pixels at a time, lane (j, c) of the p-th of them is output column MERGED * p + j; under
column kx of the kernel it reads input column (MERGED * p + j) * STEP_X + kx * dilation - LEFT. So a row is copied
first: padded, each channel repeated, and the columns that leave the same rest on division by STEP_X (a phase) next
to each other. Then every column of the kernel has quads of its own, whose vectors start MERGED pixels apart. Rows
of outputs are computed as whole vectors, and copied to their place as far as they are long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import inline, jit
from ..layout.lines import copy, fill
from .loops import row_starts
from .places import (  # fmt: skip
    BLOCKS,
    CHANNEL,
    CHANNELS,
    COLUMNS,
    DEPTH,
    FIELDS,
    GROUPS,
    HEIGHT,
    IN_WIDTH,
    LEFT,
    LINES,
    MERGED,
    NUMBERS,
    OUT_ROWS,
    PHASE,
    PITCH,
    PLANE,
    QUADS,
    REPEAT,
    ROWS,
    SIZE,
    SPAN,
    STAGED,
    STEP_X,
    TAPS,
    VECTORS,
    WEIGHTS,
    WIDTH,
)
from .quad_sums import row_in_registers
from .quads import interleave

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Compiled
    from .._jit.variants import Variant


@jit
def copy_row(x: Array, start: int, g: Array, zero: Array, row: Array) -> None:
    """A padded input row, phase after phase of PHASE columns."""
    channels = g[CHANNELS]
    if g[STEP_X] == 1 and g[REPEAT] == 1:
        before = min(g[LEFT] * channels, len(row))
        inside = min(g[IN_WIDTH] * channels, len(row) - before)
        fill(zero, row[:before])
        copy(x[start : start + inside], row[before : before + inside])
        fill(zero, row[before + inside :])
        return
    size, step = g[PHASE] * channels, g[STEP_X]
    for phase in range(step):
        # columns of the phase that are inside: 0 <= i * step + phase - LEFT < IN_WIDTH
        low = min(max(0, -((phase - g[LEFT]) // step)), g[PHASE])
        high = min(max(low, -((phase - g[LEFT] - g[IN_WIDTH]) // step)), g[PHASE])
        part = row[phase * size : (phase + 1) * size]
        fill(zero, part[: low * channels])
        source = x[start + (low * step + phase - g[LEFT]) * g[DEPTH] : start + g[IN_WIDTH] * g[DEPTH]]
        spread(source, step * g[DEPTH], g[DEPTH], g[REPEAT], part[low * channels : high * channels])
        fill(zero, part[high * channels :])
    fill(zero, row[step * size :])


@inline
def spread(source: Array, pitch: int, depth: int, repeat: int, target: Array) -> None:
    """Pixels of `depth` channels, `pitch` elements apart, with each channel repeated."""
    pixels = len(target) // (depth * repeat)
    for c in range(depth):
        values, places = source[c:], target[c * repeat :]
        if repeat == 1:
            for i in range(pixels):
                places[i * depth] = values[i * pitch]
        else:
            for i in range(pixels):
                at, value = i * depth * repeat, values[i * pitch]
                for m in range(repeat):
                    places[at + m] = value


def _narrow(row: Compiled) -> Compiled:
    @jit
    def narrow(
        simd: Variant, x: Array, w: Array, numbers: Array, starts: Array, g: Array, pad: Array, out: Array, rows: Array,
        a: Array, c: Array, low: int, high: int,
    ) -> int:  # fmt: skip
        """A unit is a block of output rows of an image; `starts` is where each column of the kernel begins in a row."""
        offsets = g[SIZE : SIZE + g[TAPS]]
        groups = g[SIZE + g[TAPS] : SIZE + g[TAPS] + g[GROUPS] * FIELDS]
        limits = g[SIZE + g[TAPS] + g[GROUPS] * FIELDS :]
        copies = rows[g[QUADS] * ROWS :]
        staged, made = a[g[STAGED] :], a[g[OUT_ROWS] :]
        counts, wanted = (0, g[PLANE], 0, 1, g[PLANE]), g[WIDTH] * g[CHANNELS]
        for unit in range(low, high):
            image, first = unit // g[BLOCKS], unit % g[BLOCKS] * g[LINES]
            lines = min(g[LINES], g[HEIGHT] - first)
            row_starts(g, image, first, lines, rows)
            for r in range(g[QUADS] * ROWS):
                copies[r] = r * g[COLUMNS] if rows[r] >= 0 else -1
                if rows[r] >= 0:
                    copy_row(x, rows[r], g, pad[0], staged[r * g[COLUMNS] : (r + 1) * g[COLUMNS]])
            for group in range(g[GROUPS]):
                fields = groups[group * FIELDS : (group + 1) * FIELDS]
                channel, width = fields[CHANNEL], fields[SPAN]
                for tap in range(g[TAPS]):
                    quad, kx = tap // len(starts), tap % len(starts)
                    interleave(
                        simd, staged, pad, copies, quad * ROWS, starts[kx] + channel, g[MERGED] * g[CHANNELS], a,
                        tap * g[PLANE] * VECTORS * width, width, counts,
                    )  # fmt: skip
                for j in range(lines):
                    at = fields[WEIGHTS] + j * VECTORS * g[TAPS] * width
                    row(
                        simd, a, g, offsets, w, at, channel, width, numbers, fields[NUMBERS], starts, limits, made,
                        j * g[PLANE] * g[PITCH] + channel, c, g[PITCH], g[PLANE], 0,
                    )  # fmt: skip
            for j in range(lines):
                to, source = (image * g[HEIGHT] + first + j) * wanted, j * g[PLANE] * g[PITCH]
                copy(made[source : source + wanted], out[to : to + wanted])
        return -1

    return narrow


narrow, narrow_double = (_narrow(row_in_registers(0, double)) for double in (False, True))  # as scales round
