"""Activation functions that TOSA has, or that its operators make in a few steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower import elementary as lower
from ....lower.views import shape_of
from ..writer import value_of
from .elementwise import result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ....lower.writer import Writer
    from ..call import Call
    from ..values import Value


def relu(call: Call) -> Value:
    if not call.element().is_integer:
        return value_of(lower.relu(call.g, call.tensor(0)), call.element())
    x = call.wide(0)
    return result(call, call.g.binary("MAXIMUM", x, lower.number(call.g, 0, x)))


def leaky(call: Call) -> Value:
    g, x = call.g, call.tensor(0)
    return value_of(_by_sign(g, x, x, lower.times(g, x, call.attribute("alpha", 0.01))), call.element())


def prelu(call: Call) -> Value:
    """The slope broadcasts from the right; one of rank 1 may stand for channels where it fits them alone."""
    g, x, slope = call.g, call.tensor(0), call.tensor(1)
    shape, slopes = shape_of(x), shape_of(slope)
    if len(slopes) == 1 and len(shape) > 2 and slopes[0] not in (1, shape[-1]) and slopes[0] == shape[1]:
        slope = g.reshape(slope, (slopes[0],) + (1,) * (len(shape) - 2))
    integer = call.element().is_integer
    if integer:
        x, slope = call.cast(x, types.i32), call.cast(slope, types.i32)
    x, slope = call.operands(x, slope)
    return result(call, _by_sign(g, x, x, g.binary("MUL", x, slope)))


def _by_sign(g: Writer, x: Tensor, above: Tensor, below: Tensor) -> Tensor:
    """`above` where x >= 0, `below` elsewhere."""
    return lower.chosen(g, lower.compared(g, "GREATER_EQUAL", x, lower.number(g, 0, x)), above, below)


def _exponential(g: Writer, x: Tensor, alpha: float) -> Tensor:
    """alpha * (exp(x) - 1), of what is below 0 only, so that nothing overflows."""
    low = g.binary("MINIMUM", x, lower.number(g, 0.0, x))
    return lower.times(g, lower.plus(g, g.unary("EXP", low), -1.0), alpha)


def elu(call: Call) -> Value:
    """In fp32: near 0 the difference to 1 would have few digits in a narrow format."""
    g, x = call.g, call.cast(call.tensor(0), types.fp32)
    found = _by_sign(g, x, x, _exponential(g, x, call.attribute("alpha", 1.0)))
    return value_of(call.cast(found, call.tensor(0).dtype), call.element())


def selu(call: Call) -> Value:
    g, x = call.g, call.tensor(0)
    gamma = call.attribute("gamma", 1.0507)
    bent = _exponential(g, x, call.attribute("alpha", 1.6733) * gamma)
    return value_of(_by_sign(g, x, lower.times(g, x, gamma), bent), call.element())


def hard_sigmoid(call: Call) -> Value:
    g = call.g
    line = lower.plus(g, lower.times(g, call.tensor(0), call.attribute("alpha", 0.2)), call.attribute("beta", 0.5))
    return value_of(g.clamp(line, 0.0, 1.0), call.element())


def hard_swish(call: Call) -> Value:
    g, x = call.g, call.tensor(0)
    gate = g.clamp(lower.plus(g, lower.times(g, x, 1 / 6), 0.5), 0.0, 1.0)
    return value_of(g.binary("MUL", x, gate), call.element())


def softplus(call: Call) -> Value:
    """max(x, 0) + log(1 + exp(-|x|)), which doesn't overflow."""
    g, x = call.g, call.tensor(0)
    rest = g.unary("LOG", lower.plus(g, g.unary("EXP", g.negate(g.unary("ABS", x))), 1.0))
    return value_of(g.binary("ADD", lower.relu(g, x), rest), call.element())


def gelu(call: Call) -> Value:
    g, x = call.g, call.tensor(0)
    if call.attribute("approximate", "none") == "tanh":
        cube = g.binary("MUL", g.binary("MUL", x, x), x)
        inner = lower.times(g, g.binary("ADD", x, lower.times(g, cube, 0.044715)), float(np.sqrt(2 / np.pi)))
        bent = g.unary("TANH", inner)
    else:
        bent = g.unary("ERF", lower.times(g, x, float(np.sqrt(0.5))))
    return value_of(g.binary("MUL", lower.times(g, x, 0.5), lower.plus(g, bent, 1.0)), call.element())


def shrink(call: Call) -> Value:
    """0 from -lambd to lambd; what is beyond comes nearer by the bias."""
    g, element = call.g, call.element()
    x = call.wide(0) if element.is_integer else call.tensor(0)
    edge, bias = call.attribute("lambd", 0.5), call.attribute("bias", 0.0)
    if element.is_integer and (edge != int(edge) or bias != int(bias)):
        raise Unsupported(f"lambd {edge} and bias {bias} of integers")
    zero = lower.number(g, 0, x)
    above = lower.chosen(g, lower.compared(g, "GREATER", x, lower.number(g, edge, x)), lower.plus(g, x, -bias), zero)
    below = lower.compared(g, "GREATER", lower.number(g, -edge, x), x)
    return result(call, lower.chosen(g, below, lower.plus(g, x, bias), above))


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "Elu": elu,
    "Gelu": gelu,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "LeakyRelu": leaky,
    "PRelu": prelu,
    "Relu": relu,
    "Selu": selu,
    "Shrink": shrink,
    "Sigmoid": lambda call: value_of(call.g.unary("SIGMOID", call.tensor(0)), call.element()),
    "Softplus": softplus,
    "Tanh": lambda call: value_of(call.g.unary("TANH", call.tensor(0)), call.element()),
}
