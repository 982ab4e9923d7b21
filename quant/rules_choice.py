"""Comparisons, logic and choices: bool tensors are what they are, and numbers keep their integers.

GREATER, GREATER_EQUAL and EQUAL compare both operands as int32 of one scale. Quantized numbers are equal where their
integers are: values that differ by less than a step may compare otherwise than the floats that they stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.errors import Unsupported
from tosa_engine.graph import Location

from .emit import Plain, Quantized, Wide, stored_type
from .ranges import quantize_array
from .rules import Context, rule
from .rules_elementwise import at_one_scale
from .rules_layout import place, shapes_of

if TYPE_CHECKING:
    from tosa_engine.graph import Operator


def _plain(ctx: Context, out: str, name: str) -> None:
    ctx.emitter.tensor(name).source = ctx.tensor(out).source or Location(name=out)
    ctx.values[out] = Plain(name)


def plain(ctx: Context, name: str) -> str:
    """The tensor of indices or of truth that stands for `name`; a constant is itself."""
    data, tensor = ctx.constant(name), ctx.tensor(name)
    if data is not None:
        return ctx.emitter.constant(name, tensor.dtype, data)
    value = ctx.values.get(name)
    if not isinstance(value, Plain):
        raise Unsupported(f"a tensor of {tensor.dtype} that no operator computes", tensor=ctx.source_name(name))
    return value.name


@rule("GREATER", "GREATER_EQUAL", "EQUAL")
def comparison(ctx: Context, op: Operator) -> None:
    out, e = op.outputs[0], ctx.emitter
    names, _, _ = at_one_scale(ctx, op)
    _plain(ctx, out, e.emit(op.op, names, out, types.bool_, ctx.shape(out)))


@rule("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR", "LOGICAL_NOT", "REDUCE_ALL", "REDUCE_ANY")
def logic(ctx: Context, op: Operator) -> None:
    out = op.outputs[0]
    inputs = [plain(ctx, name) for name in op.inputs]
    _plain(ctx, out, ctx.emitter.emit(op.op, inputs, out, types.bool_, ctx.shape(out), **op.attributes))


@rule("SELECT")
def select(ctx: Context, op: Operator) -> None:
    """Both values take the output's QParams first; a choice between truths is one."""
    out, e = op.outputs[0], ctx.emitter
    condition = plain(ctx, op.inputs[0])
    if ctx.tensor(out).dtype is types.bool_:
        inputs = [condition, *(plain(ctx, name) for name in op.inputs[1:])]
        _plain(ctx, out, e.emit("SELECT", inputs, out, types.bool_, ctx.shape(out)))
        return
    quant = ctx.qparams(out)
    names = [condition]
    for i, operand in enumerate(op.inputs[1:], 1):
        data = ctx.constant(operand)
        if data is not None:
            names.append(e.constant(f"{out}_value{i}", stored_type(quant), quantize_array(data, quant)))
            continue
        x = ctx.quantized(operand)
        names.append(x.name if x.quant == quant else ctx.rescaled(x, quant, f"{out}_value{i}", f"value {i}"))
    stored = e.emit("SELECT", names, ctx.final_name(out), stored_type(quant), ctx.shape(out))
    ctx.define(out, Quantized(stored, quant))


@rule("GATHER")
def gather(ctx: Context, op: Operator) -> None:
    place(ctx, op, ctx.quantized(op.inputs[0]), [plain(ctx, op.inputs[1])])


@rule("RESIZE")
def resize(ctx: Context, op: Operator) -> None:
    """NEAREST moves values; BILINEAR gives the weighted sum times the product of both numerators."""
    x, out, e = ctx.quantized(op.inputs[0]), op.outputs[0], ctx.emitter
    shapes = shapes_of(ctx, op)
    if op.attributes["mode"] == "NEAREST":
        place(ctx, op, x, shapes)
        return
    scale = ctx.constant(op.inputs[1])
    assert scale is not None
    unit = int(scale[0]) * int(scale[2])
    if x.zero_point:  # RESIZE has no zero points: the weights of every output add up to `unit`
        x = e.sixteen(x, f"{out}_input")
    wide = types.i48 if x.dtype is types.i16 else types.i32
    name = e.emit("RESIZE", [x.name, *shapes], f"{out}_acc", wide, ctx.shape(out), **op.attributes)
    bound = x.reach * unit
    if wide is types.i32:
        e.bounded(bound, "the interpolation", ctx.source_name(out))
    ctx.finish(out, Wide(name, tuple((np.array([x.scale]) / unit).tolist()), bound))
