"""513-entry tables fitted for the least maximum error after interpolation.

A sampled table is exact at its nodes and errs between them, always to the same side where the function bends: a line
under an arch. Moving the nodes by half of that error to the other side halves it. Entries are integers, and shared by
two intervals, so the best table is a path: entry i and entry i + 1 together decide the error of interval i.

`fit_16` looks for that path by dynamic programming over a few candidates for every entry, around the best table so far,
with ever smaller steps. (A search three times as wide finds the same maxima, but for log beside its pole: 1.5 % less.)
It begins with the sampled table, which stays among the candidates: a fitted table is never worse in maximum error. Of
the tables with the least maximum it takes one with a small sum of squares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .builders import FRACTION_BITS, INT16_MAX, INT16_MIN, sampled_16, values_16
from .truth import truth_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .builders import Int16Array

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]
    Int64Array = np.ndarray[Any, np.dtype[np.int64]]

INTERVALS: Final = 512
POINTS: Final = 1 << FRACTION_BITS
REACH: Final = np.arange(-3, 4)  # candidates for an entry, in steps
# the last input of the last interval, 32768, never occurs; every other one does
FRACTIONS: Final = np.arange(POINTS) / POINTS
QUICK_STEPS: Final = (4, 1, 1)
SLACK: Final = 1e-9  # LSB: errors are sums of a few doubles of at most 2^16


def fit_16(function: Callable[[float], float], in_scale: float, out_scale: float) -> Int16Array:
    """The 513 entries of an int16 TABLE (zero points 0) with the least maximum error over all 65,536 inputs.

    Where the function leaves int16, the end of the range is the right answer. For 256 entries there is nothing to fit:
    every input has an entry of its own, and `table_8` takes the nearest.

    Raises TableRangeError when a scale isn't finite and positive or the function is NaN for an input. Where `table_16`
    has neighbours too far apart (TABLE.R1: a pole between them), the entries behind give way.
    """
    return fit_values_16(values_16(function, in_scale), out_scale)


def fit_values_16(values: FloatArray, out_scale: float, quick: bool = False) -> Int16Array:
    """The same from the function's values at the inputs -32768 .. 32768: float64 [65537] (`values_16`).

    `quick` searches near the sampled table only, which is enough but for the intervals beside a pole.
    """
    wanted = truth_of(values, out_scale).reshape(INTERVALS, POINTS)
    best = _joined(sampled_16(values[::POINTS].tolist(), out_scale))
    if quick:
        for step in QUICK_STEPS:
            best = _improve(best, step, wanted)
        return best.astype(np.int16)
    step = 1 << max(0, int(np.ceil(np.log2(max(_errors(best[:-1], best[1:], wanted)[0].max(), 1.0)))))
    while step:
        better = _improve(best, step, wanted)
        if np.array_equal(better, best):
            step //= 2
        best = better
    return best.astype(np.int16)


def _joined(entries: list[int]) -> Int64Array:
    """The entries with every step in int16: each is as near to its value as the one before it allows."""
    for i in range(1, len(entries)):
        entries[i] = min(max(entries[i], entries[i - 1] + INT16_MIN), entries[i - 1] + INT16_MAX)
    return np.array(entries, np.int64)


def _errors(base: Int64Array, following: Int64Array, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The largest error of intervals, and the sum of squares; infinite where the slope isn't a value of int16."""
    slope = following - base
    errors = np.abs(base[..., None] + slope[..., None] * FRACTIONS - wanted)
    largest = errors.max(axis=-1)
    largest[(slope < INT16_MIN) | (slope > INT16_MAX)] = np.inf
    return largest, (errors * errors).sum(axis=-1)


def _improve(best: Int64Array, step: int, wanted: FloatArray) -> Int64Array:
    """The best table whose entries are at most 3 steps from those of `best`."""
    candidates = np.clip(best[:, None] + step * REACH, INT16_MIN, INT16_MAX)
    largest, squares = _errors(candidates[:-1, :, None], candidates[1:, None, :], wanted[:, None, None, :])
    limit = _least_maximum(largest)
    squares[largest > limit + SLACK] = np.inf
    return _path(candidates, squares)


def _least_maximum(largest: FloatArray) -> float:
    """Of all paths the least of their largest errors; `largest` is [interval, candidate before, candidate behind]."""
    reached = np.zeros(largest.shape[1])
    for interval in largest:
        reached = np.maximum(reached[:, None], interval).min(axis=0)
    return float(reached.min())


def _path(candidates: Int64Array, cost: FloatArray) -> Int64Array:
    """The path of least total cost. Of equal ones that through the middle: the table that was there before."""
    order = np.argsort(np.abs(REACH), kind="stable")
    total = np.zeros(cost.shape[1])
    came = np.zeros(cost.shape[:2], np.int64)
    for i, interval in enumerate(cost):
        sums = (total[:, None] + interval)[order]
        came[i] = order[sums.argmin(axis=0)]
        total = sums.min(axis=0)
    at = int(order[total[order].argmin()])
    entries = np.zeros(len(candidates), np.int64)
    for i in range(len(cost), 0, -1):
        entries[i] = candidates[i, at]
        at = int(came[i - 1, at])
    entries[0] = candidates[0, at]
    return entries
