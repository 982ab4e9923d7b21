"""CONV2D and DEPTHWISE_CONV2D of int16 inputs, int8 weights and int48 accumulators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import TILE, variant
from ..bounds import in_int32, sums_range
from ..tile import geometry as at
from ..tile.geometry import geometry
from ..tile.packing import (
    buffer_sizes,
    flatten_pointwise,
    pack_panels,
    per_channel_bias,
    split,
    window_geometry,
)
from ..work import I32_MAX, Loop, Work, constant, flat

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
    """What int48 sums are scaled by: see `scale.wide`."""
    if epilogue is None:
        return np.concatenate([[0, 0, 0, 0], bias]).astype(np.int64)
    multiplier, shift = (np.broadcast_to(a, bias.shape).astype(np.int64) for a in (epilogue.multiplier, epilogue.shift))
    limits = [1, epilogue.output_zp, epilogue.low, epilogue.high]
    return np.concatenate([limits, bias.astype(np.int64), multiplier, shift])


def conv2d_int48(call: Call, epilogue: Epilogue | None = None) -> Work:
    """On the tile, as many steps at once as have sums that fit int32."""
    from . import loops

    weight = (constant(call, "weight").astype(np.int16) - np.int16(call.weight_zp)).reshape(call.OC, -1)
    g, offsets = window_geometry(call, call.IC, 1, 2)
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

        return Loop(loops.conv, simd, x, b, shape, distances, chunk, numbers, out)

    packed, starts = buffer_sizes(g)
    scratch = (
        (np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), TILE),
        (np.dtype(np.int64), TILE),
    )  # fmt: skip
    return Work(units, call.macs / 60 + 1.0 * call.N * call.OH * call.OW * call.OC, bind, scratch)
