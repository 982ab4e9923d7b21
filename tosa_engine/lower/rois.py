"""Pooling of regions as detectors have it: averages or maxima of samples at fractions of a region (RoiAlign), and
maxima of whole elements, where neighbouring cells may share some (MaxRoiPool).

`maps` and `regions` are those of `regions`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import types
from .axes import each_repeated, part, repeated
from .elementary import chosen, compared, number, plus, times
from .grids import inside, neighbours
from .regions import largest, weighted
from .views import shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
    from .writer import Writer


def averages_of_samples(
    g: Writer, maps: Tensor, regions: Tensor, cells: Sequence[int], samples: int, smallest: float
) -> Tensor:
    """Of each cell the average of `samples` evenly spaced places along each axis, interpolated linearly.

    A place up to one element outside of the map is its end; one farther out counts as 0. A region has an extent of
    `smallest` at least.
    """
    for axis, number_of in enumerate(cells):
        extent, n = shape_of(maps)[2 + axis], shape_of(regions)[0]
        at = _places(g, regions, axis, len(cells), number_of, samples, smallest)
        seen = inside(g, at, -1.0, float(extent))
        counter = g.const(np.arange(extent, dtype=np.float32).reshape(1, 1, -1), types.fp32, "counter")
        at = g.reshape(g.clamp(at, 0.0, extent - 1.0), (n, number_of * samples, 1))
        distance = g.unary("ABS", g.binary("SUB", at, counter))
        hat = g.clamp(g.binary("SUB", number(g, 1.0, distance), distance), 0.0, 1.0)
        hat = chosen(g, g.reshape(seen, (n, number_of * samples, 1)), hat, number(g, 0.0, hat))
        rows = g.reduce("REDUCE_SUM", g.reshape(hat, (n, number_of, samples, extent)), 2)
        maps = weighted(g, maps, 2 + axis, times(g, g.reshape(rows, (n, number_of, extent)), 1 / samples))
    return maps


def _places(g: Writer, regions: Tensor, axis: int, spatial: int, cells: int, samples: int, smallest: float) -> Tensor:
    """Where the samples of one axis lie: [N, cells * samples]."""
    start, end = part(g, regions, 1, axis, 1), part(g, regions, 1, axis + spatial, 1)
    width = g.binary("SUB", end, start)
    width = width if smallest == -math.inf else g.clamp(width, smallest, 1e9)
    steps = (np.arange(cells * samples) + 0.5) / (cells * samples)
    return g.binary("ADD", start, g.binary("MUL", width, g.const(steps.reshape(1, -1), types.fp32, "shares")))


def maxima_of_samples(
    g: Writer, maps: Tensor, regions: Tensor, cells: Sequence[int], samples: int, smallest: float
) -> Tensor:
    """Of each cell the largest of the neighbours' values times their shares, of all places; two spatial axes."""
    n, channels, *extents = shape_of(maps)
    first, second = (_places(g, regions, i, 2, cells[i], samples, smallest) for i in (0, 1))
    rows, columns = cells[0] * samples, cells[1] * samples
    places = [each_repeated(g, first, 1, columns), repeated(g, second, 1, rows)]
    seen = [inside(g, at, -1.0, float(extent)) for at, extent in zip(places, extents, strict=True)]
    most: Tensor | None = None
    for values, share in neighbours(g, maps, places, "linear", "border"):
        assert share is not None
        term = g.binary("MUL", values, share)
        most = term if most is None else g.binary("MAXIMUM", most, term)
    assert most is not None
    both = g.reshape(compared(g, "LOGICAL_AND", *seen), (n, rows * columns, 1))
    most = chosen(g, both, most, number(g, 0.0, most))
    grid = g.reshape(most, (n * cells[0], samples, cells[1], samples * channels))
    grid = g.reshape(g.reduce("REDUCE_MAX", grid, 1), (n, cells[0] * cells[1], samples, channels))
    found = g.reshape(g.reduce("REDUCE_MAX", grid, 2), (n, *cells, channels))
    return g.transpose(found, (0, 3, 1, 2))


def maxima_of_elements(g: Writer, maps: Tensor, regions: Tensor, cells: Sequence[int]) -> Tensor:
    """Of whole elements: `regions` are i32 and hold their ends, too. Cell i of c over a region of r elements goes from
    floor(i * r / c) to ceil((i + 1) * r / c); one that holds nothing of the map is 0.
    """
    n, spatial, found_some = shape_of(regions)[0], len(cells), None
    for axis, number_of in enumerate(cells):
        extent = shape_of(maps)[2 + axis]
        start, end = part(g, regions, 1, axis, 1), part(g, regions, 1, axis + spatial, 1)
        size = plus(g, g.binary("SUB", end, start), 1)
        size = g.binary("MAXIMUM", size, number(g, 1, size))
        steps = g.const(np.arange(number_of).reshape(1, -1), types.i32, "cells")
        low = g.binary("ADD", start, _divided(g, g.binary("MUL", size, steps), number_of))
        past = plus(g, g.binary("MUL", size, plus(g, steps, 1)), number_of - 1)
        high = g.binary("ADD", start, _divided(g, past, number_of))
        at = g.const(np.arange(extent).reshape(1, 1, -1), types.i32, "counter")
        low, high = (g.reshape(t, (n, number_of, 1)) for t in (low, high))
        within = compared(g, "GREATER_EQUAL", at, low)
        mask = compared(g, "LOGICAL_AND", within, compared(g, "GREATER", high, at))
        some = g.reshape(
            g.operator("REDUCE_ANY", [mask], (n, number_of, 1), types.bool_, axis=2),
            (n, 1, *(number_of if i == axis else 1 for i in range(spatial))),
        )
        found_some = some if found_some is None else compared(g, "LOGICAL_AND", found_some, some)
        maps = largest(g, maps, 2 + axis, mask)
    assert found_some is not None
    return chosen(g, found_some, maps, number(g, 0.0, maps))


def _divided(g: Writer, x: Tensor, divisor: int) -> Tensor:
    return g.operator("INTDIV", [x, number(g, divisor, x)], shape_of(x))
