"""Bounds of sums of products: every partial sum in the specification's order, and the whole sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .interval import Interval, between, corners

if TYPE_CHECKING:
    from ..types import Array

ELEMENTS: Final = 1 << 18  # of one piece of the work


def products(
    weight: Interval, value: Interval, absent: Array, rows: int, depth: int
) -> tuple[Interval, Interval]:  # fmt: skip
    """(all partial sums, the sum) of weight * value over the last axis, in its order; both per row.

    Args:
        weight: [rows, depth]; the ends are the same array where the weights are known.
        value: broadcasts to [rows, depth].
        absent: [depth] bool: places whose product may be missing, as on padding.
    """
    ends = [np.empty(rows, np.int64) for _ in range(4)]
    step = max(1, ELEMENTS // depth)
    for start in range(0, rows, step):
        part = slice(start, min(rows, start + step))
        low, high = _terms(_rows(weight, part, rows, depth), _rows(value, part, rows, depth))
        if absent.any():
            low, high = np.where(absent, np.minimum(low, 0), low), np.where(absent, np.maximum(high, 0), high)
        for end, found in zip(ends, _ends(low, high), strict=True):
            end[part] = found
    return Interval(ends[0], ends[1]), Interval(ends[2], ends[3])


def _rows(interval: Interval, part: slice, rows: int, depth: int) -> Interval:
    low = np.broadcast_to(interval.low, (rows, depth))[part]
    return Interval(low, low if interval.high is interval.low else np.broadcast_to(interval.high, (rows, depth))[part])


def _terms(weight: Interval, value: Interval) -> tuple[Array, Array]:
    if weight.high is weight.low:
        found = corners(weight.low * value.low, weight.low * value.high)
    else:
        found = corners(
            weight.low * value.low, weight.low * value.high, weight.high * value.low, weight.high * value.high
        )
    return found.low, found.high


def _ends(low: Array, high: Array) -> tuple[Array, Array, Array, Array]:
    """Least and greatest partial sum, least and greatest sum."""
    if bool((low <= 0).all() and (high >= 0).all()):  # then the bounds only grow along the way
        least, most = low.sum(-1), high.sum(-1)
        return least, most, least, most
    lows, highs = low.cumsum(-1), high.cumsum(-1)
    return lows.min(-1), highs.max(-1), lows[..., -1], highs[..., -1]


def repeated(value: Interval, count: int) -> tuple[Interval, Interval]:
    """(all partial sums, the sum) of `count` values of one interval: partial sums have 1 .. count of them."""
    partial = between(np.minimum(value.low, value.low * count), np.maximum(value.high, value.high * count))
    return partial, Interval(value.low * count, value.high * count)


def in_order(value: Interval) -> tuple[Interval, Interval]:
    """(all partial sums, the sum) over the last axis, each [1]."""
    least, most, low, high = _ends(value.low, value.high)
    return between(np.atleast_1d(least), np.atleast_1d(most)), between(np.atleast_1d(low), np.atleast_1d(high))
