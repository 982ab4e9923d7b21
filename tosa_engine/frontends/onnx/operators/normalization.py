"""Batch normalization, softmax, and normalization over axes of one sample."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....errors import GraphError
from ....lower import elementary
from ....lower.normalization import normalized, normalized_by_constants, softmax
from ....lower.reductions import mean, reduced
from ....lower.views import shape_of
from ..writer import value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ....lower.writer import Writer
    from ..call import Call
    from ..values import Value


def batch(call: Call) -> Value | list[Value]:
    """With the statistics of training, or in training."""
    if call.attribute("training_mode", 0):
        return _batch_in_training(call)
    g, shape = call.g, call.shape(0)
    inner = (1, -1) + (1,) * (len(shape) - 2)
    scale, offset, means, variances = (_channels(call, i, inner) for i in (1, 2, 3, 4))
    epsilon, x = call.attribute("epsilon", 1e-5), call.tensor(0)
    if x.dtype is types.fp32 and all(call.value(i).is_known for i in (1, 2, 3, 4)):
        return value_of(normalized_by_constants(g, x, means, variances, offset, scale, epsilon=epsilon))
    return value_of(normalized(g, x, means, variances, offset, scale, epsilon=epsilon), call.element())


def _batch_in_training(call: Call) -> list[Value]:
    """With the statistics of the batch, and what they make of those that come in."""
    g, x, rank = call.g, call.tensor(0), len(call.shape(0))
    axes, keep = [i for i in range(rank) if i != 1], call.attribute("momentum", 0.9)
    inner = (1, -1) + (1,) * (rank - 2)
    means = mean(g, x, axes)
    centred = g.binary("SUB", x, means)
    variances = mean(g, g.binary("MUL", centred, centred), axes)
    inverse = g.unary("RSQRT", elementary.plus(g, variances, call.attribute("epsilon", 1e-5)))
    scaled = g.binary("MUL", g.binary("MUL", centred, inverse), _channels(call, 1, inner))
    found = [value_of(g.binary("ADD", scaled, _channels(call, 2, inner)), call.element())]
    for index, new in ((3, means), (4, variances)):
        old, flat = call.tensor(index), g.reshape(new, call.shape(index))
        kept = elementary.times(g, old, keep)
        found.append(value_of(g.binary("ADD", kept, elementary.times(g, flat, 1 - keep)), call.element(index)))
    return found


def _channels(call: Call, index: int, shape: Sequence[int]) -> Tensor:
    x = call.tensor(index)
    return call.g.reshape(x, [math.prod(shape_of(x)) if n == -1 else n for n in shape])


def soft_max(call: Call) -> Value:
    """Before operator set 13, all axes from `axis` on count as one."""
    return value_of(softmax(call.g, call.tensor(0), _softmax_axes(call)), call.element())


def log_soft_max(call: Call) -> Value:
    g, x = call.g, call.tensor(0)
    axes = _softmax_axes(call)
    low = g.binary("SUB", x, reduced(g, "REDUCE_MAX", x, axes))
    total = g.unary("LOG", reduced(g, "REDUCE_SUM", g.unary("EXP", low), axes))
    return value_of(g.binary("SUB", low, total), call.element())


def _softmax_axes(call: Call) -> list[int]:
    rank, old = len(call.shape(0)), call.version < 13
    axis = call.axis(call.attribute("axis", 1 if old else -1), rank)
    return list(range(axis, rank)) if old else [axis]


def over_axes(g: Writer, x: Tensor, axes: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """(x - mean) / sqrt(variance + epsilon) over axes, the mean, and 1 / sqrt(...)."""
    means = mean(g, x, axes)
    centred = g.binary("SUB", x, means)
    variance = mean(g, g.binary("MUL", centred, centred), axes)
    inverse = g.unary("RSQRT", elementary.plus(g, variance, epsilon))
    return g.binary("MUL", centred, inverse), means, inverse


def layer(call: Call) -> list[Value]:
    g, x = call.g, call.tensor(0)
    rank = len(shape_of(x))
    axes = list(range(call.axis(call.attribute("axis", -1), rank), rank))
    wide = call.cast(x, types.fp32) if call.attribute("stash_type", 1) == 1 else x
    found, means, inverse = over_axes(g, wide, axes, call.attribute("epsilon", 1e-5))
    found = g.binary("MUL", *call.operands(call.cast(found, x.dtype), call.tensor(1)))
    if call.has(2):
        found = g.binary("ADD", *call.operands(found, call.tensor(2)))
    return [value_of(found, call.element()), value_of(means), value_of(inverse)]


def instance(call: Call) -> Value:
    g, x = call.g, call.tensor(0)
    rank = len(shape_of(x))
    found, _, _ = over_axes(g, x, list(range(2, rank)), call.attribute("epsilon", 1e-5))
    inner = (1, -1) + (1,) * (rank - 2)
    found = g.binary("MUL", found, _channels(call, 1, inner))
    return value_of(g.binary("ADD", found, _channels(call, 2, inner)), call.element())


def local_response(call: Call) -> Value:
    """x / (bias + alpha / size * sum of the squares of neighbouring channels) ^ beta."""
    g, x, size = call.g, call.tensor(0), call.attributes["size"]
    shape = shape_of(x)
    if size < 1 or len(shape) < 2:
        raise GraphError(f"{size} neighbours in shape {list(shape)}")
    square = g.binary("MUL", x, x)
    before, after = (min(n, shape[1] - 1) for n in ((size - 1) // 2, size - 1 - (size - 1) // 2))
    wide = g.pad(square, (0, before) + (0,) * (len(shape) - 2), (0, after) + (0,) * (len(shape) - 2))
    total = g.section(wide, 1, 0, shape[1])
    for start in range(1, before + after + 1):
        total = g.binary("ADD", total, g.section(wide, 1, start, shape[1]))
    inner = elementary.plus(
        g, elementary.times(g, total, call.attribute("alpha", 1e-4) / size), call.attribute("bias", 1.0)
    )
    return value_of(g.binary("MUL", x, elementary.power(g, inner, -call.attribute("beta", 0.75))), call.element())


def lp(call: Call) -> Value:
    g, x = call.g, call.tensor(0)
    axis, p = call.axis(call.attribute("axis", -1), len(shape_of(x))), call.attribute("p", 2)
    if p == 1:
        norm = reduced(g, "REDUCE_SUM", g.unary("ABS", x), [axis])
    else:
        norm = elementary.root(g, reduced(g, "REDUCE_SUM", g.binary("MUL", x, x), [axis]))
    none = elementary.compared(g, "EQUAL", norm, elementary.number(g, 0.0, norm))
    norm = elementary.chosen(g, none, elementary.number(g, 1.0, norm), norm)
    return value_of(elementary.division(g, x, norm), call.element())


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "BatchNormalization": batch,
    "InstanceNormalization": instance,
    "LRN": local_response,
    "LayerNormalization": layer,
    "LogSoftmax": log_soft_max,
    "LpNormalization": lp,
    "Softmax": soft_max,
}
