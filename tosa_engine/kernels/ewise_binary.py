"""Kernels of the elementwise binary operators and TABLE."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import types
from .bounds import holds
from .elementwise import elementary
from .elementwise.formula import Formula, cast, is_nan, larger, magnitude, smaller, view, where
from .elementwise.prepare import by_formula, elementwise, unsigned
from .floats import codes as float_codes
from .table.prepare import table_i8, table_i16
from .work import Kernel, Work, violating

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..spec.table import Call
    from .elementwise.formula import Operand, Tested
    from .work import Limits

I32_MIN, I32_MAX = -(1 << 31), (1 << 31) - 1


def added(a: Operand, b: Operand) -> Tested:
    """Wrapping around, the sum has not the sign that both numbers have."""
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


def subtracted(a: Operand, b: Operand) -> Tested:
    difference = a - b
    return difference, ((a ^ b) & (a ^ difference)) < 0


def low_product(a: Operand, b: Operand) -> Operand:
    return cast(a, np.int32) * cast(b, np.int32)


def shifted_product(a: Operand, b: Operand, shift: Operand) -> Tested:
    """Rounded half up; the rounding bit is added after the shift, where it can't overflow. Before it, as the
    specification has it, 2^62 + 2^62 does.
    """
    product = cast(a, np.int64) * cast(b, np.int64)
    result = (product >> shift) + ((product >> (shift - 1)) & 1)
    beyond = (result > I32_MAX) | (result < I32_MIN) | ((shift == 63) & (product == 1 << 62))
    return cast(result, np.int32), beyond


def mul_int(call: Call) -> Work:
    shift = int(call["shift"])
    if not 0 <= shift <= 63 or (shift and call.in_t is not types.i32):
        return violating(0)
    if shift == 0:
        return elementwise(call, Formula("mul", low_product, 2), 0.2)
    return elementwise(call, Formula("mul", shifted_product, 2, 1, tests=True), 0.6, np.array([shift], np.int64))


def added_float(a: Operand, b: Operand) -> Operand:
    return a + b


def subtracted_float(a: Operand, b: Operand) -> Operand:
    return a - b


def product(a: Operand, b: Operand) -> Operand:
    return a * b


def mul_float(format: str) -> Callable[..., Work]:
    def mul(call: Call, limits: Limits | None = None) -> Work:
        if call["shift"] != 0:
            return violating(0)
        return float_codes.in_format(call, "mul", product, 2, format, 0.2, limits)

    return mul


def chosen(a: Operand, b: Operand, first: Operand, ignore: bool) -> Operand:
    """`first` says where a is chosen; a NaN is passed on, or ignored for the other value."""
    number = where(first, a, b)
    if ignore:
        return where(is_nan(a), b, where(is_nan(b), a, number))
    return where(is_nan(a), a, where(is_nan(b), b, number))


# which of equal zeros is taken follows the specification's comparison: a >= b for the maximum, a < b for the minimum
def maximum(a: Operand, b: Operand) -> Operand:
    return chosen(a, b, a >= b, ignore=False)


def maximum_number(a: Operand, b: Operand) -> Operand:
    return chosen(a, b, a >= b, ignore=True)


def minimum(a: Operand, b: Operand) -> Operand:
    return chosen(a, b, a < b, ignore=False)


def minimum_number(a: Operand, b: Operand) -> Operand:
    return chosen(a, b, a < b, ignore=True)


def extremum_float(name: str, format: str, strict: Callable[..., Operand], lenient: Callable[..., Operand]) -> Kernel:
    """By a formula that passes NaN on, or one that ignores it."""

    def prepare(call: Call) -> Work:
        compute = lenient if call.nan_mode == "IGNORE" else strict
        return elementwise(call, float_codes.formula_of(name, compute, 2, format, format), 0.25)

    prepare.__name__ = name
    return Kernel(prepare)


def beyond(shift: Operand) -> tuple[Operand, Operand]:
    """The amount to shift by, and where it is negative or not less than the bits: read as unsigned, negative ones are
    large. Elsewhere the amount is the shift itself.
    """
    bits = 8 * shift.dtype.itemsize
    return shift & (bits - 1), view(shift, f"u{shift.dtype.itemsize}") >= bits


def shifted_down(a: Operand, b: Operand) -> Tested:
    """Towards minus infinity."""
    amount, wrong = beyond(b)
    return a >> amount, wrong


def shifted_down_rounded(a: Operand, b: Operand) -> Tested:
    """Plus the last bit that was shifted out."""
    amount, wrong = beyond(b)
    last = where(amount > 0, (a >> (larger(amount, 1) - 1)) & 1, 0)
    return (a >> amount) + last, wrong


def shifted_bits_up(a: Operand, b: Operand) -> Tested:
    amount, wrong = beyond(b)
    return a << amount, wrong


def shifted_bits_down(a: Operand, b: Operand) -> Tested:
    amount, wrong = beyond(b)
    kind = f"u{a.dtype.itemsize}"
    return view(view(a, kind) >> view(amount, kind), a.dtype), wrong


def arithmetic_right_shift(call: Call) -> Work:
    compute = shifted_down_rounded if call.round else shifted_down
    formula = Formula("arithmetic_right_shift", compute, 2, tests=True)
    return elementwise(call, formula.untested() if holds(call, "R1") else formula, 0.3)


def quotient(a: Operand, b: Operand) -> Tested:
    """In float64, cut to integers: a quotient of two int32 that isn't an integer is 2^-31 away from the next one, far
    more than float64 rounds.
    """
    wrong = (b == 0) | ((b == -1) & (a == I32_MIN))
    divisor = where(wrong, 1, b)
    return cast(cast(a, np.float64) / cast(divisor, np.float64), np.int32), wrong


def both(a: Operand, b: Operand) -> Operand:
    return a & b


def either(a: Operand, b: Operand) -> Operand:
    return a | b


def one(a: Operand, b: Operand) -> Operand:
    """Of two bits, but not both."""
    return a ^ b


def power(base: Operand, exponent: Operand, wide: elementary.Wide = elementary.DOUBLE) -> Tested:
    """Flagged where the base is negative, 0 with an exponent that isn't positive, or where either isn't finite."""
    good = (base >= 0.0) & ((base > 0.0) | (exponent > 0.0)) & (base < math.inf) & (magnitude(exponent) < math.inf)
    return elementary.power(base, exponent, wide), ~good


ADD, SUB = Formula("add", added, 2, tests=True), Formula("sub", subtracted, 2, tests=True)
UP = Formula("logical_left_shift", shifted_bits_up, 2, tests=True)
DOWN = Formula("logical_right_shift", shifted_bits_down, 2, tests=True)
BITS = {
    name: by_formula(Formula(name.lower(), compute, 2), 0.15, read=unsigned)
    for name, compute in (("AND", both), ("OR", either), ("XOR", one))
}
INTEGERS = ("i8", "i16", "i32")
KERNELS = {
    ("ADD", "i32"): by_formula(ADD, 0.2, "R1"),
    ("SUB", "i32"): by_formula(SUB, 0.2, "R1"),
    ("MUL", "i8_i32"): Kernel(mul_int, ("shift",)),
    ("MUL", "i16_i32"): Kernel(mul_int, ("shift",)),
    ("MUL", "i32_i32"): Kernel(mul_int, ("shift",)),
    ("MAXIMUM", "i32"): by_formula(Formula("maximum", larger, 2), 0.2),
    ("MINIMUM", "i32"): by_formula(Formula("minimum", smaller, 2), 0.2),
    ("TABLE", "i8_i8_i8"): Kernel(table_i8, ("table",), in_place=True),
    ("TABLE", "i16_i16_i32"): Kernel(table_i16, ("table",), in_place=True),
    ("INTDIV", "i32"): by_formula(Formula("intdiv", quotient, 2, tests=True), 1.0, "R1", "R2"),
    **{("ARITHMETIC_RIGHT_SHIFT", t): Kernel(arithmetic_right_shift) for t in INTEGERS},
    **{("LOGICAL_LEFT_SHIFT", t): by_formula(UP, 0.3, "R1") for t in INTEGERS},
    **{("LOGICAL_RIGHT_SHIFT", t): by_formula(DOWN, 0.3, "R1") for t in INTEGERS},
    **{(f"LOGICAL_{name}", "bool"): kernel for name, kernel in BITS.items()},
    **{(f"BITWISE_{name}", t): kernel for name, kernel in BITS.items() for t in INTEGERS},
}
for t in float_codes.FP:
    KERNELS |= {
        ("MUL", f"{t}_{t}"): Kernel(mul_float(t), ("shift",), clips=True),
        ("MAXIMUM", t): extremum_float("maximum", t, maximum, maximum_number),
        ("MINIMUM", t): extremum_float("minimum", t, minimum, minimum_number),
    }
SAME = {t: t for t in float_codes.FP}
KERNELS |= float_codes.rows("ADD", added_float, 2, 0.2, SAME) | float_codes.rows("SUB", subtracted_float, 2, 0.2, SAME)
KERNELS |= float_codes.elementary_rows("POW", power, 2, 1.6, "R1", "R2", "R3", "R4")
