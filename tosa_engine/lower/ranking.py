"""The largest or least elements of an axis, in order.

TOSA sorts nothing. The rank of an element is how many stand before it: all that are larger, and of equal ones those
with a smaller index. Ranks are a permutation, so SCATTER of the indices by them is the order, and GATHER takes the
values: both are exact for all numbers, infinite ones and integers of a quantization, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types
from ..types import count
from .axes import part
from .elementary import chosen, compared
from .problems import Misfit, Unlowered
from .views import shape_of, within

if TYPE_CHECKING:
    from ..graph import Tensor
    from .writer import Writer

MOST_COMPARISONS: Final = 1 << 24


def extremes(g: Writer, x: Tensor, axis: int, size: int, *, largest: bool) -> tuple[Tensor, Tensor]:
    """The `size` first values of the axis in descending order (ascending unless `largest`), and their indices as int32.

    Equal values stay in their order.
    """
    shape = shape_of(x)
    if not 1 <= size <= shape[axis]:
        raise Misfit(f"{size} elements of an axis of {shape[axis]}")
    if count(shape) * shape[axis] > MOST_COMPARISONS:
        raise Unlowered(
            f"the order of {count(shape) // shape[axis]} x {shape[axis]} elements, which takes "
            f"{count(shape) * shape[axis]} comparisons; at most {MOST_COMPARISONS} are made"
        )
    order = [*(i for i in range(len(shape)) if i != axis), axis]
    rows, extent = count(shape) // shape[axis], shape[axis]
    flat = g.reshape(g.transpose(x, order), (rows, extent))
    places = g.reshape(part(g, _places(g, flat, largest), 1, 0, size), (rows, size))
    values = g.operator("GATHER", [g.reshape(flat, (rows, extent, 1)), places], (rows, size, 1))
    kept, back = (*(shape[i] for i in order[:-1]), size), [order.index(i) for i in range(len(shape))]
    found = [g.transpose(g.reshape(t, kept), back) for t in (within(values, x), places)]
    return found[0], found[1] if found[1] is not places else g.unary("IDENTITY", places)  # GATHER reads `places`


def _places(g: Writer, x: Tensor, largest: bool) -> Tensor:
    """Of every row of `x` the indices of its elements in order: int32 [rows, extent, 1]."""
    rows, extent = shape_of(x)
    mine, other = g.reshape(x, (rows, extent, 1)), g.reshape(x, (rows, 1, extent))
    above = compared(g, "GREATER", other, mine) if largest else compared(g, "GREATER", mine, other)
    earlier = g.const(np.tri(extent, k=-1, dtype=np.bool_)[None], types.bool_, "earlier")
    tied = compared(g, "LOGICAL_AND", compared(g, "EQUAL", mine, other), earlier)
    before = compared(g, "LOGICAL_OR", above, tied)
    ones = chosen(g, before, g.scalar(1, types.i32, 3), g.scalar(0, types.i32, 3))
    rank = g.reshape(g.reduce("REDUCE_SUM", ones, 2), (rows, extent))
    index = np.broadcast_to(np.arange(extent, dtype=np.int32)[None, :, None], (rows, extent, 1))
    zeros = g.const(np.zeros((rows, extent, 1), np.int32), types.i32, "zeros")
    return g.operator("SCATTER", [zeros, rank, g.const(index, types.i32, "indices")], (rows, extent, 1))
