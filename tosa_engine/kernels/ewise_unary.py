"""Kernels of the elementwise unary operators: numpy's, in 64-bit integers or IEEE floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .bounds import holds
from .ewise_binary import by_numpy
from .work import Kernel, Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..spec.table import Call
    from ..types import Array


def absolute_int(call: Call) -> Work:
    low, untested = np.int32(call.in_out_t.minimum), holds(call, "R1")

    def function(x: Array, out: Array) -> Array | None:
        np.abs(x, out=out)
        return None if untested else np.asarray(x == low)

    return by_numpy(call.shape_of("output"), 0.8, function)


def absolute_fp32(call: Call) -> Work:
    def function(x: Array, out: Array) -> None:
        np.abs(x, out=out)

    return by_numpy(call.shape_of("output"), 0.4, function)


def exp_fp32(call: Call) -> Work:
    """In float64, rounded once: within the specification's bound, and the same on every processor but for rare ties."""

    def function(x: Array, out: Array) -> None:
        np.copyto(out, np.exp(x.astype(np.float64)), casting="same_kind")

    return by_numpy(call.shape_of("output"), 6, function)


def negate_int(call: Call) -> Work:
    """Only -2^31 of i32 (which has no zero points) can leave acc_t; the result is clipped."""
    t, acc, untested = call.in_out_t, call.acc_t, holds(call, "R1")

    def function(x: Array, out: Array) -> Array | None:
        value = np.int64(call.input1_zp) - x.astype(np.int64)
        bad = None if untested else np.asarray((value > acc.maximum) | (value < acc.minimum))
        value += np.int64(call.output_zp)
        np.copyto(out, np.clip(value, t.minimum, t.maximum), casting="same_kind")
        return bad

    return _first(by_numpy(call.shape_of("output"), 1.6, function))


def negate_fp32(call: Call) -> Work:
    def function(x: Array, out: Array) -> None:
        np.negative(x, out=out)

    return _first(by_numpy(call.shape_of("output"), 0.4, function))


def reciprocal_fp32(call: Call) -> Work:
    def function(x: Array, out: Array) -> None:
        np.divide(np.float32(1.0), x, out=out)

    return by_numpy(call.shape_of("output"), 0.8, function)


def inverted(ufunc: Callable[..., Any]) -> Callable[[Call], Work]:
    """BITWISE_NOT and LOGICAL_NOT."""

    def function(x: Array, out: Array) -> None:
        ufunc(x, out=out)

    return lambda call: by_numpy(call.shape_of("output"), 0.4, function)


def clz(call: Call) -> Work:
    """32 less the bits that the value, read as unsigned, needs: its exponent as float64, which is 0 for 0."""

    def function(x: Array, out: Array) -> None:
        needed = np.frexp(x.view(np.uint32).astype(np.float64))[1]
        np.subtract(32, needed, out=out)

    return by_numpy(call.shape_of("output"), 4.0, function)


def _first(work: Work) -> Work:
    """The same work bound to the first input only."""
    return Work(work.units, work.cost, lambda inputs, outputs: work.bind(inputs[:1], outputs))


ZERO_POINTS = ("input1_zp", "output_zp")
KERNELS = {
    ("ABS", "i32"): Kernel(absolute_int),
    ("ABS", "fp32"): Kernel(absolute_fp32),
    ("EXP", "fp32"): Kernel(exp_fp32),
    ("NEGATE", "i8_acci32"): Kernel(negate_int, ZERO_POINTS),
    ("NEGATE", "i16_acci32"): Kernel(negate_int, ZERO_POINTS),
    ("NEGATE", "i32_acci32"): Kernel(negate_int, ZERO_POINTS),
    ("NEGATE", "fp32_accfp32"): Kernel(negate_fp32, ZERO_POINTS),
    ("RECIPROCAL", "fp32"): Kernel(reciprocal_fp32),
    ("BITWISE_NOT", "i8"): Kernel(inverted(np.bitwise_not)),
    ("BITWISE_NOT", "i16"): Kernel(inverted(np.bitwise_not)),
    ("BITWISE_NOT", "i32"): Kernel(inverted(np.bitwise_not)),
    ("LOGICAL_NOT", "bool"): Kernel(inverted(np.logical_not)),
    ("CLZ", "i32"): Kernel(clz),
}
