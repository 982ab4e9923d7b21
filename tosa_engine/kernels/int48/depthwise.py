"""Preparation of DEPTHWISE_CONV2D of int16 inputs, int8 weights and int48 accumulators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import variant
from ..bounds import in_int32, sums_range
from ..scale.epilogue import parameters
from ..scale.places import NR
from ..shared_constants import shared
from ..tile import geometry as at
from ..tile.geometry import Geometry, geometry
from ..tile.packing import buffer_sizes, per_channel_bias, split, window_geometry
from ..work import Loop, Work, aligned, constant, flat
from .places import LANE_ORDER, MR
from .prepare import narrowest, scaling_numbers, steps_at_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Epilogue, Run


def depthwise_weights(call: Call) -> tuple[Array, int]:
    """[KH * KW, C * M] padded to whole vectors, zero point subtracted; and the number of vectors."""
    channels = call.C * call.M
    panels = -(-channels // NR)
    weight = aligned(call.KH * call.KW * panels * NR, np.int16)
    values = constant(call, "weight").astype(np.int16) - np.int16(call.weight_zp)
    weight.reshape(-1, panels * NR)[:, :channels] = values.reshape(-1, channels)
    return weight, panels


@shared
def pairs_of_taps(weight: Array, panels: int) -> Array:
    """[taps, panels * NR] as [panel, pair, 16, 2], an odd number of taps filled up with zeros."""
    taps = weight.size // (panels * NR)
    padded = np.zeros((taps + taps % 2, panels * NR), np.int16)
    padded[:taps] = weight.reshape(taps, -1)
    packed = aligned(padded.size, np.int16)
    packed[:] = padded.reshape(-1, 2, panels, NR)[..., LANE_ORDER].transpose(2, 0, 3, 1).reshape(-1)
    return packed


def depthwise_geometry(call: Call, panels: int) -> tuple[Geometry, Array, int]:
    """Taps are segments; the buffer holds every input channel M times, so that channels line up with outputs."""
    g, _ = window_geometry(call, call.C, call.M, 2)
    inner = call.C * call.M
    offsets = [
        ky * call.dilation_y * g[at.PITCH] + kx * call.dilation_x * inner
        for ky in range(call.KH)
        for kx in range(call.KW)
    ]
    g.update({at.SEGMENTS: len(offsets), at.CHANNELS: inner})
    units = split(g, panels)
    units //= g[at.GROUPS]
    g[at.GROUPS] = 1
    return g, np.array(offsets, np.int64), units


def depthwise_conv2d_int48(call: Call, epilogue: Epilogue | None = None) -> Work:
    """In windows of neighbouring channels, as many taps at once as have sums that fit int32."""
    from . import loops

    weight, panels = depthwise_weights(call)
    pairs = np.abs(weight.reshape(call.KH * call.KW, -1)).astype(np.int64)
    weight = pairs_of_taps(weight, panels)
    g, distances, units = depthwise_geometry(call, panels)
    if len(distances) % 2:
        distances = np.append(distances, distances[-1])  # its weight is 0
        pairs = np.concatenate([pairs, np.zeros_like(pairs[:1])])
    taps, channels = len(distances), call.C * call.M
    fits = in_int32(*sums_range(call))
    chunk = taps if fits else 2 * steps_at_once(pairs.reshape(taps // 2, 2, -1).sum(axis=1))
    g[at.SEGMENTS] = taps
    bias, shape, simd = per_channel_bias(call, channels), geometry(g), variant()
    numbers = scaling_numbers(epilogue, bias)
    at_once = epilogue is not None and chunk == taps
    scaling = parameters(epilogue, narrowest(call, bias), channels, panels * NR) if at_once else ()

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        if at_once:
            return Loop(loops.depthwise_scaled, simd, x, weight, shape, distances, *scaling, out)
        return Loop(loops.depthwise, simd, x, weight, shape, distances, chunk, numbers, out)

    packed, starts = buffer_sizes(g)
    wide = () if at_once else ((np.dtype(np.int64), MR * NR),)
    scratch = ((np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), MR * NR), *wide)
    cost = call.N * call.OH * call.OW * channels * (0.05 * call.KH * call.KW + (0.2 if at_once else 1.0))
    return Work(units, cost, bind, scratch)
