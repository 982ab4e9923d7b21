"""Indices and truths: what isn't a float stays what it is, and CAST between it and floats.

An operator without a float among its inputs and outputs is copied. CAST of integers to floats scales them; CAST of
floats to integers gives the nearest ones, of the accumulator where there is one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types

from . import refusals
from .integer_writer import Wide
from .rules import Context, rule
from .rules_choice import as_plain, plain

if TYPE_CHECKING:
    from tosa_engine.graph import Operator


def without_floats(ctx: Context, op: Operator) -> bool:
    """Whether an operator reads and writes indices, truths and shapes only."""
    return bool(op.outputs) and not any(ctx.tensor(name).dtype.is_float for name in (*op.inputs, *op.outputs))


def copied(ctx: Context, op: Operator) -> None:
    """The same operator on the same numbers."""
    out = op.outputs[0]
    inputs = [plain(ctx, name) for name in op.inputs]
    as_plain(ctx, out, ctx.writer.emit(op.op, inputs, out, ctx.tensor(out).dtype, ctx.shape(out), **op.attributes))


@rule("CAST")
def cast(ctx: Context, op: Operator) -> None:
    into, out = ctx.tensor(op.inputs[0]).dtype, op.outputs[0]
    onto, e = ctx.tensor(out).dtype, ctx.writer
    if into is types.i32 and onto is types.fp32:
        quant = ctx.qparams(out)
        reach = math.ceil(quant.scale[0] * max(quant.high - quant.zero_point[0], quant.zero_point[0] - quant.low)) + 1
        limits = [e.constant(f"{out}_end", types.i32, np.full((1,) * len(ctx.shape(out)), n)) for n in (reach, -reach)]
        name = e.binary("MINIMUM", (plain(ctx, op.inputs[0]), limits[0]), f"{out}_least", nan_mode="PROPAGATE")
        name = e.binary("MAXIMUM", (name, limits[1]), f"{out}_most", nan_mode="PROPAGATE")
        ctx.finish(out, Wide(name, (1.0,), reach))
    elif into is types.fp32 and onto is types.i32:
        wide = ctx.accumulator(op.inputs[0])
        scale, why = wide.scale[0], f"{wide.scale[0]!r} (input) / 1"
        as_plain(ctx, out, e.rescale(wide.name, out, types.i32, scale, wide.bound, why=why))
    else:
        message = f"CAST from {into} to {onto} has no integer form; only fp32 and i32 are cast"
        raise ctx.refused(refusals.CAST, message, out, op, node=op.name)
