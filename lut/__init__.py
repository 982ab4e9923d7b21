"""Lookup tables of TOSA's TABLE operator: functions, builders for 256 and 513 entries, and exhaustive error analysis."""

from __future__ import annotations

from .analysis import TableError, error_16, error_8
from .builders import TableRangeError, lookup_16, table_16, table_8
from .functions import FUNCTIONS

__all__ = ["FUNCTIONS", "TableError", "TableRangeError", "error_16", "error_8", "lookup_16", "table_16", "table_8"]
