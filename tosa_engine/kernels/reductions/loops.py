"""Compiled loops of the REDUCE operators and ARGMAX over [left, axis, right]; a unit is one index of `left`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import inline, jit
from ..scale.loops import plain_finish, plain_scale
from ..scale.numbers import NUMBERS
from .folds import fold_row, fold_window

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Number


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
def fold_float(kind: int, x: Array, size: int, right: int, out: Array, low: int, high: int) -> int:
    """Sums, maxima or minima of float32 in the order of the axis; along the last axis as in `folds`."""
    for unit in range(low, high):
        if right == 1:
            out[unit] = fold_row(kind, x, unit * size, size)
        else:
            fold_window(kind, x, unit * size * right, 1, 0, size, right, out, unit * right, right)
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
