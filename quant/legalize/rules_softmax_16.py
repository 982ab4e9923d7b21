"""Softmax of int16 tensors, with the tables of 513 entries: exp(x - max) / sum(exp(x - max)).

Notation: s the input's scale, n the number of classes, and for a TABLE's result its 7 fractional bits.

1. d = x - max(x) is in -65535 .. 0. Below -REACH in real numbers exp is less than half a step of 2^-15: the index
   d * s / REACH * 65535 + 32767, saturated, reads a table of exp over -REACH .. 0 of 22 bits, E.
2. S = sum(E >> k) needs n * 2^(22 - k) <= 2^31: k is as small as that allows, 0 up to 512 classes.
3. With z = CLZ(S), S * 2^(z - 1) = 2^30 * (1 + t), 0 <= t < 1. A table over t gives r = 1 / (1 + t), 16 bits of it.
4. E / S = E * r * 2^(z - 1) / 2^30: the product of the upper 15 bits of both, shifted right by 24 + k - z with
   rounding, is the result in steps of 2^-15.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from lut import fit_16
from tosa_engine import types

from . import refusals
from .integer_writer import Quantized, stored_type
from .masks import at_least, without_masked

if TYPE_CHECKING:
    from tosa_engine.graph import Operator
    from tosa_engine.types import Array, Shape

    from .integer_writer import IntegerWriter
    from .rules import Context

REACH = 11.0  # exp(-11) is 0.55 steps of 2^-15
STEPS = 65535
TABLE_BITS = 22  # of a result of TABLE whose entries reach 32767
MOST_SHIFT = 7


def softmax_16(ctx: Context, op: Operator) -> None:
    """Attribute `axis`: the axis that sums to 1. An input of 16 bits; an output of 8 or 16."""
    out, axis, e = op.outputs[0], op.attributes["axis"], ctx.writer
    x, quant = ctx.quantized(op.inputs[0]), ctx.qparams(out)
    shape = list(ctx.shape(op.inputs[0]))
    k = max(0, TABLE_BITS + (shape[axis] - 1).bit_length() - 31)
    if k > MOST_SHIFT:
        message = f"softmax over {shape[axis]} classes, at most {1 << (31 + MOST_SHIFT - TABLE_BITS)}"
        raise ctx.refused(refusals.CLASSES, message, out, op)
    shape[axis] = 1
    exponentials = without_masked(ctx, op, _exponentials(e, x, axis, tuple(shape), out))
    terms = exponentials
    if k:
        terms = e.rescale(terms, f"{out}_terms", types.i32, 2.0**-k, 1 << TABLE_BITS, why=f"2^-{k}")
    total = e.emit("REDUCE_SUM", [terms], f"{out}_sum", types.i32, tuple(shape), axis=axis)
    total = at_least(ctx, op, total, 1 << (TABLE_BITS - 1 - k))
    zeros = e.emit("CLZ", [total], f"{out}_clz", types.i32, tuple(shape))
    product = e.binary(
        "MUL", (_short(e, exponentials, f"{out}_exp15"), _reciprocal(e, total, zeros, out)), f"{out}_product"
    )
    rank = len(shape)
    shift = e.binary("SUB", (e.constant(f"{out}_base", types.i32, np.full((1,) * rank, 24 + k)), zeros), f"{out}_shift")
    found = e.emit("ARITHMETIC_RIGHT_SHIFT", [product, shift], f"{out}_q15", types.i32, ctx.shape(out), round=True)
    scale = 2.0**-15 / quant.scale[0]
    why = f"2^-15 / {quant.scale[0]!r} (output)"
    name = e.rescale(
        found, ctx.final_name(out), stored_type(quant), scale, 1 << 16, output_zp=quant.zero_point[0], why=why
    )
    ctx.define(out, Quantized(name, quant))


def _exponentials(e: IntegerWriter, x: Quantized, axis: int, shape: Shape, out: str) -> str:
    """E as int32 of 22 bits."""
    peak = e.emit("REDUCE_MAX", [x.name], f"{out}_max", types.i16, shape, axis=axis, nan_mode="PROPAGATE")
    wide, _ = e.widen(x, f"{out}_input")
    wide_peak, _ = e.widen(Quantized(peak, x.quant), f"{out}_max_wide")
    below = e.binary("SUB", (wide, wide_peak), f"{out}_below")
    scale = x.scale * STEPS / REACH
    least = -min(STEPS, round(STEPS / scale) + 1)  # what is further below has the index -32768 too
    rank = len(shape)
    floor = e.constant(f"{out}_floor", types.i32, np.full((1,) * rank, least))
    near = e.binary("MAXIMUM", (below, floor), f"{out}_near", nan_mode="PROPAGATE")
    steps = e.rescale(near, f"{out}_steps", types.i32, scale, -least, why=f"{x.scale!r} * {STEPS} / {REACH}")
    top = e.constant(f"{out}_top", types.i32, np.full((1,) * rank, 32767))
    index = e.rescale(e.binary("ADD", (steps, top), f"{out}_place"), f"{out}_index", types.i16, 1.0, 1 << 18, why="1")
    return e.table(index, exponential_table().copy(), f"{out}_exp")


@cache
def exponential_table() -> Array:
    """The 513 entries of step 1."""
    return fit_16(lambda real: float(np.exp(min(real - REACH / 2, 0.0))), REACH / STEPS, 1 / 32767)


def _short(e: IntegerWriter, table: str, stem: str) -> str:
    """The upper 15 bits of a TABLE's 22."""
    return e.rescale(table, stem, types.i32, 2.0**-7, 1 << TABLE_BITS, why="2^-7")


def _reciprocal(e: IntegerWriter, total: str, zeros: str, out: str) -> str:
    """1 / (1 + t) in 15 bits, t the fraction of the sum below its first bit."""
    rank = len(e.shape(total))
    one = e.constant(f"{out}_one", types.i32, np.ones((1,) * rank))
    places = e.binary("SUB", (zeros, one), f"{out}_places")
    high = e.emit("LOGICAL_LEFT_SHIFT", [total, places], f"{out}_normal", types.i32, e.shape(total))
    middle = e.constant(f"{out}_middle", types.i32, np.full((1,) * rank, 3 << 29))
    fraction = e.binary("SUB", (high, middle), f"{out}_fraction")
    index = e.rescale(fraction, f"{out}_t", types.i16, 2.0**-14, 1 << 29, why="2^-14")
    return _short(e, e.table(index, reciprocal_table().copy(), f"{out}_r"), f"{out}_r15")


@cache
def reciprocal_table() -> Array:
    """The 513 entries of step 3."""
    return fit_16(lambda real: 1.0 / (1.5 + real), 2.0**-16, 1 / 32767)
