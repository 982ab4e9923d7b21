"""Elementwise operations, activations and batch normalization (sections 4.2, 4.9.1, 4.9.4)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ....lower import elementary
from ....lower.composites import grouped
from ....lower.normalization import normalized, normalized_by_constants
from ....lower.normalization import softmax as softmax_of
from ....lower.views import shape_of
from .elementary import of_x, unary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def sqr(b: NnefWriter, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["x"])
    return b.binary("MUL", x, x)


def activation(b: NnefWriter, operation: Operation) -> Tensor:
    return grouped(b, operation.name, b.value(operation.arguments["x"]))


def binary(op: str, b: NnefWriter, operation: Operation) -> Tensor:
    return b.binary(op, *b.operands(operation.arguments["x"], operation.arguments["y"]))


def div(b: NnefWriter, operation: Operation) -> Tensor:
    return elementary.division(b, *b.operands(operation.arguments["x"], operation.arguments["y"]))


def bound(op: str, b: NnefWriter, operation: Operation) -> Tensor:
    """min and max."""
    return elementary.limited(b, op, *b.operands(operation.arguments["x"], operation.arguments["y"]))


def clamp(b: NnefWriter, operation: Operation) -> Tensor:
    return elementary.clamped(b, *b.operands(*(operation.arguments[name] for name in ("x", "a", "b"))))


def softmax(b: NnefWriter, operation: Operation) -> Tensor:
    x = b.value(operation.arguments["x"])
    return softmax_of(b, x, b.axes(operation.arguments["axes"], len(shape_of(x))))


def batch_normalization(b: NnefWriter, operation: Operation) -> Tensor:
    """Constant parameters are those of the channels; others broadcast as any operands do."""
    arguments = operation.arguments
    x = b.value(arguments["input"])
    rank, channels = len(shape_of(x)), (*shape_of(x), 1)[1]
    names = ("mean", "variance", "offset", "scale")
    if any(b.value(arguments[name]).data is None for name in names):
        return normalized(b, *b.operands(x, *(arguments[name] for name in names)), epsilon=arguments["epsilon"])
    parameters = []
    for name in names:
        parameter = _on_channels(b, b.trailing(b.value(arguments[name]), rank), name, x)
        if any(n != 1 and (axis != 1 or n != channels) for axis, n in enumerate(shape_of(parameter))):
            shape = list(b.values[arguments[name].text].shape or ())
            raise b.error(f"'{name}' of shape {shape} doesn't fit {channels} channels on axis 1")
        parameters.append(parameter)
    return normalized_by_constants(b, x, *parameters, epsilon=arguments["epsilon"])


def _on_channels(b: NnefWriter, parameter: Tensor, name: str, x: Tensor) -> Tensor:
    """A parameter whose only extent is the number of channels, on another axis, means the channels."""
    shape, wanted = shape_of(parameter), shape_of(x)
    axes = [axis for axis, n in enumerate(shape) if n != 1]
    if len(wanted) < 2 or len(axes) != 1 or axes[0] == 1 or shape[axes[0]] != wanted[1]:
        return parameter
    channels = wanted[1]
    b.bend(f"'{name}' of shape {list(shape)} isn't [1, {channels}]; its values are taken as those of the channels")
    return b.reshape(parameter, tuple(wanted[1] if axis == 1 else 1 for axis in range(len(wanted))))


MAPPERS: Final[Mapping[str, Mapper]] = {
    "neg": partial(of_x, lambda b, x: b.negate(x)),
    "rcp": partial(unary, "RECIPROCAL"),
    "exp": partial(unary, "EXP"),
    "abs": partial(unary, "ABS"),
    "sqr": sqr,
    "relu": partial(of_x, elementary.relu),
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
