"""Kernels of the elementwise unary operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .elementwise.elementary import cos, exp, log, reciprocal, rsqrt, sin
from .elementwise.formula import Formula, cast, ceil, floor, larger, leading_zeros, magnitude, smaller, where
from .elementwise.prepare import by_formula, elementwise, unsigned
from .floats import codes as float_codes
from .work import Kernel, Work

if TYPE_CHECKING:
    from ..spec.table import Call
    from .elementwise.formula import Operand, Tested

I32_MIN = -(1 << 31)


def positive(x: Operand) -> Tested:
    return where(x < 0, -x, x), x == I32_MIN


def negated_i32(x: Operand) -> Tested:
    """Without zero points, which int32 hasn't."""
    return -x, x == I32_MIN


def negated_within(x: Operand, zeros: Operand, least: Operand, most: Operand) -> Operand:
    """The sum of both zero points less the value, clipped; int32 is wide enough for int16."""
    return cast(smaller(larger(zeros - cast(x, np.int32), least), most), x.dtype)


def negate_narrow(call: Call) -> Work:
    t = call.in_out_t
    parameters = np.array([call.input1_zp + call.output_zp, t.minimum, t.maximum], np.int32)
    return elementwise(call, Formula("negate", negated_within, 1, 3), 0.15, parameters)


def negated(x: Operand) -> Operand:
    return -x


def inverted(x: Operand) -> Operand:
    return ~x


def opposite(x: Operand) -> Operand:
    """Of a Boolean, which is 0 or 1."""
    return x ^ 1


ZERO_POINTS = ("input1_zp", "output_zp")
KERNELS = {
    ("ABS", "i32"): by_formula(Formula("abs", positive, 1, tests=True), 0.15, "R1"),
    ("NEGATE", "i8_acci32"): Kernel(negate_narrow, ZERO_POINTS),
    ("NEGATE", "i16_acci32"): Kernel(negate_narrow, ZERO_POINTS),
    ("NEGATE", "i32_acci32"): by_formula(
        Formula("negate", negated_i32, 1, tests=True), 0.15, "R1", constants=ZERO_POINTS
    ),
    ("LOGICAL_NOT", "bool"): by_formula(Formula("logical_not", opposite, 1), 0.05, read=unsigned),
    ("CLZ", "i32"): by_formula(Formula("clz", leading_zeros, 1), 0.2),
}
NOT = by_formula(Formula("bitwise_not", inverted, 1), 0.1, read=unsigned)
KERNELS |= {("BITWISE_NOT", key): NOT for key in ("i8", "i16", "i32")}
for op, function, cost in (
    ("ABS", magnitude, 0.15),
    ("CEIL", ceil, 0.15),
    ("FLOOR", floor, 0.15),
    ("RECIPROCAL", reciprocal, 0.15),
):
    KERNELS |= float_codes.rows(op, function, 1, cost, {t: t for t in float_codes.FP})
for op, function, cost in (
    ("COS", cos, 1.0),
    ("EXP", exp, 0.6),
    ("LOG", log, 0.75),
    ("RSQRT", rsqrt, 0.5),
    ("SIN", sin, 1.0),
):
    KERNELS |= float_codes.elementary_rows(op, function, 1, cost)
NEGATE = {t: f"{t}_acc{t}" for t in float_codes.FP}
KERNELS |= float_codes.rows("NEGATE", negated, 1, 0.15, NEGATE, constants=ZERO_POINTS)
