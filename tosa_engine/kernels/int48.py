"""CONV2D and DEPTHWISE_CONV2D of int16 inputs, int8 weights and int48 accumulators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import geometry as at
from .packing import (
    buffer_sizes,
    depthwise_geometry,
    depthwise_weights,
    flatten_pointwise,
    macs,
    pack_panels,
    pairs_of_taps,
    per_channel_bias,
    split,
    window_geometry,
)
from .variants import TILE, variant
from .work import I32_MAX, Loop, Work, constant, flat, geometry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run

REACH = 1 << 15  # the largest magnitude of an int16 input, whose zero point is 0


def conv2d_int48(call: Call) -> Work:
    """On the tile, as many steps at once as have sums that fit int32."""
    from . import int48_loops

    weight = (constant(call, "weight").astype(np.int16) - np.int16(call.weight_zp)).reshape(call.OC, -1)
    chunk = max(1, I32_MAX // (REACH * max(1, int(np.abs(weight).max()))) // 2)
    g, offsets, _ = window_geometry(call, call.IC, 1, 2)
    flatten_pointwise(call, g)
    b, distances, panels = pack_panels(weight, offsets, 2, np.int16)
    g.update({at.STEPS: len(distances), at.CHANNELS: call.OC})
    units = split(g, panels)
    bias, shape = per_channel_bias(call, call.OC), geometry(g)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        return Loop(int48_loops.conv, variant(), x, b, shape, distances, chunk, bias, out)

    packed, starts = buffer_sizes(g)
    scratch = (
        (np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), TILE),
        (np.dtype(np.int64), TILE),
    )  # fmt: skip
    return Work(units, macs(call) / 60 + 1.0 * call.N * call.OH * call.OW * call.OC, bind, scratch)


def depthwise_fits(call: Call) -> bool:
    """Whether the sums of all taps, without the bias, fit int32."""
    weight = constant(call, "weight").astype(np.int64) - call.weight_zp
    return bool(np.abs(weight).sum(axis=(0, 1)).max() * REACH <= I32_MAX)


def depthwise_conv2d_int48(call: Call) -> Work:
    from . import int48_loops

    weight, panels = depthwise_weights(call, np.int16)
    weight = pairs_of_taps(weight, panels)
    g, distances, units = depthwise_geometry(call, panels, 2)
    if len(distances) % 2:
        distances = np.append(distances, distances[-1])  # its weight is 0
    g[at.SEGMENTS] = len(distances)
    channels = call.C * call.M
    bias, shape = per_channel_bias(call, channels), geometry(g)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        return Loop(int48_loops.depthwise, variant(), x, weight, shape, distances, bias, out)

    packed, starts = buffer_sizes(g)
    scratch = ((np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), 96))
    return Work(units, call.N * call.OH * call.OW * channels * (0.05 * call.KH * call.KW + 1.0), bind, scratch)
