"""quant: real values moved to those that integers stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....lower import elementary
from ....lower.views import shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ..writer import Call


def own_number(c: Call, value: float) -> Tensor:
    """A constant of this operator, that broadcasts to its input, as the compounds of NNEF 1 have them."""
    return c.b.reshape(c.b.scalar(float(value), rank=0), (1,) * len(shape_of(c.x())))


def _operand(c: Call, values: Sequence[float]) -> Tensor:
    """One number, or one for each channel."""
    if len(set(values)) == 1:
        return own_number(c, values[0])
    axis = c.axes("channel_axis")[0]
    shape = [-1 if i == axis else 1 for i in range(len(shape_of(c.x())))]
    return c.b.const(np.asarray(values, np.float32).reshape(shape), types.fp32)


def by_range(c: Call) -> Tensor:
    """round((clamp(x) - min) / (max - min) * steps), and back."""
    b, low, high = c.b, c["min"], c["max"]
    signed, symmetric = c["signed"], c["symmetric"]
    width = [m - n for n, m in zip(low, high, strict=True)]
    steps = float(2 ** c["bits"] - (2 if signed and symmetric else 1))
    offset = float(2 ** (c["bits"] - 1) - int(symmetric) if signed else 0)
    inside = elementary.clamped(b, c.x(), _operand(c, low), _operand(c, high))
    share = elementary.division(b, b.binary("SUB", inside, _operand(c, low)), _operand(c, width))
    level = elementary.round_(b, b.binary("MUL", share, own_number(c, steps)))
    level = b.binary("SUB", level, own_number(c, offset))
    back = elementary.division(b, b.binary("ADD", level, own_number(c, offset)), own_number(c, steps))
    return b.binary("ADD", b.binary("MUL", back, _operand(c, width)), _operand(c, low))


def by_zero_point(c: Call) -> Tensor:
    """(clamp(round(x / scale) + zero_point) - zero_point) * scale"""
    b = c.b
    level = elementary.round_(b, elementary.division(b, c.x(), _operand(c, c["scale"])))
    level = b.binary("ADD", level, _operand(c, c["zero_point"]))
    level = elementary.clamped(b, level, own_number(c, c["low"]), own_number(c, c["high"]))
    return b.binary("MUL", b.binary("SUB", level, _operand(c, c["zero_point"])), _operand(c, c["scale"]))


MAPPERS: Final[Mapping[str, Callable[[Call], Tensor]]] = {
    "quant.min_max_linear_quantize": by_range,
    "quant.zero_point_linear_quantize": by_zero_point,
}
