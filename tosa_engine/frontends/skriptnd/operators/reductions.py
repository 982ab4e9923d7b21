"""math: reductions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....lower import reductions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..writer import Call


def reduce(op: str, c: Call) -> Tensor:
    return c.b.reshape(reductions.reduced(c.b, op, c.x(), c.axes()), c.shape)


def product(c: Call) -> Tensor | None:
    return reduce("REDUCE_PRODUCT", c) if c.x().dtype is types.fp32 else None


def mean(c: Call) -> Tensor:
    return c.b.reshape(reductions.mean(c.b, c.x(), c.axes()), c.shape)


def moments(c: Call) -> list[Tensor]:
    """The mean, and that of the squares of the distances from it."""
    x, axes = c.x(), c.axes()
    middle = reductions.mean(c.b, x, axes)
    first = c.b.reshape(middle, c.shape)
    c.b.finish(c.instance.outputs[0], first)  # has its name before it is read
    distance = c.part("sub", c.b.binary("SUB", x, middle))
    square = c.part("sqr", c.b.binary("MUL", distance, distance))
    return [first, c.b.reshape(reductions.mean(c.b, square, axes), c.shape)]


def position(least: bool, c: Call) -> Tensor:
    found = reductions.place_of_extreme(c.b, c.x(), c.axes("axis"), least=least)
    return c.b.reshape(found, c.shape)


def positions(least: bool, c: Call) -> Tensor:
    """The place in row-major order over the axes, taken apart."""
    axes, b = c.axes(), c.b
    shape = c.instance.inputs[0].shape
    rest = b.reshape(reductions.place_of_extreme(b, c.x(), axes, least=least), (*c.shape[:-1], 1))
    found: dict[int, Tensor] = {}
    for axis in sorted(axes, reverse=True):
        extent = b.scalar(shape[axis], types.i32, len(c.shape))
        quotient = b.operator("INTDIV", [rest, extent], (*c.shape[:-1], 1))
        found[axis] = b.binary("SUB", rest, b.binary("MUL", quotient, extent))
        rest = quotient
    return b.concat([found[axis] for axis in axes], len(c.shape) - 1)


MAPPERS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "math.sum_reduce": partial(reduce, "REDUCE_SUM"),
    "math.min_reduce": partial(reduce, "REDUCE_MIN"),
    "math.max_reduce": partial(reduce, "REDUCE_MAX"),
    "math.any_reduce": partial(reduce, "REDUCE_ANY"),
    "math.all_reduce": partial(reduce, "REDUCE_ALL"),
    "math.prod_reduce": product,
    "math.mean_reduce": mean,
    "math.moments": moments,
    "math.argmin_nd": partial(positions, True),
    "math.argmax_nd": partial(positions, False),
    "math.argmin": partial(position, True),
    "math.argmax": partial(position, False),
}
