"""Softmax of what a mask leaves: SELECT(condition, x, -infinity) before it.

Integers have no infinity. The SELECT gives the lowest integer, which is never above the maximum; its exponentials
become 0 by a second SELECT. So the range of x is that of what the mask leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types

from . import refusals
from .rules_choice import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.errors import Unsupported
    from tosa_engine.graph import Block, Operator

    from .rules import Context


def mask_of(block: Block, producers: Mapping[str, Operator], softmax: Operator) -> Operator | None:
    """The SELECT right before a softmax that leaves out by -infinity on one of its sides."""
    producer = producers.get(softmax.inputs[0])
    if softmax.op != "softmax" or producer is None or producer.op != "SELECT":
        return None
    sides = [block.tensors[name].data for name in producer.inputs[1:]]
    left_out = [data is not None and bool(np.isneginf(data).all()) for data in sides]
    return producer if any(left_out) and not all(left_out) else None


def endless(ctx: Context, op: Operator, name: str) -> Unsupported:
    """What is said of an operator that reads an infinite value which isn't lost."""
    message = (
        f"{op.op} reads a tensor with an infinite constant in it, which integers don't have; use a finite "
        "one at the end of the range, such as -30 before softmax"
    )
    return ctx.refused(refusals.FINITE, message, name, op, node=op.name)


def without_masked(ctx: Context, op: Operator, exponentials: str) -> str:
    """The exponentials of a softmax, 0 where its mask leaves something out."""
    select = mask_of(ctx.block, ctx.producers, op)
    if select is None:
        return exponentials
    condition, yes, _ = select.inputs
    if ctx.constant(condition) is None and condition not in ctx.values:  # inside of a TABLE of the masked tensor
        raise endless(ctx, op, select.outputs[0])
    out, e = op.outputs[0], ctx.writer
    zero = e.constant(f"{out}_nothing", types.i32, np.zeros((1,) * len(ctx.shape(out)), np.int64))
    sides = (zero, exponentials) if ctx.constant(yes) is not None else (exponentials, zero)
    return e.emit("SELECT", [plain(ctx, condition), *sides], f"{out}_kept", types.i32, ctx.shape(out))


def at_least(ctx: Context, op: Operator, total: str, least: int) -> str:
    """The sum of the exponentials, where a mask that is data may leave nothing of a row: the result is 0 then."""
    select = mask_of(ctx.block, ctx.producers, op)
    if select is None or ctx.constant(select.inputs[0]) is not None:
        return total
    out, e = op.outputs[0], ctx.writer
    floor = e.constant(f"{out}_least", types.i32, np.full((1,) * len(ctx.shape(out)), least))
    return e.binary("MAXIMUM", (total, floor), f"{out}_some", nan_mode="PROPAGATE")
