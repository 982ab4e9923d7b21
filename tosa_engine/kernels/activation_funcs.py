"""Kernels of the activation functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .elementwise import elementwise
from .ewise_binary import maximum, maximum_number, minimum, minimum_number
from .floats import FP, HALVES, by_function, rows, through_fp32
from .formula import Formula, larger, smaller
from .work import Kernel, Work

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def between(x: Any, low: Any, high: Any) -> Any:
    return smaller(larger(x, low), high)


def clamp_int(call: Call) -> Work:
    bounds = np.array([call.min_val, call.max_val], call.in_out_t.storage)
    return elementwise(call, Formula("clamp", between, 1, 2), 0.05, bounds)


def clamped(x: Any, low: Any, high: Any) -> Any:
    """In this order, which counts for NaN and for signed zeros."""
    return minimum(maximum(x, low), high)


def clamped_number(x: Any, low: Any, high: Any) -> Any:
    return minimum_number(maximum_number(x, low), high)


def clamp_fp32(call: Call) -> Work:
    with np.errstate(over="ignore"):
        bounds = np.array([call.min_val, call.max_val]).astype(np.float32)
    compute = clamped_number if call.nan_mode == "IGNORE" else clamped
    return elementwise(call, Formula("clamp", compute, 1, 2), 0.2, bounds)


def erf(x: Array) -> Array:
    found = [math.erf(value) for value in x.reshape(-1).tolist()]
    return np.array(found, np.float64).reshape(x.shape)


def sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x.astype(np.float64))))


def tanh(x: Array) -> Array:
    return np.asarray(np.tanh(x.astype(np.float64)))


KERNELS = {
    ("CLAMP", "i8"): Kernel(clamp_int),
    ("CLAMP", "i16"): Kernel(clamp_int),
    ("CLAMP", "fp32"): Kernel(clamp_fp32),
}
KERNELS |= through_fp32(KERNELS, "CLAMP", "fp32", *HALVES)
for op, function, cost in (("ERF", erf, 100), ("SIGMOID", sigmoid, 9), ("TANH", tanh, 12)):
    KERNELS |= rows(op, by_function(function, cost), FP)
