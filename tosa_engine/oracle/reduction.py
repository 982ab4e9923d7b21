"""What reductions compute (specification 2.9): one value after the other along the axis, which becomes 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arith import IEEE, apply_max_s, apply_min_s, highest, lowest, narrow, wide
from .requires import Requires

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def reduce_all(call: Call, input: Array) -> Array:
    return np.asarray(input.all(call.axis, keepdims=True))


def reduce_any(call: Call, input: Array) -> Array:
    return np.asarray(input.any(call.axis, keepdims=True))


def reduce_max(call: Call, input: Array) -> Array:
    values = wide(input)
    greatest = np.full(call.shape_of("output"), lowest(call.in_out_t, call.nan_mode), values.dtype)
    for i in range(input.shape[call.axis]):
        greatest = apply_max_s(greatest, values.take([i], call.axis), call.nan_mode)
    return narrow(greatest, call.in_out_t)


def reduce_min(call: Call, input: Array) -> Array:
    values = wide(input)
    least = np.full(call.shape_of("output"), highest(call.in_out_t, call.nan_mode), values.dtype)
    for i in range(input.shape[call.axis]):
        least = apply_min_s(least, values.take([i], call.axis), call.nan_mode)
    return narrow(least, call.in_out_t)


def reduce_product(call: Call, input: Array) -> Array:
    """Products in fp64, rounded once."""
    values = wide(input)
    product = np.ones(call.shape_of("output"), np.float64)
    with np.errstate(**IEEE):
        for i in range(input.shape[call.axis]):
            product = product * values.take([i], call.axis)
    return narrow(product, call.in_out_t)


def reduce_sum(call: Call, input: Array) -> Array:
    """Sums; of integers every partial sum must fit acc_t; of floats in fp64, rounded once."""
    values = wide(input)
    total = np.zeros(call.shape_of("output"), values.dtype)
    with np.errstate(**IEEE), Requires(call) as require:
        for i in range(input.shape[call.axis]):
            total = total + values.take([i], call.axis)
            if call.acc_t.is_int:
                total = require.fits("R1", total, call.acc_t, f"sum of the first {i + 1} values", accumulator=True)
    return narrow(total, call.in_out_t)


ORACLES = {
    "REDUCE_ALL": reduce_all,
    "REDUCE_ANY": reduce_any,
    "REDUCE_MAX": reduce_max,
    "REDUCE_MIN": reduce_min,
    "REDUCE_PRODUCT": reduce_product,
    "REDUCE_SUM": reduce_sum,
}
