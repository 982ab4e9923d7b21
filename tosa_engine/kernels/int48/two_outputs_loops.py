"""The compiled loop of a CONV2D of int16 whose sums are scaled in two ways. Units as in `tile.loops`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import few_of, jit, panels_of, rows_of
from ..scale.columns import scale_columns
from ..scale.places import NR
from ..tile.geometry import BLOCK, BLOCKS, CHANNELS, GROUPS, HEIGHT, IN_PLACE, MERGE, PANELS, PITCH, STEPS, WIDTH
from ..tile.loops import from_input, group_panels, pack_block, row_starts, straight
from ..tile.micro_kernel import sums_pairs

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.variants import Variant


@jit
def conv(
    simd: Variant, x: Array, b: Array, g: Array, offsets: Array, e32: Array, e64: Array, limits: Array, out: Array,
    second_e32: Array, second_e64: Array, second_limits: Array, second_out: Array, a: Array, rows: Array, c: Array,
    low: int, high: int,
) -> int:  # fmt: skip
    """The sums of a tile stay in the first-level cache until both results are made of them."""
    size, channels, pitch = g[STEPS] * 2 * NR, g[CHANNELS], g[PANELS] * NR
    full, few = rows_of(simd), few_of(simd)
    source = from_input(x, a, g)
    unit = low
    while unit < high:
        group, block = unit % g[GROUPS], unit // g[GROUPS] % g[BLOCKS]
        image = unit // g[GROUPS] // g[BLOCKS]
        blocks = min(g[MERGE], high - unit, g[BLOCKS] - block)
        first = block * g[BLOCK]
        lines = min(blocks * g[BLOCK], g[HEIGHT] - first)
        pixels = lines * g[WIDTH]
        if unit == low or group == 0:
            if g[IN_PLACE] != 0:
                straight(first * g[PITCH], g[PITCH], pixels, rows)
            else:
                pack_block(x, g, image, first, lines, a)
                row_starts(g, lines, rows)
        base = (image * g[HEIGHT] + first) * g[WIDTH] * channels
        panel, end = group_panels(simd, g, group)
        while panel < end:
            across = min(panels_of(simd), end - panel)
            done = 0
            while done < pixels:
                count = full if pixels - done >= full else few
                top = max(0, min(done, pixels - count))
                sums_pairs(simd, source, rows, top, count, b, panel * size, size, across, c, offsets, g[STEPS])
                for p in range(across):
                    channel = (panel + p) * NR
                    sums, to = c[p * count * NR :], base + top * channels + channel
                    lines_done, columns = min(count, pixels - top), min(NR, channels - channel)
                    scale_columns(
                        simd, sums, e32, e64, pitch, channel, limits, out, to, channels, lines_done, columns
                    )  # fmt: skip
                    scale_columns(
                        simd, sums, second_e32, second_e64, pitch, channel, second_limits, second_out, to, channels,
                        lines_done, columns,
                    )  # fmt: skip
                done = top + count
            panel += across
        unit += blocks
    return -1
