"""dot_general and convolution: MATMUL and the convolutions of TOSA; of wider integers products and their sums."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower.axes import every, joined, reversed_, spread
from ....lower.convolution import convolution, transposed_convolution
from ....lower.layout import stacked
from ....lower.linear import fully_connected, matmul, turned
from ....lower.views import shape_of
from ....lower.windows import Window
from ....types import count
from ..elements import I8, Element
from ..module import fields
from .arithmetic import integer
from .reductions import total

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ..call import Call
    from ..values import Value

MOST_PRODUCTS: Final = 1 << 24
EXACT: Final = 1 << 16  # products of int8 whose sum int32 has
SPATIAL: Final = 3


def dot_general(call: Call) -> Value:
    numbers = fields(call.attribute("dot_dimension_numbers"))
    batch = [numbers.get(f"{side}_batching_dimensions", []) for side in ("lhs", "rhs")]
    inner = [numbers.get(f"{side}_contracting_dimensions", []) for side in ("lhs", "rhs")]
    return _dot(call, batch, inner)


def dot(call: Call) -> Value:
    """The last axis of the first operand with the first of the second one."""
    return _dot(call, [[], []], [[len(call.inputs[0].shape) - 1], [0]])


def _dot(call: Call, batch: Sequence[Sequence[int]], inner: Sequence[Sequence[int]]) -> Value:
    """As [batch, rows, inner] by [batch, inner, columns]."""
    g = call.g
    flat, outer = [], []
    for value, own, summed in zip(call.inputs, batch, inner, strict=True):
        free = [a for a in range(len(value.shape)) if a not in own and a not in summed]
        order = [*own, *free, *summed]
        x = g.transpose(g.full(value), order)
        sizes = [count(tuple(value.shape[a] for a in axes)) for axes in (own, free, summed)]
        flat.append(g.reshape(x, sizes))
        outer.append(tuple(value.shape[a] for a in free))
    elements = call.inputs[0].element, call.inputs[1].element
    found = _product(call, flat[0], flat[1], *elements)
    shape = (*(call.inputs[0].shape[a] for a in batch[0]), *outer[0], *outer[1])
    return call.result(g.reshape(found, shape))


def _product(call: Call, x: Tensor, y: Tensor, left: Element, right: Element) -> Tensor:
    """[B, M, K] by [B, N, K], as the result's carrier."""
    wanted = call.element
    if left.is_float or right.is_float:
        return _of_floats(call, x, y)
    if left is I8 and right is I8 and shape_of(x)[2] <= EXACT:
        return call.wrapped(matmul(call.g, x, turned(call.g, y)), wanted)
    return _of_integers(call, x, y, wanted)


def _of_floats(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """Of narrow floats with sums in fp32."""
    g, wanted = call.g, call.element.carrier
    same = x.dtype is y.dtype is types.fp32
    if not same:
        x, y = (call.cast(t, types.fp32) for t in (x, y))
    if y.data is not None and shape_of(y)[0] == 1:
        filters = g.reshape(y, shape_of(y)[1:])
        found = fully_connected(g, x, filters, g.scalar(0.0))
    else:
        found = matmul(g, x, turned(g, y))
    return call.cast(found, wanted)


def _of_integers(call: Call, x: Tensor, y: Tensor, wanted: Element) -> Tensor:
    """Each product by itself, then the sums."""
    g = call.g
    (b, m, k), n = shape_of(x), shape_of(y)[1]
    if b * m * n * k > MOST_PRODUCTS:
        raise Unsupported(f"{b * m * n * k} products of integers; at most {MOST_PRODUCTS} are made one by one")
    if x.dtype is types.bool_:
        both = [call.cast(t, types.i8) for t in (x, y)]
        found = matmul(g, both[0], turned(g, both[1]))
        from ....lower.elementary import compared, number

        return g.unary("LOGICAL_NOT", compared(g, "EQUAL", found, number(g, 0, found)))
    left, right = g.reshape(call.wide(x), (b, m, 1, k)), g.reshape(call.wide(y), (b, 1, n, k))
    products = integer(call, "multiply", left, right, wanted)
    return call.wrapped(g.reshape(total(call, products, [3], wanted), (b, m, n)), wanted)


# convolution


def _axes(text: str) -> tuple[list[int], list[int], list[int]]:
    """The axes of operand, filter and result in the order [batch or outputs, features or inputs, spatial ...].

    `#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`
    """
    found = re.findall(r"\[([^\]]*)\]", text)
    orders = []
    for part, heads in zip(found[:3], ("bf", "oi", "bf"), strict=True):
        names = [name.strip() for name in part.split(",")]
        spatial = sorted((int(name), axis) for axis, name in enumerate(names) if name.isdigit())
        orders.append([*(names.index(head) for head in heads), *(axis for _, axis in spatial)])
    return orders[0], orders[1], orders[2]


def convolve(call: Call) -> Value:
    rank = len(call.inputs[0].shape) - 2
    padding = call.integers("padding", [0] * (2 * rank))
    return _convolved(call, padding)


def dynamic_conv(call: Call) -> Value:
    return _convolved(call, [int(n) for n in call.known(2, "the padding").reshape(-1)])


def _convolved(call: Call, padding: Sequence[int]) -> Value:
    g = call.g
    orders = _axes(call.attribute("dimension_numbers"))
    spatial = len(orders[0]) - 2
    numbers: dict[str, Any] = {
        name: call.integers(name, [1] * spatial) for name in ("window_strides", "lhs_dilation", "rhs_dilation")
    }
    reversal = call.integers("window_reversal", [0] * spatial)
    x, filters = (g.transpose(call.full(i), orders[i]) for i in range(2))
    for axis, turn in enumerate(reversal):
        filters = reversed_(g, filters, 2 + axis) if turn else filters
    groups, batches = call.attribute("feature_group_count", 1), call.attribute("batch_group_count", 1)
    if batches > 1:  # parts of the batch are groups of features
        n, c, *rest = shape_of(x)
        split = g.reshape(x, (batches, n // batches, c, *rest))
        x = g.reshape(g.transpose(split, (1, 0, 2, *range(3, 3 + len(rest)))), (n // batches, batches * c, *rest))
        groups = batches
    while len(shape_of(x)) < 3:
        x, filters = (g.reshape(t, (*shape_of(t), 1)) for t in (x, filters))
        padding = [*padding, 0, 0]
        numbers = {name: [*values, 1] for name, values in numbers.items()}
    found = _lowered(call, x, filters, numbers, padding, groups)
    found = g.reshape(found, shape_of(found)[: 2 + spatial])
    order = orders[2]
    return call.result(g.transpose(found, [order.index(i) for i in range(len(order))]))


def _lowered(
    call: Call, x: Tensor, filters: Tensor, numbers: Mapping[str, Sequence[int]], padding: Sequence[int], groups: int
) -> Tensor:
    """[N, C, ...] with [outputs, inputs of a group, ...]."""
    g, wanted = call.g, call.element
    elements = call.inputs[0].element, call.inputs[1].element
    if len(shape_of(x)) > 2 + SPATIAL:
        raise Unsupported(f"a convolution with {len(shape_of(x)) - 2} spatial axes; {SPATIAL} at most are supported")
    if elements[0].is_float:
        narrow = (
            x.dtype in (types.fp8e4m3, types.fp8e5m2) or filters.dtype is not x.dtype or wanted.carrier is not x.dtype
        )
        if narrow or x.dtype is not types.fp32:
            x, filters = (call.cast(t, types.fp32) for t in (x, filters))
        found = _transposed(call, x, filters, numbers, padding, groups)
        if found is None:
            x, over = _windows(call, x, filters, numbers, padding)
            found = convolution(g, x, filters, g.scalar(0.0, x.dtype), over, groups)
        return call.cast(found, wanted.carrier)
    x, over = _windows(call, x, filters, numbers, padding)
    products = count(shape_of(filters)[1:])
    if elements == (I8, I8) and products <= EXACT:
        return call.wrapped(convolution(g, x, filters, g.scalar(0, types.i32), over, groups), wanted)
    return _by_products(call, x, filters, over, groups)


def _windows(
    call: Call, x: Tensor, filters: Tensor, numbers: Mapping[str, Sequence[int]], padding: Sequence[int]
) -> tuple[Tensor, list[Window]]:
    """The input with zeros between its elements, and the window along each axis."""
    found = []
    for i in range(len(shape_of(x)) - 2):
        stride, dilation = numbers["window_strides"][i], numbers["rhs_dilation"][i]
        if 0 in shape_of(filters):
            raise Unsupported("a filter without elements")
        x = spread(call.g, x, 2 + i, numbers["lhs_dilation"][i])
        size, (before, after) = shape_of(filters)[2 + i], padding[2 * i : 2 * i + 2]
        room = shape_of(x)[2 + i] + before + after - ((size - 1) * dilation + 1)
        if room < 0:
            raise Unsupported("a window that is larger than what it slides over")
        found.append(Window(size, stride, dilation, before, after - room % stride, room // stride + 1))
    return x, found


def _transposed(
    call: Call, x: Tensor, filters: Tensor, numbers: Mapping[str, Sequence[int]], padding: Sequence[int], groups: int
) -> Tensor | None:
    """TRANSPOSE_CONV2D, where zeros lie between the elements of the input and nothing else is unusual."""
    over, strides = [], numbers["lhs_dilation"]
    if groups != 1 or len(strides) != 2 or max(strides) == 1 or filters.data is None:
        return None
    if any(n != 1 for name in ("window_strides", "rhs_dilation") for n in numbers[name]):
        return None
    for i, stride in enumerate(strides):
        size, extent = shape_of(filters)[2 + i], shape_of(x)[2 + i]
        before, after = padding[2 * i : 2 * i + 2]
        output = (extent - 1) * stride + 1 + before + after - (size - 1)
        if output < 1 or not 0 <= before < size:
            return None
        low = size - 1 - before
        over.append(Window(size, stride, 1, low, (extent - 1) * stride + size - low - output, output))
    kernel = _turned_filters(call, filters)
    return transposed_convolution(call.g, x, kernel, call.g.scalar(0.0), over)


def _turned_filters(call: Call, filters: Tensor) -> Tensor:
    """Turned filters as [inputs, outputs, ...]."""
    for axis in range(2, len(shape_of(filters))):
        filters = reversed_(call.g, filters, axis)
    return call.g.transpose(filters, (1, 0, *range(2, len(shape_of(filters)))))


def _by_products(call: Call, x: Tensor, filters: Tensor, over: Sequence[Window], groups: int) -> Tensor:
    """The elements under each place of the filter, beside each other, then products and sums."""
    g, wanted = call.g, call.element
    x, filters = call.wide(x), call.wide(filters)
    n, channels, *_ = shape_of(x)
    outputs, inner, *sizes = shape_of(filters)
    low = [0, 0, *(max(w.before, 0) for w in over)]
    high = [0, 0, *(max(w.after, 0) for w in over)]
    for axis, w in enumerate(over, 2):
        start, end = max(-w.before, 0), max(-w.after, 0)
        x = g.section(x, axis, start, shape_of(x)[axis] - start - end) if start or end else x
    x = g.pad(x, low, high, 0)
    places = []
    for offset in np.ndindex(*sizes):
        part = x
        for axis, (at, w) in enumerate(zip(offset, over, strict=True), 2):
            part = every(g, part, axis, at * w.dilation, w.stride, w.output)
        places.append(part)
    volume = count(tuple(w.output for w in over))
    rows = g.reshape(stacked(g, places, 2), (n, channels, len(places), volume))
    found = []
    for group in range(groups):
        mine = g.section(rows, 1, group * inner, inner)
        mine = g.transpose(g.reshape(mine, (n, inner * len(places), volume)), (0, 2, 1))
        share = g.section(filters, 0, group * (outputs // groups), outputs // groups)
        kernel = g.reshape(share, (1, outputs // groups, inner * len(places)))
        flat = g.reshape(mine, (1, n * volume, inner * len(places)))
        product = _of_integers(call, flat, kernel, wanted)
        found.append(g.reshape(product, (n, volume, outputs // groups)))
    whole = g.transpose(joined(g, found, 2), (0, 2, 1))
    return g.reshape(whole, (n, outputs, *(w.output for w in over)))


OPERATORS: Final[Mapping[str, Callable[[Call], Value]]] = {
    "convolution": convolve, "dot": dot, "dot_general": dot_general, "dynamic_conv": dynamic_conv,
}  # fmt: skip
