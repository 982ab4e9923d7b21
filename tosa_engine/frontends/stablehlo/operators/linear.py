"""triangular_solve and cholesky, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower.axes import joined
from ....lower.elementary import division, root
from ....lower.linear import matmul, turned
from ....lower.views import shape_of
from ..module import word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ....types import Array
    from ..call import Call
    from ..values import Value

MOST_ROWS: Final = 64


def _square(call: Call, index: int) -> Tensor:
    x = call.cast(call.full(index), types.fp32)
    if shape_of(x)[-1] > MOST_ROWS:
        raise Unsupported(f"a matrix of {shape_of(x)[-1]} rows; {MOST_ROWS} at most are solved row by row")
    return x


def triangular_solve(call: Call) -> Value:
    """a x = b, or x a = b, which is a' x' = b'."""
    g = call.g
    a, b = _square(call, 0), call.cast(call.full(1), types.fp32)
    left, lower = (bool(call.attribute(name)) for name in ("left_side", "lower"))
    transpose = word(call.attribute("transpose_a")) in ("TRANSPOSE", "ADJOINT")
    if not left:
        b, transpose = turned(g, b), not transpose
    if transpose:
        a, lower = turned(g, a), not lower
    found = _substituted(call, a, b, lower=lower, unit=bool(call.attribute("unit_diagonal")))
    return call.result(call.cast(found if left else turned(g, found), call.element.carrier))


def _substituted(call: Call, a: Tensor, b: Tensor, *, lower: bool, unit: bool) -> Tensor:
    """Each row less the rows before it, by the number on the diagonal."""
    g = call.g
    n, rows = shape_of(a)[-1], len(shape_of(a)) - 2
    found: dict[int, Tensor] = {}
    for i in range(n) if lower else range(n - 1, -1, -1):
        row = g.section(b, rows, i, 1)
        if found:
            first, last = min(found), max(found)
            known = joined(g, [found[j] for j in range(first, last + 1)], rows)
            factors = g.section(g.section(a, rows, i, 1), rows + 1, first, last - first + 1)
            row = g.binary("SUB", row, matmul(g, factors, known))
        if not unit:
            row = division(g, row, g.section(g.section(a, rows, i, 1), rows + 1, i, 1))
        found[i] = row
    return joined(g, [found[i] for i in range(n)], rows)


def cholesky(call: Call) -> Value:
    """The lower factor column by column; the other triangle is 0."""
    g = call.g
    a = _square(call, 0)
    lower = bool(call.attribute("lower"))
    a = a if lower else turned(g, a)
    n, rows = shape_of(a)[-1], len(shape_of(a)) - 2
    columns: list[Tensor] = []
    for j in range(n):
        column = g.section(a, rows + 1, j, 1)
        if columns:
            known = joined(g, columns, rows + 1)
            column = g.binary("SUB", column, matmul(g, known, turned(g, g.section(known, rows, j, 1))))
        diagonal = root(g, g.section(column, rows, j, 1))
        below = [g.section(column, rows, j + 1, n - j - 1)] if j + 1 < n else []
        parts = [diagonal, *(division(g, t, diagonal) for t in below)]
        if j:
            parts.insert(0, g.const(_zeros(shape_of(a), rows, j), types.fp32, "zeros"))
        columns.append(g.concat(parts, rows))
    found = joined(g, columns, rows + 1)
    return call.result(call.cast(found if lower else turned(g, found), call.element.carrier))


def _zeros(shape: tuple[int, ...], axis: int, size: int) -> Array:
    return np.zeros((*shape[:axis], size, 1), np.float32)


OPERATORS: Final[Mapping[str, Callable[[Call], Value]]] = {"cholesky": cholesky, "triangular_solve": triangular_solve}
