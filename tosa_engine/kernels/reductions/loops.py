"""Compiled loops of the REDUCE operators and ARGMAX over [left, axis, right]; a unit is one index of `left`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .._jit import inline, jit
from ..scale.loops import plain_finish, plain_scale
from ..scale.numbers import NUMBERS

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Number

LANES: Final = 16  # sums of floats that run side by side along the last axis


@inline
def maxima(values: Array, ignore: int, best: Array) -> None:
    """best = apply_max_s(best, values) of floats: the first of equal values; NaN is passed on, or ignored. Without
    branches, so that LLVM vectorises.
    """
    if ignore:
        for i in range(len(best)):
            a, b = best[i], values[i]
            best[i] = b if (b > a) | (a != a) else a
    else:
        for i in range(len(best)):
            a, b = best[i], values[i]
            best[i] = b if (b > a) | ((b != b) & (a == a)) else a


@inline
def total_and_reach(values: Array) -> Number:
    """The sum, and the sum of magnitudes, which no partial sum exceeds."""
    total = reach = np.int64(0)
    for i in range(len(values)):
        value = np.int64(values[i])
        total += value
        reach += abs(value)
    return total, reach


@jit
def sum_int(x: Array, size: int, right: int, out: Array, sums: Array, low: int, high: int) -> int:
    """Sums in 64 bits in the order of the axis, every partial sum tested to be a value of int32."""
    for unit in range(low, high):
        if right == 1:
            total, reach = total_and_reach(x[unit * size : (unit + 1) * size])
            if reach <= 2147483647:
                out[unit] = total
                continue
        first_bad = np.int64(-1)
        for r in range(right):
            sums[r] = 0
        for i in range(size):
            source = (unit * size + i) * right
            values = x[source : source + right]
            bad = False
            for r in range(right):
                sums[r] += np.int64(values[r])
                bad |= sums[r] > 2147483647 or sums[r] < -2147483648
            if bad:
                for r in range(right):
                    if (sums[r] > 2147483647 or sums[r] < -2147483648) and (first_bad < 0 or r < first_bad):
                        first_bad = np.int64(r)
        if first_bad >= 0:
            return int(unit * right + first_bad)
        for r in range(right):
            out[unit * right + r] = sums[r]
    return -1


@inline
def sum_row(row: Array, lanes: Array) -> Number:
    """The sum of neighbours: LANES sums, of every LANES-th element each, then the sums of their halves."""
    lanes[:] = 0
    whole = len(row) - len(row) % LANES
    for first in range(0, whole, LANES):
        part = row[first : first + LANES]
        for i in range(LANES):
            lanes[i] += part[i]
    rest = row[whole:]
    for i in range(len(rest)):
        lanes[i] += rest[i]
    half = LANES // 2
    while half > 0:
        for i in range(half):
            lanes[i] += lanes[half + i]
        half //= 2
    return lanes[0]


@jit
def scaled_sums(x: Array, size: int, p: Array, out: Array, low: int, high: int) -> int:
    """Sums of rows of `size` bytes or words, scaled; p: a scale with the zero point of a whole row, then output zero
    point and bounds. They are values of int32.
    """
    for unit in range(low, high):
        values = x[unit * size : (unit + 1) * size]
        total = np.int32(0)
        for i in range(len(values)):
            total = np.int32(total + np.int32(values[i]))
        out[unit] = plain_finish(plain_scale(total, p, 0), p, NUMBERS)
    return -1


@jit
def sum_float(x: Array, size: int, right: int, out: Array, low: int, high: int) -> int:
    """Sums in float32 in the order of the axis; along the last axis as in `sum_row`."""
    lanes = np.empty(LANES, np.float32)
    for unit in range(low, high):
        if right == 1:
            out[unit] = sum_row(x[unit * size : (unit + 1) * size], lanes)
            continue
        to = unit * right
        sums = out[to : to + right]
        for r in range(right):
            sums[r] = np.float32(0.0)
        for i in range(size):
            source = (unit * size + i) * right
            values = x[source : source + right]
            for r in range(right):
                sums[r] += values[r]
    return -1


@jit
def product_float(x: Array, size: int, right: int, out: Array, products: Array, low: int, high: int) -> int:
    """Products in float64 in the order of the axis, rounded once: float32 could overflow on the way."""
    for unit in range(low, high):
        for r in range(right):
            products[r] = 1.0
        for i in range(size):
            source = (unit * size + i) * right
            values = x[source : source + right]
            for r in range(right):
                products[r] *= values[r]
        for r in range(right):
            out[unit * right + r] = products[r]
    return -1


@inline
def extreme(values: Array, sign: int) -> Number:
    best = values[0]
    for i in range(1, len(values)):
        best = max(best, values[i]) if sign > 0 else min(best, values[i])
    return best


@inline
def extremes(x: Array, sign: int, size: int, right: int, out: Array, low: int, high: int) -> None:
    """The largest values (sign 1) or the smallest (sign -1)."""
    for unit in range(low, high):
        to, source = unit * right, unit * size * right
        if right == 1:
            out[to] = extreme(x[source : source + size], sign)
            continue
        for r in range(right):
            out[to + r] = x[source + r]
        best = out[to : to + right]
        for i in range(1, size):
            values = x[source + i * right : source + (i + 1) * right]
            for r in range(right):
                best[r] = max(best[r], values[r]) if sign > 0 else min(best[r], values[r])


@jit
def max_int(x: Array, size: int, right: int, out: Array, low: int, high: int) -> int:
    extremes(x, 1, size, right, out, low, high)
    return -1


@jit
def min_int(x: Array, size: int, right: int, out: Array, low: int, high: int) -> int:
    extremes(x, -1, size, right, out, low, high)
    return -1


@inline
def greater(a: Number, b: Number, ignore: int) -> Number:
    """apply_max_s of floats: the first of equal values; NaN is passed on, or ignored."""
    take = (b > a) | (a != a) if ignore else (b > a) | ((b != b) & (a == a))
    return b if take else a


@jit
def max_float(x: Array, size: int, right: int, ignore: int, out: Array, low: int, high: int) -> int:
    for unit in range(low, high):
        best = out[unit * right : (unit + 1) * right]
        best[:] = np.float32(np.nan) if ignore else np.float32(-np.inf)
        if right == 1:
            most = best[0]
            for value in x[unit * size : (unit + 1) * size]:
                most = greater(most, value, ignore)
            best[0] = most
            continue
        for i in range(size):
            source = (unit * size + i) * right
            maxima(x[source : source + right], ignore, best)
    return -1


@inline
def minima(values: Array, ignore: int, best: Array) -> None:
    """best = apply_min_s(best, values) of floats: the last of equal values."""
    if ignore:
        for i in range(len(best)):
            a, b = best[i], values[i]
            best[i] = b if (b <= a) | (a != a) else a
    else:
        for i in range(len(best)):
            a, b = best[i], values[i]
            best[i] = b if (b <= a) | ((b != b) & (a == a)) else a


@jit
def min_float(x: Array, size: int, right: int, ignore: int, out: Array, low: int, high: int) -> int:
    for unit in range(low, high):
        best = out[unit * right : (unit + 1) * right]
        best[:] = np.float32(np.nan) if ignore else np.float32(np.inf)
        for i in range(size):
            source = (unit * size + i) * right
            minima(x[source : source + right], ignore, best)
    return -1


@jit
def argmax_int(x: Array, size: int, right: int, out: Array, low: int, high: int) -> int:
    for unit in range(low, high):
        for r in range(right):
            source = unit * size * right + r
            best, index = x[source], np.int64(0)
            for i in range(1, size):
                if x[source + i * right] > best:
                    best, index = x[source + i * right], np.int64(i)
            if index > 2147483647:
                return unit * right + r
            out[unit * right + r] = index
    return -1


@jit
def argmax_float(x: Array, size: int, right: int, ignore: bool, out: Array, low: int, high: int) -> int:
    for unit in range(low, high):
        for r in range(right):
            source = unit * size * right + r
            best = np.float32(np.nan) if ignore else np.float32(-np.inf)
            index = np.int64(0)
            for i in range(size):
                result = greater(x[source + i * right], best, ignore)
                # NaN differs from itself: a NaN replaces a number once
                if result != best and not (np.isnan(result) and np.isnan(best)):
                    best, index = result, np.int64(i)
            if index > 2147483647:
                return unit * right + r
            out[unit * right + r] = index
    return -1
