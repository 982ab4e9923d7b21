"""Interval analysis: which REQUIREs hold for all inputs, because weights and constants are known.

One transfer function per operator, in the file of its family; operators without one have the range of their type.
"""

from __future__ import annotations

from .analyse import TRANSFERS, Analysis, Ranges, analyse, analyse_calls, transfer
from .findings import DEPENDS, PROVED, VIOLATED, Finding
from .interval import Interval

__all__ = [
    "DEPENDS", "PROVED", "TRANSFERS", "VIOLATED", "Analysis", "Finding", "Interval", "Ranges", "analyse",
    "analyse_calls", "transfer",
]  # fmt: skip
