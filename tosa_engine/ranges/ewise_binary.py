"""Ranges of the elementwise binary operators and TABLE (specification 2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..types import i8, i16, i32, i64
from . import interval as of
from .bits import arithmetic_right_shift, bitwise_and, bitwise_or, bitwise_xor, logical_left_shift, logical_right_shift
from .interval import Interval, between, corners, of_type, unless

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array
    from .findings import Facts


def add(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return facts.fits("R1", of.add(input1, input2), call.in_out_t)


def sub(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return facts.fits("R1", of.sub(input1, input2), call.in_out_t)


def maximum(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return Interval(np.maximum(input1.low, input2.low), np.maximum(input1.high, input2.high))


def minimum(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return Interval(np.minimum(input1.low, input2.low), np.minimum(input1.high, input2.high))


def mul(call: Call, facts: Facts, input1: Interval, input2: Interval, shift: Interval) -> Interval:
    """Without a shift the low 32 bits of the product; with one the product plus a half, shifted."""
    product = of.mul(input1, input2)
    facts.within("R1", shift, 0, 63)
    facts.within("R2", shift, 0, 63 if call.in_t is i32 else 0)
    if not shift.exact:
        facts.depends("R3")
        return of_type(i32)
    amount = int(shift.low.reshape(-1)[0])
    if not 0 < amount <= 63:
        return unless((product.low >= i32.minimum) & (product.high <= i32.maximum), product, of_type(i32))
    rounding = 1 << (amount - 1)
    product = facts.at_most("R3", product, i64.maximum - rounding)
    return facts.fits("R3", Interval((product.low + rounding) >> amount, (product.high + rounding) >> amount), i32)


def intdiv(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    """Divisors below and above 0 apart: on either side the quotient, rounded towards 0, is monotone."""
    nonzero = bool(((input2.low > 0) | (input2.high < 0)).all())
    always = bool(((input2.low == 0) & (input2.high == 0)).any())
    facts.decide("R1", "proved" if nonzero else "violated" if always else "depends")
    below = Interval(np.minimum(input2.low, -1), np.minimum(input2.high, -1))
    above = Interval(np.maximum(input2.low, 1), np.maximum(input2.high, 1))
    negative, positive = _quotients(input1, below), _quotients(input1, above)
    found = unless(input2.low >= 0, positive, unless(input2.high <= 0, negative, positive.hull(negative)))
    return facts.fits("R2", found, call.in_out_t)


def _quotients(value: Interval, divisor: Interval) -> Interval:
    def quotient(a: Array, b: Array) -> Array:
        return np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)))

    return corners(*(quotient(a, b) for a in (value.low, value.high) for b in (divisor.low, divisor.high)))


def logical_and(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return Interval(input1.low & input2.low, input1.high & input2.high)


def logical_or(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    return Interval(input1.low | input2.low, input1.high | input2.high)


def logical_xor(call: Call, facts: Facts, input1: Interval, input2: Interval) -> Interval:
    known = (input1.low == input1.high) & (input2.low == input2.high)
    exact = input1.low ^ input2.low
    return unless(known, Interval(exact, exact), between(0, 1))


def table(call: Call, facts: Facts, input1: Interval, table: Interval) -> Interval:
    """i8: the entries that the input can reach. i16: the entries between, and the interpolated ends."""
    if not table.exact:
        if call.in_t is i8:
            return table.flat()
        facts.depends("R1")
        return of_type(call.out_t)
    entries = table.low
    if call.in_t is i8:
        return _extremes(entries, input1.low + 128, input1.high + 128)
    first, last = (input1.low + 32768) >> 7, (input1.high + 32768) >> 7
    slopes = np.diff(entries)
    facts.fits("R1", _extremes(slopes, first, last), i16, _unavoidable(slopes, first, last))
    ends = [(entries[at >> 7] << 7) + slopes[at >> 7] * (at & 0x7F) for at in (input1.low + 32768, input1.high + 32768)]
    inner = _extremes(entries << 7, np.minimum(first + 1, last), last)
    found = corners(ends[0], ends[1], *((inner.low, inner.high) if bool((last > first).any()) else ()))
    return found.clip(i32.minimum, i32.maximum)


def _extremes(entries: Array, first: Array, last: Array) -> Interval:
    """Least and greatest of entries[first .. last], per channel."""
    pairs, inverse = np.unique(np.stack([first.reshape(-1), last.reshape(-1)], 1), axis=0, return_inverse=True)
    low = np.array([entries[a : b + 1].min() for a, b in pairs.tolist()], np.int64)
    high = np.array([entries[a : b + 1].max() for a, b in pairs.tolist()], np.int64)
    inverse = inverse.reshape(-1)
    return Interval(low[inverse].reshape(first.shape), high[inverse].reshape(first.shape))


def _unavoidable(slopes: Array, first: Array, last: Array) -> Interval:
    """Slopes as a REQUIRE sees them: an input in first .. last may choose the one nearest to 0."""
    nearest = _extremes(np.abs(slopes), first, last).low
    return Interval(nearest, nearest)


TRANSFERS = {
    "ADD": add,
    "ARITHMETIC_RIGHT_SHIFT": arithmetic_right_shift,
    "BITWISE_AND": bitwise_and,
    "BITWISE_OR": bitwise_or,
    "BITWISE_XOR": bitwise_xor,
    "INTDIV": intdiv,
    "LOGICAL_AND": logical_and,
    "LOGICAL_LEFT_SHIFT": logical_left_shift,
    "LOGICAL_OR": logical_or,
    "LOGICAL_RIGHT_SHIFT": logical_right_shift,
    "LOGICAL_XOR": logical_xor,
    "MAXIMUM": maximum,
    "MINIMUM": minimum,
    "MUL": mul,
    "SUB": sub,
    "TABLE": table,
}
