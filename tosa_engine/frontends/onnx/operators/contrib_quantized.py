"""Operators of the domain com.microsoft on integers with scales, as the quantizer of ONNX Runtime writes them.

Most are the operator on real numbers between DequantizeLinear and QuantizeLinear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....errors import Unsupported
from ....lower import dynamic
from ....lower.axes import channels_last, channels_second
from ....lower.normalization import softmax
from ....lower.reductions import mean
from ....lower.views import shape_of
from ..call import Call
from ..elements import FLOAT, UINT8
from ..values import Value, known
from ..writer import value_of
from . import activation, linear, pooling, recurrent
from .contrib import DOMAIN
from .integer_products import mat_mul_integer
from .quantization import (
    Scaling,
    dequantize_linear,
    dequantized,
    on_real_numbers,
    quantize_linear,
    quantized,
    scaling_of,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor


def real(call: Call, at: int, *, axis: int = 0) -> Value:
    """Input `at`, whose scale and zero point are the next two, as real numbers."""
    return dequantized(call, call.value(at), scaling_of(call, at + 1, at + 2, len(call.shape(at)), axis=axis))


def stored(call: Call, x: Value, scale: int, zero_point: int) -> Value:
    """Real numbers as integers of the zero point's type."""
    element = call.element(zero_point) if call.has(zero_point) else UINT8
    return quantized(call, x, scaling_of(call, scale, zero_point, len(x.shape), axis=0), element)


def between(compute: Callable[[Call], Value]) -> Callable[[Call], Value]:
    """An operator on one quantized tensor: x, its scale and zero point, those of the result."""
    return lambda call: stored(call, on_real_numbers(call, call.op, compute, [real(call, 0)]), 3, 4)


def binary(op: str) -> Callable[[Call], Value]:
    def operator(call: Call) -> Value:
        x, y = call.g.tensor_of(real(call, 0)), call.g.tensor_of(real(call, 3))
        return stored(call, value_of(call.g.binary(op, *call.operands(x, y))), 6, 7)

    return operator


def sigmoid(call: Call) -> Value:
    return value_of(call.g.unary("SIGMOID", call.tensor(0)))


def soft_max(call: Call) -> Value:
    """Before operator set 13, which an attribute says, all axes from `axis` on count as one."""
    rank = len(call.shape(0))
    axis = call.axis(call.attribute("axis", -1), rank)
    axes = list(range(axis, rank)) if call.attribute("opset", 13) < 13 else [axis]
    return value_of(softmax(call.g, call.tensor(0), axes))


def _channels_second(compute: Callable[[Call], Value]) -> Callable[[Call], Value]:
    """A pool whose input may have its channels last."""

    def operator(call: Call) -> Value:
        if not call.attribute("channels_last", 0):
            return compute(call)
        turned = value_of(channels_second(call.g, call.tensor(0)), call.element())
        found = call.g.tensor_of(on_real_numbers(call, call.op, compute, [turned]))
        return value_of(channels_last(call.g, found), call.element())

    return operator


def global_average(call: Call) -> Value:
    x = call.tensor(0)
    return value_of(mean(call.g, x, range(2, len(shape_of(x)))))


def concat(call: Call) -> Value:
    """The scale and zero point of the result come first, then each tensor with its own."""
    g, parts = call.g, [call.g.tensor_of(real(call, i)) for i in range(2, len(call.inputs), 3)]
    axis = call.axis(call.attributes["axis"], len(shape_of(parts[0])))
    return stored(call, value_of(g.concat(parts, axis)), 0, 1)


def gemm(call: Call) -> Value:
    """The int32 bias has the product of the scales; without a scale of the result that is float."""
    weight = real(call, 3, axis=0 if call.attribute("transB", 0) else 1)
    bias: Value | None = None
    if call.has(6):
        product = call.known(1, "the scale") * call.known(4, "the scale of the weights")
        bias = known((call.known(6, "the bias") * product.reshape(-1).astype("float64")).astype("float32"))
    alpha = call.attribute("alpha", 1.0)
    if bias is not None and alpha != 1:
        raise Unsupported(f"a bias and alpha {alpha}")
    found = on_real_numbers(call, "Gemm", linear.gemm, [real(call, 0), weight, bias])
    return stored(call, found, 7, 8) if call.has(7) else found


def integer_to_float(call: Call) -> Value:
    """MatMulInteger, its scales, and a bias."""
    if call.g.for_integers:
        zero_point = call.value(4) if call.has(4) else None
        x = dequantized(call, call.value(0), Scaling(call.value(2), zero_point, 0, 0))
        return _real_product(call, x, 3, 5, 6)
    inputs = [call.inputs[i] if call.has(i) else None for i in (0, 1, 4, 5)]
    return _scaled(call, inputs, call.tensor(2), call.tensor(3), 6)


def _scaled(call: Call, inputs: list[Value | None], left: Tensor, right: Tensor, bias: int) -> Value:
    g, whole = call.g, on_real_numbers(call, "MatMulInteger", mat_mul_integer, inputs)
    found = call.cast(g.tensor_of(whole), types.fp32)
    rank = len(shape_of(found))
    scale = g.binary("MUL", *call.operands(left, right))
    found = g.binary("MUL", *call.level(found, g.reshape(scale, (1,) * (rank - 1) + (types.count(shape_of(scale)),))))
    if call.has(bias):
        found = g.binary("ADD", *call.operands(found, call.tensor(bias)))
    return value_of(found, FLOAT)


def _real_product(call: Call, x: Value, scale: int, zero_point: int, bias: int) -> Value:
    """With the weights as real numbers, for a graph that is to become integers."""
    weight = dequantized(
        call, call.value(1), scaling_of(call, scale, zero_point, len(call.shape(1)), axis=len(call.shape(1)) - 1)
    )
    found = on_real_numbers(call, "MatMul", linear.mat_mul, [x, weight])
    if call.has(bias):
        found = value_of(call.g.binary("ADD", *call.operands(call.g.tensor_of(found), call.tensor(bias))))
    return found


def dynamic_mat_mul(call: Call) -> Value:
    """The input becomes uint8 by its own range; the range of calibration in a graph that is to become integers."""
    g = call.g
    if g.for_integers:
        return _real_product(call, call.value(0), 2, 3, 4)
    found = dynamic.quantized(g, call.tensor(0))
    steps = Value(UINT8, call.shape(0), None, call.cast(found.steps, types.i32))
    zero = Value(UINT8, (), None, g.reshape(call.cast(found.zero_point, types.i32), ()))
    weight_zero = call.value(3) if call.has(3) else None
    return _scaled(call, [steps, call.value(1), zero, weight_zero], g.reshape(found.scale, (1,)), call.tensor(2), 4)


def dynamic_lstm(call: Call) -> list[Value | None]:
    """LSTM whose weights [directions, inputs, 4 * hidden] have scales; what meets them is rounded to uint8 by its own
    range.
    """
    weights = []
    for at, scale in ((1, 8), (2, 10)):
        given = call.value(scale)
        shape, many = call.shape(at), types.count(given.shape) > call.shape(at)[0]
        scaling = [call.known(scale, "the scales"), call.known(scale + 1, "the zero points").astype("int64")]
        inner = (shape[0], 1, shape[2]) if many else (shape[0], 1, 1)
        numbers = call.known(at, "the weights").astype("int64") - scaling[1].reshape(inner)
        weights.append(known((numbers * scaling[0].reshape(inner)).astype("float32").transpose(0, 2, 1)))
    entered = [call.inputs[i] if call.has(i) else None for i in range(8)]
    entered[1:3] = weights
    inner_call = Call(call.g, "LSTM", entered, call.attributes, 14, call.outputs, call.scope)
    rounded = None if call.g.for_integers else (lambda x: dynamic.rounded(call.g, x))
    return recurrent.recurrent(inner_call, rounded)


QUANTIZED: Final[Mapping[tuple[str, str], Callable[[Call], Any]]] = {
    (DOMAIN, name): operator
    for name, operator in {
        "DequantizeLinear": dequantize_linear,
        "DynamicQuantizeLSTM": dynamic_lstm,
        "DynamicQuantizeMatMul": dynamic_mat_mul,
        "MatMulIntegerToFloat": integer_to_float,
        "QGemm": gemm,
        "QLinearAdd": binary("ADD"),
        "QLinearAveragePool": between(_channels_second(pooling.average)),
        "QLinearConcat": concat,
        "QLinearGlobalAveragePool": between(_channels_second(global_average)),
        "QLinearLeakyRelu": between(activation.leaky),
        "QLinearMul": binary("MUL"),
        "QLinearSigmoid": between(sigmoid),
        "QLinearSoftmax": between(soft_max),
        "QuantizeLinear": quantize_linear,
    }.items()
}
