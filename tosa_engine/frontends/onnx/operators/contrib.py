"""Operators of the domain com.microsoft on real numbers, as exporters and optimizers of ONNX Runtime write them.

`onnx` has no schemas for them: defaults stand here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....lower import elementary as lower
from ....lower.linear import turned
from ....lower.reductions import mean
from ....lower.views import shape_of
from ..call import Call
from ..values import Value, known
from ..writer import value_of
from . import activation, convolution, linear
from .normalization import over_axes
from .quantization import on_real_numbers
from .recurrent import function_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor

DOMAIN: Final = "com.microsoft"
QUICK: Final = 1.702  # the default alpha of QuickGelu


def gelu(call: Call) -> Value:
    return value_of(_gelu(call, call.tensor(0), tanh=False), call.element())


def _gelu(call: Call, x: Tensor, *, tanh: bool) -> Tensor:
    how = {"approximate": "tanh" if tanh else "none"}
    inner = Call(call.g, "Gelu", [value_of(x, call.element())], how, 20, call.outputs, call.scope)
    return call.g.tensor_of(activation.gelu(inner))


def biased_gelu(call: Call, *, tanh: bool = False) -> Value:
    x = call.tensor(0)
    if call.has(1):
        x = call.g.binary("ADD", *call.operands(x, call.tensor(1)))
    return value_of(_gelu(call, x, tanh=tanh), call.element())


def quick_gelu(call: Call) -> Value:
    g, x = call.g, call.tensor(0)
    gate = g.unary("SIGMOID", lower.times(g, x, call.attribute("alpha", QUICK)))
    return value_of(g.binary("MUL", x, gate), call.element())


def fused_mat_mul(call: Call) -> Value:
    g, alpha = call.g, call.attribute("alpha", 1.0)
    if call.attribute("transBatchA", 0) or call.attribute("transBatchB", 0):
        raise Unsupported("transBatchA and transBatchB")
    x, y = (
        turned(g, call.tensor(i)) if call.attribute(name, 0) and len(call.shape(i)) > 1 else call.tensor(i)
        for i, name in enumerate(("transA", "transB"))
    )
    found = linear.product(call, x, y)
    return value_of(found if alpha == 1 else lower.times(g, found, alpha), call.element())


def fused_gemm(call: Call) -> Value:
    """Gemm and an activation, whose parameters are attributes."""
    given = [call.attribute(f"activation_{name}") for name in ("alpha", "beta")]
    found = linear.gemm(call)
    return _activated(call, call.g.tensor_of(found), [one for one in given if one is not None])


def fused_conv(call: Call) -> Value:
    """Conv, the sum with a fourth input, and an activation."""
    inputs = [call.inputs[i] if call.has(i) else None for i in range(3)]
    found = call.g.tensor_of(on_real_numbers(call, "Conv", convolution.conv, inputs))
    if call.has(3):
        found = call.g.binary("ADD", found, call.tensor(3))
    return _activated(call, found, list(call.attribute("activation_params") or []))


def _activated(call: Call, x: Tensor, parameters: list[float]) -> Value:
    g, name = call.g, call.attribute("activation", "")
    if not name:
        return value_of(x, call.element())
    if name == "Clip":
        if len(parameters) != 2:
            raise GraphError(f"activation 'Clip' with the parameters {parameters}")
        return value_of(g.clamp(x, *parameters), call.element())
    if name == "HardSwish":
        gate = g.clamp(lower.plus(g, lower.times(g, x, 1 / 6), 0.5), 0.0, 1.0)
        return value_of(g.binary("MUL", x, gate), call.element())
    return value_of(function_of(g, name, parameters[:1], parameters[1:])(x), call.element())


def skip_layer_norm(call: Call, *, simplified: bool = False) -> list[Value | None]:
    """The normalized sum of two tensors and, perhaps, a bias; the sum itself is the fourth output."""
    g, x, axis = call.g, call.tensor(0), len(call.shape(0)) - 1
    more = [call.tensor(i) for i in (1, 3 if simplified else 4) if call.has(i)]
    for one in more:
        x = g.binary("ADD", *call.operands(x, one))
    offset = call.tensor(3) if not simplified and call.has(3) else None
    found, stats = _normalized(call, x, axis, call.tensor(2), offset, simplified=simplified)
    return [value_of(found, call.element()), *stats, value_of(x, call.element())]


def _normalized(
    call: Call, x: Tensor, axis: int, scale: Tensor, offset: Tensor | None, *, simplified: bool
) -> tuple[Tensor, list[Value | None]]:
    """Over the axes from `axis` on; `simplified`: by the root of the mean of squares, without the mean."""
    g, axes, epsilon = call.g, range(axis, len(shape_of(x))), call.attribute("epsilon", 1e-5)
    wide = call.cast(x, types.fp32)
    if simplified:
        inverse = g.unary("RSQRT", lower.plus(g, mean(g, g.binary("MUL", wide, wide), axes), epsilon))
        found, stats = g.binary("MUL", wide, inverse), [None, value_of(inverse)]
    else:
        found, means, inverse = over_axes(g, wide, list(axes), epsilon)
        stats = [value_of(means), value_of(inverse)]
    found = g.binary("MUL", *call.operands(call.cast(found, x.dtype), scale))
    return (found if offset is None else g.binary("ADD", *call.operands(found, offset))), stats


def simplified_layer_norm(call: Call) -> list[Value | None]:
    x = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), len(shape_of(x)))
    found, stats = _normalized(call, x, axis, call.tensor(1), None, simplified=True)
    return [value_of(found, call.element()), stats[1]]


def mat_mul_n_bits(call: Call) -> Value:
    """Weights of `bits` bits in blocks along the inputs, the lowest bits first, each block with a scale."""
    found = known(_unpacked_weights(call).T.astype(np.float32))
    x = call.cast(call.tensor(0), types.fp32)
    product = linear.product(call, x, call.g.tensor_of(found))
    if call.has(5):
        product = call.g.binary("ADD", *call.operands(product, call.cast(call.tensor(5), types.fp32)))
    return value_of(call.cast(product, call.tensor(0).dtype), call.element())


def _unpacked_weights(call: Call) -> Any:
    """[outputs, inputs] in double precision."""
    bits, block = call.attribute("bits", 4), call.attributes["block_size"]
    outputs, inputs = call.attributes["N"], call.attributes["K"]
    if call.has(4):
        raise Unsupported("g_idx, which has its own group for each input")
    if bits not in (2, 4, 8):
        raise Unsupported(f"weights of {bits} bits")
    blocks = -(-inputs // block)
    steps = _bits(call.known(1, "the weights"), bits).reshape(outputs, blocks, -1)[:, :, :block].astype(np.float64)
    scales = call.known(2, "the scales").astype(np.float64).reshape(outputs, blocks, 1)
    zeros: Any = float(1 << (bits - 1))
    if call.has(3):
        given = call.known(3, "the zero points")
        packed = _bits(given.reshape(outputs, -1), bits)[:, :blocks] if given.dtype == np.uint8 else given
        zeros = packed.astype(np.float64).reshape(outputs, blocks, 1)
    return ((steps - zeros) * scales).reshape(outputs, blocks * block)[:, :inputs]


def _bits(packed: Any, bits: int) -> Any:
    """Numbers of `bits` bits along the last axis of bytes."""
    parts = [(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(*packed.shape[:-1], -1)


FLOATING: Final[Mapping[tuple[str, str], Callable[[Call], Any]]] = {
    (DOMAIN, "BiasGelu"): biased_gelu,
    (DOMAIN, "FastGelu"): lambda call: biased_gelu(call, tanh=True),
    (DOMAIN, "FusedConv"): fused_conv,
    (DOMAIN, "FusedGemm"): fused_gemm,
    (DOMAIN, "FusedMatMul"): fused_mat_mul,
    (DOMAIN, "Gelu"): gelu,
    (DOMAIN, "MatMulNBits"): mat_mul_n_bits,
    (DOMAIN, "QuickGelu"): quick_gelu,
    (DOMAIN, "SkipLayerNormalization"): skip_layer_norm,
    (DOMAIN, "SkipSimplifiedLayerNormalization"): lambda call: skip_layer_norm(call, simplified=True),
    ("", "SimplifiedLayerNormalization"): simplified_layer_norm,
}
