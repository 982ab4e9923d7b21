"""Kernels of the elementwise ternary operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .elementwise.formula import Formula, where
from .elementwise.prepare import by_formula, unsigned

if TYPE_CHECKING:
    from .elementwise.formula import Operand


def chosen(condition: Operand, a: Operand, b: Operand) -> Operand:
    return where(condition != 0, a, b)


SELECT = by_formula(Formula("select", chosen, 3), 0.2, read=unsigned)
KERNELS = {("SELECT", key): SELECT for key in ("bool", "i8", "i16", "i32", "fp16", "bf16", "fp32")}
