"""Layers that stay in float inside an integer graph. Nothing falls back to float: these are layers that someone named.

An int32 accumulator goes to a float layer as it is, with the scales of its channels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.graph import Location, copy_operator

from .float_borders import dequantized
from .integer_writer import Plain, Real, Wide
from .rules_choice import plain

if TYPE_CHECKING:
    from tosa_engine.graph import Operator

    from .rules import Context


def emit(ctx: Context, op: Operator) -> None:
    """`op` itself, on floats."""
    writer = ctx.writer.base
    copied = copy_operator(op)
    copied.inputs = [_operand(ctx, name) for name in op.inputs]
    copied.outputs = []
    for out in op.outputs:
        tensor = ctx.tensor(out)
        written = writer.tensor(out, tensor.dtype, tensor.shape)
        written.source = tensor.source or Location(name=out)
        copied.outputs.append(written.name)
        ctx.values[out] = Real(written.name) if tensor.dtype is types.fp32 else Plain(written.name)
    writer.append(copied)


def _operand(ctx: Context, name: str) -> str:
    tensor, data = ctx.tensor(name), ctx.constant(name)
    if data is not None:
        return ctx.writer.constant(name, tensor.dtype, data)
    if tensor.dtype is not types.fp32:
        return plain(ctx, name)
    value = ctx.value(name)
    if isinstance(value, Wide) and name not in ctx.quant:
        return dequantized(ctx.writer, value.name, name, np.asarray(value.scale))
    if isinstance(value, Real):
        return value.name
    if name not in ctx.as_real:
        x = ctx.quantized(name)
        ctx.as_real[name] = dequantized(ctx.writer, x.name, name, np.array([x.scale]), x.zero_point)
    return ctx.as_real[name]
