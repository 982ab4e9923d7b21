"""Strided copies between views of arrays, split along the first axis that is longer than 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import types
from ..work import Loop, Work, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...types import Array, Shape
    from ..work import Run

SHORT = 16  # elements of the last axis, for which it isn't worth being the inner loop
SMALL = 4096  # elements that are one unit: a loop over units costs more than they do
WORDS = (8, 4, 2)  # bytes that are copied at once where all runs are whole words


def strip(shape: Shape) -> int:
    """The number of leading axes of size 1, always leaving one axis where there is one."""
    lead = 0
    while lead < len(shape) - 1 and shape[lead] == 1:
        lead += 1
    return lead


def units_of(shape: Shape) -> int:
    """The units of a copy of this shape."""
    return 1 if types.count(shape) <= SMALL else shape[strip(shape)]


def axes(source: Array, x: Array, target: Array, out: Array) -> tuple[Array, int]:
    """The geometry of a copy between views of the arrays `x` and `out`, which lie in one dimension, and the bytes of
    the words that it counts.

    The positions of the first elements, then (size, stride of source, stride of target) of three axes or more: the
    first is the units', neighbours behind it are merged where both views allow, and a short last one comes before.
    """
    word = source.itemsize
    lead = strip(source.shape)
    found = [(1, 0, 0)] if units_of(source.shape) == 1 else []
    for axis in range(lead, source.ndim):
        size = source.shape[axis]
        step, pace = source.strides[axis], target.strides[axis]
        if found and size == 1:
            continue
        if len(found) > 1 and found[-1][1:] == (step * size, pace * size):
            found[-1] = (found[-1][0] * size, step, pace)
        else:
            found.append((size, step, pace))
    starts = [v.ctypes.data - a.ctypes.data for v, a in ((source, x), (target, out))]
    if len(found) > 1 and found[-1][1:] == (word, word):
        numbers = [*starts, *(n for _, *steps in found[:-1] for n in steps), found[-1][0] * word]
        numbers += [n for a in (x, out) for n in (a.nbytes, a.ctypes.data)]
        wide = next((w for w in WORDS if w > word and all(n % w == 0 for n in numbers)), word)
        found[-1], word = (found[-1][0] * word // wide, wide, wide), wide
    if len(found) > 2 and found[-1][0] < SHORT and found[-1][0] < found[-2][0]:
        found[-2:] = found[:-3:-1]
    found = [found[0] if found else (1, 0, 0), *[(1, 0, 0)] * (3 - max(1, len(found))), *found[1:]]
    counted = [n for size, *steps in found for n in (size, *(step // word for step in steps))]
    return np.array([*(start // word for start in starts), *counted], np.int64), word


def copy_loop(x: Array, source: Callable[[Array], Array], target: Array, out: Array) -> Loop:
    """Copy a view of x to `target`, which is a view of `out`."""
    from . import loops

    x = flat(x).reshape(x.shape)
    g, word = axes(source(x), x, target, out)
    return Loop(loops.copy, x.reshape(-1).view(f"u{word}"), g, out.reshape(-1).view(f"u{word}"))


def move_loop(x: Array, out: Array) -> Loop:
    """Copy x to an array of the same bytes, which may overlap."""
    from . import loops

    both = [array.reshape(-1).view(np.uint8) for array in (x, out)]
    apart = both[1].ctypes.data - both[0].ctypes.data
    apart = apart if abs(apart) < x.nbytes else 0
    word = next((w for w in WORDS if all(n % w == 0 for n in (apart, x.nbytes, *(a.ctypes.data for a in both)))), 1)
    return Loop(loops.move, *(a.view(f"u{word}") for a in both), apart // word)


def copy_work(shape: Shape, source: Callable[[Array], Array]) -> Work:
    """Copy a view of the first input, of shape `shape`, to the output."""

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return copy_loop(inputs[0], source, outputs[0].reshape(shape), outputs[0])

    return Work(units_of(shape), 0.4 * types.count(shape), bind)
