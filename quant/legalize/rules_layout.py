"""Operators that move values without changing them: their integer form is the same operator on the stored integers.

Their output shares the input's QParams; where graph.quant says something else for it, a RESCALE follows. An int32 form
passes through RESHAPE while it has one scale, or keeps the last axis that its scales are along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine import types
from tosa_engine.qparams.arrays import quantize_array

from . import refusals
from .integer_writer import Quantized, Wide, stored_type
from .lints import CONCAT, coarser_inputs
from .rules import Context, rule

if TYPE_CHECKING:
    from tosa_engine.graph import Operator


@rule("IDENTITY", "RESHAPE", "TRANSPOSE", "SLICE", "MAX_POOL2D", "REDUCE_MAX", "REDUCE_MIN", "REVERSE", "TILE")
def moved(ctx: Context, op: Operator) -> None:
    """Same attributes, same constant shapes; monotonic functions of stored integers (max) count as moves."""
    x, out = ctx.value(op.inputs[0]), op.outputs[0]
    if isinstance(x, Wide) and op.op == "RESHAPE" and out not in ctx.quant and _keeps_scales(ctx, x, out):
        name = ctx.writer.emit(op.op, [x.name, *shapes_of(ctx, op)], f"{out}_acc", types.i32, ctx.shape(out))
        ctx.finish(out, Wide(name, x.scale, x.bound))
        return
    place(ctx, op, ctx.quantized(op.inputs[0]), shapes_of(ctx, op))


def place(ctx: Context, op: Operator, x: Quantized, more: list[str], **attributes: object) -> None:
    """Emit `op` on a quantized tensor, and a RESCALE behind it where the output has other QParams."""
    out = op.outputs[0]
    quant = ctx.quant.setdefault(out, x.quant)
    if op.op == "IDENTITY" and quant != x.quant:
        ctx.define(out, Quantized(ctx.requantized(x, out), quant))
        return
    target = ctx.final_name(out) if quant == x.quant else f"{out}_moved"
    given = {**op.attributes, **attributes}
    name = ctx.writer.emit(op.op, [x.name, *more], target, x.dtype, ctx.shape(out), **given)
    if quant != x.quant:
        name = ctx.requantized(Quantized(name, x.quant), out)
    ctx.define(out, Quantized(name, quant))


def _keeps_scales(ctx: Context, x: Wide, out: str) -> bool:
    return len(x.scale) == 1 or ctx.shape(out)[-1:] == (len(x.scale),)


def shapes_of(ctx: Context, op: Operator) -> list[str]:
    """The constant shape_t inputs, as constants of the integer graph."""
    names = []
    for name in op.inputs[1:]:
        data = ctx.constant(name)
        if data is None:
            message = f"{op.op} with a '{ctx.source_name(name)}' that isn't constant"
            raise ctx.refused(refusals.CONSTANT, message, op.outputs[0], op)
        names.append(ctx.writer.constant(name, types.shape, data))
    return names


@rule("PAD")
def pad(ctx: Context, op: Operator) -> None:
    """PAD with the stored integer of the pad constant (for 0: the zero point), in the output's QParams."""
    out, e = op.outputs[0], ctx.writer
    x = ctx.quantized(op.inputs[0])
    value = ctx.constant(op.inputs[2])
    if value is None:
        raise ctx.refused(refusals.CONSTANT, "PAD with a value that isn't constant", out, op)
    quant = ctx.quant.setdefault(out, x.quant)
    name = x.name
    if quant != x.quant:
        name = ctx.rescaled(x, quant, f"{out}_input")
    shapes = shapes_of(ctx, _first_two(op))
    stored = int(quantize_array(value.reshape(-1), quant)[0])
    dtype = stored_type(quant)
    value_name = e.constant(f"{out}_pad", dtype, [stored]) if stored else e.zero_point(0, dtype)
    padded = e.emit("PAD", [name, *shapes, value_name], ctx.final_name(out), dtype, ctx.shape(out))
    ctx.define(out, Quantized(padded, quant))


def _first_two(op: Operator) -> Operator:
    return type(op)(op.op, op.inputs[:2], op.outputs)


@rule("CONCAT")
def concat(ctx: Context, op: Operator) -> None:
    """Each input whose QParams aren't the output's is rescaled to them first."""
    out, e = op.outputs[0], ctx.writer
    quant = ctx.qparams(out)
    names = []
    for i, operand in enumerate(op.inputs):
        data = ctx.constant(operand)
        if data is not None:
            names.append(e.constant(operand, stored_type(quant), quantize_array(data, quant)))
            continue
        x = ctx.quantized(operand)
        name = x.name
        if x.quant != quant:
            name = ctx.rescaled(x, quant, f"{out}_input{i}", f"input {i}")
        names.append(name)
    _unbalanced(ctx, op)
    stored = e.emit(
        "CONCAT", names, ctx.final_name(out), stored_type(quant), ctx.shape(out), axis=op.attributes["axis"]
    )
    ctx.define(out, Quantized(stored, quant))


def _unbalanced(ctx: Context, op: Operator) -> None:
    """A lint when an input uses so little of the output's range that most of its resolution is lost.

    Fewer bits than the input's are the layer's precision, which was chosen.
    """
    quant = ctx.qparams(op.outputs[0])
    found = {name: ctx.values.get(name) for name in op.inputs}
    scales = {
        ctx.source_name(name): x.scale * 2.0 ** max(x.quant.bits - quant.bits, 0)
        for name, x in found.items()
        if isinstance(x, Quantized)
    }
    message = coarser_inputs(scales, quant.scale[0])
    if message is not None:
        ctx.lint(CONCAT, op.outputs[0], message)
