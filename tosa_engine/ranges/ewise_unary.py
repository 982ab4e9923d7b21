"""Ranges of the elementwise unary operators (specification 2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .bits import not_
from .interval import Interval, add, sub

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array
    from .findings import Facts


def absolute(call: Call, facts: Facts, input1: Interval) -> Interval:
    low, high = np.abs(input1.low), np.abs(input1.high)
    least = np.where((input1.low <= 0) & (input1.high >= 0), 0, np.minimum(low, high))
    return facts.fits("R1", Interval(least, np.maximum(low, high)), call.in_out_t)


def bitwise_not(call: Call, facts: Facts, input1: Interval) -> Interval:
    return not_(input1)


def clz(call: Call, facts: Facts, input1: Interval) -> Interval:
    """0 for negative values, 32 for 0, fewer the greater a positive value is."""
    low = np.where(input1.low < 0, 0, _leading_zeros(input1.high))
    high = np.where(input1.high < 0, 0, _leading_zeros(np.maximum(input1.low, 0)))
    return Interval(low, high)


def _leading_zeros(value: Array) -> Array:
    """Of values from 0 to 2^31 - 1: the exponent of a float64 is the number of bits."""
    return np.asarray(32 - np.frexp(np.maximum(value, 0).astype(np.float64))[1].astype(np.int64))


def logical_not(call: Call, facts: Facts, input1: Interval) -> Interval:
    return Interval(1 - input1.high, 1 - input1.low)


def negate(call: Call, facts: Facts, input1: Interval, input1_zp: Interval, output_zp: Interval) -> Interval:
    value = facts.fits("R1", sub(input1, input1_zp), call.acc_t)
    value = facts.fits("R1", Interval(-value.high, -value.low), call.acc_t)
    value = facts.fits("R1", add(value, output_zp), call.acc_t)
    return value.clip(call.in_out_t.minimum, call.in_out_t.maximum)


TRANSFERS = {
    "ABS": absolute,
    "BITWISE_NOT": bitwise_not,
    "CLZ": clz,
    "LOGICAL_NOT": logical_not,
    "NEGATE": negate,
}
