"""Kernels of the tensor operators: how weights are packed, how work is split, which loop runs.

CONV2D and MATMUL stand on the tile (but for int16 matrix products) where it is proved that the accumulator can't
overflow on the way (no REQUIRE can fail); where it isn't, `wide_loops` sums in 64 bits and tests every partial sum in
the specification's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import geometry as at
from .bounds import fits_output
from .epilogue import parameters
from .int48 import conv2d_int48, depthwise_conv2d_int48, depthwise_fits
from .matmul import matmul_fp32, matmul_int, matmul_wide
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
from .pool import argmax, avg_pool2d_fp32, avg_pool2d_int, max_pool2d
from .trim import trimmed
from .variants import variant
from .work import Epilogue, Kernel, Loop, Work, constant, flat, geometry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


def conv2d_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """CONV2D of int8 input and int8 or int4 weights."""
    from . import tensor_loops

    if not fits_output(call):
        assert epilogue is None
        return conv2d_wide(call)
    g, offsets, run = window_geometry(call, call.IC, 1, 2)
    flatten_pointwise(call, g)
    weight = constant(call, "weight").astype(np.int16) - np.int16(call.weight_zp)
    b, steps, panels = pack_panels(weight.reshape(call.OC, -1), len(offsets), 2, np.int16)
    assert steps == -(-run // 2)
    g.update({at.SEGMENTS: len(offsets), at.LENGTH: steps, at.ZERO: call.input_zp, at.CHANNELS: call.OC})
    units = split(g, panels)
    e32, e64, limits, table = parameters(epilogue, per_channel_bias(call, call.OC), call.OC, panels * 16)
    shape, distances = geometry(g), np.array(offsets, np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        return Loop(tensor_loops.conv_int, variant(), x, b, shape, distances, e32, e64, limits, table, out)

    packed, starts = buffer_sizes(g)
    scratch = ((np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), 96))
    return Work(units, macs(call) / 60 + 0.4 * call.N * call.OH * call.OW * call.OC, bind, scratch)


def depthwise_conv2d_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """DEPTHWISE_CONV2D of int8 input and int8 or int4 weights."""
    from . import tensor_loops

    if not fits_output(call):
        assert epilogue is None
        return depthwise_conv2d_wide(call)
    weight, panels = depthwise_weights(call, np.int16)
    weight = pairs_of_taps(weight, panels)
    g, distances, units = depthwise_geometry(call, panels, 2)
    if len(distances) % 2:
        distances = np.append(distances, distances[-1])  # its weight is 0
    g[at.SEGMENTS] = len(distances)
    g[at.ZERO] = call.input_zp
    channels = call.C * call.M
    e32, e64, limits, table = parameters(epilogue, per_channel_bias(call, channels), channels, panels * 16)
    shape = geometry(g)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        return Loop(tensor_loops.depthwise_int, variant(), x, weight, shape, distances, e32, e64, limits, table, out)

    packed, starts = buffer_sizes(g)
    scratch = ((np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), 96))
    return Work(units, call.N * call.OH * call.OW * channels * (0.05 * call.KH * call.KW + 0.5), bind, scratch)


def conv2d_fp32(call: Call) -> Work:
    from . import tensor_loops

    g, offsets, _ = window_geometry(call, call.IC, 1, 4)
    flatten_pointwise(call, g)
    b, steps, panels = pack_panels(constant(call, "weight").reshape(call.OC, -1), len(offsets), 1, np.float32)
    g.update({at.SEGMENTS: len(offsets), at.LENGTH: steps, at.CHANNELS: call.OC})
    units = split(g, panels)
    bias = per_channel_bias(call, call.OC)
    shape, distances = geometry(g), np.array(offsets, np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        return Loop(tensor_loops.conv_float, variant(), x, b, shape, distances, bias, out)

    packed, starts = buffer_sizes(g)
    scratch = ((np.dtype(np.float32), packed), (np.dtype(np.int64), starts), (np.dtype(np.float32), 96))
    return Work(units, macs(call) / 30, bind, scratch)


def depthwise_conv2d_fp32(call: Call) -> Work:
    from . import tensor_loops

    weight, panels = depthwise_weights(call, np.float32)
    g, distances, units = depthwise_geometry(call, panels, 4)
    channels = call.C * call.M
    bias, shape = per_channel_bias(call, channels), geometry(g)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        return Loop(tensor_loops.depthwise_float, x, weight, shape, distances, bias, out)

    packed, starts = buffer_sizes(g)
    scratch = ((np.dtype(np.float32), packed), (np.dtype(np.int64), starts))
    return Work(units, 0.15 * call.N * call.OH * call.OW * channels * (call.KH * call.KW + 1), bind, scratch)


def conv2d_wide(call: Call) -> Work:
    """CONV2D in 64-bit sums, every partial sum tested."""
    from . import wide_loops

    weight = np.ascontiguousarray(constant(call, "weight").astype(np.int32) - np.int32(call.weight_zp)).reshape(-1)
    bias = per_channel_bias(call, call.OC).astype(np.int64)
    out_max = call.out_t.maximum
    checked = not fits_output(call)
    g = np.array(
        [call.N, call.IH, call.IW, call.IC, call.OH, call.OW, call.OC, call.KH, call.KW, *call.stride, *call.dilation,
         call.pad_top, call.pad_left, call.input_zp, out_max, checked], np.int64
    )  # fmt: skip

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(wide_loops.conv, x, weight, bias, g, out)

    return Work(call.N * call.OH * call.OW, 0.7 * call.N * call.OH * call.OW * weight.size, bind)


def depthwise_conv2d_wide(call: Call) -> Work:
    """DEPTHWISE_CONV2D in 64-bit sums, every partial sum tested."""
    from . import wide_loops

    weight = np.ascontiguousarray(constant(call, "weight").astype(np.int32) - np.int32(call.weight_zp)).reshape(-1)
    bias = per_channel_bias(call, call.C * call.M).astype(np.int64)
    g = np.array(
        [call.N, call.IH, call.IW, call.C, call.OH, call.OW, call.M, call.KH, call.KW, *call.stride, *call.dilation,
         call.pad_top, call.pad_left, call.input_zp, call.out_t.maximum], np.int64
    )  # fmt: skip

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(wide_loops.depthwise, x, weight, bias, g, out)

    return Work(call.N * call.OH * call.OW, 0.7 * call.N * call.OH * call.OW * weight.size, bind)


def conv2d_int16(call: Call) -> Work:
    """CONV2D of int16 input and int8 weights."""
    return conv2d_int48(call) if fits_output(call) else conv2d_wide(call)


def depthwise_conv2d_int16(call: Call) -> Work:
    """DEPTHWISE_CONV2D of int16 input and int8 weights."""
    return depthwise_conv2d_int48(call) if fits_output(call) and depthwise_fits(call) else depthwise_conv2d_wide(call)


CONV = ("weight", "bias", "input_zp", "weight_zp")
KERNELS = {
    ("ARGMAX", "i8_i32"): Kernel(argmax),
    ("ARGMAX", "i16_i32"): Kernel(argmax),
    ("ARGMAX", "fp32_i32"): Kernel(argmax),
    ("AVG_POOL2D", "i8_acci32"): Kernel(avg_pool2d_int, ("input_zp", "output_zp")),
    ("AVG_POOL2D", "i16_acci32"): Kernel(avg_pool2d_int, ("input_zp", "output_zp")),
    ("AVG_POOL2D", "fp32_accfp32"): Kernel(avg_pool2d_fp32, ("input_zp", "output_zp")),
    ("CONV2D", "i8_i8_i32_acci32"): Kernel(trimmed(conv2d_int), CONV, epilogue=True),
    ("CONV2D", "i8_i4_i32_acci32"): Kernel(trimmed(conv2d_int), CONV, epilogue=True),
    ("CONV2D", "i16_i8_i48_acci48"): Kernel(trimmed(conv2d_int16), CONV),
    ("CONV2D", "fp32_fp32_fp32_accfp32"): Kernel(trimmed(conv2d_fp32), CONV),
    ("DEPTHWISE_CONV2D", "i8_i8_i32_acci32"): Kernel(trimmed(depthwise_conv2d_int), CONV, epilogue=True),
    ("DEPTHWISE_CONV2D", "i8_i4_i32_acci32"): Kernel(trimmed(depthwise_conv2d_int), CONV, epilogue=True),
    ("DEPTHWISE_CONV2D", "i16_i8_i48_acci48"): Kernel(trimmed(depthwise_conv2d_int16), CONV),
    ("DEPTHWISE_CONV2D", "fp32_fp32_fp32_accfp32"): Kernel(trimmed(depthwise_conv2d_fp32), CONV),
    ("MATMUL", "i8_i32"): Kernel(matmul_int, ("A_zp", "B_zp"), epilogue=True),
    ("MATMUL", "i16_i48"): Kernel(matmul_wide, ("A_zp", "B_zp")),
    ("MATMUL", "fp32_fp32"): Kernel(matmul_fp32, ("A_zp", "B_zp")),
    ("MAX_POOL2D", "i8"): Kernel(max_pool2d),
    ("MAX_POOL2D", "i16"): Kernel(max_pool2d),
    ("MAX_POOL2D", "fp32"): Kernel(max_pool2d),
}
