"""Preparation of DEPTHWISE_CONV2D of less than 16 channels: see `narrow_loops`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import Variant, variant
from ..scale.epilogue import parameters
from ..scale.places import DOUBLES
from ..work import BUFFER_BYTES, Epilogue, Loop, Work, flat
from . import places as at
from .packing import Packed, geometry, groups_of, stays_in_registers
from .places import PIXELS, ROWS, VECTORS, WIDTHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Run

WIDEST = 192  # lanes of merged pixels


def merged(channels: int, columns: int, simd: Variant) -> int:
    """How many pixels become one, whose lanes are whole vectors: those that take the least time in all."""

    def time(pixels: int) -> int:
        groups = groups_of(pixels * channels, VECTORS * simd.lanes)
        return -(-columns // pixels) * sum(max(width, 32) for _, width in groups)

    step = WIDTHS[0] // math.gcd(channels, WIDTHS[0])
    return min(range(step, max(step, WIDEST // channels) + 1, step), key=time)


def repeated(epilogue: Epilogue, times: int) -> Epilogue:
    """The same scales for `times` as many channels."""
    if len(epilogue.multiplier) == 1:
        return epilogue
    return replace(epilogue, multiplier=np.tile(epilogue.multiplier, times), shift=np.tile(epilogue.shift, times))


def depthwise_narrow(call: Call, epilogue: Epilogue, weight: Array, bias: Array, bound: Array, otherwise: Work) -> Work:
    """`weight` less its zero point and `bias` as `depthwise_int8` makes them. What isn't for bytes, or can't be done in
    registers, is done `otherwise`.
    """
    from . import narrow_loops as loops

    simd, channels = variant(), call.C * call.M
    pixels = merged(channels, call.OW, simd)
    lanes = pixels * channels
    e32, _, limits = parameters(repeated(epilogue, pixels), np.tile(bias, pixels), lanes, lanes, int(bound.max()))
    g, _ = geometry(call)
    groups, plane = groups_of(lanes, VECTORS * simd.lanes), -(-call.OW // pixels)
    quads = (g[at.TAPS] * plane + PIXELS) * VECTORS * max(width for _, width in groups)
    fits = quads <= BUFFER_BYTES  # they are more than otherwise where kernels are wide
    if not (fits and stays_in_registers(e32.reshape(-1, lanes), limits, np.tile(bound, pixels))):
        return otherwise
    in_bytes = (simd.quads or simd.signed) and weight.min() >= -128 and weight.max() <= 127
    packed = Packed.of(np.tile(weight, pixels), e32, lanes, limits, g, groups, np.int8 if in_bytes else np.int16)
    far = np.arange(call.KW) * call.dilation_x
    phase = plane * pixels + int(far[-1]) // call.stride_x
    starts = (far % call.stride_x * phase + far // call.stride_x) * channels
    row = call.stride_x * phase * channels + max(WIDTHS)
    copies = g[at.QUADS] * ROWS * row
    g |= {
        at.PHASE: phase, at.MERGED: pixels, at.COLUMNS: row, at.PLANE: plane, at.GROUPS: len(groups), at.PITCH: lanes,
        at.STAGED: quads, at.OUT_ROWS: quads + copies,
    }  # fmt: skip
    distances = np.arange(g[at.TAPS]) * plane
    shape = np.array([*(g.get(i, 0) for i in range(at.SIZE)), *distances, *packed.fields, *limits], np.int64)
    pad = np.full(max(WIDTHS), call.input_zp, np.int8)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        if outputs[0].dtype != np.int8:
            return otherwise.bind(inputs, outputs)
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        loop = loops.narrow_double if limits[DOUBLES] else loops.narrow
        return Loop(loop, simd, x, packed.weights, packed.numbers, starts, shape, pad, out)

    needed = ((np.int64, 2 * g[at.QUADS] * ROWS), (np.int8, quads + copies + g[at.LINES] * plane * lanes + max(WIDTHS)))
    scratch = tuple(
        (dtype, max(count, size))
        for (dtype, count), (_, size) in zip(otherwise.scratch, (*needed, (np.int32, 0)), strict=True)
    )
    cost = call.N * call.OH * plane * lanes * (0.05 * g[at.TAPS] + 0.1)
    return Work(otherwise.units, cost, bind, scratch)
