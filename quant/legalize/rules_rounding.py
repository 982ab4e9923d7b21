"""FLOOR and CEIL: in fixed point, so that jumps are where they are.

The input, or the accumulator that it is rounded from, becomes int32 with as many fractional bits as fit; a shift that
drops them is FLOOR, and CEIL(x) = -FLOOR(-x).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types

from .integer_writer import Wide
from .rules import Context, rule

if TYPE_CHECKING:
    from tosa_engine.graph import Operator

ROOM = 29  # bits of the largest fixed-point magnitude: one to spare for the rounding of RESCALE
NOISE = 2.0**-20  # of a step: what scales that are rounded may leave below an integer


@rule("FLOOR", "CEIL")
def rounded(ctx: Context, op: Operator) -> None:
    out, e = op.outputs[0], ctx.writer
    x = ctx.accumulator(op.inputs[0])
    most = x.bound * x.scale[0] + 1.0
    bits = min(ROOM - math.ceil(math.log2(most)), ROOM)
    rank = len(ctx.shape(out))
    if bits <= 0:  # steps of more than 1: every value is a whole number as far as anyone can tell
        ctx.finish(out, x)
        return
    up = op.op == "CEIL"
    scale, why = x.scale[0] * 2.0**bits, f"{x.scale[0]!r} (input) * 2^{bits}"
    fixed = e.rescale(x.name, f"{out}_fixed", types.i32, scale, x.bound, why=why)
    zero = e.constant(f"{out}_zero", types.i32, np.zeros((1,) * rank))
    if up:
        fixed = e.binary("SUB", (zero, fixed), f"{out}_negative")
    slack = max(1, round(x.scale[0] * NOISE * 2.0**bits))
    more = e.constant(f"{out}_slack", types.i32, np.full((1,) * rank, slack))
    fixed = e.binary("ADD", (fixed, more), f"{out}_raised")
    shift = e.constant(f"{out}_bits", types.i32, np.full((1,) * rank, bits))
    found = e.emit("ARITHMETIC_RIGHT_SHIFT", [fixed, shift], f"{out}_whole", types.i32, ctx.shape(out), round=False)
    if up:
        found = e.binary("SUB", (zero, found), f"{out}_positive")
    ctx.finish(out, Wide(found, (1.0,), math.ceil(most) + 1))
