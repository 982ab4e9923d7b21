"""Sums, maxima and minima of float32 along axes, in vectors of LANES neighbours.

Of equal numbers, zeros of both signs, MAX takes the first and MIN the last. Along the last axis there are LANES results
side by side, each of every LANES-th element, and then those of their halves: a sum has this order everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import JIT, inline
from .places import IGNORED, LANES, MAX, MAX_IGNORE, MAXIMUM, MIN, MIN_IGNORE, SUM

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Number

__all__ = ["fold_line", "fold_row", "fold_window"]

if JIT:
    from .folds_emit import fold_line, fold_window
else:

    def start(kind: int) -> float:
        return 0.0 if kind == SUM else np.nan if kind in IGNORED else -np.inf if kind in MAXIMUM else np.inf

    def folded(kind: int, a: Array, b: Array) -> Array:
        if kind == SUM:
            return a + b
        taken = b > a if kind in MAXIMUM else b <= a
        taken |= a != a if kind in IGNORED else (b != b) & (a == a)
        return np.where(taken, b, a)

    def fold_window(
        kind: int, x: Array, at: int, rows: int, row: int, columns: int, column: int, out: Array, to: int, channels: int
    ) -> None:
        """out[to + c] = the fold of x[at + c + i * row + j * column] over `rows` i and `columns` j, i first."""
        found = np.full(channels, start(kind), np.float32)
        for i in range(rows):
            for j in range(columns):
                first = at + i * row + j * column
                found = folded(kind, found, x[first : first + channels])
        out[to : to + channels] = found

    def fold_line(kind: int, x: Array, at: int, count: int) -> Number:
        """The fold of `count` neighbours from x[at] on."""
        lanes = np.full(LANES, start(kind), np.float32)
        for first in range(at, at + count, LANES):
            part = x[first : min(first + LANES, at + count)]
            lanes[: len(part)] = folded(kind, lanes[: len(part)], part)
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = folded(kind, lanes[:half], lanes[half:])
        return lanes[0]


@inline
def fold_row(kind: int, x: Array, at: int, count: int) -> Number:
    """`fold_line`, and of zeros of both signs the first (MAX) or the last (MIN)."""
    found = fold_line(kind, x, at, count)
    if kind == SUM or found != 0:
        return found
    if kind in (MAX, MAX_IGNORE):
        for i in range(at, at + count):
            if x[i] == 0:
                return x[i]
    if kind in (MIN, MIN_IGNORE):
        for i in range(at + count - 1, at - 1, -1):
            if x[i] == 0:
                return x[i]
    return found
