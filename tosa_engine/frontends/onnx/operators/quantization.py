"""Integers that stand for real numbers: QuantizeLinear, DequantizeLinear, and operators on quantized tensors.

A graph of floats computes what they say. A graph that is to become integers has their scales as hints instead: a
quantized value remembers the real one (`Value.real`), and what dequantizes it with the same scale gets that one back.
Operators on quantized tensors are the operator on real ones between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....graph import QParams
from ....lower import dynamic
from ....lower import elementary as lower
from ....lower.axes import each_repeated, part
from ....lower.views import shape_of
from ..call import Call
from ..elements import BY_CODE, FLOAT, UINT8, Element
from ..values import Value, known
from ..writer import value_of
from .convolution import conv
from .linear import mat_mul

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor

NARROW: Final = ("int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2")
BITS: Final = {
    "int2": 2,
    "uint2": 2,
    "int4": 4,
    "uint4": 4,
    "int8": 8,
    "uint8": 8,
    "int16": 16,
    "uint16": 16,
    "int32": 32,
}
SMALLEST: Final = 4  # bits of a hint
FLOATS: Final = {"float8e4m3fn": 448.0, "float8e5m2": 57344.0}  # and the largest of them


@dataclass
class Scaling:
    """Scale and zero point as values, of the whole tensor, of an axis, or of blocks along it."""

    scale: Value
    zero_point: Value | None
    axis: int
    block: int

    @property
    def is_known(self) -> bool:
        return self.scale.is_known and (self.zero_point is None or self.zero_point.is_known)

    def arrays(self, shape: Sequence[int]) -> tuple[Any, Any]:
        """Known scales and zero points, as they broadcast to a shape. Raises GraphError."""
        assert self.scale.data is not None
        zero = self.zero_point.data if self.zero_point is not None else None
        scales = np.asarray(self.scale.data, np.float32)
        zeros = np.zeros(scales.shape, np.int64) if zero is None else np.asarray(zero).astype(np.int64)
        return self._spread(scales, shape), self._spread(zeros, shape)

    def _spread(self, values: Any, shape: Sequence[int]) -> Any:
        if values.size == 1:
            return values.reshape((1,) * len(shape))
        if self.block:
            return np.take(np.repeat(values, self.block, self.axis), range(shape[self.axis]), self.axis)
        if values.ndim != 1 or values.size != shape[self.axis]:
            raise GraphError(f"{values.size} scales for axis {self.axis} of shape {list(shape)}")
        return values.reshape([-1 if i == self.axis else 1 for i in range(len(shape))])

    def qparams(self, element: Element) -> QParams | None:
        """The same as a hint; None where a hint can't say it."""
        if not self.is_known or self.block or BITS.get(element.name, 0) < SMALLEST:
            return None
        assert self.scale.data is not None
        scales = tuple(float(one) for one in np.asarray(self.scale.data, np.float32).reshape(-1))
        zero = self.zero_point
        given = [0] if zero is None or zero.data is None else [int(one) for one in zero.data.reshape(-1)]
        zeros = tuple(given * len(scales) if len(given) == 1 else given)
        axis = self.axis if len(scales) > 1 else None
        return QParams(scales, zeros, BITS[element.name], element.minimum < 0, axis=axis)


def scaling_of(call: Call, scale: int, zero_point: int, rank: int, *, axis: int | None = None) -> Scaling:
    given = call.attribute("axis", 1) if axis is None else axis
    at = call.axis(given, rank) if rank and -rank <= given < rank else 0
    zero = call.value(zero_point) if call.has(zero_point) else None
    return Scaling(call.value(scale), zero, at, int(call.attribute("block_size", 0) or 0))


def quantize_linear(call: Call) -> Value:
    scaling = scaling_of(call, 1, 2, len(call.shape(0)))
    said = call.attribute("output_dtype", 0)
    element = call.element(2) if call.has(2) else BY_CODE[said] if said else UINT8
    return quantized(call, call.value(0), scaling, element)


def quantized(call: Call, x: Value, scaling: Scaling, element: Element) -> Value:
    """round(x / scale) + zero point, halves to even, saturated."""
    if element.name in FLOATS and x.data is None:
        return _narrow_floats(call, x, scaling, element)
    if element.name not in NARROW:
        raise Unsupported(f"quantization to {element}")
    if x.element.is_integer:
        raise Unsupported(f"quantization of {x.element}")
    g = call.g
    if x.data is not None and scaling.is_known:
        scales, zeros = scaling.arrays(x.shape)
        steps = np.rint(x.data.astype(np.float32) / scales).astype(np.float64) + zeros
        return known(np.clip(steps, element.minimum, element.maximum).astype(np.int64).astype(element.storage))
    quant = scaling.qparams(element)
    if call.g.for_integers and quant is not None:
        real = _within(call, g.tensor_of(x), quant)
        real.quant = quant
        return Value(element, x.shape, None, None, real, quant)
    return Value(element, x.shape, None, stored(call, g.tensor_of(x), scaling, element))


def _narrow_floats(call: Call, x: Value, scaling: Scaling, element: Element) -> Value:
    """x / scale as a float of 8 bits, saturated unless the node says otherwise."""
    g, shape, most = call.g, x.shape, FLOATS[element.name]
    scale = _placed(call, scaling, scaling.scale, shape, types.fp32)
    found = g.binary("MUL", call.cast(g.tensor_of(x), types.fp32), g.unary("RECIPROCAL", scale))
    if scaling.zero_point is not None:
        found = g.binary("ADD", found, _placed(call, scaling, scaling.zero_point, shape, types.fp32))
    found = g.clamp(found, -most, most) if call.attribute("saturate", 1) else found
    return value_of(call.cast(found, element.carrier or types.fp32), element)


def _within(call: Call, x: Tensor, quant: QParams) -> Tensor:
    """What the integers can stand for: saturation may be all that is left of an activation function.

    An input of the model is quantized at the border.
    """
    if x.name in call.g.block.inputs and x.quant is None:
        return x
    if quant.axis is not None:
        return call.g.unary("IDENTITY", x)
    scale, zero = quant.scale[0], quant.zero_point[0]
    return call.g.clamp(x, (quant.low - zero) * scale, (quant.high - zero) * scale)


def stored(call: Call, x: Tensor, scaling: Scaling, element: Element) -> Tensor:
    """The integers, in the element's carrier."""
    g, shape = call.g, shape_of(x)
    x = call.cast(x, types.fp32)
    scale, zero = _operands(call, scaling, shape)
    steps = g.binary("MUL", x, scale) if scaling.is_known else lower.exact_division(g, x, scale)
    if scaling.is_known:
        zeros = scaling.arrays(shape)[1]
        if zeros.size == 1:
            number = int(zeros.reshape(-1)[0])
            steps = g.clamp(steps, element.minimum - number, element.maximum - number)
    whole = call.cast(g.clamp(steps, -float(1 << 20), float(1 << 20)), types.i32)
    moved = g.binary("ADD", whole, zero) if zero is not None else whole
    for op, limit in (("MAXIMUM", element.minimum), ("MINIMUM", element.maximum)):
        moved = g.binary(op, moved, lower.number(g, limit, moved))
    return call.cast(moved, element.carrier or types.i32)


def _operands(call: Call, scaling: Scaling, shape: Sequence[int]) -> tuple[Tensor, Tensor | None]:
    """1 / scale of a known scale, else the scale, as fp32, and the zero point as i32, as they broadcast."""
    g = call.g
    if scaling.is_known:
        scales, zeros = scaling.arrays(shape)
        inverse = g.const(1 / scales.astype(np.float64), types.fp32, "inverse_scale")
        return inverse, g.const(zeros, types.i32, "zero_point") if zeros.any() else None
    scale = _placed(call, scaling, scaling.scale, shape, types.fp32)
    zero = scaling.zero_point
    return scale, None if zero is None else _placed(call, scaling, zero, shape, types.i32)


def _placed(call: Call, scaling: Scaling, value: Value, shape: Sequence[int], dtype: types.DType) -> Tensor:
    """Scales or zero points as they broadcast: of the tensor, of an axis, or each of a block along it."""
    g, found, rank = call.g, call.cast(call.g.tensor_of(value), dtype), len(shape)
    if types.count(value.shape) == 1:
        return g.reshape(found, (1,) * rank)
    if not scaling.block:
        if value.shape != (shape[scaling.axis],):
            raise GraphError(f"scales of shape {list(value.shape)} for axis {scaling.axis} of shape {list(shape)}")
        return g.reshape(found, [shape[scaling.axis] if i == scaling.axis else 1 for i in range(rank)])
    blocks = -(-shape[scaling.axis] // scaling.block)
    if value.shape != tuple(blocks if i == scaling.axis else n for i, n in enumerate(shape)):
        raise GraphError(f"scales of shape {list(value.shape)} for blocks of {scaling.block} of shape {list(shape)}")
    return part(g, each_repeated(g, found, scaling.axis, scaling.block), scaling.axis, 0, shape[scaling.axis])


def dequantize_linear(call: Call) -> Value:
    return dequantized(call, call.value(0), scaling_of(call, 1, 2, len(call.shape(0))))


def dequantized(call: Call, x: Value, scaling: Scaling) -> Value:
    """(x - zero point) * scale."""
    g = call.g
    if x.element.name in FLOATS and x.data is None:
        return _from_narrow_floats(call, x, scaling)
    if x.element.name not in BITS:
        raise Unsupported(f"numbers of type {x.element} with a scale")
    quant = scaling.qparams(x.element)
    if x.data is not None and scaling.is_known:
        scales, zeros = scaling.arrays(x.shape)
        real = ((x.data.astype(np.int64) - zeros) * scales).astype(np.float32)
        found = known(real)
        if g.for_integers and quant is not None and quant.bits <= 16:
            found.tensor = g.const(real, types.fp32, quant=quant)
        return found
    if x.real is not None and x.quant == quant:
        return value_of(call.g.local(x.real), FLOAT)
    shape = x.shape
    whole = call.cast(g.tensor_of(x), types.i32)
    if scaling.is_known:
        scales, zeros = scaling.arrays(shape)
        factor: Tensor = g.const(scales, types.fp32, "scale")
        zero: Tensor | None = g.const(zeros, types.i32, "zero_point") if zeros.any() else None
    else:
        factor, point = _placed(call, scaling, scaling.scale, shape, types.fp32), scaling.zero_point
        zero = None if point is None else _placed(call, scaling, point, shape, types.i32)
    moved = g.binary("SUB", whole, zero) if zero is not None else whole
    return value_of(g.binary("MUL", call.cast(moved, types.fp32), factor), FLOAT)


def _from_narrow_floats(call: Call, x: Value, scaling: Scaling) -> Value:
    g, wide = call.g, call.cast(call.g.tensor_of(x), types.fp32)
    if scaling.zero_point is not None:
        wide = g.binary("SUB", wide, _placed(call, scaling, scaling.zero_point, x.shape, types.fp32))
    found = g.binary("MUL", wide, _placed(call, scaling, scaling.scale, x.shape, types.fp32))
    return value_of(call.cast(found, scaling.scale.element.carrier or types.fp32), scaling.scale.element)


def on_real_numbers(call: Call, op: str, operator: Callable[[Call], Value], inputs: list[Value | None]) -> Value:
    """An operator on other inputs than the node's."""
    return operator(Call(call.g, op, inputs, call.attributes, call.version, call.outputs, call.scope))


def _real(call: Call, at: int, *, axis: int = 0) -> Value:
    """Input `at`, whose scale and zero point are the next two, as real numbers."""
    return dequantized(call, call.value(at), scaling_of(call, at + 1, at + 2, len(call.shape(at)), axis=axis))


def linear_conv(call: Call) -> Value:
    """QLinearConv: int32 bias at the product of the scales."""
    x, weight = _real(call, 0), _real(call, 3)
    bias: Value | None = None
    if call.has(8):
        product = np.asarray(call.known(1, "the scale")) * np.asarray(call.known(4, "the scale of the weights"))
        bias = known((call.known(8, "the bias") * product.reshape(-1).astype(np.float64)).astype(np.float32))
    found = on_real_numbers(call, "Conv", conv, [x, weight, bias])
    return quantized(call, found, scaling_of(call, 6, 7, len(found.shape), axis=0), call.element(7))


def linear_mat_mul(call: Call) -> Value:
    found = on_real_numbers(call, "MatMul", mat_mul, [_real(call, 0), _real(call, 3)])
    return quantized(call, found, scaling_of(call, 6, 7, len(found.shape), axis=0), call.element(7))


def dynamic_quantize_linear(call: Call) -> list[Value]:
    g = call.g
    found = dynamic.quantized(g, call.tensor(0))
    steps, zero = (call.cast(t, types.i32) for t in (found.steps, found.zero_point))
    scale, zero = g.reshape(found.scale, ()), g.reshape(zero, ())
    return [Value(UINT8, call.shape(0), None, steps), value_of(scale), Value(UINT8, (), None, zero)]


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    "QLinearConv": linear_conv,
    "QLinearMatMul": linear_mat_mul,
    "QuantizeLinear": quantize_linear,
}
