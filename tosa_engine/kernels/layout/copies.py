"""Strided copies between views of arrays, split along the first axis that is longer than 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import types
from ..work import Loop, Work, bits, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...types import Array, Shape
    from ..work import Run

SHORT = 16  # elements of the last axis, for which it isn't worth being the inner loop


def strip(shape: Shape) -> int:
    """The number of leading axes of size 1, always leaving one axis where there is one."""
    lead = 0
    while lead < len(shape) - 1 and shape[lead] == 1:
        lead += 1
    return lead


def axes(source: Array, x: Array, target: Array, out: Array) -> Array:
    """The geometry of a copy between views of the arrays `x` and `out`, which lie in one dimension.

    The positions of the first elements, then (size, stride of source, stride of target) of three axes or more: the
    first is the units', neighbours behind it are merged where both views allow, and a short last one comes before.
    """
    sizes = (source.itemsize, target.itemsize)
    lead = strip(source.shape)
    found: list[tuple[int, int, int]] = []
    for axis in range(lead, source.ndim):
        size = source.shape[axis]
        step, pace = source.strides[axis] // sizes[0], target.strides[axis] // sizes[1]
        if axis > lead and size == 1:
            continue
        if len(found) > 1 and found[-1][1:] == (step * size, pace * size):
            found[-1] = (found[-1][0] * size, step, pace)
        else:
            found.append((size, step, pace))
    if len(found) > 2 and found[-1][0] < SHORT and found[-1][0] < found[-2][0]:
        found[-2:] = found[:-3:-1]
    found = [found[0] if found else (1, 0, 0), *[(1, 0, 0)] * (3 - max(1, len(found))), *found[1:]]
    starts = [(v.ctypes.data - a.ctypes.data) // v.itemsize for v, a in ((source, x), (target, out))]
    return np.array([*starts, *(n for axis in found for n in axis)], np.int64)


def copy_loop(x: Array, source: Callable[[Array], Array], target: Array, out: Array) -> Loop:
    """Copy a view of x to `target`, which is a view of `out`."""
    from . import loops

    x = flat(x).reshape(x.shape)
    g = axes(source(x), x, target, out)
    return Loop(loops.copy, bits(x.reshape(-1)), g, bits(out.reshape(-1)))


def copy_work(shape: Shape, source: Callable[[Array], Array]) -> Work:
    """Copy a view of the first input, of shape `shape`, to the output."""

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return copy_loop(inputs[0], source, outputs[0].reshape(shape), outputs[0])

    units = shape[strip(shape)] if shape else 1
    return Work(units, 0.4 * types.count(shape), bind)
