"""Parts of tensors, and tensors of parts: split, stack, slices with steps, tiles, gather."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from ..types import count
from .axes import every, joined, reversed_
from .views import shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
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
