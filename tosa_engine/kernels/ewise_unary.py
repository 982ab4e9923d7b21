"""Kernels of the elementwise unary operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .elementwise import by_formula, elementwise, unsigned
from .floats import FP, HALVES, by_function, rows, through_fp32
from .formula import Formula, cast, larger, leading_zeros, magnitude, smaller, where
from .work import Kernel, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..spec.table import Call
    from ..types import Array

I32_MIN = -(1 << 31)


def positive(x: Any) -> Any:
    return where(x < 0, -x, x), x == I32_MIN


def in_float64(ufunc: Callable[..., Any]) -> Callable[[Array], Array]:
    """In float64, to be rounded once: within every bound of the specification, and the same on every processor but for
    rare ties.
    """

    def function(x: Array) -> Array:
        return np.asarray(ufunc(x.astype(np.float64)))

    function.__name__ = ufunc.__name__
    return function


def rsqrt(x: Array) -> Array:
    return np.asarray(1.0 / np.sqrt(x.astype(np.float64)))


def negated_i32(x: Any) -> Any:
    """Without zero points, which int32 hasn't."""
    return -x, x == I32_MIN


def negated_within(x: Any, zeros: Any, least: Any, most: Any) -> Any:
    """The sum of both zero points less the value, clipped; int32 is wide enough for int16."""
    return cast(smaller(larger(zeros - cast(x, np.int32), least), most), x.dtype)


def negate_narrow(call: Call) -> Work:
    t = call.in_out_t
    parameters = np.array([call.input1_zp + call.output_zp, t.minimum, t.maximum], np.int32)
    return elementwise(call, Formula("negate", negated_within, 1, 3), 0.15, parameters)


def negated(x: Any) -> Any:
    return -x


def reciprocal(x: Any) -> Any:
    return 1.0 / x


def inverted(x: Any) -> Any:
    return ~x


def opposite(x: Any) -> Any:
    """Of a Boolean, which is 0 or 1."""
    return x ^ 1


ZERO_POINTS = ("input1_zp", "output_zp")
KERNELS = {
    ("ABS", "i32"): by_formula(Formula("abs", positive, 1, tests=True), 0.15, "R1"),
    ("ABS", "fp32"): by_formula(Formula("abs", magnitude, 1), 0.15),
    ("NEGATE", "i8_acci32"): Kernel(negate_narrow, ZERO_POINTS),
    ("NEGATE", "i16_acci32"): Kernel(negate_narrow, ZERO_POINTS),
    ("NEGATE", "i32_acci32"): by_formula(
        Formula("negate", negated_i32, 1, tests=True), 0.15, "R1", constants=ZERO_POINTS
    ),
    ("NEGATE", "fp32_accfp32"): by_formula(Formula("negate", negated, 1), 0.15, constants=ZERO_POINTS),
    ("RECIPROCAL", "fp32"): by_formula(Formula("reciprocal", reciprocal, 1), 0.3),
    ("LOGICAL_NOT", "bool"): by_formula(Formula("logical_not", opposite, 1), 0.05, read=unsigned),
    ("CLZ", "i32"): by_formula(Formula("clz", leading_zeros, 1), 0.2),
}
NOT = by_formula(Formula("bitwise_not", inverted, 1), 0.1, read=unsigned)
for op, function, cost in (
    ("CEIL", np.ceil, 1),
    ("COS", in_float64(np.cos), 15),
    ("EXP", in_float64(np.exp), 6),
    ("FLOOR", np.floor, 1),
    ("LOG", in_float64(np.log), 8),
    ("RSQRT", rsqrt, 6),
    ("SIN", in_float64(np.sin), 15),
):
    KERNELS |= rows(op, by_function(function, cost), FP)
KERNELS |= through_fp32(KERNELS, "ABS", "fp32", *HALVES)
KERNELS |= through_fp32(KERNELS, "NEGATE", "fp32_accfp32", "fp16_accfp16", "bf16_accbf16")
KERNELS |= rows("RECIPROCAL", by_function(in_float64(np.reciprocal), 3), HALVES)
KERNELS |= {("BITWISE_NOT", key): NOT for key in ("i8", "i16", "i32")}
