"""Tables for TOSA's TABLE operator: functions, builders for 256 and 513 entries, and error analysis over all inputs."""

from __future__ import annotations

from .analysis import TableError, error_8, error_16
from .builders import TableRangeError, lookup_16, table_8, table_16
from .functions import FUNCTIONS

__all__ = ["FUNCTIONS", "TableError", "TableRangeError", "error_8", "error_16", "lookup_16", "table_8", "table_16"]
