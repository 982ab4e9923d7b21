"""sort by any comparator, and the largest elements of an axis.

TOSA sorts nothing. The rank of an element is how many stand before it: those that the comparator puts there, and of
equal ones those with a smaller index. Ranks are a permutation, by which SCATTER places the indices and GATHER the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower.elementary import chosen, compared
from ....lower.layout import gathered
from ....lower.ranking import extremes
from ....lower.views import shape_of
from ....types import count
from ..elements import I32
from ..values import Value
from .bodies import applied

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ..call import Call

MOST_COMPARISONS: Final = 1 << 24


def sort(call: Call) -> list[Value]:
    rank = len(call.inputs[0].shape)
    axis = call.attribute("dimension", -1) % rank
    order = [*(i for i in range(rank) if i != axis), axis]
    extent = call.inputs[0].shape[axis]
    rows = count(call.inputs[0].shape) // extent
    if rows * extent * extent > MOST_COMPARISONS:
        raise Unsupported(
            f"the order of {rows} x {extent} elements, which takes {rows * extent * extent} comparisons; "
            f"at most {MOST_COMPARISONS} are made"
        )
    g = call.g
    flat = [g.reshape(g.transpose(g.full(value), order), (rows, extent)) for value in call.inputs]
    places = _places(call, flat, rows, extent)
    found = []
    for value, x in zip(call.inputs, flat, strict=True):
        taken = gathered(g, g.reshape(x, (rows, extent, 1)), places)
        whole = g.reshape(taken, tuple(value.shape[i] for i in order))
        turned = g.transpose(whole, [order.index(i) for i in range(rank)])
        found.append(Value(value.element, value.shape, None, turned))
    return found


def _places(call: Call, flat: Sequence[Tensor], rows: int, extent: int) -> Tensor:
    """Of every row the indices of its elements in order."""
    g = call.g
    pairs: list[Value] = []
    for value, x in zip(call.inputs, flat, strict=True):
        mine, other = g.reshape(x, (rows, extent, 1)), g.reshape(x, (rows, 1, extent))
        shapes = (rows, 1, extent), (rows, extent, 1)
        pairs += [Value(value.element, s, None, t) for s, t in zip(shapes, (other, mine), strict=True)]
    swapped = [pairs[i ^ 1] for i in range(len(pairs))]
    body = call.operation.regions[0]
    before, after = (g.full(applied(call, body, given)[0]) for given in (pairs, swapped))
    earlier = g.const(np.tri(extent, k=-1, dtype=np.bool_)[None], types.bool_, "earlier")
    tied = compared(g, "LOGICAL_AND", g.unary("LOGICAL_NOT", after), earlier)
    first = compared(g, "LOGICAL_OR", before, tied)
    ones = chosen(g, first, g.scalar(1, types.i32, 3), g.scalar(0, types.i32, 3))
    rank = g.reshape(g.reduce("REDUCE_SUM", ones, 2), (rows, extent))
    index = np.broadcast_to(np.arange(extent, dtype=np.int32)[None, :, None], (rows, extent, 1))
    zeros = g.const(np.zeros((rows, extent, 1), np.int32), types.i32, "zeros")
    found = g.operator("SCATTER", [zeros, rank, g.const(index, types.i32, "indices")], (rows, extent, 1))
    return g.reshape(found, (rows, extent))


def top_k(call: Call) -> list[Value]:
    """The largest elements of the last axis with their places."""
    value, size = call.inputs[0], call.kind.shape[-1]
    largest = bool(call.attribute("largest", True))
    values, places = extremes(call.g, call.full(0), len(value.shape) - 1, size, largest=largest)
    return [Value(value.element, shape_of(values), None, values), Value(I32, shape_of(places), None, places)]


OPERATORS: Final[Mapping[str, Callable[[Call], list[Value]]]] = {"sort": sort, "top_k": top_k, "topk": top_k}
