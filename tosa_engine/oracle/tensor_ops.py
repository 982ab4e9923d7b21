"""What tensor operators compute (specification 2.3).

Loops run over the terms of one output element, in the specification's order; each step is done for all output
elements together, so that every partial sum of every element is seen. Integers accumulate in int64 and are tested to
fit acc_t; floats accumulate in fp64 and are rounded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arith import IEEE, apply_max_s, apply_scale_32, lowest, narrow, reciprocal_scale, wide
from .convolution import ORACLES as CONVOLUTIONS
from .fft import ORACLES as TRANSFORMS
from .requires import Requires
from .spatial import accumulate, taps

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def matmul(call: Call, A: Array, B: Array, A_zp: Array, B_zp: Array) -> Array:
    """Sums over c of A [N,H,C] times B [N,C,W]."""
    first = wide(A) - wide(A_zp)[0]
    second = wide(B) - wide(B_zp)[0]
    acc = np.zeros(call.shape_of("output"), first.dtype)
    with np.errstate(**IEEE), Requires(call) as require:
        for c in range(call.C):
            acc += first[:, :, c, None] * second[:, c, None, :]
            if call.out_t.is_int:
                acc = require.fits("R1", acc, call.out_t, f"accumulator after c {c}", accumulator=True)
    return narrow(acc, call.out_t)


def max_pool2d(call: Call, input: Array) -> Array:
    """The greatest value of each window; padding doesn't count."""
    values = wide(input)
    acc = np.full(call.shape_of("output"), lowest(call.in_out_t, call.nan_mode), values.dtype)
    for _, out_region, in_region in taps(call, call.kernel, (1, 1)):
        acc[out_region] = apply_max_s(acc[out_region], values[in_region], call.nan_mode)
    return narrow(acc, call.in_out_t)


def avg_pool2d(call: Call, input: Array, input_zp: Array, output_zp: Array) -> Array:
    """The mean of each window, over the positions that aren't padding; of integers through `reciprocal_scale`."""
    values = wide(input) - wide(input_zp)[0]
    acc = np.zeros(call.shape_of("output"), values.dtype)
    count = np.zeros(acc.shape, np.int64)
    with np.errstate(**IEEE), Requires(call) as require:
        for place, out_region, in_region in taps(call, call.kernel, (1, 1)):
            count[out_region] += 1
            accumulate(acc, out_region, values[in_region], call, require, place)
        if call.in_out_t.is_float:
            return narrow(acc / count, call.in_out_t)
        counts, inverse = np.unique(count, return_inverse=True)
        scales = np.array([reciprocal_scale(int(n)) for n in counts])[inverse.reshape(count.shape)]
        mean = apply_scale_32(acc, scales[..., 0], scales[..., 1], False, require, ("R2", "R2", "R2"))
    mean = mean + wide(output_zp)[0]
    return narrow(np.clip(mean, call.in_out_t.minimum, call.in_out_t.maximum), call.in_out_t)


def argmax(call: Call, input: Array) -> Array:
    """The first index of the greatest value along the axis."""
    values = np.moveaxis(wide(input), call.axis, 0)
    greatest = np.full(values.shape[1:], lowest(call.in_t, call.nan_mode), values.dtype)
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
    "MATMUL": matmul,
    "MAX_POOL2D": max_pool2d,
    **CONVOLUTIONS,
    **TRANSFORMS,
}
