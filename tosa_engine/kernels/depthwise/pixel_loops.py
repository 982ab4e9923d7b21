"""DEPTHWISE_CONV2D with one output pixel, whose window is the whole input: a weighted sum of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import inline, jit
from ..scale.accumulators import scale_rows
from ..scale.places import NR
from .places import WIDE

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.variants import Variant


@inline
def add_products(x: Array, weights: Array, sums: Array) -> None:
    """sums += x * weights"""
    for i in range(len(sums)):
        sums[i] += np.int32(x[i]) * weights[i]


@jit
def pixel(
    simd: Variant, x: Array, step: int, weights: Array, e32: Array, e64: Array, limits: Array, channels: int,
    pitch: int, taps: int, out: Array, c: Array, low: int, high: int,
) -> int:  # fmt: skip
    """A unit is WIDE channels; pixels are `step` elements apart. `weights` are [tap, pitch]; sums wrap, and their ends
    fit int32.
    """
    for unit in range(low, high):
        first = unit * WIDE
        count = min(WIDE, channels - first)
        c[:count] = 0
        for tap in range(taps):
            source, at = tap * step + first, tap * pitch + first
            add_products(x[source : source + count], weights[at : at + count], c[:count])
        for panel in range(0, count, NR):
            channel = first + panel
            scale_rows(
                simd, c[panel:], e32, e64, pitch, channel, limits, out, channel, 0, 1, min(NR, count - panel)
            )  # fmt: skip
    return -1
