"""Operators that look up or replace elements by indices, which may count from the end.

GATHER and SCATTER of TOSA move rows by one index. Several indices become one: the place in the flattened tensor.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....lower import elementary
from ....lower.elementary import chosen, compared, number
from ....lower.layout import gather as lower_gather
from ....lower.layout import gathered, tiled
from ....lower.problems import MOST_MADE
from ....lower.ranking import extremes
from ....lower.scatter import combined, scattered
from ....lower.views import shape_of
from ..elements import INT64
from ..values import Value
from ..writer import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ....lower.writer import Writer
    from ..call import Call
    from ..writer import OnnxWriter


def gather(call: Call) -> Value:
    shape = call.shape(0)
    axis = call.axis(call.attribute("axis", 0), len(shape))
    return value_of(lower_gather(call.g, call.tensor(0), indices(call, 1, shape[axis]), axis), call.element())


def indices(call: Call, index: int, extent: int) -> Tensor:
    """Indices from 0 on. Raises GraphError where known ones leave the axis."""
    given = call.value(index)
    if given.data is not None:
        if given.data.size and not (-extent <= given.data.min() and given.data.max() < extent):
            raise GraphError(f"indices from {given.data.min()} to {given.data.max()} of an axis of {extent}")
        return call.g.const(np.where(given.data < 0, given.data + extent, given.data), types.i32)
    return _places(call.g, call.wide(index), extent)


def _places(g: OnnxWriter, x: Tensor, extent: int) -> Tensor:
    """Indices that have to be places in an axis, from 0 on."""
    g.bound(x, -extent, extent - 1)
    return from_start(g, x, extent)


def from_start(g: Writer, x: Tensor, extent: int) -> Tensor:
    negative = compared(g, "GREATER", number(g, 0, x), x)
    return chosen(g, negative, elementary.plus(g, x, extent), x)


def gather_elements(call: Call) -> Value:
    """output[i, j, k] = data[index[i, j, k], j, k] for axis 0."""
    shape, wanted = call.shape(0), call.shape(1)
    axis = call.axis(call.attribute("axis", 0), len(shape))
    return value_of(_looked_up(call, call.tensor(0), _element_places(call, 1, shape, wanted, axis)), call.element())


def _element_places(call: Call, index: int, shape: Sequence[int], wanted: Sequence[int], axis: int) -> Tensor:
    """The places in the flattened tensor that indices along an axis mean."""
    g, strides = call.g, _strides(shape)
    found = indices(call, index, shape[axis])
    grid = np.zeros(wanted, np.int64)
    for other, extent in enumerate(wanted):
        if other != axis:
            grid += (np.arange(extent) * strides[other]).reshape([-1 if i == other else 1 for i in range(len(wanted))])
    along = elementary.times(g, found, strides[axis]) if strides[axis] != 1 else found
    return g.binary("ADD", along, g.const(grid, types.i32)) if grid.any() else along


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def _looked_up(call: Call, x: Tensor, places: Tensor) -> Tensor:
    """Elements of the flattened tensor."""
    g, count, wanted = call.g, math.prod(shape_of(x)), math.prod(shape_of(places))
    found = gathered(g, g.reshape(x, (1, count, 1)), g.reshape(places, (1, wanted)))
    return g.reshape(found, shape_of(places))


def gather_nd(call: Call) -> Value:
    """The last axis of the indices is a place in the axes behind the batch."""
    g, shape, given = call.g, call.shape(0), call.shape(1)
    batch = call.attribute("batch_dims", 0)
    groups, rows, rest = math.prod(shape[:batch]), shape[batch : batch + given[-1]], shape[batch + given[-1] :]
    places = _row_places(call, 1, rows)
    values = g.reshape(call.tensor(0), (groups, math.prod(rows), math.prod(rest)))
    found = gathered(g, values, g.reshape(places, (groups, math.prod(given[:-1]) // groups)))
    return value_of(g.reshape(found, (*given[:-1], *rest)), call.element())


def _row_places(call: Call, index: int, extents: Sequence[int]) -> Tensor:
    """The places in the flattened leading axes that the last axis of the indices means."""
    g, given, strides = call.g, call.value(index), _strides(extents)
    if len(extents) != given.shape[-1]:
        raise GraphError(f"indices of {given.shape[-1]} axes, of which the tensor has {len(extents)}")
    if given.data is not None:
        from_zero = np.where(given.data < 0, given.data + np.array(extents), given.data)
        if given.data.size and ((from_zero < 0) | (from_zero >= np.array(extents))).any():
            raise GraphError(f"indices outside of shape {list(extents)}")
        return g.const((from_zero * np.array(strides)).sum(-1), types.i32)
    total: Tensor | None = None
    whole, last = call.wide(index), len(given.shape) - 1
    for i, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        part = g.reshape(g.section(whole, last, i, 1), given.shape[:-1])
        part = elementary.times(g, _places(g, part, extent), stride)
        total = part if total is None else g.binary("ADD", total, part)
    assert total is not None
    return total


def scatter_elements(call: Call) -> Value:
    shape, wanted = call.shape(0), call.shape(1)
    axis = call.axis(call.attribute("axis", 0), len(shape))
    places = _element_places(call, 1, shape, wanted, axis)
    count, size = math.prod(shape), math.prod(wanted)
    g = call.g
    found = _scattered(
        call, g.reshape(call.tensor(0), (1, count, 1)), g.reshape(places, (1, size)),
        g.reshape(call.tensor(2), (1, size, 1)),
    )  # fmt: skip
    return value_of(g.reshape(found, shape), call.element())


def scatter_nd(call: Call) -> Value:
    g, shape, given = call.g, call.shape(0), call.shape(1)
    rows, rest = shape[: given[-1]], shape[given[-1] :]
    places = _row_places(call, 1, rows)
    count, size, width = math.prod(rows), math.prod(given[:-1]), math.prod(rest)
    found = _scattered(
        call, g.reshape(call.tensor(0), (1, count, width)), g.reshape(places, (1, size)),
        g.reshape(call.tensor(2), (1, size, width)),
    )  # fmt: skip
    return value_of(g.reshape(found, shape), call.element())


def _scattered(call: Call, values: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    """Rows replaced, each place once; with a reduction, combined."""
    how = call.attribute("reduction", "none")
    if how == "none":
        return scattered(call.g, values, places, updates)
    element = call.element()
    x, more = (call.cast(t, types.i32) if element.is_integer else t for t in (values, updates))
    found = combined(call.g, x, places, more, how)
    return call.g.tensor_of(call.wrapped(found, element)) if element.is_integer else found


def one_hot(call: Call) -> Value:
    """`values` holds what stands elsewhere and at the index; one outside of the depth is nowhere."""
    g, shape = call.g, call.shape(0)
    depth = int(call.scalar(1, "the depth"))
    if not 0 < depth <= MOST_MADE:
        raise Unsupported(f"a depth of {depth}; it is from 1 to {MOST_MADE}")
    axis = call.axis(call.attribute("axis", -1), len(shape) + 1)
    places = from_start(g, call.cast(call.tensor(0), types.i32), depth)
    places = g.reshape(places, (*shape[:axis], 1, *shape[axis:]))
    counter = g.const(np.arange(depth).reshape((1,) * axis + (-1,) + (1,) * (len(shape) - axis)), types.i32)
    values, rank = call.tensor(2), len(shape) + 1
    off, on = (g.reshape(g.section(values, 0, i, 1), (1,) * rank) for i in (0, 1))
    return value_of(chosen(g, compared(g, "EQUAL", places, counter), on, off), call.element(2))


def hardmax(call: Call) -> Value:
    """1 at the first maximum of an axis; before operator set 13, of all axes from `axis` on."""
    g, x, shape = call.g, call.tensor(0), call.shape(0)
    axis = call.axis(call.attribute("axis", 1 if call.version < 13 else -1), len(shape))
    flat = x
    if call.version < 13:
        flat, axis = g.reshape(x, (math.prod(shape[:axis]), math.prod(shape[axis:]))), 1
    extents = shape_of(flat)
    first = g.operator(
        "ARGMAX", [flat], extents[:axis] + extents[axis + 1 :], types.i32, axis=axis, nan_mode="PROPAGATE"
    )
    first = g.reshape(first, (*extents[:axis], 1, *extents[axis + 1 :]))
    inner = [-1 if i == axis else 1 for i in range(len(extents))]
    here = compared(g, "EQUAL", first, g.const(np.arange(extents[axis]).reshape(inner), types.i32))
    rank = len(extents)
    return value_of(
        g.reshape(chosen(g, here, g.scalar(1, x.dtype, rank), g.scalar(0, x.dtype, rank)), shape), call.element()
    )


def top_k(call: Call) -> list[Value]:
    """In order, whatever `sorted` says; equal values stay in their order."""
    k = int(call.scalar(1, "k")) if call.version > 1 and call.has(1) else call.attributes["k"]
    axis = call.axis(call.attribute("axis", -1), len(call.shape(0)))
    x = call.wide(0) if call.element().is_integer else call.tensor(0)
    values, places = extremes(call.g, x, axis, k, largest=bool(call.attribute("largest", 1)))
    call.g.bound(places, 0, call.shape(0)[axis] - 1)
    first = call.wrapped(values, call.element()) if call.element().is_integer else value_of(values, call.element())
    return [first, Value(INT64, shape_of(places), None, places)]


def reverse_sequence(call: Call) -> Value:
    """The first elements of each sample, as many as its length, in the other order."""
    g, shape = call.g, call.shape(0)
    time, batch = call.attribute("time_axis", 0), call.attribute("batch_axis", 1)
    steps = np.arange(shape[time]).reshape([-1 if i == time else 1 for i in range(2)])
    lengths = g.reshape(call.wide(1), [shape[batch] if i == batch else 1 for i in range(2)])
    counter = g.const(steps, types.i32)
    inside = compared(g, "GREATER", lengths, counter)
    back = g.binary("SUB", elementary.plus(g, lengths, -1), counter)
    wide = tuple(max(m, n) for m, n in zip(shape_of(lengths), shape_of(counter), strict=True))
    places = chosen(g, inside, back, tiled(g, counter, [m // n for m, n in zip(wide, shape_of(counter), strict=True)]))
    rest = math.prod(shape[2:])
    x = g.transpose(g.reshape(call.tensor(0), (shape[0], shape[1], rest)), (batch, time, 2))
    found = gathered(g, x, g.transpose(places, (batch, time)))
    return value_of(g.reshape(g.transpose(found, (1, 0, 2) if batch else (0, 1, 2)), shape), call.element())


def cumulative(op: str) -> Callable[[Call], Value]:
    """Doubling steps: each adds (or multiplies) the tensor moved by 1, 2, 4 ... elements."""

    def operator(call: Call) -> Value:
        g, shape = call.g, call.shape(0)
        axis = call.axis(int(call.scalar(1, "the axis")), len(shape))
        integer = call.element().is_integer
        x = call.wide(0) if integer else call.tensor(0)
        start = 0 if op == "ADD" else 1
        if call.attribute("exclusive", 0):
            x = _moved(g, x, axis, 1, start, reverse=bool(call.attribute("reverse", 0)))
        step = 1
        while step < shape[axis]:
            x = g.binary(op, x, _moved(g, x, axis, step, start, reverse=bool(call.attribute("reverse", 0))))
            step *= 2
        return call.wrapped(x, call.element()) if integer else value_of(x, call.element())

    return operator


def _moved(g: Writer, x: Tensor, axis: int, step: int, filling: int, *, reverse: bool) -> Tensor:
    extent, rank = shape_of(x)[axis], len(shape_of(x))
    amounts = [step if i == axis else 0 for i in range(rank)]
    none = [0] * rank
    if reverse:
        return g.pad(g.section(x, axis, step, extent - step), none, amounts, filling)
    return g.pad(g.section(x, axis, 0, extent - step), amounts, none, filling)


def tensor_scatter(call: Call) -> Value:
    """`update` from a place of each sample on, along an axis; 'circular' goes on at the start of the axis."""
    g, shape, more = call.g, call.shape(0), call.shape(1)
    axis = call.axis(call.attribute("axis", -2), len(shape))
    if axis == 0:
        raise Unsupported("an update along the batch")
    order = [0, axis, *(i for i in range(1, len(shape)) if i != axis)]
    n, extent, size, rest = shape[0], shape[axis], more[axis], math.prod(shape) // (shape[0] * shape[axis])
    places = g.const(np.broadcast_to(np.arange(size), (n, size)), types.i32)
    if call.has(2):
        places = g.binary("ADD", places, g.reshape(call.wide(2), (n, 1)))
        if call.attribute("mode", "linear") == "circular":
            beyond = compared(g, "GREATER_EQUAL", places, number(g, extent, places))
            places = chosen(g, beyond, elementary.plus(g, places, -extent), places)
    values = g.reshape(g.transpose(call.tensor(0), order), (n, extent, rest))
    update = g.reshape(g.transpose(call.tensor(1), order), (n, size, rest))
    found = g.reshape(scattered(g, values, places, update), [shape[i] for i in order])
    return value_of(g.transpose(found, [order.index(i) for i in range(len(shape))]), call.element())


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "CumProd": cumulative("MUL"),
    "CumSum": cumulative("ADD"),
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Hardmax": hardmax,
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "TopK": top_k,
}
