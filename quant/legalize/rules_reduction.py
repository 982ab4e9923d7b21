"""REDUCE_SUM, the composite mean, AVG_POOL2D, ARGMAX.

Sums are taken in int32 without zero points and rescaled once; a mean's division is part of that scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine import types
from tosa_engine.graph import Location

from .integer_writer import Plain, Wide
from .rules import Context, rule
from .rules_layout import place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.graph import Operator


@rule("REDUCE_SUM")
def reduce_sum(ctx: Context, op: Operator) -> None:
    out = op.outputs[0]
    ctx.finish(out, summed(ctx, op.inputs[0], [op.attributes["axis"]], out))


@rule("mean")
def mean(ctx: Context, op: Operator) -> None:
    """Attribute `axes`: the axes whose mean is taken; they stay with size 1."""
    out, axes = op.outputs[0], op.attributes["axes"]
    total = summed(ctx, op.inputs[0], axes, out)
    shape = ctx.shape(op.inputs[0])
    volume = types.count(tuple(shape[axis] for axis in axes))
    ctx.finish(out, Wide(total.name, tuple(s / volume for s in total.scale), total.bound))


def summed(ctx: Context, name: str, axes: Sequence[int], stem: str) -> Wide:
    """The sum over axes, one REDUCE_SUM after the other, in int32."""
    e, x = ctx.writer, ctx.value(name)
    last = len(ctx.shape(name)) - 1
    if not isinstance(x, Wide) or (len(x.scale) > 1 and last in axes):
        quantized = ctx.quantized(name)
        widened, bound = e.widen(quantized, f"{stem}_input")
        x = Wide(widened, (quantized.scale,), bound)
    total, bound = x.name, x.bound
    for axis in axes:
        shape = list(e.shape(total))
        bound = e.bounded(bound * shape[axis], f"the sum over axis {axis}", stem)
        shape[axis] = 1
        total = e.emit("REDUCE_SUM", [total], f"{stem}_sum", types.i32, tuple(shape), axis=axis)
    return Wide(total, x.scale, bound)


@rule("AVG_POOL2D")
def avg_pool(ctx: Context, op: Operator) -> None:
    """AVG_POOL2D itself, at the input's QParams on both sides."""
    x = ctx.quantized(op.inputs[0])
    zero_point = ctx.writer.zero_point(x.zero_point, x.dtype)
    place(ctx, op, x, [zero_point, zero_point], acc_type=types.i32)


@rule("ARGMAX")
def argmax(ctx: Context, op: Operator) -> None:
    """The order of the stored integers is that of the real values, so indices are the same but for ties."""
    out = op.outputs[0]
    x = ctx.quantized(op.inputs[0])
    name = ctx.writer.emit("ARGMAX", [x.name], out, types.i32, ctx.shape(out), **op.attributes)
    ctx.writer.tensor(name).source = ctx.tensor(out).source or Location(name=out)
    ctx.values[out] = Plain(name)
