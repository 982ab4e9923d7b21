"""Pools over spatial axes."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower import elementary
from ....lower.borders import padded
from ....lower.elementary import chosen, compared, number
from ....lower.pool import average_pool, max_pool, sum_pool
from ....lower.positions import places_of_maxima
from ....lower.reductions import mean, reduced
from ....lower.views import shape_of
from ....lower.windows import Window
from ..elements import INT64, UINT8
from ..values import Value
from ..writer import value_of
from .windows import padded_windows_of, windows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ..call import Call


def _windows(call: Call) -> list[Window]:
    """A window over each axis; batch and channels have windows of one element."""
    shape = call.shape(0)
    found = windows_of(call, shape[2:], call.attributes["kernel_shape"], round_up=bool(call.attribute("ceil_mode", 0)))
    return [*_unit(shape), *found]


def average(call: Call) -> Value:
    """Padding counts only with count_include_pad; what ceil_mode adds never does."""
    g, x = call.g, call.tensor(0)
    if not call.attribute("count_include_pad", 0):
        return value_of(average_pool(g, x, _windows(call), "ignore"), call.element())
    shape = shape_of(x)
    padding, windows = padded_windows_of(call, shape[2:], call.attributes["kernel_shape"])
    wide = padded(g, x, [(0, 0), (0, 0), *padding], "constant")
    return value_of(average_pool(g, wide, [*_unit(shape), *windows], "ignore"), call.element())


def _unit(shape: Sequence[int]) -> list[Window]:
    """Windows of one element over batch and channels."""
    return [Window(1, 1, 1, 0, 0, n) for n in shape[:2]]


def maximum(call: Call) -> Value | list[Value]:
    """Indices count in the whole input."""
    g, x, windows = call.g, call.tensor(0), _windows(call)
    element = call.element()
    if x.dtype is types.i32 and element is not UINT8:
        raise Unsupported(f"maxima of {element}")
    narrow = call.cast(x, types.i16) if x.dtype is types.i32 else x
    found = value_of(call.cast(max_pool(g, narrow, windows, "ignore"), x.dtype), element)
    if len(call.outputs) < 2 or not call.outputs[1]:
        return found
    if not element.is_float:
        raise Unsupported(f"the indices of maxima of {element}")
    return [found, _indices(call, places_of_maxima(g, x, windows, "ignore"), windows)]


def _indices(call: Call, places: Tensor, windows: Sequence[Window]) -> Value:
    """Places in windows as places in the input, which is flattened by rows, or with storage_order 1 by columns."""
    g, shape = call.g, call.shape(0)
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    if call.attribute("storage_order", 0):
        strides[-2:] = [1, shape[-2]]
    found = g.const(np.zeros(shape_of(places)), types.i32, "zeros")
    for number_, place in enumerate(itertools.product(*(range(w.size) for w in windows))):
        at = np.zeros(shape_of(places), np.int64)
        for axis, (j, w) in enumerate(zip(place, windows, strict=True)):
            along = np.clip(np.arange(w.output) * w.stride + j * w.dilation - w.before, 0, shape[axis] - 1)
            at += (along * strides[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        here = compared(g, "EQUAL", places, number(g, number_, places))
        found = chosen(g, here, g.const(at, types.i32, "indices"), found)
    return Value(INT64, shape_of(found), None, found)


def unpool(call: Call) -> Value:
    """Values at their indices of a larger tensor of zeros. Indices count in the output that the attributes mean, which
    begins the one that is asked for.
    """
    g, shape = call.g, call.shape(0)
    sizes, spatial = call.attributes["kernel_shape"], len(shape) - 2
    strides, pads = call.attribute("strides") or [1] * spatial, call.attribute("pads") or [0] * (2 * spatial)
    extents = [
        (n - 1) * s + k - pads[i] - pads[i + spatial]
        for i, (n, s, k) in enumerate(zip(shape[2:], strides, sizes, strict=True))
    ]
    meant = (*shape[:2], *extents)
    wanted = tuple(call.integers(2, "the shape")) if call.has(2) else meant
    if len(wanted) != len(meant) or any(w < m for w, m in zip(wanted, meant, strict=True)):
        raise Unsupported(f"an output of shape {list(wanted)} for indices in shape {list(meant)}")
    count, size = math.prod(meant), math.prod(shape)
    zeros = g.const(np.zeros((1, count, 1)), call.tensor(0).dtype, "zeros")
    places = g.reshape(call.wide(1), (1, size))
    found = g.operator("SCATTER", [zeros, places, g.reshape(call.tensor(0), (1, size, 1))], (1, count, 1))
    more = [w - m for w, m in zip(wanted, meant, strict=True)]
    return value_of(g.pad(g.reshape(found, meant), [0] * len(more), more), call.element())


def norm(call: Call) -> Value:
    """(sum of |x|^p) ^ (1 / p) of each window."""
    g, x, p = call.g, call.tensor(0), call.attribute("p", 2)
    powers = elementary.power(g, g.unary("ABS", x), float(p))
    total = sum_pool(g, powers, _windows(call), "constant")
    return value_of(elementary.power(g, total, 1 / p), call.element())


def global_norm(call: Call) -> Value:
    g, x, p = call.g, call.tensor(0), call.attribute("p", 2)
    powers = elementary.power(g, g.unary("ABS", x), float(p))
    total = reduced(g, "REDUCE_SUM", powers, range(2, len(shape_of(x))))
    return value_of(elementary.power(g, total, 1 / p), call.element())


def global_average(call: Call) -> Value:
    x = call.tensor(0)
    return value_of(mean(call.g, x, range(2, len(shape_of(x)))), call.element())


def global_maximum(call: Call) -> Value:
    x = call.tensor(0)
    return value_of(reduced(call.g, "REDUCE_MAX", x, range(2, len(shape_of(x)))), call.element())


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "AveragePool": average,
    "GlobalAveragePool": global_average,
    "GlobalLpPool": global_norm,
    "GlobalMaxPool": global_maximum,
    "LpPool": norm,
    "MaxPool": maximum,
    "MaxUnpool": unpool,
}
