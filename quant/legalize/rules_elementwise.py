"""ADD, SUB, MUL, MAXIMUM, MINIMUM of two tensors, and CLAMP.

ADD, SUB, MAXIMUM, MINIMUM: both operands become int32 at a common scale 2^20 times finer than the coarser operand's
(2^14 where one is int16), so that nothing is lost before the one rounding behind: |operand| <= 255 * 2^20 < 2^28, or
32767 * 2^14 < 2^29. A constant added to an int32
accumulator (a bias) takes the accumulator's scale instead. MUL: the product of the operands without
their zero points is exact in int32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types

from . import refusals
from .integer_writer import Quantized, Wide
from .multiplier import INT32_MAX, SMALLEST_SCALE
from .rules import Context, clamp_bounds, rule

if TYPE_CHECKING:
    from tosa_engine.graph import Operator
    from tosa_engine.types import Array

MOST_WHOLE = 1 << 15  # whole numbers whose products fit int32
HEADROOM = {8: 2.0**20, 16: 2.0**14}


@rule("ADD", "SUB", "MAXIMUM", "MINIMUM")
def at_common_scale(ctx: Context, op: Operator) -> None:
    if _onto_accumulator(ctx, op) or _of_squares(ctx, op):
        return
    out, e = op.outputs[0], ctx.writer
    names, bounds, scale = at_one_scale(ctx, op)
    additive = op.op in ("ADD", "SUB")
    attributes = {} if additive else {"nan_mode": "PROPAGATE"}
    name = e.binary(op.op, names, f"{out}_acc", **attributes)
    ctx.finish(out, Wide(name, (scale,), sum(bounds) if additive else max(bounds)))


def at_one_scale(ctx: Context, op: Operator) -> tuple[list[str], list[int], float]:
    """Both operands as int32 of one scale: their names, their bounds, the scale."""
    whole = [whole_numbers(ctx, name) for name in op.inputs[:2]]
    if whole[0] is not None and whole[1] is not None:
        return [w.name for w in whole if w is not None], [w.bound for w in whole if w is not None], 1.0
    a, b = ctx.pair(op.inputs)
    scale = max(a.scale, b.scale) / HEADROOM[max(a.quant.bits, b.quant.bits)]
    names, bounds = [], []
    for side, value in (("a", a), ("b", b)):
        why = f"{value.scale!r} (operand) / {scale!r} (common scale of {op.op})"
        name, bound = ctx.writer.widen(value, f"{op.outputs[0]}_{side}", value.scale / scale, why)
        names.append(name)
        bounds.append(bound)
    return names, bounds, scale


def whole_numbers(ctx: Context, name: str) -> Wide | None:
    """A tensor that is known to hold whole numbers (FLOOR, and sums and products of it) as int32, exactly."""
    kept, data = ctx.values.get(name), ctx.constant(name)
    wide = ctx.wide.get(name) or (kept if isinstance(kept, Wide) else None)
    if data is not None:
        reach = float(np.abs(data).max(initial=0.0))
        if reach > MOST_WHOLE or not np.array_equal(data, np.rint(data)):
            return None
        return Wide(ctx.writer.constant(name, types.i32, data), (1.0,), int(reach))
    return wide if wide is not None and wide.scale == (1.0,) and wide.bound <= MOST_WHOLE else None


def _onto_accumulator(ctx: Context, op: Operator) -> bool:
    """ADD or SUB of a constant to an int32 form: the constant takes the accumulator's scales, which become coarser
    where the sum wouldn't fit.
    """
    for x, other, side in ((op.inputs[0], op.inputs[1], 0), (op.inputs[1], op.inputs[0], 1)):
        wide, constant = ctx.values.get(x), ctx.constant(other)
        if not isinstance(wide, Wide) or constant is None or op.op not in ("ADD", "SUB") or x in ctx.quant:
            continue
        if wide.scale == (1.0,) and whole_numbers(ctx, other) is None:  # steps of 1 are too coarse for a fraction
            continue
        out, e = op.outputs[0], ctx.writer
        bound = wide.bound + int(np.abs(_steps(ctx, other, wide)).max(initial=0))
        excess = bound.bit_length() - 30 if bound > INT32_MAX else 0
        if 0 < excess < wide.bound.bit_length() - 16:
            wide = shortened(ctx, wide, wide.bound.bit_length() - excess, f"{out}_acc")
            bound = wide.bound + int(np.abs(_steps(ctx, other, wide)).max(initial=0))
        e.bounded(bound, "the accumulator with its bias", ctx.source_name(out))
        stored = _steps(ctx, other, wide)
        names = [wide.name, e.constant(other, types.i32, stored)]
        name = e.binary(op.op, names if side == 0 else names[::-1], f"{out}_acc")
        ctx.finish(out, Wide(name, wide.scale, bound))
        return True
    return False


def _of_squares(ctx: Context, op: Operator) -> bool:
    """The sum of two `squares` as int32 of all the bits that it can have."""
    a, b = (ctx.values.get(name) for name in op.inputs[:2])
    if not (isinstance(a, Wide) and isinstance(b, Wide) and ctx.squares.issuperset(op.inputs[:2])):
        return False
    if len(a.scale) > 1 or len(b.scale) > 1:
        return False
    out, e, coarser = op.outputs[0], ctx.writer, max(a.scale[0], b.scale[0])
    scale = max(max(w.scale[0] * w.bound for w in (a, b)) * 2.0**-29, coarser * 2.0**-14)
    if a.scale == b.scale:
        scale = coarser * 2.0 ** max((a.bound + b.bound).bit_length() - 31, 0)
    if min(a.scale[0], b.scale[0]) < scale * 2 * SMALLEST_SCALE:
        return False
    names, bound = [], 0
    for side, wide in (("a", a), ("b", b)):
        name, factor, reach = wide.name, wide.scale[0] / scale, wide.bound
        if factor != 1:
            why = f"{wide.scale[0]!r} (operand) / {scale!r} (common scale of {op.op})"
            name, reach = e.rescale(name, f"{out}_{side}", types.i32, factor, reach, why=why), int(reach * factor) + 2
        names.append(name)
        bound += reach
    total = e.binary("ADD", names, f"{out}_acc")
    ctx.finish(out, Wide(total, (scale,), e.bounded(bound, "the sum of squares", ctx.source_name(out))))
    return True


def _steps(ctx: Context, name: str, wide: Wide) -> Array:
    """A constant in steps of an accumulator."""
    constant = ctx.finite(name)
    assert constant is not None
    steps: Array = np.rint(constant.astype(np.float64) / np.asarray(wide.scale))
    return steps


@rule("MUL")
def product(ctx: Context, op: Operator) -> None:
    """Scale a * b; a constant operand that isn't one number keeps 15 bits instead of 8."""
    if _scaled(ctx, op):
        return
    out, e = op.outputs[0], ctx.writer
    shift = ctx.constant(op.inputs[2])
    if shift is not None and shift.any():
        raise ctx.refused(refusals.OPERATOR, "MUL with a shift", out, op)
    whole = [whole_numbers(ctx, name) for name in op.inputs[:2]]
    if whole[0] is not None and whole[1] is not None:
        found = e.binary("MUL", (whole[0].name, whole[1].name), f"{out}_acc")
        ctx.finish(out, Wide(found, (1.0,), whole[0].bound * whole[1].bound))
        return
    names, scale, bound = [], 1.0, 1
    room = _room(ctx, op)
    for side, operand in zip(("a", "b"), op.inputs, strict=False):
        constant = ctx.finite(operand)
        if constant is not None:
            name, step, reach = _fifteen_bits(ctx, operand, constant)
            names.append(name)
            scale, bound = scale * step, bound * reach
            continue
        if operand in ctx.fine:
            wide = shortened(ctx, ctx.fine[operand], room, f"{out}_{side}")
        else:
            value = ctx.quantized(operand)
            widened, reach = e.widen(value, f"{out}_{side}")
            wide = Wide(widened, (value.scale,), reach)
        names.append(wide.name)
        scale, bound = scale * wide.scale[0], bound * wide.bound
    name = e.binary("MUL", names, f"{out}_acc")
    ctx.finish(out, Wide(name, (scale,), e.bounded(bound, "the product", ctx.source_name(out))))


def _room(ctx: Context, op: Operator) -> int:
    """The bits that a fine operand may have: 31 less those of the other one, or half of them each."""
    others = [name for name in op.inputs[:2] if name not in ctx.fine]
    if not others:
        return 15
    other = others[0]
    return 31 - (15 if ctx.constant(other) is not None else ctx.quantized(other).reach.bit_length())


def shortened(ctx: Context, wide: Wide, bits: int, stem: str) -> Wide:
    """At most so many bits of an int32 form."""
    drop = wide.bound.bit_length() - bits
    return ctx.shortened(wide, drop, stem) if drop > 0 else wide


def _scaled(ctx: Context, op: Operator) -> bool:
    """An int32 form times a positive number: nothing is computed, the scale changes."""
    for x, other in (op.inputs[:2], op.inputs[1::-1]):
        wide, constant = ctx.values.get(x), ctx.constant(other)
        if isinstance(wide, Wide) and constant is not None and constant.size == 1 and constant.item() > 0:
            scale = tuple(s * float(constant.item()) for s in wide.scale)
            ctx.finish(op.outputs[0], Wide(wide.name, scale, wide.bound))
            return True
    return False


def _fifteen_bits(ctx: Context, name: str, constant: Array) -> tuple[str, float, int]:
    """A constant as symmetric integers of 15 bits and sign, their scale, and the largest of them."""
    values = constant.astype(np.float64)
    step = float(np.abs(values).max(initial=0.0)) / 32767 or 1.0
    stored = np.rint(values / step)
    return ctx.writer.constant(name, types.i32, stored), step, int(np.abs(stored).max(initial=0.0))


@rule("CLAMP")
def clamp(ctx: Context, op: Operator) -> None:
    """Where the saturation to int8 has clamped already nothing is left to do; else CLAMP between stored bounds."""
    out, e = op.outputs[0], ctx.writer
    x, quant = ctx.quantized(op.inputs[0]), ctx.qparams(out)
    if ctx.final_name(op.inputs[0]) != op.inputs[0] and op.inputs[0] not in ctx.block.inputs:
        ctx.values[out] = x  # the operator that made it has given it this tensor's name
        return
    low, high = clamp_bounds(op, x.quant)
    same = x.quant == quant
    target = ctx.final_name(out) if same else f"{out}_clamp"
    name = e.emit("CLAMP", [x.name], target, x.dtype, ctx.shape(out), min_val=low, max_val=high, nan_mode="PROPAGATE")
    ctx.define(out, Quantized(name if same else ctx.requantized(Quantized(name, x.quant), out), quant))
