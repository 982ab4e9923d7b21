"""What activation functions compute (specification 2.4)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .arith import IEEE, apply_max_s, apply_min_s, narrow, wide

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def clamp(call: Call, input: Array) -> Array:
    """The value, or the nearer bound where it lies beyond; NaN becomes min_val when NaN is ignored."""
    low, high = (wide(narrow(np.asarray(end), call.in_out_t)) for end in (call.min_val, call.max_val))
    clipped = apply_min_s(apply_max_s(wide(input), low, call.nan_mode), high, call.nan_mode)
    return narrow(clipped, call.in_out_t)


def erf(call: Call, input: Array) -> Array:
    """The error function in fp64, rounded once."""
    found = [math.erf(value) for value in wide(input).reshape(-1).tolist()]
    return narrow(np.array(found, np.float64).reshape(input.shape), call.in_out_t)


def sigmoid(call: Call, input: Array) -> Array:
    """1 / (1 + e to the power of minus the value) in fp64, rounded once."""
    with np.errstate(**IEEE):
        return narrow(1.0 / (1.0 + np.exp(-wide(input))), call.in_out_t)


def tanh(call: Call, input: Array) -> Array:
    """The hyperbolic tangent in fp64, rounded once."""
    return narrow(np.tanh(wide(input)), call.in_out_t)


ORACLES = {"CLAMP": clamp, "ERF": erf, "SIGMOID": sigmoid, "TANH": tanh}
