"""Kernels of the tensor operators: how weights are packed, how work is split, which loop runs.

CONV2D and MATMUL of int8 and float32 stand on the tile. A bound from the weights proves that int32 can't overflow on
the way (no REQUIRE can fail); where it doesn't, and for 16-bit inputs, `wide_loops` sums in 64 bits and tests every
partial sum in the specification's order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import geometry as at
from .epilogue import parameters
from .matmul import matmul_fp32, matmul_int, matmul_wide
from .pool import argmax, avg_pool2d_fp32, avg_pool2d_int, max_pool2d
from .work import BUFFER_BYTES, I32_MAX, LEAST_UNITS, Epilogue, Kernel, Work, aligned, constant, flat, geometry, native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


def _window(call: Call, depth: int, repeat: int, itemsize: int) -> tuple[dict[int, int], list[int], int]:
    """Geometry of packing, the distances of the runs along K, and the elements of one run."""
    tall, wide = call.KH > 1, call.KW > 1
    columns = (call.OW - 1) * (call.stride_x if wide else 1) + 1 + (call.KW - 1) * call.dilation_x
    inner = depth * repeat
    pitch = columns * inner
    merged = call.dilation_x == 1 and repeat == 1 and wide
    rows = [ky * call.dilation_y * pitch for ky in range(call.KH)]
    if merged or not wide:
        offsets, run = rows, call.KW * inner
    else:
        offsets = [row + kx * call.dilation_x * inner for row in rows for kx in range(call.KW)]
        run = inner
    jump = call.stride_y if tall else 1
    tail = (call.KH - 1) * call.dilation_y
    lines = (BUFFER_BYTES // itemsize // pitch - 1 - tail) // jump + 1
    found = {
        at.IN_HEIGHT: call.IH, at.IN_WIDTH: call.IW, at.DEPTH: depth, at.REPEAT: repeat,
        at.FIRST_Y: -call.pad_top, at.FIRST_X: -call.pad_left,
        at.STEP_Y: 1 if tall else call.stride_y, at.STEP_X: 1 if wide else call.stride_x,
        at.HEIGHT: call.OH, at.WIDTH: call.OW, at.JUMP_Y: jump, at.JUMP_X: (call.stride_x if wide else 1) * inner,
        at.PITCH: pitch, at.TAIL: tail, at.BATCH: call.N, at.BLOCK: max(1, min(call.OH, lines)),
    }  # fmt: skip
    return found, offsets, run


def _flatten_pointwise(call: Call, g: dict[int, int]) -> None:
    """A 1 x 1 convolution without stride and padding is a product of all pixels: one column of N * OH * OW rows."""
    if (call.KH, call.KW, *call.stride, *call.pad) != (1, 1, 1, 1, 0, 0, 0, 0):
        return
    pixels, pitch = call.N * call.OH * call.OW, g[at.DEPTH]
    g.update({at.BATCH: 1, at.IN_HEIGHT: pixels, at.IN_WIDTH: 1, at.HEIGHT: pixels, at.WIDTH: 1, at.PITCH: pitch})
    g[at.BLOCK] = max(1, min(pixels, BUFFER_BYTES // 2 // pitch))


def _split(g: dict[int, int], panels: int) -> int:
    """Cut the work into units: blocks of rows, and groups of panels where there are few rows. The number of units."""
    g[at.PANELS] = panels
    per_image = -(-LEAST_UNITS // g[at.BATCH])
    if g[at.HEIGHT] >= 2 * per_image:  # whole tiles where the output is a single column
        least = -(-g[at.HEIGHT] // per_image)
        g[at.BLOCK] = min(g[at.BLOCK], -(-least // 6) * 6 if g[at.WIDTH] == 1 else least)
    g[at.BLOCKS] = -(-g[at.HEIGHT] // g[at.BLOCK])
    g[at.GROUPS] = max(1, min(panels, LEAST_UNITS // (g[at.BLOCKS] * g[at.BATCH])))
    return g[at.BATCH] * g[at.BLOCKS] * g[at.GROUPS]


def _buffer(g: dict[int, int]) -> tuple[int, int]:
    """Elements of the packed rows (with room for reads past the last run) and of the row starts."""
    rows = (g[at.BLOCK] - 1) * g[at.JUMP_Y] + 1 + g[at.TAIL]
    return rows * g[at.PITCH] + 64, g[at.BLOCK] * g[at.WIDTH] + 8


def pack_panels(weight: Array, segments: int, group: int, dtype: Any) -> tuple[Array, int, int]:
    """Weights [OC, K] as [panel, segment, step, NR, group]: (packed, steps of a run, panels)."""
    channels, depth = weight.shape
    run = depth // segments
    steps, panels = -(-run // group), -(-channels // 16)
    padded = np.zeros((panels * 16, segments, steps * group), dtype)
    padded[:channels, :, :run] = weight.reshape(channels, segments, run)
    packed = aligned(padded.size, dtype)
    packed[:] = padded.reshape(panels, 16, segments, steps, group).transpose(0, 2, 3, 1, 4).reshape(-1)
    return packed, steps, panels


def per_channel_bias(call: Call, channels: int) -> Array:
    return np.ascontiguousarray(np.broadcast_to(constant(call, "bias"), (channels,)))


def accumulator_bound(call: Call) -> Array:
    """Per output channel, the largest magnitude that any partial sum and the result with its bias can have."""
    weight = constant(call, "weight").astype(np.int64) - call.weight_zp
    sums = (
        np.abs(weight).sum(axis=(1, 2, 3))
        if call.spec.name == "CONV2D"
        else np.abs(weight).sum(axis=(0, 1)).reshape(-1)
    )
    low, high = call.in_t.minimum, call.in_t.maximum
    reach = max(abs(low - call.input_zp), abs(high - call.input_zp))
    return np.asarray(sums * reach + np.abs(per_channel_bias(call, len(sums)).astype(np.int64)))


def fits_int32(call: Call) -> bool:
    return bool(accumulator_bound(call).max() <= I32_MAX)


def _macs(call: Call) -> float:
    return float(call.N * call.OH * call.OW * call.OC * call.KH * call.KW * call.IC)


def conv2d_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """CONV2D of int8 input and int8 or int4 weights."""
    from . import tensor_loops

    if not fits_int32(call):
        assert epilogue is None
        return conv2d_wide(call)
    g, offsets, run = _window(call, call.IC, 1, 2)
    _flatten_pointwise(call, g)
    weight = constant(call, "weight").astype(np.int16) - np.int16(call.weight_zp)
    b, steps, panels = pack_panels(weight.reshape(call.OC, -1), len(offsets), 2, np.int16)
    assert steps == -(-run // 2)
    g.update({at.SEGMENTS: len(offsets), at.LENGTH: steps, at.ZERO: call.input_zp, at.CHANNELS: call.OC})
    g[at.NATIVE] = native()
    units = _split(g, panels)
    e32, e64, limits, table = parameters(epilogue, per_channel_bias(call, call.OC), call.OC, panels * 16)
    shape, distances = geometry(g), np.array(offsets, np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        def run_units(low: int, high: int, scratch: Sequence[Array]) -> int:
            return tensor_loops.conv_int(x, b, shape, distances, e32, e64, limits, table, out, *scratch, low, high)

        return run_units

    packed, starts = _buffer(g)
    scratch = ((np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), 96))
    return Work(units, _macs(call) / 60 + 0.4 * call.N * call.OH * call.OW * call.OC, bind, scratch)


def _depthwise_weights(call: Call, dtype: Any) -> tuple[Array, int]:
    """[KH * KW, C * M] padded to whole vectors, zero point subtracted; and the number of vectors."""
    channels = call.C * call.M
    panels = -(-channels // 16)
    weight = aligned(call.KH * call.KW * panels * 16, dtype)
    values = constant(call, "weight").astype(dtype) - np.dtype(dtype).type(call.weight_zp)
    weight.reshape(-1, panels * 16)[:, :channels] = values.reshape(-1, channels)
    return weight, panels


def _pairs_of_taps(weight: Array, panels: int) -> Array:
    """[taps, panels * 16] as [panel, pair, 16, 2], an odd number of taps filled up with zeros."""
    from .vector import LANE_ORDER

    taps = weight.size // (panels * 16)
    padded = np.zeros((taps + taps % 2, panels * 16), np.int16)
    padded[:taps] = weight.reshape(taps, -1)
    packed = aligned(padded.size, np.int16)
    packed[:] = padded.reshape(-1, 2, panels, 16)[..., LANE_ORDER].transpose(2, 0, 3, 1).reshape(-1)
    return packed


def _depthwise_geometry(call: Call, panels: int, itemsize: int) -> tuple[dict[int, int], Array, int]:
    """Taps are segments; the buffer holds every input channel M times, so that channels line up with outputs."""
    g, _, _ = _window(call, call.C, call.M, itemsize)
    inner = call.C * call.M
    offsets = [
        ky * call.dilation_y * g[at.PITCH] + kx * call.dilation_x * inner
        for ky in range(call.KH)
        for kx in range(call.KW)
    ]
    g.update({at.SEGMENTS: len(offsets), at.CHANNELS: inner, at.NATIVE: native()})
    units = _split(g, panels)
    units //= g[at.GROUPS]
    g[at.GROUPS] = 1
    return g, np.array(offsets, np.int64), units


def depthwise_conv2d_int(call: Call, epilogue: Epilogue | None = None) -> Work:
    """DEPTHWISE_CONV2D of int8 input and int8 or int4 weights."""
    from . import tensor_loops

    if not fits_int32(call):
        assert epilogue is None
        return depthwise_conv2d_wide(call)
    weight, panels = _depthwise_weights(call, np.int16)
    weight = _pairs_of_taps(weight, panels)
    g, distances, units = _depthwise_geometry(call, panels, 2)
    if len(distances) % 2:
        distances = np.append(distances, distances[-1])  # its weight is 0
    g[at.SEGMENTS] = len(distances)
    g[at.ZERO] = call.input_zp
    channels = call.C * call.M
    e32, e64, limits, table = parameters(epilogue, per_channel_bias(call, channels), channels, panels * 16)
    shape = geometry(g)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        def run_units(low: int, high: int, scratch: Sequence[Array]) -> int:
            return tensor_loops.depthwise_int(
                x, weight, shape, distances, e32, e64, limits, table, out, *scratch, low, high
            )

        return run_units

    packed, starts = _buffer(g)
    scratch = ((np.dtype(np.int16), packed), (np.dtype(np.int64), starts), (np.dtype(np.int32), 96))
    return Work(units, call.N * call.OH * call.OW * channels * (0.05 * call.KH * call.KW + 0.5), bind, scratch)


def conv2d_fp32(call: Call) -> Work:
    from . import tensor_loops

    g, offsets, _ = _window(call, call.IC, 1, 4)
    _flatten_pointwise(call, g)
    b, steps, panels = pack_panels(constant(call, "weight").reshape(call.OC, -1), len(offsets), 1, np.float32)
    g.update({at.SEGMENTS: len(offsets), at.LENGTH: steps, at.CHANNELS: call.OC, at.NATIVE: native()})
    units = _split(g, panels)
    bias = per_channel_bias(call, call.OC)
    shape, distances = geometry(g), np.array(offsets, np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        def run_units(low: int, high: int, scratch: Sequence[Array]) -> int:
            return tensor_loops.conv_float(x, b, shape, distances, bias, out, *scratch, low, high)

        return run_units

    packed, starts = _buffer(g)
    scratch = ((np.dtype(np.float32), packed), (np.dtype(np.int64), starts), (np.dtype(np.float32), 96))
    return Work(units, _macs(call) / 30, bind, scratch)


def depthwise_conv2d_fp32(call: Call) -> Work:
    from . import tensor_loops

    weight, panels = _depthwise_weights(call, np.float32)
    g, distances, units = _depthwise_geometry(call, panels, 4)
    channels = call.C * call.M
    bias, shape = per_channel_bias(call, channels), geometry(g)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        def run_units(low: int, high: int, scratch: Sequence[Array]) -> int:
            return tensor_loops.depthwise_float(x, weight, shape, distances, bias, out, *scratch, low, high)

        return run_units

    packed, starts = _buffer(g)
    scratch = ((np.dtype(np.float32), packed), (np.dtype(np.int64), starts))
    return Work(units, 0.15 * call.N * call.OH * call.OW * channels * (call.KH * call.KW + 1), bind, scratch)


def conv2d_wide(call: Call) -> Work:
    """CONV2D in 64-bit sums, every partial sum tested."""
    from . import wide_loops

    weight = np.ascontiguousarray(constant(call, "weight").astype(np.int32) - np.int32(call.weight_zp)).reshape(-1)
    bias = per_channel_bias(call, call.OC).astype(np.int64)
    out_max = call.out_t.maximum
    checked = bool(accumulator_bound(call).max() > out_max)
    g = np.array(
        [call.N, call.IH, call.IW, call.IC, call.OH, call.OW, call.OC, call.KH, call.KW, *call.stride, *call.dilation,
         call.pad_top, call.pad_left, call.input_zp, out_max, checked], np.int64
    )  # fmt: skip

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return lambda low, high, scratch: wide_loops.conv(x, weight, bias, g, out, low, high)

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
        return lambda low, high, scratch: wide_loops.depthwise(x, weight, bias, g, out, low, high)

    return Work(call.N * call.OH * call.OW, 0.7 * call.N * call.OH * call.OW * weight.size, bind)


CONV = ("weight", "bias", "input_zp", "weight_zp")
KERNELS = {
    ("ARGMAX", "i8_i32"): Kernel(argmax),
    ("ARGMAX", "i16_i32"): Kernel(argmax),
    ("ARGMAX", "fp32_i32"): Kernel(argmax),
    ("AVG_POOL2D", "i8_acci32"): Kernel(avg_pool2d_int, ("input_zp", "output_zp")),
    ("AVG_POOL2D", "i16_acci32"): Kernel(avg_pool2d_int, ("input_zp", "output_zp")),
    ("AVG_POOL2D", "fp32_accfp32"): Kernel(avg_pool2d_fp32, ("input_zp", "output_zp")),
    ("CONV2D", "i8_i8_i32_acci32"): Kernel(conv2d_int, CONV, epilogue=True),
    ("CONV2D", "i8_i4_i32_acci32"): Kernel(conv2d_int, CONV, epilogue=True),
    ("CONV2D", "i16_i8_i48_acci48"): Kernel(conv2d_wide, CONV),
    ("CONV2D", "fp32_fp32_fp32_accfp32"): Kernel(conv2d_fp32, CONV),
    ("DEPTHWISE_CONV2D", "i8_i8_i32_acci32"): Kernel(depthwise_conv2d_int, CONV, epilogue=True),
    ("DEPTHWISE_CONV2D", "i8_i4_i32_acci32"): Kernel(depthwise_conv2d_int, CONV, epilogue=True),
    ("DEPTHWISE_CONV2D", "i16_i8_i48_acci48"): Kernel(depthwise_conv2d_wide, CONV),
    ("DEPTHWISE_CONV2D", "fp32_fp32_fp32_accfp32"): Kernel(depthwise_conv2d_fp32, CONV),
    ("MATMUL", "i8_i32"): Kernel(matmul_int, ("A_zp", "B_zp"), epilogue=True),
    ("MATMUL", "i16_i48"): Kernel(matmul_wide, ("A_zp", "B_zp")),
    ("MATMUL", "fp32_fp32"): Kernel(matmul_fp32, ("A_zp", "B_zp")),
    ("MAX_POOL2D", "i8"): Kernel(max_pool2d),
    ("MAX_POOL2D", "i16"): Kernel(max_pool2d),
    ("MAX_POOL2D", "fp32"): Kernel(max_pool2d),
}
