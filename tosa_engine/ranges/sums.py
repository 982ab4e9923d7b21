"""Bounds of sums of products: every partial sum in the specification's order, and the whole sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .interval import Interval, between, corners

if TYPE_CHECKING:
    from ..types import Array

ELEMENTS: Final = 1 << 16  # of one piece of the work
EXACT: Final = 1 << 53  # sums below this are exact in float64


def products(
    weight: Interval, value: Interval, absent: Array, rows: int, depth: int
) -> tuple[Interval, Interval]:  # fmt: skip
    """(all partial sums, the sum) of weight * value over the last axis, in its order; both per row.

    Args:
        weight: [rows, depth]; the ends are the same array where the weights are known.
        value: broadcasts to [rows, depth].
        absent: [depth] bool: places whose product may be missing, as on padding.
    """
    if weight.high is weight.low and weight.low.shape == (rows, depth) and value.low.ndim < 2:
        known = _around_zero(weight.low, np.broadcast_to(value.low, depth), np.broadcast_to(value.high, depth))
        if known is not None:
            return known, known
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


def _around_zero(weight: Array, low: Array, high: Array) -> Interval | None:
    """All partial sums, and the sum, of products of known weights and values whose intervals hold 0: the bounds only
    grow along the way. None where an interval doesn't hold 0, or float64 isn't exact.

    Positive weights take the value's high end for the most, negative ones its low end: with the sums over all weights
    and over the positive ones, for both ends, everything is there.
    """
    rows, depth = weight.shape
    reach = max(-int(low.min()), int(high.max())) * max(-int(weight.min()), int(weight.max())) * depth
    if reach >= EXACT or bool((low > 0).any() or (high < 0).any()):
        return None
    step = max(1, min(rows, ELEMENTS // depth))
    values, positive = np.empty((step, depth)), np.empty((step, depth))
    ends = np.stack([low, high], 1).astype(np.float64)
    least, most = np.empty(rows, np.int64), np.empty(rows, np.int64)
    for start in range(0, rows, step):
        part = slice(start, min(rows, start + step))
        count = part.stop - start
        np.copyto(values[:count], weight[part])
        np.maximum(values[:count], 0, out=positive[:count])
        above = positive[:count] @ ends
        below = values[:count] @ ends - above
        least[part], most[part] = above[:, 0] + below[:, 1], above[:, 1] + below[:, 0]
    return Interval(least, most)


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
