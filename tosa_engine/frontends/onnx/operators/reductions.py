"""Reductions over axes, which stay with an extent of 1 or go, and places of extremes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....lower import elementary
from ....lower.axes import reversed_
from ....lower.reductions import mean, place_of_extreme, reduced
from ....lower.views import shape_of
from ..elements import INT64
from ..values import Value
from ..writer import value_of
from .elementwise import result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ..call import Call

    Reduce = Callable[[Call, Tensor, Sequence[int]], Tensor]


def reduction(reduce: Reduce) -> Callable[[Call], Value]:
    def operator(call: Call) -> Value:
        shape = call.shape(0)
        axes = call.integers_of("axes", 1)
        if not axes:
            axes = [] if call.attribute("noop_with_empty_axes", 0) else list(range(len(shape)))
        at = call.axes(axes, len(shape))
        x = call.wide(0) if call.element().is_integer else call.tensor(0)
        x = call.cast(x, types.i32) if x.dtype is types.bool_ else x
        found = reduce(call, x, at)
        if not call.attribute("keepdims", 1):
            found = call.g.reshape(found, tuple(n for axis, n in enumerate(shape) if axis not in at))
        return result(call, found) if found.dtype is not types.bool_ else value_of(found)

    return operator


def of(op: str) -> Reduce:
    return lambda call, x, axes: reduced(call.g, op, x, axes)


def _mean(call: Call, x: Tensor, axes: Sequence[int]) -> Tensor:
    if x.dtype is types.fp32:
        return mean(call.g, x, axes)
    total = reduced(call.g, "REDUCE_SUM", x, axes)
    count = 1
    for axis in axes:
        count *= shape_of(x)[axis]
    if total.dtype is types.i32:
        return call.g.operator("INTDIV", [total, elementary.number(call.g, count, total)], shape_of(total))
    return elementary.times(call.g, total, 1 / count)


def _absolute(call: Call, x: Tensor, axes: Sequence[int]) -> Tensor:
    return reduced(call.g, "REDUCE_SUM", call.g.unary("ABS", x), axes)


def _squares(call: Call, x: Tensor, axes: Sequence[int]) -> Tensor:
    return reduced(call.g, "REDUCE_SUM", call.g.binary("MUL", x, x), axes)


def _log_sum_exp(call: Call, x: Tensor, axes: Sequence[int]) -> Tensor:
    g = call.g
    most = reduced(g, "REDUCE_MAX", x, axes)
    total = reduced(g, "REDUCE_SUM", g.unary("EXP", g.binary("SUB", x, most)), axes)
    return g.binary("ADD", g.unary("LOG", total), most)


def extreme(*, least: bool) -> Callable[[Call], Value]:
    """The place of the first, or of the last, of equal extremes."""

    def operator(call: Call) -> Value:
        g, shape = call.g, call.shape(0)
        axis = call.axis(call.attribute("axis", 0), len(shape))
        x = call.tensor(0)
        if call.element().is_integer and x.dtype is not types.i8:
            x = call.cast(x, types.fp32) if x.dtype is types.i32 else call.cast(call.cast(x, types.i32), types.fp32)
        last = bool(call.attribute("select_last_index", 0))
        x = call.cast(call.cast(x, types.i32), types.fp32) if x.dtype is types.i8 and least else x
        found = place_of_extreme(g, reversed_(g, x, axis) if last else x, [axis], least=least)
        if last:
            found = g.binary("SUB", elementary.number(g, shape[axis] - 1, found), found)
        g.bound(found, 0, shape[axis] - 1)
        if not call.attribute("keepdims", 1):
            found = g.reshape(found, shape[:axis] + shape[axis + 1 :])
        return Value(INT64, shape_of(found), None, found)

    return operator


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "ArgMax": extreme(least=False),
    "ArgMin": extreme(least=True),
    "ReduceL1": reduction(_absolute),
    "ReduceL2": reduction(lambda call, x, axes: elementary.root(call.g, _squares(call, x, axes))),
    "ReduceLogSum": reduction(lambda call, x, axes: call.g.unary("LOG", reduced(call.g, "REDUCE_SUM", x, axes))),
    "ReduceLogSumExp": reduction(_log_sum_exp),
    "ReduceMax": reduction(of("REDUCE_MAX")),
    "ReduceMean": reduction(_mean),
    "ReduceMin": reduction(of("REDUCE_MIN")),
    "ReduceProd": reduction(of("REDUCE_PRODUCT")),
    "ReduceSum": reduction(of("REDUCE_SUM")),
    "ReduceSumSquare": reduction(_squares),
}
