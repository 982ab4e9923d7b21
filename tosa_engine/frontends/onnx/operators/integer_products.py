"""MatMulInteger and ConvInteger: sums of products of bytes in int32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....lower import elementary as lower
from ....lower.convolution import convolution
from ....lower.reductions import reduced
from ....lower.views import shape_of
from ..elements import INT8, INT32, UINT8
from ..values import Value
from .windows import windows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call


def _signed(call: Call, x: Value, zero: Value | None) -> tuple[Tensor, Tensor | None]:
    """Numbers of 8 bits as i8, and the zero point as i32; both less 128 where they are unsigned."""
    g, offset = call.g, 128 if x.element is UINT8 else 0
    if x.element not in (INT8, UINT8):
        raise Unsupported(f"a product of {x.element}")
    if x.data is not None:
        tensor = g.const(x.data.astype(np.int64) - offset, types.i8)
    else:
        whole = call.cast(g.tensor_of(x), types.i32)
        tensor = call.cast(lower.plus(g, whole, -offset) if offset else whole, types.i8)
    if zero is None:
        return tensor, lower.number(g, -offset, g.scalar(0, types.i32)) if offset else None
    if zero.data is not None:
        zeros = zero.data.astype(np.int64) - offset
        return tensor, g.const(zeros, types.i32) if zeros.any() else None
    moved = call.cast(g.tensor_of(zero), types.i32)
    return tensor, lower.plus(g, g.reshape(moved, shape_of(moved) or (1,)), -offset) if offset else moved


def mat_mul_integer(call: Call) -> Value:
    """Sums of (a - zero) * (b - zero) in int32: MATMUL of the bytes, less what the zero points add."""
    g = call.g
    a, zero_a = _signed(call, call.value(0), call.value(2) if call.has(2) else None)
    b, zero_b = _signed(call, call.value(1), call.value(3) if call.has(3) else None)
    if len(shape_of(a)) < 2 or len(shape_of(b)) < 2:
        raise Unsupported("vectors")
    a, b = call.level(a, b)
    left, right = shape_of(a), shape_of(b)
    found = _bytes_product(call, a, b)
    size = left[-1]
    if zero_a is not None:
        rows = _column(g, zero_a, len(left), left[-2])
        sums = reduced(g, "REDUCE_SUM", call.cast(b, types.i32), [len(right) - 2])
        found = g.binary("SUB", found, g.binary("MUL", rows, sums))
    if zero_b is not None:
        columns = _row(g, zero_b, len(right), right[-1])
        sums = reduced(g, "REDUCE_SUM", call.cast(a, types.i32), [len(left) - 1])
        found = g.binary("SUB", found, g.binary("MUL", sums, columns))
        if zero_a is not None:
            both = g.binary("MUL", _column(g, zero_a, len(left), left[-2]), columns)
            found = g.binary("ADD", found, lower.times(g, both, size))
    return Value(INT32, shape_of(found), None, found)


def _column(g: Any, zero: Tensor, rank: int, rows: int) -> Tensor:
    """A zero point, or one for each row."""
    return _at(g, zero, rank, rank - 2, rows)


def _row(g: Any, zero: Tensor, rank: int, columns: int) -> Tensor:
    return _at(g, zero, rank, rank - 1, columns)


def _at(g: Any, zero: Tensor, rank: int, axis: int, extent: int) -> Tensor:
    count = types.count(shape_of(zero))
    if count not in (1, extent):
        raise GraphError(f"{count} zero points for {extent} rows or columns")
    found: Tensor = g.reshape(zero, [count if i == axis else 1 for i in range(rank)])
    return found


def _bytes_product(call: Call, a: Tensor, b: Tensor) -> Tensor:
    g, left, right = call.g, shape_of(a), shape_of(b)
    batch = np.broadcast_shapes(left[:-2], right[:-2])
    if types.count(right[:-2]) == 1:
        a3, b3 = g.reshape(a, (1, types.count(left[:-1]), left[-1])), g.reshape(b, (1, *right[-2:]))
    elif left[:-2] == right[:-2]:
        a3, b3 = (g.reshape(t, (types.count(s[:-2]), *s[-2:])) for t, s in ((a, left), (b, right)))
    else:
        raise Unsupported("batches of integer matrices that broadcast")
    zero = g.scalar(0, types.i8)
    shape = (shape_of(a3)[0], shape_of(a3)[1], right[-1])
    product = g.operator("MATMUL", [a3, b3, zero, zero], shape, types.i32)
    return g.reshape(product, (*batch, left[-2], right[-1]))


def conv_integer(call: Call) -> Value:
    """Conv of (x - zero) and (w - zero) in int32, with nothing in the padding.

    Zero points that are known and one number each are those of CONV2D. Others are three more products, with ones in
    place of x, of w, and of both.
    """
    g = call.g
    x, zero_x = _signed(call, call.value(0), call.value(2) if call.has(2) else None)
    weight, zero_w = _signed(call, call.value(1), call.value(3) if call.has(3) else None)
    windows, groups = windows_of(call, shape_of(x)[2:], shape_of(weight)[2:]), call.attribute("group", 1)
    known_ones = [0 if z is None else _one_of(z) for z in (zero_x, zero_w)]
    none = g.scalar(0, types.i8)

    def product(left: Tensor, right: Tensor, zeros: tuple[Tensor, Tensor] = (none, none)) -> Tensor:
        return convolution(g, left, right, g.scalar(0, types.i32), windows, groups, zero_points=zeros)

    if None not in known_ones:
        zeros = [g.scalar(one, types.i8) for one in known_ones if one is not None]
        found = product(x, weight, (zeros[0], zeros[1]))
        return Value(INT32, shape_of(found), None, found)
    found, ones = product(x, weight), [g.const(np.ones(shape_of(t)), types.i8, "ones") for t in (x, weight)]
    rank = len(shape_of(x))
    points = [None if z is None else g.reshape(z, _per_channel(z, weight, rank)) for z in (zero_x, zero_w)]
    for point, left, right in ((points[0], ones[0], weight), (points[1], x, ones[1])):
        if point is not None:
            found = g.binary("SUB", found, g.binary("MUL", product(left, right), point))
    if points[0] is not None and points[1] is not None:
        both = g.binary("MUL", points[0], points[1])
        found = g.binary("ADD", found, g.binary("MUL", product(ones[0], ones[1]), both))
    return Value(INT32, shape_of(found), None, found)


def _one_of(zero: Tensor) -> int | None:
    return int(zero.data.reshape(-1)[0]) if zero.data is not None and zero.data.size == 1 else None


def _per_channel(zero: Tensor, weight: Tensor, rank: int) -> tuple[int, ...]:
    count = types.count(shape_of(zero))
    if count not in (1, shape_of(weight)[0]):
        raise GraphError(f"{count} zero points for {shape_of(weight)[0]} channels")
    return (1, count, *(1,) * (rank - 2))


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "ConvInteger": conv_integer,
    "MatMulInteger": mat_mul_integer,
}
