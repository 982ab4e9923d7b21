"""The compiled loop of DEPTHWISE_CONV2D of float32, or of fp16 and bf16 where vector code widens and rounds them.

A unit of work is a block of output rows of one image.

Windows are read from the input itself, and the padding is left out of their sums. Where there are too few channels for
a vector, or several outputs per input channel, the input is packed first, padding as zeros.

The order of summation is ky, kx, from zero on, each product fused with its addition; then the bias is added, and the
result clipped. Geometry travels in one int64 array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import JIT, inline, jit, lanes_of, native
from .depthwise_places import (  # fmt: skip
    BLOCK,
    BLOCKS,
    CHANNELS,
    CODE,
    COLUMN_STEP,
    COLUMNS,
    DEPTH,
    HEIGHT,
    IN_HEIGHT,
    IN_WIDTH,
    KERNEL_X,
    KERNEL_Y,
    KNOWN,
    LEFT,
    PACKED,
    PITCH,
    PIXELS,
    REPEAT,
    ROW_STEP,
    STEP_X,
    STEP_Y,
    TOP,
    WIDTH,
)
from .fma import exact
from .halves import widened
from .tile import clip

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Number
    from .._jit.variants import Variant

if JIT:
    from .depthwise_emit import windows


@jit
def plain_windows(
    a: Array, at: int, row: int, column: int, pixel: int, height: int, width: int, w: Array, w_at: int, w_row: int,
    w_column: int, bias: Array, limits: Array, out: Array, to: int, channels: int, pixels: int,
) -> None:  # fmt: skip
    """out[to + p * channels + j] = the sums over `height` rows and `width` columns of a * w, plus bias, clipped."""
    for p in range(pixels):
        for j in range(channels):
            total = np.float32(0.0)
            for ky in range(height):
                for kx in range(width):
                    value = widened(a[at + p * pixel + ky * row + kx * column + j])
                    total = exact(value, w[w_at + ky * w_row + kx * w_column + j], total)
            out[to + p * channels + j] = clip(total + bias[j], limits[0], limits[1])


if JIT:
    several_wide, several_narrow = windows(PIXELS, 2, KNOWN), windows(PIXELS, 1)
    one_wide, one_narrow = windows(1, 4), windows(1, 1)

    @inline
    def pixels_windows(
        simd: Variant, code: int, a: Array, at: int, row: int, column: int, pixel: int, height: int, width: int,
        w: Array, w_at: int, w_row: int, w_column: int, bias: Array, limits: Array, out: Array, to: int, channels: int,
        pixels: int,
    ) -> None:  # fmt: skip
        """plain_windows of 1 or PIXELS pixels, in vector code where the unit has any. The last vector of channels
        reaches back.
        """
        if not native(simd):
            plain_windows(
                a, at, row, column, pixel, height, width, w, w_at, w_row, w_column, bias, limits, out, to, channels,
                pixels,
            )  # fmt: skip
            return
        lanes, c = lanes_of(simd), 0
        wide = 2 * lanes if pixels > 1 else 4 * lanes
        while channels - c >= wide:
            if pixels > 1:
                several_wide(
                    simd, code, a, at + c, row, column, pixel, height, width, w, w_at + c, w_row, w_column, bias, c,
                    limits, out, to + c, channels, wide,
                )  # fmt: skip
            else:
                one_wide(
                    simd, 0, a, at + c, row, column, pixel, height, width, w, w_at + c, w_row, w_column, bias, c,
                    limits, out, to + c, channels, wide,
                )  # fmt: skip
            c += wide
        while c < channels:
            c = max(0, min(c, channels - lanes))
            if pixels > 1:
                several_narrow(
                    simd, 0, a, at + c, row, column, pixel, height, width, w, w_at + c, w_row, w_column, bias, c,
                    limits, out, to + c, channels, channels - c,
                )  # fmt: skip
            else:
                one_narrow(
                    simd, 0, a, at + c, row, column, pixel, height, width, w, w_at + c, w_row, w_column, bias, c,
                    limits, out, to + c, channels, channels - c,
                )  # fmt: skip
            c += lanes

else:

    def pixels_windows(
        simd: Variant, code: int, a: Array, at: int, row: int, column: int, pixel: int, height: int, width: int,
        w: Array, w_at: int, w_row: int, w_column: int, bias: Array, limits: Array, out: Array, to: int, channels: int,
        pixels: int,
    ) -> None:  # fmt: skip
        plain_windows(
            a, at, row, column, pixel, height, width, w, w_at, w_row, w_column, bias, limits, out, to, channels, pixels
        )  # fmt: skip


@inline
def span(before: int, size: int, step: int, taps: int) -> Number:
    """The first tap inside the input, and the one behind the last, of a window that starts `before` the input's first
    position.
    """
    first = min(taps, max(0, -(-before // step)))
    return first, max(first, min(taps, -(-(size + before) // step)))


@inline
def inside(before: int, size: int, step: int, reach: int, count: int) -> Number:
    """The first output whose window lies in the input, and the one behind the last."""
    first = min(count, -(-before // step))
    return first, max(first, min(count, (size - 1 - reach + before) // step + 1))


@inline
def output_row(
    simd: Variant, g: Array, a: Array, start: int, size: int, left: int, pitch: int, height: int, w: Array, w_at: int,
    bias: Array, limits: Array, out: Array, to: int,
) -> None:  # fmt: skip
    """One row of outputs from `height` rows of windows; the first input row, of `size` columns, starts at `start`."""
    depth = g[CHANNELS]
    column, pixel, w_row = g[COLUMN_STEP] * depth, g[STEP_X] * depth, g[KERNEL_X] * g[PITCH]
    first, end = inside(left, size, g[STEP_X], (g[KERNEL_X] - 1) * g[COLUMN_STEP], g[WIDTH])
    p = 0
    while p < g[WIDTH]:
        several = first <= p < end and end - first >= PIXELS
        if several:
            p = min(p, end - PIXELS)
        count = PIXELS if several else 1
        x = p * g[STEP_X] - left
        kx, last = span(-x, size, g[COLUMN_STEP], g[KERNEL_X])
        pixels_windows(
            simd, g[CODE], a, start + (x + kx * g[COLUMN_STEP]) * depth, pitch, column, pixel, height, last - kx, w,
            w_at + kx * g[PITCH], w_row, g[PITCH], bias, limits, out, to + p * depth, depth, count,
        )  # fmt: skip
        p += count


@jit
def pack(x: Array, g: Array, image: int, top: int, count: int, a: Array) -> None:
    """`count` input rows from row `top` on, every channel repeated; outside the input stand zeros."""
    at = 0
    for y in range(top, top + count):
        for column in range(-g[LEFT], g[COLUMNS] - g[LEFT]):
            within = 0 <= y < g[IN_HEIGHT] and 0 <= column < g[IN_WIDTH]
            source = ((image * g[IN_HEIGHT] + y) * g[IN_WIDTH] + column) * g[DEPTH]
            for c in range(g[DEPTH]):
                value = widened(x[source + c]) if within else np.float32(0.0)
                for _ in range(g[REPEAT]):
                    a[at] = value
                    at += 1


@jit
def depthwise(
    simd: Variant, x: Array, w: Array, g: Array, bias: Array, limits: Array, out: Array, a: Array, low: int, high: int
) -> int:
    for unit in range(low, high):
        block, image = unit % g[BLOCKS], unit // g[BLOCKS]
        first = block * g[BLOCK]
        lines = min(g[BLOCK], g[HEIGHT] - first)
        if g[PACKED]:
            rows = (lines - 1) * g[STEP_Y] + (g[KERNEL_Y] - 1) * g[ROW_STEP] + 1
            pack(x, g, image, first * g[STEP_Y] - g[TOP], rows, a)
        for line in range(lines):
            to = (image * g[HEIGHT] + first + line) * g[WIDTH] * g[CHANNELS]
            if g[PACKED]:
                pitch = g[COLUMNS] * g[CHANNELS]
                output_row(
                    simd, g, a, line * g[STEP_Y] * pitch, g[COLUMNS], 0, g[ROW_STEP] * pitch, g[KERNEL_Y], w, 0, bias,
                    limits, out, to,
                )  # fmt: skip
            else:
                top, pitch = (first + line) * g[STEP_Y] - g[TOP], g[IN_WIDTH] * g[CHANNELS]
                ky, last = span(-top, g[IN_HEIGHT], g[ROW_STEP], g[KERNEL_Y])
                start = (image * g[IN_HEIGHT] + top + ky * g[ROW_STEP]) * pitch
                output_row(
                    simd, g, x, start, g[IN_WIDTH], g[LEFT], g[ROW_STEP] * pitch, last - ky, w,
                    ky * g[KERNEL_X] * g[PITCH], bias, limits, out, to,
                )  # fmt: skip
    return -1
