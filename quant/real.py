"""Layers that stay in float inside an integer graph, and the borders between the two.

From integers to real numbers: CAST, less the zero point, times the scale. An int32 accumulator goes there as it is,
with the scales of its channels. From real numbers to integers: times 1 / scale, plus the zero point, CAST, which rounds
to nearest (halves to even) and saturates. Nothing falls back to float: these are the layers that someone named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.graph import Location, Tensor, copy_operator

from .emit import Plain, Quantized, Real, Wide, stored_type
from .rules_choice import plain

if TYPE_CHECKING:
    from tosa_engine.graph import Operator, QParams

    from .emit import Emitter
    from .rules import Context


def emit(ctx: Context, op: Operator) -> None:
    """`op` itself, on floats."""
    block = ctx.emitter.block
    copied = copy_operator(op)
    copied.inputs = [_operand(ctx, name) for name in op.inputs]
    copied.outputs = []
    for out in op.outputs:
        tensor = ctx.tensor(out)
        source = tensor.source or Location(name=out)
        name = block.add(Tensor(block.fresh(out), tensor.dtype, tensor.shape, source=source)).name
        copied.outputs.append(name)
        ctx.values[out] = Real(name) if tensor.dtype is types.fp32 else Plain(name)
    block.operators.append(copied)


def _operand(ctx: Context, name: str) -> str:
    tensor, data = ctx.tensor(name), ctx.constant(name)
    if data is not None:
        return ctx.emitter.constant(name, tensor.dtype, data)
    if tensor.dtype is not types.fp32:
        return plain(ctx, name)
    value = ctx.value(name)
    if isinstance(value, Wide) and name not in ctx.quant:
        return dequantized(ctx.emitter, value.name, name, np.asarray(value.scale))
    if isinstance(value, Real):
        return value.name
    if name not in ctx.as_real:
        x = ctx.quantized(name)
        ctx.as_real[name] = dequantized(ctx.emitter, x.name, name, np.array([x.scale]), x.zero_point)
    return ctx.as_real[name]


def dequantized(e: Emitter, stored: str, stem: str, scales: types.Array, zero_point: int = 0) -> str:
    """The fp32 numbers that a tensor of integers stands for; `scales`: one, or one per index of the last axis."""
    shape = e.shape(stored)
    name = e.emit("CAST", [stored], f"{stem}_cast", types.fp32, shape)
    if zero_point:
        zero = e.constant(f"{stem}_zero", types.fp32, np.full((1,) * len(shape), zero_point))
        name = e.emit("SUB", [name, zero], f"{stem}_steps", types.fp32, shape)
    return _times(e, name, scales, f"{stem}_real")


def quantized(e: Emitter, real: str, stem: str, quant: QParams) -> Quantized:
    """The integers of a tensor of fp32."""
    shape = e.shape(real)
    name = _times(e, real, 1 / np.array(quant.scale[:1]), f"{stem}_scaled")
    if quant.zero_point[0]:
        zero = e.constant(f"{stem}_zero", types.fp32, np.full((1,) * len(shape), quant.zero_point[0]))
        name = e.emit("ADD", [name, zero], f"{stem}_moved", types.fp32, shape)
    return Quantized(e.emit("CAST", [name], f"{stem}_stored", stored_type(quant), shape), quant)


def _times(e: Emitter, x: str, factors: types.Array, stem: str) -> str:
    shape = e.shape(x)
    rank = len(shape)
    values = factors.reshape((1,) * (rank - 1) + (-1,)) if rank else factors.reshape(())
    inputs = [x, e.constant(f"{stem}_scale", types.fp32, values), e.constant("mul_shift", types.i8, [0])]
    return e.emit("MUL", inputs, stem, types.fp32, shape)
