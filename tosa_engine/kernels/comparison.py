"""Kernels of the comparison operators: NaN is neither equal to anything nor greater or less."""

from __future__ import annotations

from typing import Any

from . import float_codes
from .elementwise import by_formula
from .formula import Formula


def equal(a: Any, b: Any) -> Any:
    return a == b


def greater(a: Any, b: Any) -> Any:
    return a > b


def greater_equal(a: Any, b: Any) -> Any:
    return a >= b


OPERATORS = {"EQUAL": equal, "GREATER": greater, "GREATER_EQUAL": greater_equal}
KERNELS = {(op, "i32_bool"): by_formula(Formula(op.lower(), compare, 2), 0.15) for op, compare in OPERATORS.items()}
for op, compare in OPERATORS.items():
    KERNELS |= float_codes.rows(op, compare, 2, 0.2, {t: f"{t}_bool" for t in float_codes.FP}, result=False)
