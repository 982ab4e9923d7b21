"""Kernels of the comparison operators: NaN is neither equal to anything nor greater or less."""

from __future__ import annotations

from typing import Any

from .elementwise import by_formula
from .floats import HALVES, through_fp32
from .formula import Formula


def equal(a: Any, b: Any) -> Any:
    return a == b


def greater(a: Any, b: Any) -> Any:
    return a > b


def greater_equal(a: Any, b: Any) -> Any:
    return a >= b


OPERATORS = {"EQUAL": equal, "GREATER": greater, "GREATER_EQUAL": greater_equal}
KERNELS = {
    (op, key): by_formula(Formula(op.lower(), compare, 2), 0.15)
    for op, compare in OPERATORS.items()
    for key in ("i32_bool", "fp32_bool")
}
for op in OPERATORS:
    KERNELS |= through_fp32(KERNELS, op, "fp32_bool", *(f"{t}_bool" for t in HALVES))
