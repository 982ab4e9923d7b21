"""Ranges of the reductions (specification 2.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import sums
from .interval import Interval

if TYPE_CHECKING:
    from ..spec.table import Call
    from .findings import Facts


def _last(call: Call) -> bool:
    return bool(call.axis == len(call.shape1) - 1)


def greatest(call: Call, facts: Facts, input: Interval) -> Interval:
    """REDUCE_MAX, and REDUCE_ANY: some value is true."""
    if not _last(call):
        return input
    return Interval(np.atleast_1d(input.low.max()), np.atleast_1d(input.high.max()))


def least(call: Call, facts: Facts, input: Interval) -> Interval:
    """REDUCE_MIN, and REDUCE_ALL: no value is false."""
    if not _last(call):
        return input
    return Interval(np.atleast_1d(input.low.min()), np.atleast_1d(input.high.min()))


def reduce_sum(call: Call, facts: Facts, input: Interval) -> Interval:
    """Along the last axis the channels one after the other, along another one so many values of each channel."""
    if _last(call):
        partial, total = sums.in_order(input.spread(call.shape1))
    else:
        partial, total = sums.repeated(input, call.shape1[call.axis])
    facts.fits("R1", partial, call.acc_t, total)
    return total.clip(call.in_out_t.minimum, call.in_out_t.maximum)


TRANSFERS = {
    "REDUCE_ALL": least,
    "REDUCE_ANY": greatest,
    "REDUCE_MAX": greatest,
    "REDUCE_MIN": least,
    "REDUCE_SUM": reduce_sum,
}
