"""Elementwise operations, activations and batch normalization (sections 4.2, 4.9.1, 4.9.4)."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....lower.writer import FLOAT_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import NnefWriter
    from ..document import Operation
    from ..mapping import Mapper


def unary(op: str, b: NnefWriter, operation: Operation) -> Tensor:
    return b.unary(op, b.value(operation.arguments["x"]))


def neg(b: NnefWriter, operation: Operation) -> Tensor:
    return b.negate(b.value(operation.arguments["x"]))


def sqr(b: NnefWriter, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["x"])
    return b.binary("MUL", x, x)


def relu(b: NnefWriter, operation: Operation) -> Tensor:
    return b.clamp(b.value(operation.arguments["x"]), 0.0, FLOAT_MAX)


def activation(b: NnefWriter, operation: Operation) -> Tensor:
    return b.grouped(operation.name, b.value(operation.arguments["x"]))


def binary(op: str, b: NnefWriter, operation: Operation) -> Tensor:
    x, y = b.operands(operation.arguments["x"], operation.arguments["y"])
    return b.binary(op, x, y)


def div(b: NnefWriter, operation: Operation) -> Tensor:
    """x / y as x * (1 / y)."""
    x, y = b.operands(operation.arguments["x"], operation.arguments["y"])
    return b.binary("MUL", x, b.unary("RECIPROCAL", y))


def bound(op: str, b: NnefWriter, operation: Operation) -> Tensor:
    """min and max; with a constant of one element they are CLAMP."""
    x, y = b.operands(operation.arguments["x"], operation.arguments["y"])
    for value, limit in ((x, _one(y)), (y, _one(x))):
        if limit is not None and value.data is None:
            return b.clamp(value, *((-FLOAT_MAX, limit) if op == "MINIMUM" else (limit, FLOAT_MAX)))
    return b.binary(op, x, y)


def clamp(b: NnefWriter, operation: Operation) -> Tensor:
    """max(min(x, b), a); with constants of one element, a <= b, it is CLAMP."""
    x, low, high = b.operands(*(operation.arguments[name] for name in ("x", "a", "b")))
    least, most = _one(low), _one(high)
    if least is not None and most is not None and least <= most:
        return b.clamp(x, least, most)
    return b.binary("MAXIMUM", b.binary("MINIMUM", x, high), low)


def _one(x: Tensor) -> float | None:
    """The value of a constant of one finite element."""
    if x.data is None or x.data.size != 1:
        return None
    value = float(x.data.reshape(-1)[0])
    return value if math.isfinite(value) else None


def softmax(b: NnefWriter, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["x"])
    axes = b.axes(operation.arguments["axes"], len(b.shape_of(x)))
    if len(axes) == 1:
        return b.grouped("softmax", x, axis=axes[0])
    most = x
    for axis in axes:
        most = b.reduce("REDUCE_MAX", most, axis)
    total = exponentials = b.unary("EXP", b.binary("SUB", x, most))
    for axis in axes:
        total = b.reduce("REDUCE_SUM", total, axis)
    return b.binary("MUL", exponentials, b.unary("RECIPROCAL", total))


def batch_normalization(b: NnefWriter, operation: Operation) -> Tensor:
    """offset + scale * (input - mean) / sqrt(variance + epsilon) as x * g + (offset - mean * g).

    g and the sum are computed in double precision from constant parameters, else in the graph.
    """
    x = b.value(operation.arguments["input"])
    rank, channels = len(b.shape_of(x)), (*b.shape_of(x), 1)[1]
    names = ("mean", "variance", "offset", "scale")
    if any(b.value(operation.arguments[name]).data is None for name in names):
        return _normalized(b, x, *(operation.arguments[name] for name in (*names, "epsilon")))
    values = {}
    for name in names:
        parameter = _on_channels(b, b.trailing(b.value(operation.arguments[name]), rank), name, x)
        assert parameter.data is not None
        if any(n != 1 and (axis != 1 or n != channels) for axis, n in enumerate(b.shape_of(parameter))):
            shape = list(b.values[operation.arguments[name].text].shape or ())
            raise b.error(f"'{name}' of shape {shape} doesn't fit {channels} channels on axis 1")
        values[name] = parameter.data.astype(np.float64)
    spread = values["variance"] + operation.arguments["epsilon"]
    if not (spread > 0).all():
        raise b.error("variance + epsilon isn't positive everywhere")
    gain = values["scale"] / np.sqrt(spread)
    offset = values["offset"] - values["mean"] * gain
    scaled = b.binary("MUL", x, b.const(gain, types.fp32, "gain"))
    return b.binary("ADD", scaled, b.const(offset, types.fp32, "offset"))


def _on_channels(b: NnefWriter, parameter: Tensor, name: str, x: Tensor) -> Tensor:
    """A parameter whose only extent is the number of channels on an axis that it doesn't fit means the channels."""
    shape, wanted = b.shape_of(parameter), b.shape_of(x)
    axes = [axis for axis, n in enumerate(shape) if n != 1]
    if len(wanted) < 2 or len(axes) != 1 or axes[0] == 1 or shape[axes[0]] != wanted[1] or wanted[axes[0]] == wanted[1]:
        return parameter
    b.bend(f"'{name}' of shape {list(shape)} doesn't fit; its {wanted[1]} values are taken as those of the channels")
    return b.reshape(parameter, tuple(wanted[1] if axis == 1 else 1 for axis in range(len(wanted))))


def _normalized(
    b: NnefWriter, x: Tensor, mean: object, variance: object, offset: object, scale: object, epsilon: float
) -> Tensor:
    """offset + scale * (x - mean) / sqrt(variance + epsilon)."""
    x, means, spread, offsets, gains = b.operands(x, mean, variance, offset, scale)
    rank = len(b.shape_of(x))
    root = b.unary("RSQRT", b.binary("ADD", spread, b.scalar(epsilon, rank=rank)))
    scaled = b.binary("MUL", b.binary("MUL", gains, root), b.binary("SUB", x, means))
    return b.binary("ADD", offsets, scaled)


MAPPERS: Final[Mapping[str, Mapper]] = {
    "neg": neg,
    "rcp": partial(unary, "RECIPROCAL"),
    "exp": partial(unary, "EXP"),
    "abs": partial(unary, "ABS"),
    "sqr": sqr,
    "relu": relu,
    "sigmoid": activation,
    "tanh": activation,
    "softmax": softmax,
    "add": partial(binary, "ADD"),
    "sub": partial(binary, "SUB"),
    "mul": partial(binary, "MUL"),
    "div": div,
    "min": partial(bound, "MINIMUM"),
    "max": partial(bound, "MAXIMUM"),
    "clamp": clamp,
    "batch_normalization": batch_normalization,
}
