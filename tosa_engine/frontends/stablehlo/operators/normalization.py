"""Batch normalisation: inference, training and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .... import types
from ....lower.elementary import plus, times
from ....lower.normalization import normalized, normalized_by_constants
from ....lower.reductions import reduced
from ....lower.views import shape_of
from ....types import count
from ..values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call


def _along(call: Call, index: int) -> Tensor:
    """A vector of features as fp32 that broadcasts to the operand."""
    rank, axis = len(call.inputs[0].shape), call.attribute("feature_index")
    x = call.full(index)
    shape = [1] * rank
    shape[axis] = shape_of(x)[0]
    return call.cast(call.g.reshape(x, shape), types.fp32)


def _others(call: Call) -> list[int]:
    return [i for i in range(len(call.inputs[0].shape)) if i != call.attribute("feature_index")]


def inference(call: Call) -> Value:
    g = call.g
    x = call.cast(call.full(0), types.fp32)
    scale, offset, mean, variance = (_along(call, i) for i in range(1, 5))
    epsilon = call.attribute("epsilon")
    known = all(t.data is not None for t in (scale, offset, mean, variance))
    function = normalized_by_constants if known else normalized
    return call.result(call.cast(function(g, x, mean, variance, offset, scale, epsilon=epsilon), call.element.carrier))


def _mean(call: Call, x: Tensor) -> Tensor:
    volume = count(shape_of(x)) // shape_of(x)[call.attribute("feature_index")]
    return times(call.g, reduced(call.g, "REDUCE_SUM", x, _others(call)), 1.0 / volume)


def training(call: Call) -> list[Value]:
    """The normalised operand, and mean and variance of the batch."""
    g = call.g
    x = call.cast(call.full(0), types.fp32)
    scale, offset = _along(call, 1), _along(call, 2)
    mean = _mean(call, x)
    distance = g.binary("SUB", x, mean)
    variance = _mean(call, g.binary("MUL", distance, distance))
    found = normalized(g, x, mean, variance, offset, scale, epsilon=call.attribute("epsilon"))
    return _results(call, [found, mean, variance])


def gradients(call: Call) -> list[Value]:
    """Of operand, scale and offset:

    scale * r * (dy - mean(dy) - (x - mean) * r^2 * mean(dy * (x - mean))), sum(dy * (x - mean)) * r, sum(dy),
    r = 1 / sqrt(variance + epsilon).
    """
    g = call.g
    x, dy = (call.cast(call.full(i), types.fp32) for i in (0, 4))
    scale, mean, variance = (_along(call, i) for i in range(1, 4))
    inverse = g.unary("RSQRT", plus(g, variance, call.attribute("epsilon")))
    distance = g.binary("SUB", x, mean)
    product = g.binary("MUL", dy, distance)
    slope = g.binary("MUL", g.binary("MUL", inverse, inverse), _mean(call, product))
    rest = g.binary("SUB", g.binary("SUB", dy, _mean(call, dy)), g.binary("MUL", distance, slope))
    of_operand = g.binary("MUL", g.binary("MUL", scale, inverse), rest)
    of_scale = g.binary("MUL", reduced(g, "REDUCE_SUM", product, _others(call)), inverse)
    of_offset = reduced(g, "REDUCE_SUM", dy, _others(call))
    return _results(call, [of_operand, of_scale, of_offset])


def _results(call: Call, tensors: list[Tensor]) -> list[Value]:
    found = []
    for x, kind in zip(tensors, call.kinds, strict=True):
        flat = call.g.reshape(x, kind.shape)
        found.append(Value(call.element, kind.shape, None, call.cast(flat, call.element.carrier)))
    return found


OPERATORS: Final[Mapping[str, Callable[[Call], Value | list[Value]]]] = {
    "batch_norm_grad": gradients, "batch_norm_inference": inference, "batch_norm_training": training,
}  # fmt: skip
