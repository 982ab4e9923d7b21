"""Regions of interest (section 4.6). TOSA has no shapes that depend on data: regions become masks and weights.

Of each region and each output cell along one axis, a row says how much of every input position is in it: [N, cells,
extent]. Averages and interpolation are then two matrix products, one per spatial axis, and maxima a SELECT and a
REDUCE_MAX per axis.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....types import count
from .along import part
from .elementary import chosen, compared, number, plus, round_, times
from .layout import gathered
from .linear import matmul_of
from .resize import method_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....graph import Tensor
    from ..build import NnefWriter
    from ..document import Operation
    from ..mapping import Mapper


def _operands(b: NnefWriter, operation: Operation) -> tuple[Tensor, Tensor, Sequence[int]]:
    """The feature maps of the regions' batch items [N, C, ...], the regions [N, 2 * M], and the output's extents."""
    arguments = operation.arguments
    x, rois, items = (b.value(arguments[name]) for name in ("input", "rois", "batch_index"))
    size, shape = arguments["output_size"], b.shape_of(x)
    spatial = len(shape) - 2
    number_of = b.shape_of(rois)[0] if b.shape_of(rois) else 0
    if spatial < 1 or len(size) != spatial or min(size, default=0) < 1:
        raise b.error(f"'output_size' needs {spatial} positive items, got {list(size)}")
    if b.shape_of(rois) != (number_of, 2 * spatial) or count(b.shape_of(items)) != number_of:
        wrong = f"'rois' of shape {list(b.shape_of(rois))} and 'batch_index' of shape {list(b.shape_of(items))}"
        raise b.error(f"{wrong}; wanted [N, {2 * spatial}] and [N, 1]")
    flat = b.reshape(x, (1, shape[0], count(shape[1:])))
    maps = b.reshape(gathered(b, flat, b.reshape(items, (1, number_of))), (number_of, *shape[1:]))
    return b.within(maps, x), rois, size


def _ends(b: NnefWriter, rois: Tensor, axis: int, spatial: int) -> tuple[Tensor, Tensor]:
    """Where the regions begin and end along one spatial axis: two tensors [N, 1, 1]."""
    n = b.shape_of(rois)[0]
    return (
        b.reshape(part(b, rois, 1, axis, 1), (n, 1, 1)),
        b.reshape(part(b, rois, 1, axis + spatial, 1), (n, 1, 1)),
    )


def _counter(b: NnefWriter, extent: int, axis: int) -> Tensor:
    """0 .. extent - 1 along one of three axes."""
    shape = [extent if i == axis else 1 for i in range(3)]
    return b.const(np.arange(extent, dtype=np.float32).reshape(shape), types.fp32, "counter")


def _cells(b: NnefWriter, rois: Tensor, axis: int, spatial: int, cells: int, extent: int) -> tuple[Tensor, Tensor]:
    """Which positions are in which cell, bool [N, cells, extent], and the extent of a cell [N, 1, 1].

    Of a region of r positions, cell i begins at i * floor(r / cells) from its start, and has ceil(r / cells) of them.
    """
    start, end = (round_(b, t) for t in _ends(b, rois, axis, spatial))
    width = b.binary("SUB", end, start)
    # whole quotients of whole numbers: a half added above, so that rounding of the reciprocal can't cross one
    stride = b.unary("FLOOR", times(b, plus(b, width, 0.5), 1.0 / cells))
    size = b.unary("FLOOR", times(b, plus(b, width, cells - 0.5), 1.0 / cells))
    low = b.binary("ADD", start, b.binary("MUL", stride, _counter(b, cells, 1)))
    high = b.binary("ADD", low, size)
    at = _counter(b, extent, 2)
    return compared(b, "LOGICAL_AND", compared(b, "GREATER_EQUAL", at, low), compared(b, "GREATER", high, at)), size


def avg_roi_pool(b: NnefWriter, operation: Operation) -> Tensor:
    """Sums by matrix products, divided by the cells' volume; an axis with cells of no extent gives 0."""
    x, rois, size = _operands(b, operation)
    for axis, cells in enumerate(size):
        mask, width = _cells(b, rois, axis, len(size), cells, b.shape_of(x)[2 + axis])
        one = number(b, 1.0, width)
        share = b.unary("RECIPROCAL", b.binary("MAXIMUM", width, one))
        weights = chosen(b, mask, share, number(b, 0.0, width))
        x = _weighted(b, x, 2 + axis, weights)
    return x


def _weighted(b: NnefWriter, x: Tensor, axis: int, weights: Tensor) -> Tensor:
    """One axis of every batch item times its matrix [N, cells, extent], whose rows add up to 1 or to 0."""
    shape = b.shape_of(x)
    order = [0, axis, *(i for i in range(1, len(shape)) if i != axis)]
    turned = b.transpose(x, order)
    rows = b.reshape(turned, (shape[0], shape[axis], count(shape) // (shape[0] * shape[axis])))
    found = b.reshape(matmul_of(b, weights, rows), (shape[0], b.shape_of(weights)[1], *(shape[i] for i in order[2:])))
    return b.within(b.transpose(found, [order.index(i) for i in range(len(shape))]), x)


def max_roi_pool(b: NnefWriter, operation: Operation) -> Tensor:
    """Axis by axis the largest value of each cell; -infinity where a cell has none."""
    x, rois, size = _operands(b, operation)
    for axis, cells in enumerate(size, 2):
        shape = b.shape_of(x)
        mask, _ = _cells(b, rois, axis - 2, len(size), cells, shape[axis])
        before, behind = count(shape[1:axis]), count(shape[axis + 1 :])
        values = b.reshape(x, (shape[0], before, 1, shape[axis], behind))
        inside = b.reshape(mask, (shape[0], 1, cells, shape[axis], 1))
        kept = chosen(b, inside, values, b.scalar(-math.inf, rank=5))
        most = b.reduce("REDUCE_MAX", kept, 3)
        x = b.reshape(most, (*shape[:axis], cells, *shape[axis + 1 :]))
    return x


def roi_resample(b: NnefWriter, operation: Operation) -> Tensor:
    """Multilinear interpolation at positions inside the regions, whose ends aren't rounded; positions outside of the
    feature map are clamped to it.
    """
    x, rois, size = _operands(b, operation)
    method = method_of(b, operation.arguments["method"])
    for axis, outputs in enumerate(size):
        extent = b.shape_of(x)[2 + axis]
        start, end = _ends(b, rois, axis, len(size))
        at = _sampled(b, start, b.binary("SUB", end, start), outputs, method)
        distance = b.unary("ABS", b.binary("SUB", b.clamp(at, 0.0, extent - 1.0), _counter(b, extent, 2)))
        hat = b.clamp(b.binary("SUB", number(b, 1.0, distance), distance), 0.0, 1.0)
        x = _weighted(b, x, 2 + axis, hat)
    return x


def _sampled(b: NnefWriter, start: Tensor, width: Tensor, outputs: int, method: str) -> Tensor:
    """The positions in the input that the outputs stand for: [N, outputs, 1]."""
    steps = np.arange(outputs, dtype=np.float64)
    if method == "aligned":
        share = b.const((steps / max(outputs - 1, 1)).reshape(1, -1, 1), types.fp32, "shares")
        return b.binary("ADD", start, b.binary("MUL", plus(b, width, -1.0), share))
    middle = 0.5 if method == "symmetric" else 0.0
    share = b.const(((steps + middle) / outputs).reshape(1, -1, 1), types.fp32, "shares")
    at = b.binary("ADD", start, b.binary("MUL", width, share))
    return plus(b, at, -middle) if middle else at


MAPPERS: Final[Mapping[str, Mapper]] = {
    "avg_roi_pool": avg_roi_pool,
    "max_roi_pool": max_roi_pool,
    "roi_resample": roi_resample,
}
