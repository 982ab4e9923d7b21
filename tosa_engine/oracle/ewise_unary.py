"""What elementwise unary operators compute (specification 2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arith import IEEE, count_leading_zeros, narrow, wide
from .requires import Requires

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def absolute(call: Call, input1: Array) -> Array:
    """Of floats without the sign bit; of integers 0 - value where it is negative."""
    if call.in_out_t.is_float:
        return narrow(np.abs(wide(input1)), call.in_out_t)
    value = wide(input1)
    value = np.where(value < 0, 0 - value, value)
    with Requires(call) as require:
        value = require.fits("R1", value, call.in_out_t, "absolute value")
    return narrow(value, call.in_out_t)


def bitwise_not(call: Call, input1: Array) -> Array:
    return np.asarray(~input1)


def ceil(call: Call, input1: Array) -> Array:
    """The least integer that isn't less; of the value's sign where it is 0."""
    return narrow(np.ceil(wide(input1)), call.in_out_t)


def clz(call: Call, input1: Array) -> Array:
    return narrow(count_leading_zeros(input1), call.in_out_t)


def cos(call: Call, input1: Array) -> Array:
    """The cosine of radians in fp64, rounded once."""
    with np.errstate(**IEEE):
        return narrow(np.cos(wide(input1)), call.in_out_t)


def exp(call: Call, input1: Array) -> Array:
    """e to the power of the value, in fp64, rounded once."""
    with np.errstate(**IEEE):
        return narrow(np.exp(wide(input1)), call.in_out_t)


def floor(call: Call, input1: Array) -> Array:
    """The greatest integer that isn't greater; of the value's sign where it is 0."""
    return narrow(np.floor(wide(input1)), call.in_out_t)


def log(call: Call, input1: Array) -> Array:
    """The natural logarithm in fp64, rounded once: -infinity for zeros, NaN for values below them."""
    with np.errstate(**IEEE):
        return narrow(np.log(wide(input1)), call.in_out_t)


def logical_not(call: Call, input1: Array) -> Array:
    return np.asarray(~input1)  # of bool: true becomes false


def negate(call: Call, input1: Array, input1_zp: Array, output_zp: Array) -> Array:
    """output_zp - (value - input1_zp), clipped to the format; every step must stay in acc_t."""
    if call.in_out_t.is_float:
        return narrow(-wide(input1), call.in_out_t)
    low, high = call.in_out_t.minimum, call.in_out_t.maximum
    with Requires(call) as require:
        value = wide(input1) - wide(input1_zp)[0]
        value = require.fits("R1", value, call.acc_t, "value without zero point")
        value = 0 - value
        value = require.fits("R1", value, call.acc_t, "negated value")
        value = value + wide(output_zp)[0]
        value = require.fits("R1", value, call.acc_t, "negated value with zero point")
    return narrow(np.clip(value, low, high), call.in_out_t)


def reciprocal(call: Call, input1: Array) -> Array:
    """1 / value in fp64, rounded once; zeros give infinities of their sign."""
    with np.errstate(**IEEE):
        return narrow(1.0 / wide(input1), call.in_out_t)


def rsqrt(call: Call, input1: Array) -> Array:
    """1 / square root in fp64, rounded once: NaN below zero, infinities of their sign for zeros."""
    with np.errstate(**IEEE):
        return narrow(1.0 / np.sqrt(wide(input1)), call.in_out_t)


def sin(call: Call, input1: Array) -> Array:
    """The sine of radians in fp64, rounded once."""
    with np.errstate(**IEEE):
        return narrow(np.sin(wide(input1)), call.in_out_t)


ORACLES = {
    "ABS": absolute,
    "BITWISE_NOT": bitwise_not,
    "CEIL": ceil,
    "CLZ": clz,
    "COS": cos,
    "EXP": exp,
    "FLOOR": floor,
    "LOG": log,
    "LOGICAL_NOT": logical_not,
    "NEGATE": negate,
    "RECIPROCAL": reciprocal,
    "RSQRT": rsqrt,
    "SIN": sin,
}
