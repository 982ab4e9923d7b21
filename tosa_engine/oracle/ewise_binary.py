"""What elementwise binary operators and TABLE compute (specification 2.5). Shapes of one rank broadcast along 1s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..types import i32
from .arith import IEEE, apply_intdiv_s, apply_lookup_s, apply_max_s, apply_min_s, narrow, wide, wide_unsigned
from .requires import Requires

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array

INT64_MAX: Final = (1 << 63) - 1


def add(call: Call, input1: Array, input2: Array) -> Array:
    """Sums; of integers they must fit the format."""
    if call.in_out_t.is_float:
        with np.errstate(**IEEE):
            return narrow(wide(input1) + wide(input2), call.in_out_t)
    total = wide(input1) + wide(input2)
    with Requires(call) as require:
        total = require.fits("R1", total, call.in_out_t, "sum")
    return narrow(total, call.in_out_t)


def arithmetic_right_shift(call: Call, input1: Array, input2: Array) -> Array:
    """value / 2^shift towards minus infinity; with `round` to nearest, half up: plus the last bit shifted out."""
    value, shift = wide(input1), _shift(call, input2)
    result = value >> shift
    if call.round:
        result += np.where(shift > 0, (value >> np.maximum(shift - 1, 0)) & 1, 0)
    return narrow(result, call.in_out_t)


def logical_left_shift(call: Call, input1: Array, input2: Array) -> Array:
    """The bits moved up; those beyond the format are lost."""
    return narrow(wide(input1) << _shift(call, input2), call.in_out_t)


def logical_right_shift(call: Call, input1: Array, input2: Array) -> Array:
    """The bits moved down, zeros follow: a negative value is read as unsigned one of its own width first."""
    return narrow(wide_unsigned(input1) >> _shift(call, input2), call.in_out_t)


def _shift(call: Call, input2: Array) -> Array:
    """The shifts, tested to be less than the format's bits."""
    shift, most = wide(input2), call.in_out_t.bits - 1
    with Requires(call) as require:
        message = f"shift {{shift}} is not in 0 .. {most} for {call.in_out_t}"
        require.holds("R1", (shift >= 0) & (shift <= most), message, shift=shift)
    return shift


def intdiv(call: Call, input1: Array, input2: Array) -> Array:
    """Quotients towards zero."""
    value, divisor = wide(input1), wide(input2)
    with Requires(call) as require:
        require.holds("R1", divisor != 0, "{value} is divided by 0", value=value)
        quotient = apply_intdiv_s(value, np.where(divisor == 0, 1, divisor))
        quotient = require.fits("R2", quotient, call.in_out_t, "quotient")
    return narrow(quotient, call.in_out_t)


def bit_and(call: Call, input1: Array, input2: Array) -> Array:
    """Of each bit, or of Booleans."""
    return np.asarray(input1 & input2)


def bit_or(call: Call, input1: Array, input2: Array) -> Array:
    """Of each bit, or of Booleans."""
    return np.asarray(input1 | input2)


def bit_xor(call: Call, input1: Array, input2: Array) -> Array:
    """Of each bit, or of Booleans."""
    return np.asarray(input1 ^ input2)


def sub(call: Call, input1: Array, input2: Array) -> Array:
    """Differences; of integers they must fit the format."""
    if call.in_out_t.is_float:
        with np.errstate(**IEEE):
            return narrow(wide(input1) - wide(input2), call.in_out_t)
    difference = wide(input1) - wide(input2)
    with Requires(call) as require:
        difference = require.fits("R1", difference, call.in_out_t, "difference")
    return narrow(difference, call.in_out_t)


def maximum(call: Call, input1: Array, input2: Array) -> Array:
    return narrow(apply_max_s(wide(input1), wide(input2), call.nan_mode), call.in_out_t)


def minimum(call: Call, input1: Array, input2: Array) -> Array:
    return narrow(apply_min_s(wide(input1), wide(input2), call.nan_mode), call.in_out_t)


def mul(call: Call, input1: Array, input2: Array, shift: Array) -> Array:
    """Products; of i32 with a shift, rounded half up and shifted right; without one, their low 32 bits."""
    amount = int(shift[0])
    with Requires(call) as require:
        require.holds("R1", np.asarray(0 <= amount <= 63), f"shift {amount} is not in 0 .. 63")
        require.holds("R2", np.asarray(amount == 0 or call.in_t is i32), f"shift {amount} must be 0 for {call.in_t}")
    if call.in_t.is_float:
        with np.errstate(**IEEE):
            return narrow(wide(input1) * wide(input2), call.out_t)
    product = wide(input1) * wide(input2)
    if amount > 0:
        rounding = 1 << (amount - 1)
        with Requires(call) as require:
            # -2^31 * -2^31 + 2^62 (shift 63) is beyond int64: overflow is unpredictable ("Integer Behavior")
            most = INT64_MAX - rounding
            require.holds("R3", product <= most, f"product {{product}} + {rounding} is beyond int64", product=product)
            product = (np.minimum(product, most) + rounding) >> amount
            product = require.fits("R3", product, i32, "shifted product")
    return narrow(product, call.out_t)


def power(call: Call, input1: Array, input2: Array) -> Array:
    """input1 to the power of input2 in fp64, rounded once."""
    base, exponent = wide(input1), wide(input2)
    with np.errstate(**IEEE), Requires(call) as require:
        shown = {"base": base, "exponent": exponent}
        require.holds("R1", base >= 0, "base {base} isn't 0 or greater", **shown)
        require.holds("R2", (base > 0) | (exponent > 0), "base {base} and exponent {exponent} aren't positive", **shown)
        require.holds("R3", ~np.isnan(exponent), "exponent {exponent} (base {base})", **shown)
        require.holds("R4", np.isfinite(base) & np.isfinite(exponent), "base {base}, exponent {exponent}", **shown)
        return narrow(np.power(base, exponent), call.in_out_t)


def table(call: Call, input1: Array, table: Array) -> Array:
    """i8: the entry at value + 128. i16: interpolated between two entries, 7 bits of fraction."""
    value, entries = wide(input1), wide(table)
    if call.out_t is not i32:
        return narrow(entries[value + 128], call.out_t)
    with Requires(call) as require:
        looked = apply_lookup_s(entries, value, require, "R1")
    return narrow(looked, call.out_t)


ORACLES = {
    "ADD": add,
    "ARITHMETIC_RIGHT_SHIFT": arithmetic_right_shift,
    "BITWISE_AND": bit_and,
    "BITWISE_OR": bit_or,
    "BITWISE_XOR": bit_xor,
    "INTDIV": intdiv,
    "LOGICAL_AND": bit_and,
    "LOGICAL_LEFT_SHIFT": logical_left_shift,
    "LOGICAL_OR": bit_or,
    "LOGICAL_RIGHT_SHIFT": logical_right_shift,
    "LOGICAL_XOR": bit_xor,
    "MAXIMUM": maximum,
    "MINIMUM": minimum,
    "MUL": mul,
    "POW": power,
    "SUB": sub,
    "TABLE": table,
}
