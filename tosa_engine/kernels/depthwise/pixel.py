"""Preparation of DEPTHWISE_CONV2D with one output pixel, as networks have that take one frame after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import variant
from ..scale.epilogue import parameters
from ..scale.places import NR
from ..shared_constants import shared
from ..tile.packing import per_channel_bias
from ..work import Loop, Work, aligned, constant, flat
from .places import WIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Epilogue, Run

    Part = tuple[int, int]  # the place of the first element, and how far apart pixels are


def is_pixel(call: Call) -> bool:
    """Whether there is one output pixel, whose window is the whole input."""
    window = (call.KH, call.KW) == (call.IH, call.IW)
    return window and (call.N, call.OH, call.OW, call.M, *call.pad) == (1, 1, 1, 1, 0, 0, 0, 0)


def pixel_of(call: Call, epilogue: Epilogue, bound: Array, part: Part | None = None) -> Work:
    """The work of a convolution with one output pixel; `bound` is the largest magnitude of each channel's sums."""
    weight = constant(call, "weight").astype(np.int16) - np.int16(call.weight_zp)
    excess = call.input_zp * weight.sum(axis=(0, 1), dtype=np.int64).reshape(-1)
    bias = (per_channel_bias(call, call.C).astype(np.int64) - excess).astype(np.int32)
    return depthwise_pixel(call, epilogue, weight.reshape(call.KH, call.KW, call.C), bias, bound, part)


def depthwise_pixel(
    call: Call, epilogue: Epilogue, weight: Array, bias: Array, bound: Array, part: Part | None = None
) -> Work:
    """`weight` is [KH, KW, channel] without its zero point, `bias` that of sums of the input with its own. The input is
    a `part` of what is read, where there is one.
    """
    from . import pixel_loops

    pitch, taps = -(-call.C // NR) * NR, call.KH * call.KW
    packed = _packed(weight.reshape(taps, call.C), pitch)
    scaling = parameters(epilogue, bias, call.C, pitch, int(bound.max()))
    start, step = part or (0, int(call.C))

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0])[start:], outputs[0].reshape(-1)
        return Loop(pixel_loops.pixel, variant(), x, step, packed, *scaling, call.C, pitch, taps, out)

    units = -(-call.C // WIDE)
    return Work(units, 0.05 * taps * call.C + call.C, bind, ((np.dtype(np.int32), WIDE),))


@shared
def _packed(weight: Array, pitch: int) -> Array:
    found = aligned(len(weight) * pitch, np.int32)
    found.reshape(len(weight), pitch)[:, : weight.shape[1]] = weight
    return found
