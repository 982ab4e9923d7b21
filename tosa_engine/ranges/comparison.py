"""Ranges of the comparison operators (specification 2.8): known where the intervals don't overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .interval import Interval, between

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array
    from .findings import Facts


def _truth(always: Array, never: Array) -> Interval:
    return between(np.where(always, 1, 0), np.where(never, 0, 1))


def equal(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    always = (input1.low == input1.high) & (input2.low == input2.high) & (input1.low == input2.low)
    return _truth(always, (input1.low > input2.high) | (input1.high < input2.low))


def greater(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return _truth(input1.low > input2.high, input1.high <= input2.low)


def greater_equal(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return _truth(input1.low >= input2.high, input1.high < input2.low)


TRANSFERS = {"EQUAL": equal, "GREATER": greater, "GREATER_EQUAL": greater_equal}
