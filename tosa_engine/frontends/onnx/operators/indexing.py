"""Operators that look up elements by indices, which may count from the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower import elementary
from ....lower.layout import gather as lower_gather
from ..writer import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call
    from ..values import Value


def gather(call: Call) -> Value:
    shape = call.shape(0)
    axis = call.axis(call.attribute("axis", 0), len(shape))
    return value_of(lower_gather(call.g, call.tensor(0), indices(call, 1, shape[axis]), axis), call.element())


def indices(call: Call, index: int, extent: int) -> Tensor:
    """Indices from 0 on. Raises Unsupported where known ones leave the axis."""
    given = call.value(index)
    if given.data is not None:
        if given.data.size and not (-extent <= given.data.min() and given.data.max() < extent):
            raise Unsupported(f"indices from {given.data.min()} to {given.data.max()} of an axis of {extent}")
        return call.g.const(np.where(given.data < 0, given.data + extent, given.data), types.i32)
    return from_start(call, call.wide(index), extent)


def from_start(call: Call, x: Tensor, extent: int) -> Tensor:
    g = call.g
    negative = elementary.compared(g, "GREATER", elementary.number(g, 0, x), x)
    return elementary.chosen(g, negative, g.binary("ADD", x, elementary.number(g, extent, x)), x)


def one_hot(call: Call) -> Value:
    """`values` holds what stands elsewhere and at the index; one outside of the depth is nowhere."""
    g, shape = call.g, call.shape(0)
    depth = int(call.known(1, "the depth").reshape(-1)[0])
    axis = call.axis(call.attribute("axis", -1), len(shape) + 1)
    places = from_start(call, _whole(call, 0), depth)
    places = g.reshape(places, (*shape[:axis], 1, *shape[axis:]))
    counter = g.const(np.arange(depth).reshape((1,) * axis + (-1,) + (1,) * (len(shape) - axis)), types.i32)
    found = elementary.compared(g, "EQUAL", places, counter)
    values = call.tensor(2)
    rank = len(shape) + 1
    off, on = (g.reshape(g.section(values, 0, i, 1), (1,) * rank) for i in (0, 1))
    return value_of(elementary.chosen(g, found, on, off), call.element(2))


def _whole(call: Call, index: int) -> Tensor:
    x = call.tensor(index)
    return call.cast(x, types.i32)


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {"Gather": gather, "OneHot": one_hot}
