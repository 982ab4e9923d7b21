"""Sums of products of two values as MATMUL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....lower.linear import matmul
from ....lower.views import shape_of
from ..language.syntax import Binary, Lowering
from .space import Lane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph import Tensor
    from .arithmetic import Arithmetic


def is_product(statement: Lowering) -> bool:
    return (
        statement.op == "+"
        and isinstance(statement.value, Binary)
        and statement.value.op == "*"
        and bool(statement.bounds)
    )


def product_sum(a: Arithmetic, shape: Sequence[int], left: Lane, right: Lane, kept: Sequence[int]) -> Lane:
    """The sum of left * right over the axes that aren't `kept`, which have an extent of 1 in the result."""
    summed = [i for i in range(len(shape)) if i not in kept]
    both = [i for i in summed if left.extents[i] != 1 and right.extents[i] != 1]
    if not both or left.dtype != "real" or (left.data is not None and right.data is not None):
        return _one_by_one(a, shape, left, right, summed)
    x, y = a.tensor(left), a.tensor(right)
    times = 1
    for i in summed:  # an axis that neither has counts as often as it is long
        if left.extents[i] == right.extents[i] == 1:
            times *= shape[i]
    x, y = (_without(a, t, other, [i for i in summed if i not in both]) for t, other in ((x, y), (y, x)))
    e, f = shape_of(x), shape_of(y)
    batch = [i for i in kept if e[i] != 1 and f[i] != 1]
    rows = [i for i in kept if e[i] != 1 and f[i] == 1]
    columns = [i for i in kept if f[i] != 1 and e[i] == 1]
    g = a.b

    def size(axes: Sequence[int]) -> int:
        return int(np.prod([shape[i] for i in axes], dtype=np.int64))

    single = [i for i in range(len(shape)) if i not in (*batch, *rows, *columns, *both)]
    first = g.reshape(g.transpose(x, (*single, *batch, *rows, *columns, *both)), (size(batch), size(rows), size(both)))
    second = g.reshape(
        g.transpose(y, (*single, *batch, *rows, *both, *columns)), (size(batch), size(both), size(columns))
    )
    product = matmul(g, first, second)
    order = [*single, *both, *batch, *rows, *columns]
    spread = g.reshape(product, tuple(1 if i in single or i in both else shape[i] for i in order))
    found = g.transpose(spread, tuple(order.index(i) for i in range(len(shape))))
    lane = Lane("real", tensor=found)
    return lane if times == 1 else a.binary("*", lane, float(times))


def _without(a: Arithmetic, x: Tensor, other: Tensor, axes: Sequence[int]) -> Tensor:
    """The sum over axes that the other factor doesn't have."""
    for axis in axes:
        if shape_of(x)[axis] != 1:
            x = a.b.reduce("REDUCE_SUM", x, axis)
    return x


def _one_by_one(a: Arithmetic, shape: Sequence[int], left: Lane, right: Lane, summed: Sequence[int]) -> Lane:
    product = a.binary("*", left, right)
    times = 1
    for axis in summed:
        if product.extents[axis] == 1:
            times *= shape[axis]
        elif product.data is not None:
            product = Lane(product.dtype, product.data.sum(axis=axis, keepdims=True))
        else:
            product = Lane(product.dtype, tensor=a.b.reduce("REDUCE_SUM", a.tensor(product), axis))
    if times == 1:
        return product
    return a.binary("*", product, float(times) if product.dtype == "real" else times)
