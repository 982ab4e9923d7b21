"""linalg, and fully connected layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....lower.linear import bias_vector, fully_connected, is_one_constant, turned
from ....lower.linear import matmul as product_of
from ....lower.views import shape_of
from ....types import count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..writer import Call


def bias_of(c: Call, at: int, weight: Tensor, outputs: int) -> Tensor:
    """The bias, or zeros."""
    given = c.optional(at)
    if given is None:
        given = c.b.const(np.zeros(1, np.float32), types.fp32)
    return bias_vector(c.b, given, outputs, spread=weight.data is not None)


def linear(c: Call) -> Tensor:
    x, weight = c.x(0), c.x(1)
    if is_one_constant(weight):
        return fully_connected(c.b, x, weight, bias_of(c, 2, weight, shape_of(weight)[0]))
    product = product_of(c.b, x, turned(c.b, weight))
    bias = c.optional(2)
    return product if bias is None else c.b.binary("ADD", product, c.b.reshape(bias, (1, *shape_of(bias))))


def matmul(c: Call) -> Tensor:
    rank = c["rank"]
    sides = []
    for at, name in enumerate("AB"):
        x = c.x(at)
        x = c.b.reshape(x, (1,) * (rank - c[f"rank_{name}"]) + shape_of(x))
        sides.append(turned(c.b, x) if c[f"trans{name}"] else x)
    product, more = product_of(c.b, *sides), c.optional(2)
    if more is None:
        return product
    return c.b.binary("ADD", product, c.b.reshape(more, (1,) * (rank - c["rank_C"]) + shape_of(more)))


def _with_bias(c: Call, product: Tensor) -> Tensor:
    bias = c.optional(2)
    found = c.b.reshape(product, c.shape)
    return found if bias is None else c.b.binary("ADD", found, bias)


def matvec(c: Call) -> Tensor:
    matrix, x = c.x(0), c.x(1)
    matrix = turned(c.b, matrix) if c["transA"] else matrix
    return _with_bias(c, product_of(c.b, matrix, c.b.reshape(x, (count(shape_of(x)), 1))))


def dot(c: Call) -> Tensor:
    x, y = c.x(0), c.x(1)
    n = count(shape_of(x))
    return _with_bias(c, product_of(c.b, c.b.reshape(x, (1, n)), c.b.reshape(y, (n, 1))))


def outer(c: Call) -> Tensor:
    x, y = c.x(0), c.x(1)
    before, behind = shape_of(x), shape_of(y)
    return c.b.binary("MUL", c.b.reshape(x, before + (1,) * len(behind)), c.b.reshape(y, (1,) * len(before) + behind))


MAPPERS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "nn.linear": linear,
    "linalg.matmul": matmul,
    "linalg.matvec": matvec,
    "linalg.dot": dot,
    "linalg.outer": outer,
}
