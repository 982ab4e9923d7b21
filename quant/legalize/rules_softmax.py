"""Softmax of int8 tensors, with operators of PRO-INT only: exp(x - max) / sum(exp(x - max)).

Notation: s the input's scale, n the number of classes, K the bits of an exponential.

1. d = x - max(x) is an integer in -255 .. 0, and d + 127 is every int8 once: a 256-entry TABLE sees d exactly. The
   exponential E = round((2^K - 1) * exp(s * d)) has more than 8 bits, so one TABLE gives each of its bytes.
2. S = sum(E) needs n * 2^K <= 2^31. K = 15 does while n <= 25: all roundings together move a result by at most
   n / 2^16, a tenth of an output step; more classes get as many bits as fit, at most 23.
3. The reciprocal of v = S / (2^K - 1), which is in 1 .. n: a first value r0 from one TABLE at v rounded to 1/16,
   and for v above 16 the same TABLE once more at v / 16 (each saturates where the other has its range), then one step
   of Newton, r = r0 * (c - v * r0). r0 is within 3.6 % (rounding of v and of the table), so with c = 2 the result would
   be low by up to 0.1 %; c = 2 + 2^-11 halves that. Beyond v = 500 every result is less than half a step: v saturates.
4. The result E * r, with 15 bits of each, rescaled to int8.

Against the real function the result is within 0.5 + 0.25 steps of 1/256.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types

from . import refusals
from .integer_writer import Quantized, stored_type
from .masks import at_least, without_masked
from .rules import Context, rule
from .rules_softmax_16 import softmax_16

if TYPE_CHECKING:
    from tosa_engine.graph import Operator
    from tosa_engine.types import Array

    from .integer_writer import IntegerWriter

SUM_BITS = 31
RESULT_BITS = 15  # of E and of r in the last product
FEW_CLASSES = 25
MOST_BITS = 23
V_BITS = 13  # fractional bits of v
V_MOST = 500
R_UNIT = 255 * 255  # r0 = 1 as an integer: the product of two table entries
STEP_BITS = 14  # fractional bits of c - v * r0
C = 2.0 + 2.0**-11
FIRST_RANGE = 16  # v up to here needs one TABLE


@rule("softmax")
def softmax(ctx: Context, op: Operator) -> None:
    """Attribute `axis`: the axis that sums to 1. Any QParams of input and output."""
    out, axis = op.outputs[0], op.attributes["axis"]
    x, quant, e = ctx.quantized(op.inputs[0]), ctx.qparams(out), ctx.writer
    if x.dtype is types.i16:
        softmax_16(ctx, op)
        return
    classes = ctx.shape(op.inputs[0])[axis]
    bits = exponential_bits(classes)
    if bits < RESULT_BITS:
        message = f"softmax over {classes} classes, at most {1 << (SUM_BITS - RESULT_BITS)}"
        raise ctx.refused(refusals.CLASSES, message, out, op)
    top = (1 << bits) - 1
    exponentials = without_masked(ctx, op, _exponentials(e, x, axis, bits, out))
    shape = list(ctx.shape(out))
    shape[axis] = 1
    total = e.emit("REDUCE_SUM", [exponentials], f"{out}_sum", types.i32, tuple(shape), axis=axis)
    total = at_least(ctx, op, total, top)
    r = _reciprocal(e, total, top, classes, out)
    unit = float(top)
    if bits > RESULT_BITS:
        scale = 2.0 ** (RESULT_BITS - bits)
        exponentials = e.rescale(exponentials, f"{out}_exp{RESULT_BITS}", types.i32, scale, top, why=f"{scale!r}")
        unit *= scale
    product = e.binary("MUL", (exponentials, r), f"{out}_product")
    unit *= 1 << RESULT_BITS
    scale = 1 / (unit * quant.scale[0])
    name = e.rescale(
        product, ctx.final_name(out), stored_type(quant), scale, int(unit * 1.01),
        output_zp=quant.zero_point[0], why=f"1 / ({unit!r} (product) * {quant.scale[0]!r} (output))",
    )  # fmt: skip
    ctx.define(out, Quantized(name, quant))


def exponential_bits(classes: int) -> int:
    """K: the bits of an exponential, so that the sum of all fits 31 bits."""
    if classes <= FEW_CLASSES:
        return RESULT_BITS
    return min(MOST_BITS, SUM_BITS - (classes - 1).bit_length())


def _exponentials(e: IntegerWriter, x: Quantized, axis: int, bits: int, out: str) -> str:
    """E as int32: one TABLE per byte of round((2^bits - 1) * exp(s * d))."""
    shape = list(e.shape(x.name))
    shape[axis] = 1
    peak = e.emit("REDUCE_MAX", [x.name], f"{out}_max", types.i8, tuple(shape), axis=axis, nan_mode="PROPAGATE")
    wide, _ = e.widen(x, f"{out}_input")
    wide_peak, _ = e.widen(Quantized(peak, x.quant), f"{out}_max_wide")
    below = e.binary("SUB", (wide, wide_peak), f"{out}_below")
    index = e.rescale(below, f"{out}_index", types.i8, 1.0, 255, output_zp=127, why="1")
    entries = np.rint(((1 << bits) - 1) * np.exp(x.scale * np.arange(-255, 1))).astype(np.int64)
    total = ""
    for byte in range((bits + 7) // 8):
        part = e.table(index, ((entries >> (8 * byte)) & 255) - 128, f"{out}_exp_byte{byte}")
        scale = float(1 << (8 * byte))
        widened = e.rescale(part, f"{out}_exp_part{byte}", types.i32, scale, 255, input_zp=-128, why=f"{scale!r}")
        total = e.binary("ADD", (total, widened), f"{out}_exp_sum{byte}") if total else widened
    return total


def reciprocal_table() -> Array:
    """255 / v for v = 0, 1/16, ... 255/16, as int8 with zero point -128; below v = 1, which has no use, 255."""
    v16 = np.maximum(np.arange(256), 16)
    table: Array = np.floor(255 * 16 / v16 + 0.5).astype(np.int64) - 128
    return table


def _reciprocal(e: IntegerWriter, total: str, top: int, classes: int, out: str) -> str:
    """2^15 / v as int32, v = total / top in 1 .. classes."""
    v = e.rescale(total, f"{out}_v", types.i32, 2.0**V_BITS / top, top * classes, why=f"2^{V_BITS} / {top}")
    rank = len(e.shape(total))
    reach = classes << V_BITS
    if classes > V_MOST:
        reach = V_MOST << V_BITS
        most = e.constant(f"{out}_v_most", types.i32, np.full((1,) * rank, reach))
        v = e.binary("MINIMUM", (v, most), f"{out}_v_min", nan_mode="PROPAGATE")
    first = _looked_up(e, v, FIRST_RANGE, reach, f"{out}_r_fine")
    if classes < FIRST_RANGE:
        r0 = e.rescale(first, f"{out}_r0", types.i32, 255.0, 255, input_zp=-128, why="255.0")
    else:
        second = _looked_up(e, v, 1, reach, f"{out}_r_coarse")
        factors = [
            e.rescale(part, f"{out}_r_{name}_wide", types.i32, 1.0, 255, input_zp=-128, why="1")
            for name, part in (("fine", first), ("coarse", second))
        ]
        r0 = e.binary("MUL", factors, f"{out}_r0")
    one = R_UNIT << V_BITS
    c = e.constant(f"{out}_c", types.i32, np.full((1,) * rank, math.floor(C * one)))
    step = e.binary("SUB", (c, e.binary("MUL", (v, r0), f"{out}_v_r0")), f"{out}_newton")
    scale, why = 2.0**STEP_BITS / one, f"2^{STEP_BITS} / {one}"
    step = e.rescale(step, f"{out}_newton_short", types.i32, scale, math.floor(C * one), why=why)
    r = e.binary("MUL", (r0, step), f"{out}_r_long")
    unit = R_UNIT << STEP_BITS
    scale, why = 2.0**RESULT_BITS / unit, f"2^{RESULT_BITS} / {unit}"
    return e.rescale(r, f"{out}_r", types.i32, scale, int(unit * 1.01), why=why)


def _looked_up(e: IntegerWriter, v: str, steps: int, reach: int, stem: str) -> str:
    """The table at v * steps, rounded and saturated to 0 .. 255."""
    scale = steps / float(1 << V_BITS)
    index = e.rescale(v, f"{stem}_index", types.i8, scale, reach, output_zp=-128, why=f"{steps} / 2^{V_BITS}")
    return e.table(index, reciprocal_table(), stem)
