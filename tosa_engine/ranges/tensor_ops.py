"""Ranges of the tensor operators (specification 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import sums
from .convolution import conv2d, conv3d, depthwise_conv2d, transpose_conv2d
from .interval import Interval, add, between, of_values, sub

if TYPE_CHECKING:
    from ..spec.table import Call
    from .findings import Facts


def matmul(call: Call, facts: Facts, A: Interval, B: Interval, A_zp: Interval, B_zp: Interval) -> Interval:
    """One bound per column w: A has intervals along c, B along w, or along both where it is constant."""
    constant = call.constant("B")
    if constant is None:
        second = B.spread((call.W,))
        second = Interval(second.low[:, None], second.high[:, None])  # [W, 1]
    else:
        by_element = of_values(constant.reshape(call.N, -1))
        second = Interval(by_element.low.reshape(call.C, call.W).T, by_element.high.reshape(call.C, call.W).T)
    everywhere = np.zeros(call.C, np.bool_)
    partial, total = sums.products(sub(second, B_zp), sub(A, A_zp), everywhere, call.W, call.C)
    facts.fits("R1", partial, call.out_t, total)
    return total.clip(call.out_t.minimum, call.out_t.maximum)


def max_pool2d(call: Call, facts: Facts, input: Interval) -> Interval:
    """Padding is narrower than the kernel, so that every window has a value."""
    return input


def avg_pool2d(call: Call, facts: Facts, input: Interval, input_zp: Interval, output_zp: Interval) -> Interval:
    """The mean of values is between the least and the greatest: scaling by the reciprocal of their number n is exact
    for n equal values, and grows with the sum. Its REQUIRE asks n * value < 2^29 * 2^k with n <= 2^k.
    """
    value = sub(input, input_zp)
    partial, _ = sums.repeated(value, min(call.kernel_y, call.IH) * min(call.kernel_x, call.IW))
    facts.fits("R1", partial, call.acc_t, value)
    facts.within("R2", value, -(1 << 29), (1 << 29) - 1)
    return add(value, output_zp).clip(call.in_out_t.minimum, call.in_out_t.maximum)


def argmax(call: Call, facts: Facts, input: Interval) -> Interval:
    return facts.fits("R1", between(0, call.shape1[call.axis] - 1), call.out_t)


TRANSFERS = {
    "ARGMAX": argmax,
    "AVG_POOL2D": avg_pool2d,
    "CONV2D": conv2d,
    "CONV3D": conv3d,
    "DEPTHWISE_CONV2D": depthwise_conv2d,
    "MATMUL": matmul,
    "MAX_POOL2D": max_pool2d,
    "TRANSPOSE_CONV2D": transpose_conv2d,
}
