"""What convolutions compute (specification 2.3.3, 2.3.4, 2.3.5 and 2.3.10), in the manner of `tensor_ops`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from .arith import IEEE, narrow, wide
from .requires import Requires
from .spatial import accumulate, inside, taps

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def convolution(call: Call, input: Array, weight: Array, bias: Array, input_zp: Array, weight_zp: Array) -> Array:
    """CONV2D: sums over ky, kx, ic of input [N,IH,IW,IC] times weight [OC,KH,KW,IC], plus bias; CONV3D: from kd on."""
    values = wide(input) - wide(input_zp)[0]
    weights = wide(weight) - wide(weight_zp)[0]
    acc = np.zeros(call.shape_of("output"), values.dtype)
    with np.errstate(**IEEE), Requires(call) as require:
        for place, out_region, in_region in taps(call, weight.shape[1:-1], call.dilation):
            for ic in range(call.IC):
                product = values[in_region][..., ic, None] * weights[(slice(None), *place, ic)]
                accumulate(acc, out_region, product, call, require, (*place, ic))
        return _add_bias(call, acc, bias, require)


def depthwise_conv2d(call: Call, input: Array, weight: Array, bias: Array, input_zp: Array, weight_zp: Array) -> Array:
    """Sums over ky, kx of input [N,IH,IW,C] times weight [KH,KW,C,M], plus bias; output channel c * M + m."""
    values = wide(input) - wide(input_zp)[0]
    weights = wide(weight) - wide(weight_zp)[0]
    acc = np.zeros(call.shape_of("output"), values.dtype)
    with np.errstate(**IEEE), Requires(call) as require:
        for place, out_region, in_region in taps(call, weight.shape[:2], call.dilation):
            product = values[in_region][..., None] * weights[place]
            product = product.reshape(*product.shape[:3], call.C * call.M)
            accumulate(acc, out_region, product, call, require, place)
        return _add_bias(call, acc, bias, require)


def transpose_conv2d(call: Call, input: Array, weight: Array, bias: Array, input_zp: Array, weight_zp: Array) -> Array:
    """Sums over ky, kx, ic of input [N,IH,IW,IC] times weight [OC,KH,KW,IC], plus bias.

    Output position oy gets input position iy at ky where oy = iy * stride_y + out_pad_top + ky; along x likewise.
    """
    values = wide(input) - wide(input_zp)[0]
    weights = wide(weight) - wide(weight_zp)[0]
    acc = np.zeros(call.shape_of("output"), values.dtype)
    with np.errstate(**IEEE), Requires(call) as require:
        for ky, kx in itertools.product(range(call.KH), range(call.KW)):
            in_y, out_y = inside(call.IH, call.OH, call.stride_y, call.out_pad_top + ky)
            in_x, out_x = inside(call.IW, call.OW, call.stride_x, call.out_pad_left + kx)
            for ic in range(call.IC):
                product = values[:, in_y, in_x, ic, None] * weights[:, ky, kx, ic]
                accumulate(acc, (slice(None), out_y, out_x), product, call, require, (ky, kx, ic))
        return _add_bias(call, acc, bias, require)


def _add_bias(call: Call, acc: Array, bias: Array, require: Requires) -> Array:
    out = acc + wide(bias)  # one element, or one per output channel
    if call.out_t.is_int:
        out = require.fits("R2", out, call.out_t, "accumulator with bias", accumulator=True)
    return narrow(out, call.out_t)


ORACLES = {
    "CONV2D": convolution,
    "CONV3D": convolution,
    "DEPTHWISE_CONV2D": depthwise_conv2d,
    "TRANSPOSE_CONV2D": transpose_conv2d,
}
