"""Kernels of the comparison operators: NaN is neither equal to anything nor greater or less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .elementwise.formula import Formula
from .elementwise.prepare import by_formula
from .floats import codes as float_codes

if TYPE_CHECKING:
    from .elementwise.formula import Operand


def equal(a: Operand, b: Operand) -> Operand:
    return a == b


def greater(a: Operand, b: Operand) -> Operand:
    return a > b


def greater_equal(a: Operand, b: Operand) -> Operand:
    return a >= b


OPERATORS = {"EQUAL": equal, "GREATER": greater, "GREATER_EQUAL": greater_equal}
KERNELS = {(op, "i32_bool"): by_formula(Formula(op.lower(), compare, 2), 0.15) for op, compare in OPERATORS.items()}
for op, compare in OPERATORS.items():
    KERNELS |= float_codes.rows(op, compare, 2, 0.2, {t: f"{t}_bool" for t in float_codes.FP}, result=False)
