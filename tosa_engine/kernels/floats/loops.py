"""Compiled loops of convolution and matrix product of floats, on the float tile. Units as in `tile.loops`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import inline, jit
from ..layout.lines import fill
from ..scale.places import NR
from ..tile.geometry import (  # fmt: skip
    BLOCK,
    BLOCKS,
    CHANNELS,
    COPIED,
    DEPTH,
    FIRST_X,
    FIRST_Y,
    GROUPS,
    HEIGHT,
    IN_HEIGHT,
    IN_PLACE,
    IN_WIDTH,
    JUMP_Y,
    PITCH,
    STEP_X,
    STEP_Y,
    STEPS,
    TAIL,
    WIDTH,
)
from ..tile.loops import from_copy, from_input, group_panels, row_starts, straight
from .halves import widened
from .tile import tile_width, tiles

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Compiled
    from .._jit.variants import Variant


@inline
def copy(source: Array, target: Array) -> None:
    for i in range(len(target)):
        target[i] = widened(source[i])


@jit
def pack_rows(x: Array, g: Array, image: int, top: int, count: int, a: Array) -> None:
    """Copy `count` input rows from row `top` on to the buffer `a`; outside the input stand zeros."""
    depth, pitch, zero = g[DEPTH], g[PITCH], np.float32(0.0)
    columns = pitch // depth
    for r in range(count):
        y = top + r * g[STEP_Y]
        row = a[r * pitch : (r + 1) * pitch]
        if y < 0 or y >= g[IN_HEIGHT]:
            fill(zero, row)
            continue
        start = (image * g[IN_HEIGHT] + y) * g[IN_WIDTH] * depth
        source = x[start : start + g[IN_WIDTH] * depth]
        if g[STEP_X] == 1:
            before = min(-g[FIRST_X], columns) * depth
            inside = max(0, min(columns + g[FIRST_X], g[IN_WIDTH]) * depth)
            fill(zero, row[:before])
            copy(source, row[before : before + inside])
            fill(zero, row[before + inside :])
            continue
        for p in range(columns):
            column = g[FIRST_X] + p * g[STEP_X]
            pixel = row[p * depth : (p + 1) * depth]
            if column < 0 or column >= g[IN_WIDTH]:
                fill(zero, pixel)
            else:
                copy(source[column * depth : (column + 1) * depth], pixel)


def _conv(source_of: Compiled) -> Compiled:
    @jit
    def conv(
        simd: Variant, x: Array, b: Array, g: Array, offsets: Array, bias: Array, limits: Array, out: Array, a: Array,
        rows: Array, low: int, high: int,
    ) -> int:  # fmt: skip
        """CONV2D: in the order ky, kx, ic; then the bias; rounded where results are narrow; then the clip."""
        size, length = g[STEPS] * NR, g[STEPS] // len(offsets)
        for unit in range(low, high):
            group, block = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS]
            image = unit // g[GROUPS] // g[BLOCKS]
            first = block * g[BLOCK]
            lines = min(g[BLOCK], g[HEIGHT] - first)
            pixels = lines * g[WIDTH]
            source = source_of(x, a, g)
            if unit == low or group == 0:
                if g[IN_PLACE] == COPIED:
                    copy(x[first * g[PITCH] : (first + lines) * g[PITCH]], a[: lines * g[PITCH]])
                    straight(0, g[PITCH], pixels, rows)
                elif g[IN_PLACE] != 0:
                    straight(first * g[PITCH], g[PITCH], pixels, rows)
                else:
                    top = first * g[STEP_Y] * g[JUMP_Y] + g[FIRST_Y]
                    pack_rows(x, g, image, top, (lines - 1) * g[JUMP_Y] + 1 + g[TAIL], a)
                    row_starts(g, lines, rows)
            base = (image * g[HEIGHT] + first) * g[WIDTH] * g[CHANNELS]
            panel, end = group_panels(simd, g, group)
            while panel < end:
                across = tile_width(simd, pixels, end - panel)
                channel = panel * NR
                tiles(
                    simd, source, rows, pixels, b, panel * size, size, NR, across, offsets, length, bias, channel,
                    limits, out, base + channel, g[CHANNELS], g[CHANNELS] - channel,
                )  # fmt: skip
                panel += across
        return -1

    return conv


# of float32, and of fp16 and bf16, which are widened when they are packed
conv, conv_narrow = _conv(from_input), _conv(from_copy)
