"""Ranges of the activation functions (specification 2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..spec.table import Call
    from .findings import Facts
    from .interval import Interval


def clamp(call: Call, facts: Facts, input: Interval) -> Interval:
    return input.clip(call.min_val, call.max_val)


TRANSFERS = {"CLAMP": clamp}
