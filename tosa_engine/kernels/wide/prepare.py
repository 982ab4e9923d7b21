"""Preparation of the operators whose partial sums are tested one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..bounds import fits_output
from ..shared_constants import shared
from ..tile.packing import per_channel_bias
from ..work import Loop, Work, constant, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Run


@shared
def in_words(weight: Array, zero: int) -> Array:
    return np.ascontiguousarray(weight.astype(np.int32) - np.int32(zero)).reshape(-1)


def conv2d_wide(call: Call) -> Work:
    """CONV2D in 64-bit sums, every partial sum tested."""
    from . import loops

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
        return Loop(loops.conv, x, weight, bias, g, out)

    return Work(call.N * call.OH * call.OW, 0.7 * call.N * call.OH * call.OW * weight.size, bind)


def depthwise_conv2d_wide(call: Call) -> Work:
    """DEPTHWISE_CONV2D in 64-bit sums, every partial sum tested."""
    from . import loops

    weight = in_words(constant(call, "weight"), call.weight_zp)
    bias = per_channel_bias(call, call.C * call.M).astype(np.int64)
    g = np.array(
        [call.N, call.IH, call.IW, call.C, call.OH, call.OW, call.M, call.KH, call.KW, *call.stride, *call.dilation,
         call.pad_top, call.pad_left, call.input_zp, call.out_t.maximum], np.int64
    )  # fmt: skip

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(loops.depthwise, x, weight, bias, g, out)

    return Work(call.N * call.OH * call.OW, 0.7 * call.N * call.OH * call.OW * weight.size, bind)


def matmul_wide(call: Call) -> Work:
    """MATMUL in 64-bit sums, every partial sum tested."""
    from . import loops

    g = np.array([call.N, call.H, call.W, call.C, call.A_zp, call.B_zp, call.out_t.maximum], np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, y, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)
        return Loop(loops.matmul, x, y, g, out)

    scratch = ((np.dtype(np.int64), call.W),)
    return Work(call.N * call.H, 1.0 * call.N * call.H * call.W * call.C, bind, scratch)


def by_position(call: Call, loop: Callable[..., int], g: Sequence[int]) -> Work:
    """In 64-bit sums, every partial sum tested; a unit is one output position."""
    weight = in_words(constant(call, "weight"), call.weight_zp)
    bias = per_channel_bias(call, call.OC).astype(np.int64)
    numbers = np.array([*g, call.input_zp, call.acc_t.maximum], np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(loop, x, weight, bias, numbers, out)

    units = int(np.prod(call.shape_of("output")[:-1]))
    return Work(units, 2.0 * units * weight.size, bind)


def conv3d_wide(call: Call) -> Work:
    from . import loops_3d

    g = [
        call.ID, call.IH, call.IW, call.IC, call.OD, call.OH, call.OW, call.OC, call.KD, call.KH, call.KW, *call.stride,
        *call.dilation, call.pad_d0, call.pad_top, call.pad_left,
    ]  # fmt: skip
    return by_position(call, loops_3d.conv3d, g)


def transpose_conv2d_wide(call: Call) -> Work:
    from . import loops_3d

    g = [
        call.IH, call.IW, call.IC, call.OH, call.OW, call.OC, call.KH, call.KW, *call.stride, call.out_pad_top,
        call.out_pad_left,
    ]  # fmt: skip
    return by_position(call, loops_3d.transpose_conv2d, g)
