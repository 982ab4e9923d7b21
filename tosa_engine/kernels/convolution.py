"""Kernels of CONV3D and TRANSPOSE_CONV2D: uses of CONV2D, whose kernels do the sums, with copies before or behind.

A slice [n, od] of a CONV3D is a CONV2D of an image whose channels are those of KD slices of the input (`conv3d`). A
TRANSPOSE_CONV2D is a CONV2D whose channels are neighbouring outputs (`transposed`).

Sums are added up in another order than the specification's: only where a bound proves that no REQUIRE can fail. Where
it doesn't, `convolution_loops` test every partial sum in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import tensor_ops
from .bounds import fits_output
from .floats.tensor_ops import CONV_SUMS
from .floats.through_float32 import in_fp32
from .tile.conv2d import conv2d
from .tile.packing import per_channel_bias
from .tile.transposed import in_groups
from .tile.trim import trimmed
from .work import Chain, Epilogue, Kernel, Loop, Work, aligned, bits, constant, flat, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run

CHUNK_BYTES = 512 << 10  # of images that are stacked before they are convolved
MOST_CHUNKS = 64


def conv3d_sums(call: Call, epilogue: Epilogue | None) -> Work:
    """Some images at a time are stacked, then convolved."""
    from .layout import loops as layout_loops

    depth, images = call.KD * call.IC, call.N * call.OD
    weight = constant(call, "weight").transpose(0, 2, 3, 1, 4).reshape(call.OC, call.KH, call.KW, depth)
    element = call.in_t.storage
    one = call.IH * call.IW * depth
    chunk = min(images, max(1, CHUNK_BYTES // (one * element.itemsize), -(-images // MOST_CHUNKS)))
    firsts = range(0, images, chunk)
    settings = {"pad": call.pad[2:], "stride": call.stride[1:], "dilation": call.dilation[1:]}
    works = {
        count: conv2d(call, epilogue, count, (call.IH, call.IW), weight, **settings)
        for count in sorted({min(chunk, images - first) for first in firsts})
    }
    places = dict(zip(works, np.cumsum([0, *(len(work.scratch) for work in works.values())]).tolist(), strict=False))
    zero = bits(np.array([call.input_zp], element))

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out, stacked = flat(inputs[0]), outputs[0].reshape(images, -1), aligned(chunk * one, element)
        loops: list[tuple[Loop, int]] = []
        for first in firsts:
            count = min(chunk, images - first)
            g = np.array(
                [call.ID, call.IH, call.IW, call.IC, call.OD, call.KD, call.stride_d, call.dilation_d, call.pad_d0,
                 first], np.int64,
            )  # fmt: skip
            stack = Loop(layout_loops.stack, bits(x), zero, g, bits(stacked)).taking(0, 0)
            run = works[count].bind([stacked[: count * one]], [out[first : first + count]])
            loops += [
                (stack, count * call.IH),
                *loops_of(run, works[count].units, places[count], len(works[count].scratch)),
            ]
        return Chain(*loops)

    scratch = tuple(s for work in works.values() for s in work.scratch)
    cost = images * one * 0.5 + works[chunk].cost * images / chunk
    return Work(1, cost, bind, scratch, widest=chunk * call.IH)


def wide(call: Call, loop: Callable[..., int], g: Sequence[int]) -> Work:
    """In 64-bit sums, every partial sum tested; a unit is one output position."""
    weight = tensor_ops.in_words(constant(call, "weight"), call.weight_zp)
    bias = per_channel_bias(call, call.OC).astype(np.int64)
    numbers = np.array([*g, call.input_zp, call.acc_t.maximum], np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(loop, x, weight, bias, numbers, out)

    units = int(np.prod(call.shape_of("output")[:-1]))
    return Work(units, 2.0 * units * weight.size, bind)


def unproved(call: Call) -> bool:
    """Whether a REQUIRE on the sums could fail."""
    return bool(call.acc_t.is_int) and not fits_output(call)


def conv3d(call: Call, epilogue: Epilogue | None = None) -> Work:
    if not unproved(call):
        return conv3d_sums(call, epilogue)
    from .wide import loops_3d as convolution_loops

    assert epilogue is None
    g = [
        call.ID, call.IH, call.IW, call.IC, call.OD, call.OH, call.OW, call.OC, call.KD, call.KH, call.KW, *call.stride,
        *call.dilation, call.pad_d0, call.pad_top, call.pad_left,
    ]  # fmt: skip
    return wide(call, convolution_loops.conv3d, g)


def transpose_conv2d(call: Call, epilogue: Epilogue | None = None) -> Work:
    if not unproved(call):
        return in_groups(call, epilogue)
    from .wide import loops_3d as convolution_loops

    assert epilogue is None
    g = [
        call.IH, call.IW, call.IC, call.OH, call.OW, call.OC, call.KH, call.KW, *call.stride, call.out_pad_top,
        call.out_pad_left,
    ]  # fmt: skip
    return wide(call, convolution_loops.transpose_conv2d, g)


KERNELS = {
    (op, key): Kernel(prepare, tensor_ops.CONV, epilogue=not key.startswith("fp32"))
    for op, prepare in (("CONV3D", trimmed(conv3d)), ("TRANSPOSE_CONV2D", transpose_conv2d))
    for key in ("i8_i8_i32_acci32", "i8_i4_i32_acci32", "i16_i8_i48_acci48", "fp32_fp32_fp32_accfp32")
}
KERNELS |= {
    (op, key): Kernel(in_fp32(prepare), tensor_ops.CONV, clips=True)
    for op, prepare in (("CONV3D", trimmed(conv3d)), ("TRANSPOSE_CONV2D", transpose_conv2d))
    for key in CONV_SUMS
}
