"""The lock: each row of the table has exactly one kernel, each operator one oracle; nothing else lists operators."""

from __future__ import annotations

from tosa_engine.kernels import KERNELS
from tosa_engine.oracle import ORACLES
from tosa_engine.spec import FAMILIES, TABLE

ROWS = {(spec.name, row.key) for spec in TABLE.values() for row in spec.rows}


def test_each_row_has_exactly_one_kernel() -> None:
    assert set(KERNELS) == ROWS


def test_each_operator_has_an_oracle() -> None:
    assert set(ORACLES) == set(TABLE)


def test_twin_file_names() -> None:
    """A family of the specification is one file in spec, oracle and kernels alike."""
    for family in FAMILIES:
        name = family.__name__.rsplit(".", 1)[1]
        __import__(f"tosa_engine.oracle.{name}")
        __import__(f"tosa_engine.kernels.{name}")
