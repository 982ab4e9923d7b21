"""VARIABLE, VARIABLE_READ and VARIABLE_WRITE: state between runs.

All that read and write a variable share its QParams, those of the first VARIABLE_READ; what is written is rescaled to
them, and the initial value quantized. TOSA has variables of int8 only: one of 16 bits is two, its bytes. What isn't a
float is copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.errors import Unsupported
from tosa_engine.graph import Operator
from tosa_engine.qparams.arrays import quantize_array

from . import refusals
from .integer_writer import Quantized
from .rules import Context, rule
from .rules_choice import plain

if TYPE_CHECKING:
    from tosa_engine.graph import QParams
    from tosa_engine.types import Array

# of the variable's bytes: the end of the name, the zero point, what a step is worth
WHOLE = (("", 0, 1.0),)
BYTES = (("/high", 0, 256.0), ("/low", -128, 1.0))


def _quant(ctx: Context, op: Operator) -> QParams:
    """The QParams of a variable."""
    name = op.attributes["name"]
    reads = (o for o in ctx.block.operators if o.op == "VARIABLE_READ" and o.attributes["name"] == name)
    first = next(reads, None)
    if first is None:
        message = f"the variable '{name}' is never read: nothing says how to quantize it; remove it"
        raise Unsupported(message, label=refusals.VARIABLE, node=op.name)
    return ctx.qparams(first.outputs[0])


def _bytes(stored: Array, quant: QParams) -> list[Array]:
    """What the variables hold for a stored value."""
    if quant.bits == 8:
        return [stored]
    wide = stored.astype(np.int32)
    return [np.asarray(wide >> 8, np.int8), np.asarray((wide & 255) - 128, np.int8)]


@rule("VARIABLE")
def variable(ctx: Context, op: Operator) -> None:
    if not op.attributes["type"].is_float:
        ctx.writer.base.append(Operator("VARIABLE", [], [], dict(op.attributes), op.location))
        return
    quant, given = _quant(ctx, op), op.attributes.get("initial_value")
    parts = BYTES if quant.bits == 16 else WHOLE
    initial = [None] * len(parts) if given is None else _bytes(np.asarray(quantize_array(given, quant)), quant)
    for (end, _, _), value in zip(parts, initial, strict=True):
        attributes = {**op.attributes, "name": op.attributes["name"] + end, "type": types.i8, "initial_value": value}
        ctx.writer.base.append(Operator("VARIABLE", [], [], attributes, op.location))


@rule("VARIABLE_READ")
def read(ctx: Context, op: Operator) -> None:
    out, quant, e = op.outputs[0], _quant(ctx, op), ctx.writer
    shape, name = ctx.shape(out), op.attributes["name"]
    if quant.bits == 8:
        stored = e.emit("VARIABLE_READ", [], out, types.i8, shape, name=name)
    else:
        parts = []
        for end, zero, worth in BYTES:
            part = e.emit("VARIABLE_READ", [], f"{out}{end}", types.i8, shape, name=name + end)
            parts.append(e.rescale(part, f"{out}{end}_wide", types.i32, worth, 255, input_zp=zero, why=f"{worth:g}"))
        stored = e.rescale(e.binary("ADD", parts, f"{out}_both"), out, types.i16, 1.0, 1 << 16, why="1")
    ctx.quant[out] = quant
    ctx.define(out, Quantized(stored, quant))


@rule("VARIABLE_WRITE")
def write(ctx: Context, op: Operator) -> None:
    source, name, e = op.inputs[0], op.attributes["name"], ctx.writer
    if not ctx.tensor(source).dtype.is_float:
        e.base.append(Operator("VARIABLE_WRITE", [plain(ctx, source)], [], {"name": name}, op.location))
        return
    x, quant = ctx.quantized(source), _quant(ctx, op)
    stored = x.name if x.quant == quant else ctx.rescaled(x, quant, f"{source}_state")
    parts = {"": stored} if quant.bits == 8 else _split(ctx, Quantized(stored, quant), source)
    for end, part in parts.items():
        e.base.append(Operator("VARIABLE_WRITE", [part], [], {"name": name + end}, op.location))


def _split(ctx: Context, x: Quantized, stem: str) -> dict[str, str]:
    """The two bytes of an int16 tensor: x >> 8, and x - 256 * (x >> 8) with a zero point of -128."""
    e = ctx.writer
    wide, bound = e.widen(x, f"{stem}_state_wide")
    one = (1,) * len(e.shape(wide))
    eight, many = (e.constant(f"{stem}_{n}", types.i32, np.full(one, n)) for n in (8, 256))
    high = e.emit("ARITHMETIC_RIGHT_SHIFT", [wide, eight], f"{stem}_high", types.i32, e.shape(wide), round=False)
    low = e.binary("SUB", (wide, e.binary("MUL", (high, many), f"{stem}_high_part")), f"{stem}_low")
    return {
        "/high": e.rescale(high, f"{stem}_high_byte", types.i8, 1.0, bound, why="1"),
        "/low": e.rescale(low, f"{stem}_low_byte", types.i8, 1.0, 256, output_zp=-128, why="1"),
    }
