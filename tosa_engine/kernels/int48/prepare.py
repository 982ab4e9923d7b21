"""CONV2D and DEPTHWISE_CONV2D of int16 inputs, int8 weights and int48 accumulators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import TILE, variant
from ..bounds import in_int32, sums_range
from ..scale.epilogue import parameters
from ..tile import geometry as at
from ..tile.packing import (
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
from ..work import I32_MAX, Loop, Work, constant, flat, geometry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Epilogue, Run

REACH = 1 << 15  # the largest magnitude of an int16 input, whose zero point is 0


def narrowest(call: Call, bias: Array) -> Array:
    """The bias as int32 where results with it are values of int32 (so that sums may wrap), else as it is."""
    low, high = call.proved[call.spec.requires[1].label]
    return bias.astype(np.int32) if in_int32(low, high) else bias.astype(np.int64)


def steps_at_once(weight: Array) -> int:
    """How many of the steps of weights [step, ...] may be added up in int32, whatever the input: all of them, or a
    part. Those of one step fit always: two products of int16 by a weight of -255 .. 255.
    """
    magnitudes = np.abs(weight.astype(np.int64)) * REACH
    chunk = len(weight)
    while chunk > 1 and np.add.reduceat(magnitudes, np.arange(0, len(weight), chunk)).max() > I32_MAX:
        chunk = chunk * 7 // 8
    return chunk


def scaling_numbers(epilogue: Epilogue | None, bias: Array) -> Array:
    """What int48 sums are scaled by: see `scale_wide`."""
    if epilogue is None:
        return np.concatenate([[0, 0, 0, 0], bias]).astype(np.int64)
    multiplier, shift = (np.broadcast_to(a, bias.shape).astype(np.int64) for a in (epilogue.multiplier, epilogue.shift))
    limits = [1, epilogue.output_zp, epilogue.low, epilogue.high]
    return np.concatenate([limits, bias.astype(np.int64), multiplier, shift])


def conv2d_int48(call: Call, epilogue: Epilogue | None = None) -> Work:
    """On the tile, as many steps at once as have sums that fit int32."""
    from . import loops as int48_loops

    weight = (constant(call, "weight").astype(np.int16) - np.int16(call.weight_zp)).reshape(call.OC, -1)
    g, offsets, _ = window_geometry(call, call.IC, 1, 2)
    flatten_pointwise(call, g)
    b, distances, panels = pack_panels(weight, offsets, 2, np.int16)
    steps = len(distances)
    packed_steps = b.reshape(panels, steps, 16, 2).transpose(1, 0, 2, 3)
    chunk = steps if in_int32(*sums_range(call)) else steps_at_once(np.abs(packed_steps).sum(axis=3))
    g.update({at.STEPS: steps, at.CHANNELS: call.OC})
    units = split(g, panels)
    shape, numbers = geometry(g), scaling_numbers(epilogue, per_channel_bias(call, call.OC))
    simd = variant()

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        return Loop(int48_loops.conv, simd, x, b, shape, distances, chunk, numbers, out)

    packed, starts = buffer_sizes(g)
    scratch = (
        (np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), TILE),
        (np.dtype(np.int64), TILE),
    )  # fmt: skip
    return Work(units, macs(call) / 60 + 1.0 * call.N * call.OH * call.OW * call.OC, bind, scratch)


def depthwise_conv2d_int48(call: Call, epilogue: Epilogue | None = None) -> Work:
    """In windows of neighbouring channels, as many taps at once as have sums that fit int32."""
    from . import loops as int48_loops

    weight, panels = depthwise_weights(call, np.int16)
    pairs = np.abs(weight.reshape(call.KH * call.KW, -1)).astype(np.int64)
    weight = pairs_of_taps(weight, panels)
    g, distances, units = depthwise_geometry(call, panels, 2)
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
    scaling = parameters(epilogue, narrowest(call, bias), channels, panels * 16) if at_once else ()

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        if at_once:
            return Loop(int48_loops.depthwise_scaled, simd, x, weight, shape, distances, *scaling, out)
        return Loop(int48_loops.depthwise, simd, x, weight, shape, distances, chunk, numbers, out)

    packed, starts = buffer_sizes(g)
    wide = () if at_once else ((np.dtype(np.int64), 96),)
    scratch = ((np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), 96), *wide)
    cost = call.N * call.OH * call.OW * channels * (0.05 * call.KH * call.KW + (0.2 if at_once else 1.0))
    return Work(units, cost, bind, scratch)
