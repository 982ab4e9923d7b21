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
from .multiplier import INT32_MAX
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
    same = out in ctx.quant and ctx.quant[out].scale == (x.scale,)  # elsewhere nothing lies halfway
    if ctx.even and same and bound < INT32_MAX and unit & (unit - 1) == 0:
        if wide is not types.i32:
            name = e.rescale(name, f"{out}_whole_acc", types.i32, 1.0, bound, why="1")
        name, bound = _halves_below_even(ctx, name, unit.bit_length() - 1, out), bound + 1
    ctx.finish(out, Wide(name, tuple((np.array([x.scale]) / unit).tolist()), bound))


def _halves_below_even(ctx: Context, x: str, bits: int, out: str) -> str:
    """Less by 1 where x / 2^bits is a half above an even step, so that RESCALE, which rounds halves up, takes that one:
    x - 1, and 1 where the step below is odd. Nothing but halves gets to another step.
    """
    e, shape = ctx.writer, ctx.shape(out)
    ones = (1,) * len(shape)
    amount, one = (e.constant(f"{what}_i32", types.i32, np.full(ones, what)) for what in (bits, 1))
    whole = e.emit("ARITHMETIC_RIGHT_SHIFT", [x, amount], f"{out}_whole", types.i32, shape, round=False)
    odd = e.emit("BITWISE_AND", [whole, one], f"{out}_odd", types.i32, shape)
    less = e.emit("SUB", [x, one], f"{out}_less", types.i32, shape)
    return e.emit("ADD", [less, odd], f"{out}_even", types.i32, shape)
