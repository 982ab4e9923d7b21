"""Tables for TOSA's TABLE operator: functions, builders for 256 and 513 entries, and error analysis over all inputs."""

from __future__ import annotations

from .analysis import TableError, error_8, error_16
from .builders import TableRangeError, lookup_16, table_8, table_16
from .fit import fit_16, fit_values_16
from .functions import ALPHAS, FUNCTIONS, with_alpha
from .table import Quantization, Table, build

__all__ = [
    "ALPHAS", "FUNCTIONS", "Quantization", "Table", "TableError", "TableRangeError", "build", "error_8", "error_16",
    "fit_16", "fit_values_16", "lookup_16", "table_8", "table_16", "with_alpha",
]  # fmt: skip
