"""Regions of feature maps whose places are data. TOSA has no shapes that depend on data: they become masks and weights.

Of each region and each output cell along one axis, a row says how much of every input position is in it: [N, cells,
extent]. Averages and interpolation are then two matrix products, one per spatial axis, and maxima a SELECT and a
REDUCE_MAX per axis. `maps` [N, C, spatial axes ...] are the feature maps of the regions; `regions` [N, 2 * axes] says
where they begin along the spatial axes, then where they end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import types
from ..types import count
from .axes import part
from .elementary import chosen, compared, number, plus, round_, times
from .layout import gathered
from .linear import matmul
from .views import shape_of, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
    from .writer import Writer


def maps_of(g: Writer, x: Tensor, items: Tensor) -> Tensor:
    """The feature maps of the batch `items`, one for each region."""
    shape, regions = shape_of(x), count(shape_of(items))
    flat = g.reshape(x, (1, shape[0], count(shape[1:])))
    maps = g.reshape(gathered(g, flat, g.reshape(items, (1, regions))), (regions, *shape[1:]))
    return within(maps, x)


def averages(g: Writer, maps: Tensor, regions: Tensor, cells: Sequence[int]) -> Tensor:
    """Sums by matrix products, divided by the cells' volume; an axis with cells of no extent gives 0."""
    for axis, number_of in enumerate(cells):
        mask, width = _cells(g, regions, axis, len(cells), number_of, shape_of(maps)[2 + axis])
        one = number(g, 1.0, width)
        share = g.unary("RECIPROCAL", g.binary("MAXIMUM", width, one))
        weights = chosen(g, mask, share, number(g, 0.0, width))
        maps = weighted(g, maps, 2 + axis, weights)
    return maps


def maxima(g: Writer, maps: Tensor, regions: Tensor, cells: Sequence[int]) -> Tensor:
    """Axis by axis the largest value of each cell; -infinity where a cell has none."""
    for axis, number_of in enumerate(cells):
        mask, _ = _cells(g, regions, axis, len(cells), number_of, shape_of(maps)[2 + axis])
        maps = largest(g, maps, 2 + axis, mask)
    return maps


def largest(g: Writer, maps: Tensor, axis: int, mask: Tensor) -> Tensor:
    """The largest value of one axis that each row of the mask [N, cells, extent] leaves; -infinity of nothing."""
    shape, cells = shape_of(maps), shape_of(mask)[1]
    before, behind = count(shape[1:axis]), count(shape[axis + 1 :])
    values = g.reshape(maps, (shape[0], before, 1, shape[axis], behind))
    inside = g.reshape(mask, (shape[0], 1, cells, shape[axis], 1))
    kept = chosen(g, inside, values, g.scalar(-math.inf, rank=5))
    most = g.reduce("REDUCE_MAX", kept, 3)
    return g.reshape(most, (*shape[:axis], cells, *shape[axis + 1 :]))


def resampled(g: Writer, maps: Tensor, regions: Tensor, outputs: Sequence[int], method: str) -> Tensor:
    """Multilinear interpolation at positions inside the regions, whose ends aren't rounded; positions outside of the
    feature map are clamped to it. `method` is one of `resize.METHODS`.
    """
    for axis, wanted in enumerate(outputs):
        extent = shape_of(maps)[2 + axis]
        start, end = _ends(g, regions, axis, len(outputs))
        at = _sampled(g, start, g.binary("SUB", end, start), wanted, method)
        distance = g.unary("ABS", g.binary("SUB", g.clamp(at, 0.0, extent - 1.0), _counter(g, extent, 2)))
        hat = g.clamp(g.binary("SUB", number(g, 1.0, distance), distance), 0.0, 1.0)
        maps = weighted(g, maps, 2 + axis, hat)
    return maps


def _ends(g: Writer, regions: Tensor, axis: int, spatial: int) -> tuple[Tensor, Tensor]:
    """Where the regions begin and end along one spatial axis: two tensors [N, 1, 1]."""
    n = shape_of(regions)[0]
    return (
        g.reshape(part(g, regions, 1, axis, 1), (n, 1, 1)),
        g.reshape(part(g, regions, 1, axis + spatial, 1), (n, 1, 1)),
    )


def _counter(g: Writer, extent: int, axis: int) -> Tensor:
    """0 .. extent - 1 along one of three axes."""
    shape = [extent if i == axis else 1 for i in range(3)]
    return g.const(np.arange(extent, dtype=np.float32).reshape(shape), types.fp32, "counter")


def _cells(g: Writer, regions: Tensor, axis: int, spatial: int, cells: int, extent: int) -> tuple[Tensor, Tensor]:
    """Which positions are in which cell, bool [N, cells, extent], and the extent of a cell [N, 1, 1].

    Of a region of r positions, cell i begins at i * floor(r / cells) from its start, and has ceil(r / cells) of them.
    """
    start, end = (round_(g, t) for t in _ends(g, regions, axis, spatial))
    width = g.binary("SUB", end, start)
    # whole quotients of whole numbers: a half added above, so that rounding of the reciprocal can't cross one
    stride = g.unary("FLOOR", times(g, plus(g, width, 0.5), 1.0 / cells))
    size = g.unary("FLOOR", times(g, plus(g, width, cells - 0.5), 1.0 / cells))
    low = g.binary("ADD", start, g.binary("MUL", stride, _counter(g, cells, 1)))
    high = g.binary("ADD", low, size)
    at = _counter(g, extent, 2)
    return compared(g, "LOGICAL_AND", compared(g, "GREATER_EQUAL", at, low), compared(g, "GREATER", high, at)), size


def weighted(g: Writer, x: Tensor, axis: int, weights: Tensor) -> Tensor:
    """One axis of every batch item times its matrix [N, cells, extent], whose rows add up to 1 or to 0."""
    shape = shape_of(x)
    order = [0, axis, *(i for i in range(1, len(shape)) if i != axis)]
    turned = g.transpose(x, order)
    rows = g.reshape(turned, (shape[0], shape[axis], count(shape) // (shape[0] * shape[axis])))
    found = g.reshape(matmul(g, weights, rows), (shape[0], shape_of(weights)[1], *(shape[i] for i in order[2:])))
    return within(g.transpose(found, [order.index(i) for i in range(len(shape))]), x)


def _sampled(g: Writer, start: Tensor, width: Tensor, outputs: int, method: str) -> Tensor:
    """The positions in the input that the outputs stand for: [N, outputs, 1]."""
    steps = np.arange(outputs, dtype=np.float64)
    if method == "aligned":
        share = g.const((steps / max(outputs - 1, 1)).reshape(1, -1, 1), types.fp32, "shares")
        return g.binary("ADD", start, g.binary("MUL", plus(g, width, -1.0), share))
    middle = 0.5 if method == "symmetric" else 0.0
    share = g.const(((steps + middle) / outputs).reshape(1, -1, 1), types.fp32, "shares")
    at = g.binary("ADD", start, g.binary("MUL", width, share))
    return plus(g, at, -middle) if middle else at
