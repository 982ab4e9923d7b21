"""Convolutions and MATMUL: int8 operands with int32 accumulators, or int16 ones with int48, one RESCALE per channel.

Weights are symmetric int8, one scale per output channel: the scales of graph.quant where the constant carries them,
else those of its own values (of MATMUL with int16, symmetric int16). A constant with QParams of 4 bits becomes int4.
The bias is at scale input * weight. A channel whose weights are so small that the bias would leave 31 bits, or that the
RESCALE couldn't be applied, gets the smallest weight scale that avoids it: its weights then hardly count against the
bias or the output's step, and the change is noted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.spec import traits_of

from . import refusals
from .integer_writer import Quantized, Wide
from .lints import ACCUMULATOR, BIAS, SCALE, TIGHT
from .multiplier import INT32_MAX, INT48_MAX
from .rules import Context, rule
from .weights import LEVELS, from_rows, row_qparams, rows_of, usable

if TYPE_CHECKING:
    from tosa_engine.graph import Operator
    from tosa_engine.types import Array


def _limits(x: Quantized) -> tuple[types.DType, int, float]:
    """Of an operator on `x`: the accumulator's type, its largest value, and the smallest scale from it to an output,
    with one bit to spare.
    """
    return (types.i48, INT48_MAX, 2.0**-47) if x.dtype is types.i16 else (types.i32, INT32_MAX, 2.0**-31)


@rule("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")
def convolution(ctx: Context, op: Operator) -> None:
    """Input and weight zero points of the float operator are 0 by its own rules; the integer one has the input's."""
    x, out = ctx.quantized(op.inputs[0]), op.outputs[0]
    weight, bias = ctx.finite(op.inputs[1]), ctx.finite(op.inputs[2])
    if weight is None or bias is None:
        what = "weights that aren't" if weight is None else "a bias that isn't"
        raise ctx.refused(refusals.CONSTANT, f"{op.op} with {what} constant", out, op)
    rows = rows_of(op.op, weight)
    scales, bits = _weight_scales(ctx, op.inputs[1], rows)
    if bits == 4 and x.dtype is not types.i8:
        message = f"4-bit weights with 16-bit activations, which TOSA has no {op.op} for"
        raise ctx.refused(refusals.WEIGHT_BITS, message, out, op)
    biases = np.broadcast_to(bias.astype(np.float64), (len(rows),))
    scales = _raised(ctx, out, x, scales, biases)
    stored = _integers(rows, scales, LEVELS[bits])
    accumulator_bias = integer_bias(biases, scales * x.scale)
    acc, most, _ = _limits(x)
    bounds = [int(one) for one in np.abs(stored).sum(axis=1) * x.reach + np.abs(accumulator_bias)]
    bound = _bound(ctx, out, max(bounds), most)
    e, weight_type = ctx.writer, types.i8 if bits == 8 else types.i4
    inputs = [
        x.name,
        e.constant(op.inputs[1], weight_type, from_rows(op.op, stored, weight.shape)),
        e.constant(f"{out}_bias", acc, accumulator_bias),
        e.zero_point(x.zero_point, x.dtype),
        e.zero_point(0, weight_type),
    ]
    window = traits_of(op).window
    assert window is not None
    attributes = {k: op.attributes[k] for k in window.attributes}
    attributes |= {"acc_type": acc, "local_bound": False}
    name = e.emit(op.op, inputs, f"{out}_acc", acc, ctx.shape(out), **attributes)
    ctx.accumulated(out, Wide(name, tuple((scales * x.scale).tolist()), bound, tuple(bounds)), x)


@rule("MATMUL")
def matmul(ctx: Context, op: Operator) -> None:
    """Both operands int8 with zero points, or int16. A constant B is a weight: symmetric, one scale per column."""
    out, e = op.outputs[0], ctx.writer
    weight = ctx.finite(op.inputs[1])
    a = ctx.pair(op.inputs)[0] if weight is None else ctx.quantized(op.inputs[0])
    depth = ctx.shape(op.inputs[0])[2]
    if weight is None:
        b = ctx.quantized(op.inputs[1])
        if types.i16 in (a.dtype, b.dtype):
            a, b = e.sixteen(a, f"{out}_a"), e.sixteen(b, f"{out}_b")
        b_name, b_zp, scales, reach = b.name, b.zero_point, np.array([b.scale]), b.reach
        bound = depth * a.reach * reach
    else:
        rows = rows_of(op.op, weight)
        scales, bits = _weight_scales(ctx, op.inputs[1], rows)
        if bits == 4:
            raise ctx.refused(refusals.WEIGHT_BITS, "4-bit weights, which TOSA has no MATMUL for", out, op)
        levels = 127
        if a.dtype is types.i16:  # TOSA multiplies int16 matrices by int16 ones
            scales, levels = scales * (127 / 32767), 32767
        scales = _raised(ctx, out, a, scales, np.zeros(len(rows)))
        stored = _integers(rows, scales, levels)
        by_batch = from_rows(op.op, stored, weight.shape)
        b_name, b_zp = e.constant(op.inputs[1], a.dtype, by_batch), 0
        bound = int(np.abs(by_batch).sum(axis=1).max(initial=0)) * a.reach
    acc, most, _ = _limits(a)
    _margin(ctx, out, bound, most)
    inputs = [a.name, b_name, e.zero_point(a.zero_point, a.dtype), e.zero_point(b_zp, a.dtype)]
    name = e.emit("MATMUL", inputs, f"{out}_acc", acc, ctx.shape(out))
    bound = e.bounded(bound, "the accumulator", ctx.source_name(out), most)
    ctx.accumulated(out, Wide(name, tuple((scales * a.scale).tolist()), bound), a)


def _weight_scales(ctx: Context, name: str, rows: Array) -> tuple[Array, int]:
    """One scale per row, and the bits: those the constant carries when they can be used, else those of its values."""
    quant, count = ctx.tensor(name).quant, len(rows)
    if quant is None:
        return np.asarray(row_qparams(rows).scale), 8
    if not usable(quant, count):
        ctx.notes.append(
            f"{ctx.source_name(name)}: weights need 4 or 8 bits, zero points of 0 and one scale or {count}; "
            f"scales are taken from the values instead"
        )
        return np.asarray(row_qparams(rows).scale), 8
    scales = np.broadcast_to(np.asarray(quant.scale), (count,)).copy()
    peak = float((np.abs(rows.astype(np.float64)).max(axis=1, initial=0.0) / scales).max())
    if quant.bits == 8 and peak >= 128.5:
        ctx.notes.append(f"{ctx.source_name(name)}: weights saturate, the largest is {peak:.1f} steps of its scale")
    return scales, quant.bits


def _raised(ctx: Context, out: str, x: Quantized, scales: Array, biases: Array) -> Array:
    """The weight scales, raised where the bias or the RESCALE needs it."""
    _, most, smallest = _limits(x)
    room = (most + 1) // 2
    floor = np.abs(biases) / (x.scale * room)
    low = scales < floor
    if low.any():
        excess = math.log2(float((floor[low] / scales[low]).max()))
        ctx.lint(
            BIAS, out, f"the bias of {_channels(low)} would need up to {excess:.1f} bits more than the "
            f"{math.log2(room):.0f} that leave the sum a bit; their weights' scale is raised",
        )  # fmt: skip
    quant, scales = ctx.quant.get(out), np.maximum(scales, floor)
    if quant is not None:
        floor = np.full(len(scales), quant.scale[0] * smallest / x.scale)
        low = scales < floor
        if low.any():
            least = math.log2(float(scales[low].min()) * x.scale / quant.scale[0])
            ctx.lint(
                SCALE, out, f"weights of {_channels(low)} are so small that a RESCALE would apply 2^{least:.1f}, "
                f"below 2^{math.log2(smallest):.0f}; their scale is raised",
            )  # fmt: skip
        scales = np.maximum(scales, floor)
    return scales


def _channels(which: Array) -> str:
    return f"{int(which.sum())} of {len(which)} channels ({_listed(np.flatnonzero(which).tolist())})"


def _listed(indices: list[int]) -> str:
    return ", ".join(map(str, indices[:8])) + (", ..." if len(indices) > 8 else "")


def integer_bias(bias: Array, scales: Array) -> Array:
    """One integer per output channel, of accumulators with these scales."""
    return _integers(np.broadcast_to(bias.astype(np.float64), scales.shape), scales)


def _integers(real: Array, scales: Array, levels: int = 127) -> Array:
    """Real values over their row's scale, halves away from zero; weights saturate at `levels`, biases can't."""
    if real.ndim == 2:
        return np.clip(_nearest(real.astype(np.float64) / scales[:, None]), -levels, levels)
    return _nearest(real / scales)


def _nearest(steps: Array) -> Array:
    whole = np.floor(np.abs(steps))
    nearest = np.copysign(whole + (np.abs(steps) - whole >= 0.5), steps)
    result: Array = nearest.astype(np.int64)
    return result


def _bound(ctx: Context, out: str, bound: int, most: int) -> int:
    """The largest |accumulator| of any channel at any point of the sum."""
    _margin(ctx, out, bound, most)
    return ctx.writer.bounded(bound, "the accumulator", ctx.source_name(out), most)


def _margin(ctx: Context, out: str, bound: int, most: int) -> None:
    margin = math.log2(most / max(bound, 1))
    ctx.margins[ctx.source_name(out)] = margin
    if most == INT48_MAX:
        ctx.wide_accumulators.add(ctx.source_name(out))
    if 0 <= margin < TIGHT:
        kind = "int48" if most == INT48_MAX else "int32"
        ctx.lint(ACCUMULATOR, out, f"the accumulator may reach {bound}, which leaves {margin:.2f} bits of {kind}")
