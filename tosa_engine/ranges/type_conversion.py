"""Ranges of the type conversions (specification 2.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..types import bool_, i32, i64
from .interval import Interval, add, between, of_type, sub, unless

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array, DType
    from .findings import Facts


def cast(call: Call, facts: Facts, input: Interval) -> Interval:
    """To bool whether it is 0; to narrower integers the low bits: the same while they fit."""
    if call.out_t is bool_:
        zero = (input.low <= 0) & (input.high >= 0)
        return between(np.where(zero, 0, 1), np.where((input.low == 0) & (input.high == 0), 0, 1))
    fits = (input.low >= call.out_t.minimum) & (input.high <= call.out_t.maximum)
    return unless(fits, input, of_type(call.out_t))


def rescale(
    call: Call,
    facts: Facts,
    input: Interval,
    multiplier: Interval,
    shift: Interval,
    input_zp: Interval,
    output_zp: Interval,
) -> Interval:
    """The result grows with the value, so that its ends are those of the input, scaled."""
    if call.input_unsigned:
        input, input_zp = _unsigned(input, call.in_t), _unsigned(input_zp, call.in_t)
    if call.output_unsigned:
        output_zp = _unsigned(output_zp, call.out_t)
    value = sub(input, input_zp)
    facts.within("R1", multiplier, 0, i64.maximum)
    shift = facts.within("R2", shift, 2, 62)
    if not (multiplier.exact and shift.exact):
        facts.depends(*(("R3",) if call.scale32 else ("R4",)), "R5")
        return of_type(call.out_t)
    factor, by = np.maximum(multiplier.low, 0), shift.low
    if not call.per_channel:
        factor, by = factor[0], by[0]
    if call.scale32:
        limit = np.int64(1) << (by - 1)
        value = facts.within("R3", value, -limit, limit - 1)
        double = call.rounding_mode == "DOUBLE_ROUND"
        scaled = Interval(_scaled(value.low, factor, by, double), _scaled(value.high, factor, by, double))
    else:
        scaled = Interval(_scaled(value.low, factor, by, False), _scaled(value.high, factor, by, False))
        scaled = facts.fits("R4", scaled, i32)
    result = facts.fits("R5", add(scaled, output_zp), i32)
    if call.output_unsigned:
        return _signed(result.clip(0, (1 << call.out_t.bits) - 1), call.out_t)
    return result.clip(call.out_t.minimum, call.out_t.maximum)


def _scaled(value: Array, multiplier: Array, shift: Array, double_round: bool) -> Array:
    """value * multiplier / 2^shift, ties up; DOUBLE_ROUND adds 2^30 with the sign of the value for shifts above 31."""
    rounding = np.int64(1) << (shift - 1)
    if double_round:
        rounding = rounding + np.where(shift > 31, np.where(value >= 0, 1 << 30, -(1 << 30)), 0)
    return np.asarray((value * multiplier + rounding) >> shift)


def _unsigned(value: Interval, dtype: DType) -> Interval:
    """The bits of signed values read as unsigned."""
    wrap = 1 << dtype.bits
    found = unless(value.high < 0, Interval(value.low + wrap, value.high + wrap), between(0, wrap - 1))
    return unless(value.low >= 0, value, found)


def _signed(value: Interval, dtype: DType) -> Interval:
    """Unsigned values as the signed ones that have their bits."""
    wrap = 1 << dtype.bits
    found = unless(value.low > dtype.maximum, Interval(value.low - wrap, value.high - wrap), of_type(dtype))
    return unless(value.high <= dtype.maximum, value, found)


TRANSFERS = {"CAST": cast, "RESCALE": rescale}
