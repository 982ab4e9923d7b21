"""Number formats of floats in formulas: values are float32 (or float64, to be rounded once), stored are the bits.

A float64 becomes a narrow format by way of float32: cut towards zero there, with the last bit set where anything was
cut off, it has enough bits left for the second rounding to be the only one. fp8 goes by way of fp16 in the same way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..elementwise.elementary import in_single
from ..elementwise.formula import Formula, cast, is_nan, magnitude, view, where
from ..elementwise.prepare import by_formula, elementwise
from ..work import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import DTypeLike

    from ...spec.table import Call
    from ..elementwise.formula import Compute, Operand, Tested
    from ..work import Limits, Work

F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
FP8: Final = ("fp8e4m3", "fp8e5m2")
HALVES: Final = ("fp16", "bf16")
FP: Final = (*HALVES, "fp32")


def load(x: Operand, format: str) -> Operand:
    """The value of stored bits as float32."""
    if format == "fp32":
        return x
    if format == "fp16":
        return cast(view(x, F16), F32)
    if format == "bf16":
        return view(cast(x, np.uint32) << 16, F32)
    wide = cast(x, np.uint16)
    if format == "fp8e5m2":
        return cast(view(wide << 8, F16), F32)
    # the exponent of fp8e4m3 is less by 8 than that of fp16 with the same bits; all ones are NaN
    value = cast(view(((wide & 0x80) << 8) | ((wide & 0x7F) << 7), F16), F32) * 256.0
    return where((wide & 0x7F) == 0x7F, math.nan, value)


def store(value: Operand, format: str) -> Operand:
    """The bits of a value, rounded to nearest, ties to even; beyond the largest number infinity, or NaN without one."""
    if format == "fp32":
        return cast(value, F32)
    if value.dtype == F64:
        value = to_odd(value, F32, np.uint32)
    if format == "fp16":
        return view(cast(value, F16), np.uint16)
    if format == "bf16":
        bits = view(value, np.uint32)
        rounded = cast(nearest_without(bits, 16), np.uint16)
        return where(is_nan(value), cast(bits >> 16, np.uint16) | 0x7FC0, rounded)
    if format == "fp8e5m2":
        bits = view(to_odd(value, F16, np.uint16), np.uint16)
        rounded = cast(nearest_without(bits, 8), np.uint8)
        return where(is_nan(value), cast(bits >> 8, np.uint8) | 0x7E, rounded)
    bits = view(to_odd(value * 2.0**-8, F16, np.uint16), np.uint16)
    number = nearest_without(bits & 0x7FFF, 7)
    number = where((number > 0x7F) | is_nan(value), 0x7F, number)
    return cast(((bits >> 8) & 0x80) | number, np.uint8)


def nearest_without(bits: Operand, dropped: int) -> Operand:
    """Bits without the lowest ones, rounded to nearest, ties to even."""
    return (bits + ((bits >> dropped) & 1) + ((1 << (dropped - 1)) - 1)) >> dropped


def to_odd(value: Operand, narrow: np.dtype[Any], unsigned: DTypeLike) -> Operand:
    """A value as a narrower kind, cut towards zero, its last bit set where anything was cut off."""
    near = cast(value, narrow)
    back = cast(near, value.dtype)
    further = cast(magnitude(back) > magnitude(value), unsigned)
    bits = (view(near, unsigned) - further) | cast(back != value, unsigned)
    return where(is_nan(value), near, view(bits, narrow))


def of_format(compute: Compute, operands: int, read: str, written: str | None) -> Compute:
    """`compute` on values of stored numbers, with its parameters; its result is stored, unless `written` is None."""

    def stored(found: Operand) -> Operand:
        return found if written is None else store(found, written)

    def computed(*numbers: Operand) -> Operand | Tested:
        found = compute(*(load(x, read) for x in numbers[:operands]), *numbers[operands:])
        return (stored(found[0]), found[1]) if isinstance(found, tuple) else stored(found)

    return computed


def formula_of(
    name: str, compute: Compute, operands: int, read: str, written: str | None, parameters: int = 0, tests: bool = False
) -> Formula:
    """The formula of a row whose operands are of the format `read`; the result of `written`, or no float."""
    return Formula(name, of_format(compute, operands, read, written), operands, parameters, tests)


def of_format_clipped(compute: Compute, operands: int, read: str, written: str) -> Compute:
    """`of_format` and a CLAMP of the result as its format has it, which passes NaN on. The last two parameters are the
    limits, which are no NaN; the upper one is no zero.
    """

    def computed(*numbers: Operand) -> Operand:
        low, high = numbers[-2:]
        value = compute(*(load(x, read) for x in numbers[:operands]), *numbers[operands:-2])
        assert not isinstance(value, tuple), "formulas with a CLAMP behind them test nothing"
        found = store(value, written)
        number = load(found, written)
        if written == "bf16":  # whose numbers, and NaNs as they are stored, are halves of those of float32
            number = where(number < low, low, number)
            return cast(view(where(high < number, high, number), np.uint32) >> 16, np.uint16)
        found = where(number < low, store(low, written), found)
        return where(high < number, store(high, written), found)

    return computed


def clipped_formula(name: str, compute: Compute, operands: int, read: str, written: str) -> Formula:
    """The formula of a row with a CLAMP behind it."""
    return Formula(f"{name}_clamp", of_format_clipped(compute, operands, read, written), operands, parameters=2)


def in_format(
    call: Call,
    name: str,
    compute: Compute,
    operands: int,
    format: str,
    cost: float,
    limits: Limits | None,
) -> Work:
    """The work of a formula whose operands and result are of one format, with a CLAMP to `limits` behind it."""
    if limits is None:
        return elementwise(call, formula_of(name, compute, operands, format, format), cost)
    formula = clipped_formula(name, compute, operands, format, format)
    return elementwise(call, formula, cost + 0.1, np.array(limits, np.float32))


def one_format(name: str, compute: Compute, operands: int, cost: float, format: str) -> Callable[..., Work]:
    """A `Kernel.prepare` that `clips`."""

    def prepare(call: Call, limits: Limits | None = None) -> Work:
        return in_format(call, name, compute, operands, format, cost, limits)

    prepare.__name__ = name
    return prepare


def rows(
    op: str, compute: Compute, operands: int, cost: float, keys: Mapping[str, str], *rules: str,
    result: bool = True, constants: tuple[str, ...] = (),
) -> dict[tuple[str, str], Kernel]:  # fmt: skip
    """Kernels of an operator for rows by the names of their formats; with rules, `compute` tests them. `result`: it is
    a float of the same format.
    """
    if result and not rules:
        return {
            (op, key): Kernel(one_format(op.lower(), compute, operands, cost, t), constants, clips=True)
            for t, key in keys.items()
        }
    return {
        (op, key): by_formula(
            formula_of(op.lower(), compute, operands, t, t if result else None, tests=bool(rules)), cost, *rules,
            constants=constants,
        )
        for t, key in keys.items()
    }  # fmt: skip


def elementary_rows(
    op: str, function: Compute, operands: int, cost: float, *rules: str
) -> dict[tuple[str, str], Kernel]:
    """Kernels of a function that knows what it is computed in: for fp16 float32 is enough."""
    wide = rows(op, function, operands, cost, {t: t for t in FP if t != "fp16"}, *rules)
    return wide | rows(op, in_single(function), operands, cost / 2, {"fp16": "fp16"}, *rules)
