"""Parts of tensors, and tensors of parts: split, stack, slices with steps, tiles, gather."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import types
from ..types import count
from .axes import every, joined, reversed_
from .elementary import chosen, compared
from .problems import Misfit, check_made
from .views import shape_of, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
    from ..types import Array
    from .writer import Writer


def split(g: Writer, x: Tensor, axis: int, sizes: Sequence[int]) -> list[Tensor]:
    """Neighbouring parts of an axis."""
    parts, start = [], 0
    for size in sizes:
        parts.append(g.section(x, axis, start, size))
        start += size
    return parts


def unstacked(g: Writer, x: Tensor, axis: int) -> list[Tensor]:
    """The elements of an axis, without it."""
    shape = shape_of(x)
    rest = shape[:axis] + shape[axis + 1 :]
    return [g.reshape(g.section(x, axis, i, 1), rest) for i in range(shape[axis])]


def stacked(g: Writer, tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors of one shape along a new axis."""
    shape = shape_of(tensors[0])
    single = [g.reshape(t, (*shape[:axis], 1, *shape[axis:])) for t in tensors]
    return joined(g, single, axis)


def stepped(g: Writer, x: Tensor, axis: int, start: int, step: int, size: int) -> Tensor:
    """The `size` elements start, start + step, ... of an axis; a negative step goes backwards."""
    if step > 0:
        return every(g, x, axis, start, step, size)
    return reversed_(g, every(g, x, axis, start + (size - 1) * step, -step, size), axis)


def tiled(g: Writer, x: Tensor, repeats: Sequence[int]) -> Tensor:
    """The tensor `repeats` times along each axis."""
    shape = tuple(n * r for n, r in zip(shape_of(x), repeats, strict=True))
    return x if shape == shape_of(x) else g.operator("TILE", [x, g.dims(repeats)], shape)


def gather(g: Writer, x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Elements of an axis, which gives way to the axes of `indices`.

    GATHER of rows: the axis in front, everything else behind; indices of any rank are one list.
    """
    shape, wanted = shape_of(x), shape_of(indices)
    before, behind = count(shape[:axis]), count(shape[axis + 1 :])
    rows = g.transpose(g.reshape(x, (before, shape[axis], behind)), (1, 0, 2))
    found = gathered(g, g.reshape(rows, (1, shape[axis], before * behind)), g.reshape(indices, (1, count(wanted))))
    turned = g.transpose(g.reshape(found, (count(wanted), before, behind)), (1, 0, 2))
    return g.reshape(turned, (*shape[:axis], *wanted, *shape[axis + 1 :]))


def at_constant(g: Writer, x: Tensor, indices: Array, axis: int) -> Tensor:
    """`gather` of constant indices; negative ones count from the end. Even steps, also backwards, take no GATHER."""
    extent = shape_of(x)[axis]
    fits = (indices == np.floor(indices)) & (indices >= -extent) & (indices < extent)
    if not fits.all():
        raise Misfit(f"an index {indices[~fits][0]} is beyond an axis of {extent} elements")
    wanted = indices.astype(np.int64)
    wanted = np.where(wanted < 0, wanted + extent, wanted)
    steps = np.diff(wanted.reshape(-1))
    if wanted.size == 1 or (steps[0] and (steps == steps[0]).all()):
        step = int(steps[0]) if steps.size else 1
        found = stepped(g, x, axis, int(wanted.flat[0]), step, wanted.size)
        return g.reshape(found, (*shape_of(x)[:axis], *wanted.shape, *shape_of(x)[axis + 1 :]))
    return gather(g, x, g.const(wanted, types.i32, "indices"), axis)


def gather_elements(g: Writer, x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Of every element of `indices` the element of `x` at its own place, but at this index of the axis."""
    shape, wanted = shape_of(x), shape_of(indices)
    fit = len(shape) == len(wanted) and all(
        m <= n for i, (m, n) in enumerate(zip(wanted, shape, strict=True)) if i != axis
    )
    if not fit:
        raise Misfit(f"indices of shape {list(wanted)} don't fit a tensor of shape {list(shape)}")
    inside = g.slice(x, (0,) * len(shape), tuple(n if i == axis else wanted[i] for i, n in enumerate(shape)))
    order = [*(i for i in range(len(shape)) if i != axis), axis]
    rows = count(wanted) // wanted[axis]
    values = g.reshape(g.transpose(inside, order), (rows, shape[axis], 1))
    found = gathered(g, values, g.reshape(g.transpose(indices, order), (rows, wanted[axis])))
    turned = g.reshape(within(found, x), tuple(wanted[i] for i in order))
    return g.transpose(turned, [order.index(i) for i in range(len(order))])


def one_hot(g: Writer, x: Tensor, axis: int, size: int, off: float, on: float) -> Tensor:
    """A new axis of `size` elements: `on` at the index that `x` says, elsewhere `off`."""
    shape = shape_of(x)
    if size < 1:
        raise Misfit(f"an axis of {size} elements")
    check_made(size, "an axis")
    index = g.reshape(x, (*shape[:axis], 1, *shape[axis:]))
    places = np.arange(size, dtype=np.int32).reshape((1,) * axis + (size,) + (1,) * (len(shape) - axis))
    same = compared(g, "EQUAL", index, g.const(places, types.i32, "places"))
    return chosen(g, same, g.scalar(on, rank=len(shape) + 1), g.scalar(off, rank=len(shape) + 1))


def triangle(g: Writer, x: Tensor, diagonal: int, *, upper: bool) -> Tensor:
    """The last two axes from a diagonal on (or up to it); 0 elsewhere."""
    rows, columns = shape_of(x)[-2:]
    check_made(rows * columns, "a triangle")
    kept = np.tri(rows, columns, diagonal - upper, dtype=np.bool_) ^ upper
    if x.data is not None:
        return g.const(np.where(kept, x.data, 0), x.dtype, "triangle")
    mask = g.const(kept.reshape((1,) * (len(shape_of(x)) - 2) + kept.shape), types.bool_, "kept")
    return within(chosen(g, mask, x, g.scalar(0, x.dtype, len(shape_of(x)))), x)


def gathered(g: Writer, values: Tensor, indices: Tensor) -> Tensor:
    """GATHER: values [N, K, C], indices [N, W]."""
    n, _, channels = shape_of(values)
    size = shape_of(indices)[1]
    if values.dtype is not types.bool_:
        return g.operator("GATHER", [values, indices], (n, size, channels))
    one = g.operator("CAST", [values], shape_of(values), types.i8)  # TOSA gathers no bool
    return g.operator(
        "CAST", [g.operator("GATHER", [one, indices], (n, size, channels))], (n, size, channels), types.bool_
    )
