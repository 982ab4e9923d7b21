"""What tensor operators compute (specification 2.3).

Loops run over the terms of one output element, in the specification's order; each step is done for all output
elements together, so that every partial sum of every element is seen. Integers accumulate in int64 and are tested to
fit acc_t; floats accumulate in fp64 and are rounded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arith import IEEE, apply_max_s, apply_scale_32, lowest, narrow, reciprocal_scale, wide
from .requires import Requires

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..spec.table import Call
    from ..types import Array

Region = tuple[slice, slice, slice]


def _inside(outputs: int, inputs: int, stride: int, offset: int) -> tuple[slice, slice]:
    """The output positions `o` for which o * stride + offset is an input position, and these input positions."""
    positions = [o for o in range(outputs) if 0 <= o * stride + offset < inputs]
    if not positions:
        return slice(0, 0), slice(0, 0)
    first, last = positions[0], positions[-1]
    return slice(first, last + 1), slice(first * stride + offset, last * stride + offset + 1, stride)


def _taps(call: Call, KH: int, KW: int, dilation: tuple[int, int]) -> Iterator[tuple[int, int, Region, Region]]:
    """Kernel positions in order, each with the region of the output that it adds to and that of the input it reads.

    Both regions are [N, y, x]; where a kernel position lies on padding, nothing is read and nothing is added.
    """
    for ky in range(KH):
        out_y, in_y = _inside(call.OH, call.IH, call.stride_y, ky * dilation[0] - call.pad_top)
        for kx in range(KW):
            out_x, in_x = _inside(call.OW, call.IW, call.stride_x, kx * dilation[1] - call.pad_left)
            yield ky, kx, (slice(None), out_y, out_x), (slice(None), in_y, in_x)


def _accumulate(acc: Array, region: Region, product: Array, call: Call, require: Requires, place: str) -> None:
    """Add products to a region of the accumulators and test that these fit acc_t."""
    acc[region] += product
    if call.acc_t.is_int:
        require.fits("R1", acc, call.acc_t, f"accumulator after {place}")


def conv2d(call: Call, input: Array, weight: Array, bias: Array, input_zp: Array, weight_zp: Array) -> Array:
    """Sums over ky, kx, ic of input [N,IH,IW,IC] times weight [OC,KH,KW,IC], plus bias."""
    values = wide(input) - wide(input_zp)[0]
    weights = wide(weight) - wide(weight_zp)[0]
    acc = np.zeros(call.shape_of("output"), values.dtype)
    with np.errstate(**IEEE), Requires(call) as require:
        for ky, kx, out_region, in_region in _taps(call, call.KH, call.KW, call.dilation):
            for ic in range(call.IC):
                product = values[in_region][..., ic, None] * weights[:, ky, kx, ic]
                _accumulate(acc, out_region, product, call, require, f"ky {ky}, kx {kx}, ic {ic}")
        return _add_bias(call, acc, bias, require)


def depthwise_conv2d(call: Call, input: Array, weight: Array, bias: Array, input_zp: Array, weight_zp: Array) -> Array:
    """Sums over ky, kx of input [N,IH,IW,C] times weight [KH,KW,C,M], plus bias; output channel c * M + m."""
    values = wide(input) - wide(input_zp)[0]
    weights = wide(weight) - wide(weight_zp)[0]
    acc = np.zeros(call.shape_of("output"), values.dtype)
    with np.errstate(**IEEE), Requires(call) as require:
        for ky, kx, out_region, in_region in _taps(call, call.KH, call.KW, call.dilation):
            product = values[in_region][..., None] * weights[ky, kx]
            product = product.reshape(*product.shape[:3], call.C * call.M)
            _accumulate(acc, out_region, product, call, require, f"ky {ky}, kx {kx}")
        return _add_bias(call, acc, bias, require)


def _add_bias(call: Call, acc: Array, bias: Array, require: Requires) -> Array:
    out = acc + wide(bias)  # one element, or one per output channel
    if call.out_t.is_int:
        require.fits("R2", out, call.out_t, "accumulator with bias")
    return narrow(out, call.out_t)


def matmul(call: Call, A: Array, B: Array, A_zp: Array, B_zp: Array) -> Array:
    """Sums over c of A [N,H,C] times B [N,C,W]."""
    first = wide(A) - wide(A_zp)[0]
    second = wide(B) - wide(B_zp)[0]
    acc = np.zeros(call.shape_of("output"), first.dtype)
    with np.errstate(**IEEE), Requires(call) as require:
        for c in range(call.C):
            acc += first[:, :, c, None] * second[:, c, None, :]
            if call.out_t.is_int:
                require.fits("R1", acc, call.out_t, f"accumulator after c {c}")
    return narrow(acc, call.out_t)


def max_pool2d(call: Call, input: Array) -> Array:
    """The greatest value of each window; padding doesn't count."""
    acc = np.full(call.shape_of("output"), lowest(call.in_out_t, call.nan_mode), input.dtype)
    for _, _, out_region, in_region in _taps(call, call.kernel_y, call.kernel_x, (1, 1)):
        acc[out_region] = apply_max_s(acc[out_region], input[in_region], call.nan_mode)
    return acc


def avg_pool2d(call: Call, input: Array, input_zp: Array, output_zp: Array) -> Array:
    """The mean of each window, over the positions that aren't padding; of integers through `reciprocal_scale`."""
    values = wide(input) - wide(input_zp)[0]
    acc = np.zeros(call.shape_of("output"), values.dtype)
    count = np.zeros(acc.shape, np.int64)
    with np.errstate(**IEEE), Requires(call) as require:
        for ky, kx, out_region, in_region in _taps(call, call.kernel_y, call.kernel_x, (1, 1)):
            count[out_region] += 1
            _accumulate(acc, out_region, values[in_region], call, require, f"ky {ky}, kx {kx}")
        if call.in_out_t.is_float:
            return narrow(acc / count, call.in_out_t)
        counts, inverse = np.unique(count, return_inverse=True)
        scales = np.array([reciprocal_scale(int(n)) for n in counts])[inverse.reshape(count.shape)]
        mean = apply_scale_32(acc, scales[..., 0], scales[..., 1], False, require, ("R2", "R2", "R2"))
    mean = mean + wide(output_zp)[0]
    return narrow(np.clip(mean, call.in_out_t.minimum, call.in_out_t.maximum), call.in_out_t)


def argmax(call: Call, input: Array) -> Array:
    """The first index of the greatest value along the axis."""
    values = np.moveaxis(input, call.axis, 0)
    greatest = np.full(values.shape[1:], lowest(call.in_t, call.nan_mode), input.dtype)
    index = np.zeros(greatest.shape, np.int64)
    for i, value in enumerate(values):
        result = apply_max_s(value, greatest, call.nan_mode)
        replaced = (result != greatest) & ~((result != result) & (greatest != greatest))  # NaN differs from itself
        greatest = np.where(replaced, result, greatest)
        index = np.where(replaced, i, index)
    with Requires(call) as require:
        require.fits("R1", index, call.out_t, "index")
    return narrow(index, call.out_t)


ORACLES = {
    "ARGMAX": argmax,
    "AVG_POOL2D": avg_pool2d,
    "CONV2D": conv2d,
    "DEPTHWISE_CONV2D": depthwise_conv2d,
    "MATMUL": matmul,
    "MAX_POOL2D": max_pool2d,
}
