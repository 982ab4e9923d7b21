"""REDUCE_SUM, the composite mean, AVG_POOL2D, ARGMAX.

Sums are taken in int32 without zero points and rescaled once; a mean's division is part of that scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.graph import Location

from .integer_writer import Plain, Quantized, Wide
from .multiplier import INT32_MAX
from .rules import Context, rule
from .rules_elementwise import shortened
from .rules_layout import place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.graph import Operator
    from tosa_engine.types import Array, Shape

FEWEST_BITS = 8  # of a term that is summed


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
    for axis in axes:
        shape = list(e.shape(x.name))
        x = _with_room(ctx, x, shape[axis], stem)
        bound = e.bounded(x.bound * shape[axis], f"the sum over axis {axis}", stem)
        shape[axis] = 1
        x = Wide(e.emit("REDUCE_SUM", [x.name], f"{stem}_sum", types.i32, tuple(shape), axis=axis), x.scale, bound)
    return x


def _with_room(ctx: Context, x: Wide, terms: int, stem: str) -> Wide:
    """Values whose sum fits int32: so many of them leave some of their last bits out, but at least 8."""
    bits = 30 - (terms - 1).bit_length()
    return x if x.bound * terms <= INT32_MAX or bits < FEWEST_BITS else shortened(ctx, x, bits, f"{stem}_terms")


@rule("AVG_POOL2D")
def avg_pool(ctx: Context, op: Operator) -> None:
    """From int8 to QParams of its own the sums of the windows, else AVG_POOL2D itself at the input's QParams."""
    x, quant = ctx.quantized(op.inputs[0]), ctx.quant.get(op.outputs[0])
    if x.dtype is types.i8 and quant is not None and quant != x.quant:
        ctx.finish(op.outputs[0], _window_means(ctx, op, x))
        return
    zero_point = ctx.writer.zero_point(x.zero_point, x.dtype)
    place(ctx, op, x, [zero_point, zero_point], acc_type=types.i32)


def _window_means(ctx: Context, op: Operator, x: Quantized) -> Wide:
    """A depthwise convolution with ones sums up each window; where windows meet the padding, whose values don't count,
    a product weighs their sums.
    """
    out, e, (high, wide) = op.outputs[0], ctx.writer, op.attributes["kernel"]
    channels = ctx.shape(out)[-1]
    ones = e.constant(f"{out}_ones", types.i8, np.ones((high, wide, channels, 1)))
    inputs = [x.name, ones, e.zero(), e.zero_point(x.zero_point, x.dtype), e.zero_point(0)]
    attributes = {"pad": op.attributes["pad"], "stride": op.attributes["stride"], "dilation": (1, 1)}
    total = e.emit(
        "DEPTHWISE_CONV2D", inputs, f"{out}_sum", types.i32, ctx.shape(out),
        **attributes, acc_type=types.i32, local_bound=False,
    )  # fmt: skip
    bound = e.bounded(high * wide * x.reach, "the sum of a window", ctx.source_name(out))
    counts = _counts(op, ctx.shape(op.inputs[0]), ctx.shape(out))
    if (counts == high * wide).all():
        return Wide(total, (x.scale / (high * wide),), bound)
    unit = 1 << (30 - bound.bit_length())
    weights = np.rint(unit / counts)
    name = e.binary("MUL", [total, e.constant(f"{out}_weights", types.i32, weights)], f"{out}_mean")
    return Wide(name, (x.scale / unit,), bound * int(weights.max()))


def _counts(op: Operator, shape: Shape, out: Shape) -> Array:
    """How many values each window has: [1, OH, OW, 1]."""
    found = []
    for axis in (0, 1):
        first = np.arange(out[axis + 1]) * op.attributes["stride"][axis] - op.attributes["pad"][2 * axis]
        last = np.minimum(first + op.attributes["kernel"][axis], shape[axis + 1])
        found.append(last - np.maximum(first, 0))
    counts: Array = found[0][None, :, None, None] * found[1][None, None, :, None]
    return counts


@rule("ARGMAX")
def argmax(ctx: Context, op: Operator) -> None:
    """The order of the stored integers is that of the real values, so indices are the same but for ties."""
    out = op.outputs[0]
    x = ctx.quantized(op.inputs[0])
    name = ctx.writer.emit("ARGMAX", [x.name], out, types.i32, ctx.shape(out), **op.attributes)
    ctx.writer.tensor(name).source = ctx.tensor(out).source or Location(name=out)
    ctx.values[out] = Plain(name)
