"""Kernels of the activation functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..numerics.float_formats import round_to
from .elementwise.elementary import erf, sigmoid, tanh
from .elementwise.formula import Formula, larger, smaller
from .elementwise.prepare import elementwise
from .ewise_binary import maximum, maximum_number, minimum, minimum_number
from .floats import codes as float_codes
from .work import Kernel, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..spec.table import Call
    from .elementwise.formula import Operand


def between(x: Operand, low: Operand, high: Operand) -> Operand:
    return smaller(larger(x, low), high)


def clamp_int(call: Call) -> Work:
    bounds = np.array([call.min_val, call.max_val], call.in_out_t.storage)
    return elementwise(call, Formula("clamp", between, 1, 2), 0.05, bounds)


def clamped(x: Operand, low: Operand, high: Operand) -> Operand:
    """In this order, which counts for NaN and for signed zeros."""
    return minimum(maximum(x, low), high)


def clamped_number(x: Operand, low: Operand, high: Operand) -> Operand:
    return minimum_number(maximum_number(x, low), high)


def clamp_float(format: str) -> Callable[[Call], Work]:
    def clamp(call: Call) -> Work:
        bounds = round_to(np.array([call.min_val, call.max_val], np.float64), call.in_out_t).astype(np.float32)
        compute = clamped_number if call.nan_mode == "IGNORE" else clamped
        return elementwise(call, float_codes.formula_of("clamp", compute, 1, format, format, parameters=2), 0.2, bounds)

    return clamp


KERNELS = {("CLAMP", "i8"): Kernel(clamp_int), ("CLAMP", "i16"): Kernel(clamp_int)}
for t in float_codes.FP:
    KERNELS |= {("CLAMP", t): Kernel(clamp_float(t))}
for op, function, cost in (("ERF", erf, 1.4), ("SIGMOID", sigmoid, 0.7), ("TANH", tanh, 0.75)):
    KERNELS |= float_codes.elementary_rows(op, function, 1, cost)
