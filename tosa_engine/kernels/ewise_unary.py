"""Kernels of the elementwise unary operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .bounds import holds
from .elementwise import elementwise, numbers, unsigned
from .ewise_binary import by_numpy
from .formula import Formula, cast, larger, leading_zeros, magnitude, smaller, where
from .work import Kernel, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..spec.table import Call
    from ..types import Array

I32_MIN = -(1 << 31)


def positive(x: Any) -> Any:
    return where(x < 0, -x, x), x == I32_MIN


def absolute_int(call: Call) -> Work:
    formula = Formula("abs", positive, 1, tests=True)
    return elementwise(call, formula.untested() if holds(call, "R1") else formula, 0.15)


def exp_fp32(call: Call) -> Work:
    """In float64, rounded once: within the specification's bound, and the same on every processor but for rare ties."""

    def function(x: Array, out: Array) -> None:
        np.copyto(out, np.exp(x.astype(np.float64)), casting="same_kind")

    return by_numpy(call.shape_of("output"), 6, function)


def negated_i32(x: Any) -> Any:
    return -x, x == I32_MIN


def negated_within(x: Any, zeros: Any, least: Any, most: Any) -> Any:
    """The sum of both zero points less the value, clipped; int32 is wide enough for int16."""
    return cast(smaller(larger(zeros - cast(x, np.int32), least), most), x.dtype)


def negate_int(call: Call) -> Work:
    """Only -2^31 of i32 (which has no zero points) can leave acc_t."""
    t = call.in_out_t
    if t.bits == 32:
        formula = Formula("negate", negated_i32, 1, tests=True)
        return elementwise(call, formula.untested() if holds(call, "R1") else formula, 0.15)
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


def unary(name: str, compute: Callable[[Any], Any], read: Callable[[Array], Array] = numbers) -> Kernel:
    formula = Formula(name, compute, 1)
    return Kernel(lambda call: elementwise(call, formula, 0.15, read=read))


ZERO_POINTS = ("input1_zp", "output_zp")
KERNELS = {
    ("ABS", "i32"): Kernel(absolute_int),
    ("ABS", "fp32"): unary("abs", magnitude),
    ("EXP", "fp32"): Kernel(exp_fp32),
    ("NEGATE", "i8_acci32"): Kernel(negate_int, ZERO_POINTS),
    ("NEGATE", "i16_acci32"): Kernel(negate_int, ZERO_POINTS),
    ("NEGATE", "i32_acci32"): Kernel(negate_int, ZERO_POINTS),
    ("NEGATE", "fp32_accfp32"): Kernel(unary("negate", negated).prepare, ZERO_POINTS),
    ("RECIPROCAL", "fp32"): unary("reciprocal", reciprocal),
    ("BITWISE_NOT", "i8"): unary("bitwise_not", inverted, unsigned),
    ("BITWISE_NOT", "i16"): unary("bitwise_not", inverted, unsigned),
    ("BITWISE_NOT", "i32"): unary("bitwise_not", inverted, unsigned),
    ("LOGICAL_NOT", "bool"): unary("logical_not", opposite, unsigned),
    ("CLZ", "i32"): unary("clz", leading_zeros),
}
