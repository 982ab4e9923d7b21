"""Preparation of DEPTHWISE_CONV2D of int8 input and int8 or int4 weights: what `loops` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit.variants import Variant, variant
from ..scale.epilogue import parameters
from ..scale.places import DOUBLES
from ..tile.packing import in_channels, per_channel_bias
from ..work import Epilogue, Loop, Work, constant, flat
from . import places as at
from .narrow import depthwise_narrow
from .one_row import geometry_of_row, is_row, kernel_of_row
from .packing import I8_MAX, I8_MIN, Groups, Packed, geometry, groups_of, stays_in_registers
from .pixel import is_pixel, pixel_of
from .places import PIXELS, ROWS, VECTORS, WIDTHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Run


def depthwise_int8(call: Call, epilogue: Epilogue | None, bound: Array) -> Work:
    """`bound` is the largest magnitude of each channel's accumulators, which fit int32."""
    from . import loops

    if epilogue is not None and is_pixel(call):
        return pixel_of(call, epilogue, bound)
    simd, channels = variant(), call.C * call.M
    weight = (constant(call, "weight").astype(np.int16) - np.int16(call.weight_zp)).reshape(call.KH, call.KW, channels)
    in_bytes = (simd.quads or simd.signed) and weight.min() >= I8_MIN and weight.max() <= I8_MAX
    # bytes are value + 128 as a rule, so that sums are too large by (128 + input_zp) times the weights
    excess = ((0 if simd.signed else 128) + call.input_zp) * weight.sum(axis=(0, 1), dtype=np.int64)
    bias = (per_channel_bias(call, channels).astype(np.int64) - excess).astype(np.int32)
    pitch = -(-channels // WIDTHS[0]) * WIDTHS[0]
    e32, e64, limits = parameters(epilogue, bias, channels, pitch, int(bound.max()))
    direct = simd.native and channels >= WIDTHS[0] and stays_in_registers(e32.reshape(-1, pitch), limits, bound)

    one_row = is_row(call)
    g, distances = geometry_of_row(call) if one_row else geometry(call)
    weight = kernel_of_row(weight) if one_row else weight
    groups = groups_of(channels, VECTORS * simd.lanes)
    packed = Packed.of(weight, e32, pitch, limits, g, groups, np.int8 if in_bytes else np.int16)
    overlap = sum(width for _, width in groups) > channels and len(groups) > 1
    widest = max(width for _, width in groups)
    size = (g[at.QUADS] * g[at.STEP_X] * g[at.PLANE] + PIXELS) * VECTORS * widest
    copied = g[at.QUADS] * ROWS * call.IW * widest if call.M > 1 or channels < WIDTHS[0] else 0
    copied = g[at.IN_WIDTH] * channels if one_row else copied
    g |= {at.CHUNKS: len(groups) - overlap, at.GROUPS: len(groups), at.PITCH: pitch, at.STAGED: size if copied else 0,
        at.BY_CHUNKS: in_channels(call.N * call.OH * call.OW)}  # fmt: skip
    shape = np.array([*(g.get(i, 0) for i in range(at.SIZE)), *distances, *packed.fields, *limits], np.int64)
    pad = np.full(max(WIDTHS), call.input_zp, np.int8)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        double = bool(limits[DOUBLES])
        loop = loops.loop_of(g[at.CODE], double, direct and out.dtype == np.int8)
        return Loop(loop, simd, x, packed.weights, packed.numbers, e64, shape, pad, out)

    scratch = (
        (np.dtype(np.int64), 2 * g[at.QUADS] * ROWS + widest), (np.dtype(np.int8), size + copied),
        (np.dtype(np.int32), PIXELS * widest),
    )  # fmt: skip
    nanoseconds = cost(call, g, simd, groups, quads=in_bytes, direct=direct)
    found = Work(call.N * g[at.BLOCKS] * g[at.CHUNKS], nanoseconds, bind, scratch)
    if channels < WIDTHS[0] and simd.native and epilogue is not None:
        return depthwise_narrow(call, epilogue, weight, bias, bound, found)
    return found


def cost(call: Call, g: dict[int, int], simd: Variant, groups: Groups, *, quads: bool, direct: bool) -> float:
    """Nanoseconds: sums and scale of each output, interleaving of each column; as measured."""
    whole = sum(max(width, 32) for _, width in groups)  # narrower vectors take as long
    sums = (0.025 if quads else 0.05) * g[at.TAPS] + (0.07 if direct else 0.37)
    interleaving = 0.05 * g[at.BLOCKS] * g[at.QUADS] * g[at.COLUMNS]
    if g[at.STAGED] and at.APART not in g:
        interleaving *= 30
    if not simd.native:
        sums, interleaving = 5 * g[at.TAPS], 50 * interleaving
    return float(call.N * whole * (call.OH * call.OW * sums + interleaving))
