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
from ....lower import elementary as lower
from ....lower.convolution import convolution
from ....lower.reductions import reduced
from ....lower.views import shape_of
from ..call import Call
from ..elements import BY_CODE, FLOAT, INT8, INT32, UINT8, Element
from ..values import Value, known
from ..writer import value_of
from .convolution import conv
from .linear import mat_mul
from .windows import windows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor

NARROW: Final = ("int8", "uint8", "int16", "uint16", "int4", "uint4")
BITS: Final = {"int4": 4, "uint4": 4, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32}


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
        if not self.is_known or self.block or element.name not in BITS:
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
    steps = g.binary("MUL", x, scale)
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
    """1 / scale as fp32 and the zero point as i32, as they broadcast."""
    g = call.g
    if scaling.is_known:
        scales, zeros = scaling.arrays(shape)
        inverse = g.const(1 / scales.astype(np.float64), types.fp32, "inverse_scale")
        return inverse, g.const(zeros, types.i32, "zero_point") if zeros.any() else None
    if scaling.block or len(scaling.scale.shape) > 1 or (scaling.scale.shape and scaling.scale.shape[0] > 1):
        extents = [-1 if i == scaling.axis else 1 for i in range(len(shape))]
        if scaling.block or scaling.scale.shape != (shape[scaling.axis],):
            raise Unsupported("scales of blocks that depend on data")
        extents[scaling.axis] = shape[scaling.axis]
    else:
        extents = [1] * len(shape)
    scale = g.reshape(call.cast(g.tensor_of(scaling.scale), types.fp32), extents)
    zero = None
    if scaling.zero_point is not None:
        zero = g.reshape(call.cast(g.tensor_of(scaling.zero_point), types.i32), extents)
    return g.unary("RECIPROCAL", scale), zero


def dequantize_linear(call: Call) -> Value:
    return dequantized(call, call.value(0), scaling_of(call, 1, 2, len(call.shape(0))))


def dequantized(call: Call, x: Value, scaling: Scaling) -> Value:
    """(x - zero point) * scale."""
    g = call.g
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
        return value_of(x.real, FLOAT)
    shape = x.shape
    whole = call.cast(g.tensor_of(x), types.i32)
    if scaling.is_known:
        scales, zeros = scaling.arrays(shape)
        factor: Tensor = g.const(scales, types.fp32, "scale")
        zero: Tensor | None = g.const(zeros, types.i32, "zero_point") if zeros.any() else None
    else:
        inverse, zero = _operands(call, scaling, shape)
        factor = g.reshape(call.cast(g.tensor_of(scaling.scale), types.fp32), shape_of(inverse))
    moved = g.binary("SUB", whole, zero) if zero is not None else whole
    return value_of(g.binary("MUL", call.cast(moved, types.fp32), factor), FLOAT)


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


def _signed(call: Call, x: Value, zero: Value | None) -> tuple[Tensor, Tensor | None]:
    """Numbers of 8 bits as i8, and the zero point as i32; both less 128 where they are unsigned."""
    g, offset = call.g, 128 if x.element is UINT8 else 0
    if x.element not in (INT8, UINT8):
        raise Unsupported(f"a product of {x.element}")
    if x.data is not None:
        tensor = g.const(x.data.astype(np.int64) - offset, types.i8)
    else:
        whole = call.cast(g.tensor_of(x), types.i32)
        tensor = call.cast(lower.plus(g, whole, -offset) if offset else whole, types.i8)
    if zero is None:
        return tensor, lower.number(g, -offset, g.scalar(0, types.i32)) if offset else None
    if zero.data is not None:
        zeros = zero.data.astype(np.int64) - offset
        return tensor, g.const(zeros, types.i32) if zeros.any() else None
    moved = call.cast(g.tensor_of(zero), types.i32)
    return tensor, lower.plus(g, g.reshape(moved, shape_of(moved) or (1,)), -offset) if offset else moved


def mat_mul_integer(call: Call) -> Value:
    """Sums of (a - zero) * (b - zero) in int32: MATMUL of the bytes, less what the zero points add."""
    g = call.g
    a, zero_a = _signed(call, call.value(0), call.value(2) if call.has(2) else None)
    b, zero_b = _signed(call, call.value(1), call.value(3) if call.has(3) else None)
    if len(shape_of(a)) < 2 or len(shape_of(b)) < 2:
        raise Unsupported("vectors")
    a, b = call.level(a, b)
    left, right = shape_of(a), shape_of(b)
    found = _bytes_product(call, a, b)
    size = left[-1]
    if zero_a is not None:
        rows = _column(g, zero_a, len(left), left[-2])
        sums = reduced(g, "REDUCE_SUM", call.cast(b, types.i32), [len(right) - 2])
        found = g.binary("SUB", found, g.binary("MUL", rows, sums))
    if zero_b is not None:
        columns = _row(g, zero_b, len(right), right[-1])
        sums = reduced(g, "REDUCE_SUM", call.cast(a, types.i32), [len(left) - 1])
        found = g.binary("SUB", found, g.binary("MUL", sums, columns))
        if zero_a is not None:
            both = g.binary("MUL", _column(g, zero_a, len(left), left[-2]), columns)
            found = g.binary("ADD", found, lower.times(g, both, size))
    return Value(INT32, shape_of(found), None, found)


def _column(g: Any, zero: Tensor, rank: int, rows: int) -> Tensor:
    """A zero point, or one for each row."""
    return _at(g, zero, rank, rank - 2, rows)


def _row(g: Any, zero: Tensor, rank: int, columns: int) -> Tensor:
    return _at(g, zero, rank, rank - 1, columns)


def _at(g: Any, zero: Tensor, rank: int, axis: int, extent: int) -> Tensor:
    count = types.count(shape_of(zero))
    if count not in (1, extent):
        raise GraphError(f"{count} zero points for {extent} rows or columns")
    found: Tensor = g.reshape(zero, [count if i == axis else 1 for i in range(rank)])
    return found


def _bytes_product(call: Call, a: Tensor, b: Tensor) -> Tensor:
    g, left, right = call.g, shape_of(a), shape_of(b)
    batch = np.broadcast_shapes(left[:-2], right[:-2])
    if types.count(right[:-2]) == 1:
        a3, b3 = g.reshape(a, (1, types.count(left[:-1]), left[-1])), g.reshape(b, (1, *right[-2:]))
    elif left[:-2] == right[:-2]:
        a3, b3 = (g.reshape(t, (types.count(s[:-2]), *s[-2:])) for t, s in ((a, left), (b, right)))
    else:
        raise Unsupported("batches of integer matrices that broadcast")
    zero = g.scalar(0, types.i8)
    shape = (shape_of(a3)[0], shape_of(a3)[1], right[-1])
    product = g.operator("MATMUL", [a3, b3, zero, zero], shape, types.i32)
    return g.reshape(product, (*batch, left[-2], right[-1]))


def conv_integer(call: Call) -> Value:
    """Conv of (x - zero) and (w - zero) in int32; zero points are known."""
    g = call.g
    x, zero_x = _signed(call, call.value(0), call.value(2) if call.has(2) else None)
    weight, zero_w = _signed(call, call.value(1), call.value(3) if call.has(3) else None)
    numbers = [0 if z is None else z.data for z in (zero_x, zero_w)]
    if any(one is None or np.size(one) != 1 for one in numbers):
        raise Unsupported("zero points that depend on data, or one for each channel")
    zeros = [g.scalar(int(np.asarray(one).reshape(-1)[0]), types.i8) for one in numbers]
    windows = windows_of(call, shape_of(x)[2:], shape_of(weight)[2:])
    groups = call.attribute("group", 1)
    found = convolution(g, x, weight, g.scalar(0, types.i32), windows, groups, zero_points=(zeros[0], zeros[1]))
    return Value(INT32, shape_of(found), None, found)


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "ConvInteger": conv_integer,
    "DequantizeLinear": dequantize_linear,
    "MatMulInteger": mat_mul_integer,
    "QLinearConv": linear_conv,
    "QLinearMatMul": linear_mat_mul,
    "QuantizeLinear": quantize_linear,
}
