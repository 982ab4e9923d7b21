"""Positions in sliding windows: where the largest value is, and values at a given position.

This isn't separable: it works on all windows at once, one tensor for each position in the window.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types
from ..types import count
from .axes import every, joined, part, spread
from .borders import extended, extended_all
from .elementary import chosen, compared, number
from .pool import LOWEST
from .problems import Unlowered
from .views import shape_of, within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..graph import Tensor
    from .windows import Window
    from .writer import Writer

MOST_POSITIONS: Final = 1024  # of one window


def places_of_maxima(g: Writer, x: Tensor, windows: Sequence[Window], border: str) -> Tensor:
    """Of each window the position of its largest value, in row-major order, as int32: the first of equal ones."""
    wide = extended_all(g, x, windows, border, LOWEST if border == "ignore" else 0.0)
    rows = [g.reshape(p, (1, count(shape_of(p)))) for p in _positions(g, wide, windows)]
    shape = tuple(w.output for w in windows)
    together = joined(g, rows, 0)
    found = g.operator("ARGMAX", [together], (count(shape),), types.i32, axis=0, nan_mode="PROPAGATE")
    return g.reshape(found, shape)


def sampled(g: Writer, x: Tensor, index: Tensor, windows: Sequence[Window], border: str) -> Tensor:
    """Of each window the value at the position that `index` says."""
    total = None
    for position, values in enumerate(_positions(g, extended_all(g, x, windows, border), windows)):
        term = _at(g, index, position, values)
        total = term if total is None else within(g.binary("ADD", total, term), x)  # one term isn't 0
    assert total is not None
    return total


def put_back(g: Writer, x: Tensor, index: Tensor, windows: Sequence[Window]) -> Tensor:
    """Each value at the position of its window that `index` says, among zeros; `windows` are transposed ones.

    Each position's values, with zeros in between, come to their place among the outputs; what overlaps is added up.
    """
    _few(windows)
    total, separate = None, all(w.stride > (w.size - 1) * w.dilation for w in windows)
    for position, place in enumerate(itertools.product(*(range(w.size) for w in windows))):
        term = _at(g, index, position, x)
        for axis, (j, w) in enumerate(zip(place, windows, strict=True)):
            term = _placed(g, spread(g, term, axis, w.stride), axis, j * w.dilation - w.before, w.output)
        total = term if total is None else g.binary("ADD", total, term)
        total = within(total, x) if separate else total  # where windows don't overlap, one term isn't 0
    assert total is not None
    return total


def overlaid(g: Writer, x: Tensor, windows: Sequence[Window]) -> Tensor:
    """Columns of values put back where their windows took them from, and added up: what undoes a list of patches.

    `x` is [N, C, values of a window, positions ...]; `windows` are transposed ones over the spatial axes.
    """
    _few(windows)
    shape, total = shape_of(x), None
    for position, place in enumerate(itertools.product(*(range(w.size) for w in windows))):
        term = g.reshape(part(g, x, 2, position, 1), (*shape[:2], *shape[3:]))
        for axis, (j, w) in enumerate(zip(place, windows, strict=True), 2):
            term = _placed(g, spread(g, term, axis, w.stride), axis, j * w.dilation - w.before, w.output)
        total = term if total is None else g.binary("ADD", total, term)
    assert total is not None
    return total


def _few(windows: Sequence[Window]) -> None:
    if math.prod(w.size for w in windows) > MOST_POSITIONS:
        raise Unlowered(f"a window of {math.prod(w.size for w in windows)} elements; at most {MOST_POSITIONS}")


def _positions(g: Writer, x: Tensor, windows: Sequence[Window]) -> Iterator[Tensor]:
    """Of each position in the window, in row-major order, the values of all windows there; `x` has its borders."""
    _few(windows)
    for place in itertools.product(*(range(w.size) for w in windows)):
        found = x
        for axis, (j, w) in enumerate(zip(place, windows, strict=True)):
            found = every(g, found, axis, j * w.dilation, w.stride, w.output)
        yield found


def _at(g: Writer, index: Tensor, position: int, value: Tensor) -> Tensor:
    """`value` where the index is the position, else 0."""
    same = compared(g, "EQUAL", index, number(g, position, index))
    return chosen(g, same, value, number(g, 0.0, value))


def _placed(g: Writer, x: Tensor, axis: int, start: int, size: int) -> Tensor:
    """The axis at `start` of an axis of `size` zeros; what lies outside is cut off."""
    extent = shape_of(x)[axis]
    first, end = max(0, -start), min(extent, size - start)
    if end <= first:
        zeros = list(shape_of(x))
        zeros[axis] = size
        return g.const(np.zeros(zeros), x.dtype, "zeros")
    inside = part(g, x, axis, first, end - first)
    at = start + first
    return extended(g, inside, axis, at, size - at - (end - first), "constant")
