"""uniform_quantize and uniform_dequantize in a graph that is to become integers: values keep what they stand for, and
their tensors get the scales as hints. Elsewhere jaxlib's passes have made arithmetic of quantized types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..values import Value, known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..call import Call
    from ..elements import Uniform
    from ..writer import HloWriter


def mark(g: HloWriter, value: Value, uniform: Uniform) -> None:
    """A value's tensor carries the hint of its type; one that has another hint already is copied."""
    value.quantized = uniform
    quant = uniform.hint
    if value.tensor is None or quant is None or value.is_known:
        return
    if value.tensor.quant not in (None, quant):
        value.tensor = g.unary("IDENTITY", g.local(value.tensor))
    value.tensor.quant = quant
    g.carry_back(value.tensor, g.named)


def rounded(call: Call) -> Value:
    """uniform_quantize: numbers that are known become those that the type has."""
    value, uniform = call.inputs[0], call.kind.quantized
    if value.data is None or uniform is None:
        return passed(call)
    return known(value.element, uniform.real(uniform.stored(value.data)).astype(value.data.dtype))


def passed(call: Call) -> Value:
    value = call.inputs[0]
    return Value(value.element, value.shape, value.data, value.tensor)


OPERATORS: Final[Mapping[str, Callable[[Call], Value]]] = {"uniform_dequantize": passed, "uniform_quantize": rounded}
