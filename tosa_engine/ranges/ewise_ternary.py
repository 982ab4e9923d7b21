"""Ranges of the elementwise ternary operators (specification 2.7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .interval import Interval, unless

if TYPE_CHECKING:
    from ..spec.table import Call
    from .findings import Facts


def select(call: Call, facts: Facts, input1: Interval, input2: Interval, input3: Interval) -> Interval:
    """One of both, or the one that the condition always chooses."""
    return unless(input1.low == 1, input2, unless(input1.high == 0, input3, input2.hull(input3)))


TRANSFERS = {"SELECT": select}
