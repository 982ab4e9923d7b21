"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....errors import GraphError, Unsupported
from ....lower import elementary
from ....lower.einsum import einsum
from ....lower.linear import bias_vector, fully_connected, is_one_constant, matmul, turned
from ....lower.views import shape_of
from ..writer import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call
    from ..values import Value


MOST_ROWS: Final = 4  # of a determinant


def mat_mul(call: Call) -> Value:
    """As numpy's matmul: a vector is a row on the left and a column on the right."""
    return value_of(product(call, call.tensor(0), call.tensor(1)), call.element())


def product(call: Call, x: Tensor, y: Tensor) -> Tensor:
    g = call.g
    if not call.element().is_float:
        raise Unsupported(f"a product of {call.element()} matrices")
    left, right = shape_of(x), shape_of(y)
    if not left or not right:
        raise GraphError("matrices have axes")
    rows = g.reshape(x, (1, *left)) if len(left) == 1 else x
    columns = g.reshape(y, (*right, 1)) if len(right) == 1 else y
    if is_one_constant(columns) and columns.dtype is types.fp32 and shape_of(rows)[-1] == shape_of(columns)[-2]:
        columns = g.reshape(columns, shape_of(columns)[-2:])
        wide = max(len(right) - len(left), 0)
        found = fully_connected(g, rows, turned(g, columns), g.scalar(0.0))
        found = g.reshape(found, (1,) * wide + shape_of(found))
    else:
        found = matmul(g, *call.level(rows, columns))
    shape = shape_of(found)
    if len(right) == 1:
        shape = shape[:-1]
    if len(left) == 1:
        shape = (*shape[: len(shape) - (1 if len(right) == 1 else 2)], *(() if len(right) == 1 else shape[-1:]))
    return g.reshape(found, shape)


def gemm(call: Call) -> Value:
    """alpha * A * B + beta * C, A and B perhaps transposed."""
    g, x, y = call.g, call.tensor(0), call.tensor(1)
    if not call.element().is_float:
        raise Unsupported(f"a product of {call.element()} matrices")
    x = turned(g, x) if call.attribute("transA", 0) else x
    weight = y if call.attribute("transB", 0) else turned(g, y)  # [outputs, inputs]
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    outputs = shape_of(weight)[0]
    if shape_of(x)[-1] != shape_of(weight)[-1]:
        raise GraphError(f"shapes {list(shape_of(x))} and {list(shape_of(y))} don't multiply")
    bias = _vector(call, outputs) if alpha == beta == 1 else None
    if weight.data is not None and weight.dtype is types.fp32:
        found = fully_connected(g, x, weight, bias if bias is not None else g.scalar(0.0))
    else:
        found, bias = matmul(g, x, turned(g, weight)), None
    found = found if alpha == 1 else elementary.times(g, found, alpha)
    if call.has(2) and bias is None:
        more = call.tensor(2)
        more = more if beta == 1 else elementary.times(g, more, beta)
        found = g.binary("ADD", *call.operands(found, more))
    return value_of(found, call.element())


def _vector(call: Call, outputs: int) -> Tensor | None:
    """C as a bias, if it is a constant of one number for each output."""
    if not call.has(2) or not call.value(2).is_known:
        return None
    shape = call.shape(2)
    if shape not in ((outputs,), (1, outputs)):
        return None
    return bias_vector(call.g, call.tensor(2), outputs, spread=False)


def einstein(call: Call) -> Value:
    tensors = [call.g.tensor_of(value) for value in call.values()]
    return value_of(einsum(call.g, call.attributes["equation"], tensors), call.element())


def determinant(call: Call) -> Value:
    """By the first row, for matrices of up to 4 x 4."""
    g, x = call.g, call.tensor(0)
    shape = shape_of(x)
    size = shape[-1]
    if shape[-2] != size or size > MOST_ROWS:
        raise Unsupported(f"determinants of {shape[-2]} x {size} matrices")
    cells = [
        [
            g.reshape(g.section(g.section(x, len(shape) - 2, i, 1), len(shape) - 1, j, 1), shape[:-2])
            for j in range(size)
        ]
        for i in range(size)
    ]
    return value_of(_minor(call, cells), call.element())


def _minor(call: Call, cells: list[list[Tensor]]) -> Tensor:
    if len(cells) == 1:
        return cells[0][0]
    total: Tensor | None = None
    for j, cell in enumerate(cells[0]):
        inner = _minor(call, [row[:j] + row[j + 1 :] for row in cells[1:]])
        term = call.g.binary("MUL", cell, inner)
        total = term if total is None else call.g.binary("SUB" if j % 2 else "ADD", total, term)
    assert total is not None
    return total


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "Det": determinant,
    "Einsum": einstein,
    "Gemm": gemm,
    "MatMul": mat_mul,
}
