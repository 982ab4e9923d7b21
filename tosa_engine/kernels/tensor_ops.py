"""Kernels of the tensor operators: how weights are packed, how work is split, which loop runs.

CONV2D and MATMUL stand on the tile where it is proved that the accumulator can't
overflow on the way (no REQUIRE can fail); where it isn't, `wide_loops` sums in 64 bits and tests every partial sum in
the specification's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import types
from ._jit.variants import TILE, variant
from .bounds import accumulator_bound, fits_output, in_int32, sums_range
from .depthwise.prepare import depthwise_int8
from .floats import tensor_ops as tensor_float
from .floats.through_float32 import NARROW, in_fp32
from .images.pool import argmax, avg_pool2d_fp32, avg_pool2d_int, max_pool2d
from .int48.prepare import conv2d_int48, depthwise_conv2d_int48, narrowest
from .int48.two_outputs import conv2d_twice
from .scale.epilogue import form_of, parameters
from .shared_constants import shared
from .tile import geometry as at
from .tile.matmul import matmul_int, matmul_int16
from .tile.packing import (
    buffer_sizes,
    flatten_pointwise,
    macs,
    pack_panels,
    per_channel_bias,
    split_finely,
    window_geometry,
)
from .tile.trim import trimmed
from .winograd import prepare as winograd
from .work import Epilogue, Kernel, Loop, Work, constant, flat, geometry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


def conv2d_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """CONV2D of int8 input and int8 or int4 weights, in quads where the variant has them and the weights are bytes."""
    from .tile import loops as tensor_loops

    if not fits_output(call):
        assert epilogue is None
        return conv2d_wide(call)
    if winograd.chosen(call):
        return winograd.conv2d(call, epilogue)
    weight = constant(call, "weight").astype(np.int16).reshape(call.OC, -1) - np.int16(call.weight_zp)
    simd = variant()
    bias = per_channel_bias(call, call.OC)
    if not ((simd.quads or simd.signed) and bool(abs(weight + 0.5).max() < 128)):
        return conv2d_pairs(call, weight, bias, epilogue)
    offset = call.input_zp + (0 if simd.signed else 128)
    bias = (bias - offset * weight.astype(np.int64).sum(axis=1)).astype(np.int32)
    g, offsets, _ = window_geometry(call, call.IC, 1, 1)
    g.update({at.PADDING: call.input_zp, at.IN_PLACE: flatten_pointwise(call, g) and call.IC % 4 == 0})
    return conv2d_tiled(call, g, pack_panels(weight, offsets, 4, np.int8), bias, epilogue, tensor_loops.conv_quads)


def conv2d_pairs(call: Call, weight: Array, bias: Array, epilogue: Epilogue | None) -> Work:
    """CONV2D in int16 pairs: the sums without the bias fit int32, and with it, too, where the bias is int32."""
    from .tile import loops as tensor_loops

    g, offsets, _ = window_geometry(call, call.IC, 1, 2)
    whole = flatten_pointwise(call, g)
    wide = call.in_t is types.i16
    g.update({at.ZERO: call.input_zp, at.IN_PLACE: wide and whole and call.IC % 2 == 0})
    loops = tensor_loops.conv_pairs_int16 if wide else tensor_loops.conv_pairs
    return conv2d_tiled(call, g, pack_panels(weight, offsets, 2, np.int16), bias, epilogue, loops)


def conv2d_tiled(
    call: Call, g: dict[int, int], packed: tuple[Array, Array, int], bias: Array, epilogue: Epilogue | None,
    loops: Sequence[Callable[..., int]],
) -> Work:  # fmt: skip
    """CONV2D by a loop over tiles, one for each of epilogue.FORMS; `packed` are weights, distances and panels of
    `pack_panels`.
    """
    b, distances, panels = packed
    simd = variant()
    g.update({at.STEPS: len(distances), at.CHANNELS: call.OC})
    units = split_finely(g, panels)
    bound = 0 if epilogue is None else int(accumulator_bound(call).max())
    scaling, shape = parameters(epilogue, bias, call.OC, panels * 16, bound), geometry(g)
    loop = loops[form_of(epilogue, scaling)]

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(loop, simd, x, b, shape, distances, *scaling, out)

    elements, starts = buffer_sizes(g)
    elements = 64 if g[at.IN_PLACE] else elements
    scratch = ((b.dtype, elements), (np.dtype(np.int64), starts), (np.dtype(np.int32), TILE))
    speed = 200 if b.dtype == np.int8 else 60  # products per nanosecond
    cost = macs(call) / speed + 0.15 * call.N * call.OH * call.OW * call.OC
    least = 1 if g[at.IN_PLACE] else max(1, g[at.GROUPS] // 2)  # groups of panels read the same packed rows
    return Work(units, cost, bind, scratch, least=least)


def depthwise_conv2d_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """DEPTHWISE_CONV2D of int8 input and int8 or int4 weights."""
    if not fits_output(call):
        assert epilogue is None
        return depthwise_conv2d_wide(call)
    return depthwise_int8(call, epilogue, np.broadcast_to(accumulator_bound(call), (call.C * call.M,)))


@shared
def in_words(weight: Array, zero: int) -> Array:
    return np.ascontiguousarray(weight.astype(np.int32) - np.int32(zero)).reshape(-1)


def conv2d_wide(call: Call) -> Work:
    """CONV2D in 64-bit sums, every partial sum tested."""
    from .wide import loops as wide_loops

    weight = in_words(constant(call, "weight"), call.weight_zp)
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
    from .wide import loops as wide_loops

    weight = in_words(constant(call, "weight"), call.weight_zp)
    bias = per_channel_bias(call, call.C * call.M).astype(np.int64)
    g = np.array(
        [call.N, call.IH, call.IW, call.C, call.OH, call.OW, call.M, call.KH, call.KW, *call.stride, *call.dilation,
         call.pad_top, call.pad_left, call.input_zp, call.out_t.maximum], np.int64
    )  # fmt: skip

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(wide_loops.depthwise, x, weight, bias, g, out)

    return Work(call.N * call.OH * call.OW, 0.7 * call.N * call.OH * call.OW * weight.size, bind)


def conv2d_int16(call: Call, epilogue: Epilogue | None = None) -> Work:
    """CONV2D of int16 input and int8 weights: in one go where the sums are scaled at once and fit int32."""
    if not fits_output(call):
        assert epilogue is None
        return conv2d_wide(call)
    if epilogue is None or not in_int32(*sums_range(call)):
        return conv2d_int48(call, epilogue)
    weight = constant(call, "weight").astype(np.int16).reshape(call.OC, -1) - np.int16(call.weight_zp)
    return conv2d_pairs(call, weight, narrowest(call, per_channel_bias(call, call.OC)), epilogue)


def depthwise_conv2d_int16(call: Call, epilogue: Epilogue | None = None) -> Work:
    """DEPTHWISE_CONV2D of int16 input and int8 weights."""
    if not fits_output(call):
        assert epilogue is None
        return depthwise_conv2d_wide(call)
    return depthwise_conv2d_int48(call, epilogue)


POOL_SUMS = ("fp8e4m3_accfp16", "fp8e5m2_accfp16", "fp16_accfp16", "fp16_accfp32", "bf16_accfp32")
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
    ("CONV2D", "i16_i8_i48_acci48"): Kernel(trimmed(conv2d_int16), CONV, epilogue=True, twice=conv2d_twice),
    ("DEPTHWISE_CONV2D", "i8_i8_i32_acci32"): Kernel(trimmed(depthwise_conv2d_int), CONV, epilogue=True),
    ("DEPTHWISE_CONV2D", "i8_i4_i32_acci32"): Kernel(trimmed(depthwise_conv2d_int), CONV, epilogue=True),
    ("DEPTHWISE_CONV2D", "i16_i8_i48_acci48"): Kernel(trimmed(depthwise_conv2d_int16), CONV, epilogue=True),
    ("MATMUL", "i8_i32"): Kernel(matmul_int, ("A_zp", "B_zp"), epilogue=True),
    ("MATMUL", "i16_i48"): Kernel(matmul_int16, ("A_zp", "B_zp"), epilogue=True),
    ("MAX_POOL2D", "i8"): Kernel(max_pool2d),
    ("MAX_POOL2D", "i16"): Kernel(max_pool2d),
    ("MAX_POOL2D", "fp32"): Kernel(max_pool2d),
    **{("ARGMAX", f"{t}_i32"): Kernel(in_fp32(argmax)) for t in NARROW},
    **{
        ("AVG_POOL2D", key): Kernel(in_fp32(avg_pool2d_fp32), ("input_zp", "output_zp"), clips=True)
        for key in POOL_SUMS
    },
    **{("MAX_POOL2D", t): Kernel(in_fp32(max_pool2d), clips=True) for t in NARROW},
}
KERNELS |= tensor_float.KERNELS
