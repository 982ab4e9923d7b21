"""The kernels of the tensor operators: which family computes an operator.

Where it is proved that no REQUIRE can fail, that is the tile or a family that stands on it; elsewhere `wide` sums in 64
bits and tests every partial sum in the specification's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .bounds import accumulator_bound, fits_output, in_int32, sums_range
from .depthwise.prepare import depthwise_int8
from .floats import tensor_ops as tensor_float
from .floats.through_float32 import NARROW, in_fp32
from .images.pool import avg_pool2d_fp32, avg_pool2d_int, max_pool2d
from .int48.depthwise import depthwise_conv2d_int48
from .int48.matmul import matmul_int48
from .int48.prepare import conv2d_int48, narrowest
from .int48.two_outputs import conv2d_two_outputs
from .reductions.prepare import argmax
from .scale.simpler import simpler
from .tile.constant_product import by_constant
from .tile.conv2d import conv2d_int8, conv2d_pairs
from .tile.matmul import matmul_int8, matmul_pairs
from .tile.packing import per_channel_bias
from .tile.trim import trimmed
from .wide.prepare import conv2d_wide, depthwise_conv2d_wide, matmul_wide
from .winograd import prepare as winograd
from .work import Epilogue, Kernel, Work, constant

if TYPE_CHECKING:
    from ..spec.table import Call


def conv2d_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """CONV2D of int8 input and int8 or int4 weights."""
    if not fits_output(call):
        assert epilogue is None
        return conv2d_wide(call)
    call, epilogue = simpler(call, epilogue)
    if winograd.chosen(call):
        return winograd.conv2d(call, epilogue)
    return conv2d_int8(call, epilogue)


def depthwise_conv2d_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """DEPTHWISE_CONV2D of int8 input and int8 or int4 weights."""
    if not fits_output(call):
        assert epilogue is None
        return depthwise_conv2d_wide(call)
    call, epilogue = simpler(call, epilogue)
    return depthwise_int8(call, epilogue, np.broadcast_to(accumulator_bound(call), (call.C * call.M,)))


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


def matmul_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """MATMUL of int8."""
    if not fits_output(call):
        assert epilogue is None
        return matmul_wide(call)
    return by_constant(call, conv2d_int, epilogue) or matmul_int8(call, epilogue)


def matmul_int16(call: Call, epilogue: Epilogue | None = None) -> Work:
    """MATMUL of int16, in one go where the sums are scaled at once and fit int32."""
    if not fits_output(call):
        assert epilogue is None
        return matmul_wide(call)
    if epilogue is not None and in_int32(*sums_range(call)):
        return matmul_pairs(call, epilogue)
    return matmul_int48(call, epilogue)


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
    ("CONV2D", "i16_i8_i48_acci48"): Kernel(trimmed(conv2d_int16), CONV, epilogue=True, two_outputs=conv2d_two_outputs),
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
