"""Comparisons and choices: numbers keep their integers.

GREATER, GREATER_EQUAL and EQUAL compare both operands as int32 of one scale. Quantized numbers are equal where their
integers are: values that differ by less than a step may compare otherwise than the floats that they stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.graph import Location
from tosa_engine.qparams.arrays import quantize_array

from .integer_writer import Plain, Quantized, Wide, stored_type
from .rules import Context, rule
from .rules_elementwise import at_one_scale
from .rules_layout import place, shapes_of

if TYPE_CHECKING:
    from tosa_engine.graph import Operator, QParams


def as_plain(ctx: Context, out: str, name: str) -> None:
    """Say that a tensor of indices or of truth stands for `out`."""
    ctx.writer.tensor(name).source = ctx.tensor(out).source or Location(name=out)
    ctx.values[out] = Plain(name)


def plain(ctx: Context, name: str) -> str:
    """The tensor of indices or of truth that stands for `name`; a constant is itself."""
    data, tensor = ctx.constant(name), ctx.tensor(name)
    if data is not None:
        return ctx.writer.constant(name, tensor.dtype, data)
    value = ctx.values[name]
    assert isinstance(value, Plain), f"'{name}' of {tensor.dtype} has a scale"
    return value.name


@rule("GREATER", "GREATER_EQUAL", "EQUAL")
def comparison(ctx: Context, op: Operator) -> None:
    out, e = op.outputs[0], ctx.writer
    names, _, _ = at_one_scale(ctx, op)
    as_plain(ctx, out, e.emit(op.op, names, out, types.bool_, ctx.shape(out)))


@rule("SELECT")
def select(ctx: Context, op: Operator) -> None:
    """Both values take the output's QParams first."""
    out, e = op.outputs[0], ctx.writer
    condition = plain(ctx, op.inputs[0])
    quant = ctx.qparams(out)
    values = [at_quant(ctx, operand, quant, f"{out}_value{i}") for i, operand in enumerate(op.inputs[1:], 1)]
    names = [condition, *values]
    stored = e.emit("SELECT", names, ctx.final_name(out), stored_type(quant), ctx.shape(out))
    ctx.define(out, Quantized(stored, quant))


def at_quant(ctx: Context, name: str, quant: QParams, stem: str) -> str:
    """A float tensor or constant in integers of given QParams."""
    data = ctx.constant(name)
    if data is not None:
        return ctx.writer.constant(stem, stored_type(quant), quantize_array(data, quant))
    x = ctx.quantized(name)
    return x.name if x.quant == quant else ctx.rescaled(x, quant, stem, "value")


@rule("GATHER")
def gather(ctx: Context, op: Operator) -> None:
    place(ctx, op, ctx.quantized(op.inputs[0]), [plain(ctx, op.inputs[1])])


@rule("SCATTER")
def scatter(ctx: Context, op: Operator) -> None:
    """Both sources of values take the output's QParams first."""
    out, e = op.outputs[0], ctx.writer
    quant = ctx.qparams(out)
    values, index, more = op.inputs
    before, behind = at_quant(ctx, values, quant, f"{out}_values"), at_quant(ctx, more, quant, f"{out}_input")
    names = [before, plain(ctx, index), behind]
    stored = e.emit("SCATTER", names, ctx.final_name(out), stored_type(quant), ctx.shape(out))
    ctx.define(out, Quantized(stored, quant))


@rule("RESIZE")
def resize(ctx: Context, op: Operator) -> None:
    """NEAREST moves values; BILINEAR gives the weighted sum times the product of both numerators."""
    x, out, e = ctx.quantized(op.inputs[0]), op.outputs[0], ctx.writer
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
