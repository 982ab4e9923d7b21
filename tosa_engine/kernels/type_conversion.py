"""Kernels of the type conversions. RESCALE is mostly an epilogue of its producer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import types
from .bounds import holds
from .elementwise import formula
from .elementwise.formula import Formula, is_nan, where
from .elementwise.prepare import elementwise
from .floats import codes as float_codes
from .scale.rescale import output_range, rescale_numbers, zero_points
from .work import Kernel, Loop, Work, blocks, flat, violating

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..spec.table import Call
    from ..types import Array
    from .elementwise.formula import Operand, Tested
    from .work import Run


def converted(kind: str) -> Callable[[Operand], Operand]:
    """Integers keep their low bits, or their sign is extended; as floats they are rounded to the nearest."""

    def convert(x: Operand) -> Operand:
        return formula.cast(x, kind)

    return convert


def is_true(x: Operand) -> Operand:
    return x != 0


def to_integer(bits: int) -> Callable[[Operand], Tested]:
    """The nearest integer, ties to even, within the format."""
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def convert(x: Operand) -> Tested:
        value = formula.nearest(formula.cast(where(is_nan(x), 0.0, x), "f4"))
        above = value >= float(most + 1)  # a number of float32, as the largest int32 is not
        inside = where(above, 0.0, where(value < least, least, value))
        return formula.cast(where(above, most, formula.cast(inside, "i4")), f"i{bits // 8}"), is_nan(x)

    return convert


def rounded(format: str) -> Callable[[Operand], Operand]:
    """Integers in a narrow format of floats."""
    return lambda x: float_codes.store(formula.cast(x, "f8"), format)


def value(x: Operand) -> Operand:
    return x


def cast(call: Call) -> Work:
    """Between formats of floats rounded once; from them to the nearest integer."""
    given, to = call.in_t, call.out_t
    if given.is_float:
        if to.is_float:
            return elementwise(call, float_codes.formula_of("cast", value, 1, given.name, to.name), 0.3)
        wanted = float_codes.formula_of("cast", to_integer(to.bits), 1, given.name, None, tests=True)
        return elementwise(call, wanted.untested() if holds(call, "R1") else wanted, 0.3)
    if to is types.bool_:
        return elementwise(call, Formula("cast", is_true, 1), 0.1)
    compute = rounded(to.name) if to.name in float_codes.HALVES else converted(to.storage.str)
    return elementwise(call, Formula("cast", compute, 1), 0.1)


def rescale(call: Call) -> Work:
    from .scale import exact_loops

    multiplier, shift, double = rescale_numbers(call)
    wrong = (multiplier < 0) | (shift < 2) | (shift > 62)
    if wrong.any():
        return violating(int(np.argmax(wrong)))
    input_zp, output_zp = zero_points(call)
    low_value, high_value = output_range(call)
    mask = (1 << call.in_t.bits) - 1 if call.input_unsigned else -1
    g = np.array([input_zp, output_zp, low_value, high_value, mask, call.scale32], np.int64)
    count = types.count(call.shape_of("output"))
    loop = exact_loops.rescale_untested if holds(call, "R3" if call.scale32 else "R4", "R5") else exact_loops.rescale

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        return Loop(loop, x, multiplier, shift, double, g, out, count=count)

    return Work(blocks(count), 0.5 * count, bind)


CONSTANTS = ("multiplier", "shift", "input_zp", "output_zp")
CASTS: tuple[str, ...] = (
    "bool_i8", "bool_i16", "bool_i32", "i8_bool", "i8_i16", "i8_i32", "i8_fp32", "i16_bool", "i16_i8", "i16_i32",
    "i16_fp32", "i32_bool", "i32_i8", "i32_i16", "i32_fp32", "fp32_i8", "fp32_i16", "fp32_i32",
)  # fmt: skip
INTEGERS, FP, FP8, HALVES = ("i8", "i16", "i32"), float_codes.FP, float_codes.FP8, float_codes.HALVES
CASTS += tuple(key for t in HALVES for i in INTEGERS for key in (f"{t}_{i}", f"{i}_{t}"))
CASTS += tuple(key for t in HALVES for key in (f"fp32_{t}", f"{t}_fp32"))
CASTS += tuple(key for t in FP8 for f in FP for key in (f"{f}_{t}", f"{t}_{f}"))
KERNELS = {("CAST", key): Kernel(cast) for key in CASTS} | {
    ("RESCALE", f"{a}_{b}"): Kernel(rescale, CONSTANTS)
    for a in ("i8", "i16", "i32", "i48")
    for b in ("i8", "i16", "i32")
}
