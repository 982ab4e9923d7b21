"""Ranges of operations on bits: shifts and the bitwise operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .interval import Interval, between, corners, of_type, unless

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array
    from .findings import Facts


def _amount(call: Call, facts: Facts, shift: Interval) -> Interval:
    return facts.within("R1", shift, 0, call.in_out_t.bits - 1)


def arithmetic_right_shift(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    """value / 2^shift rounded down, or to the nearest: monotone in either argument, so that the corners tell all."""
    amount = _amount(call, facts, input2)

    def shifted(value: Array, by: Array) -> Array:
        rounding = (np.int64(1) << by) >> 1 if call["round"] else np.int64(0)
        return np.asarray((value + rounding) >> by)

    return corners(*(shifted(v, s) for v in (input1.low, input1.high) for s in (amount.low, amount.high)))


def logical_left_shift(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    """Exact while no bit is lost."""
    amount = _amount(call, facts, input2)
    found = corners(*(v << s for v in (input1.low, input1.high) for s in (amount.low, amount.high)))
    kind = call.in_out_t
    return unless((found.low >= kind.minimum) & (found.high <= kind.maximum), found, of_type(kind))


def logical_right_shift(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    """The bits of a negative value are those of value + 2^bits; a shift of 0 leaves it negative."""
    amount = _amount(call, facts, input2)
    plain = corners(*(v >> s for v in (input1.low, input1.high) for s in (amount.low, amount.high)))
    every = np.int64((1 << call.in_out_t.bits) - 1)
    some = between(np.zeros_like(amount.low), every >> amount.low)
    shifted = unless(amount.low >= 1, some, of_type(call.in_out_t))
    return unless((input1.low >= 0) | (amount.high == 0), plain, shifted)


def _ones(*intervals: Interval) -> Array:
    """2^k - 1 with the least k for which all values are in -2^k .. 2^k - 1."""
    most: Array = np.zeros((), np.int64)
    for interval in intervals:
        most = np.maximum(np.maximum(interval.high, ~interval.low), most)
    for step in (1, 2, 4, 8, 16, 32):
        most = most | (most >> step)
    return most


def and_(a: Interval, b: Interval) -> Interval:
    """A value without a sign bounds the result; both negative bits stay within the wider one's power of two."""
    low = np.where((a.low >= 0) | (b.low >= 0), 0, ~_ones(a, b))
    high = np.maximum(a.high, b.high)
    high = np.where(a.low >= 0, np.minimum(high, a.high), high)
    high = np.where(b.low >= 0, np.minimum(high, b.high), high)
    same = (a.low == a.high) & (b.low == b.high)
    return unless(same, Interval(a.low & b.low, a.low & b.low), between(low, high))


def not_(a: Interval) -> Interval:
    return Interval(~a.high, ~a.low)


def bitwise_and(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return and_(input1, input2)


def bitwise_or(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return not_(and_(not_(input1), not_(input2)))


def bitwise_xor(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    ones = _ones(input1, input2)
    positive = [i.low >= 0 for i in (input1, input2)]
    negative = [i.high < 0 for i in (input1, input2)]
    low = np.where((positive[0] & positive[1]) | (negative[0] & negative[1]), 0, ~ones)
    high = np.where((positive[0] & negative[1]) | (negative[0] & positive[1]), -1, ones)
    same = (input1.low == input1.high) & (input2.low == input2.high)
    exact = input1.low ^ input2.low
    return unless(same, Interval(exact, exact), between(low, high))
