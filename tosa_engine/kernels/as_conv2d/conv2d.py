"""CONV2D inside of other kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...spec import bind_operator
from ...spec.case import Case
from .. import tensor_ops
from ..tile.packing import per_channel_bias

if TYPE_CHECKING:
    from ...spec.table import Call
    from ...types import Array
    from ..work import Epilogue, Work


def conv2d(
    call: Call, epilogue: Epilogue | None, images: int, size: tuple[int, int], weight: Array, **attributes: Any
) -> Work:
    """The work of a CONV2D with the formats and the bounds of `call`, by its kernel.

    It has `images` of this input size, and weights [a multiple of OC, KH, KW, IC]: the bias, the epilogue and the
    bounds repeat for each OC of them.
    """
    assert call.row is not None
    times, IC = weight.shape[0] // call.OC, weight.shape[3]
    bias = np.tile(per_channel_bias(call, call.OC), times)
    case = Case("CONV2D").input("input", call.in_t, (images, *size, IC))
    case.const("weight", call.weight_t, weight).const("bias", call.out_t, bias)
    case.const("input_zp", call.in_t, [call.input_zp]).const("weight_zp", call.weight_t, [call.weight_zp])
    top, bottom, left, right = attributes["pad"]
    height, width = (
        (inside + around - (k - 1) * d - 1) // s + 1
        for inside, around, k, d, s in zip(
            size, (top + bottom, left + right), weight.shape[1:3], attributes["dilation"], attributes["stride"],
            strict=True,
        )
    )  # fmt: skip
    case.output("output", call.out_t, (images, height, width, weight.shape[0]))
    case.set(**attributes, acc_type=call.acc_type, local_bound=call.local_bound)
    block = case.graph().main
    found = bind_operator(block.operators[-1], block)
    found.proved = {
        label.replace(call.spec.name, "CONV2D"): (repeat(low, call.OC, times), repeat(high, call.OC, times))
        for label, (low, high) in call.proved.items()
    }
    kernel = tensor_ops.KERNELS["CONV2D", call.row.key]
    if epilogue is None:
        return kernel.prepare(found)
    multiplier, shift = (np.tile(x, times) if len(x) > 1 else x for x in (epilogue.multiplier, epilogue.shift))
    return kernel.prepare(found, replace(epilogue, multiplier=multiplier, shift=shift))


def repeat(values: Array, channels: int, times: int) -> Array:
    return np.tile(np.broadcast_to(values, channels), times)
