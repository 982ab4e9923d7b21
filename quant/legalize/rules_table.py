"""The TABLE of a chain (`chains`), or the few `tables` that a steep one needs.

Where the function isn't defined for a number that the input's QParams can represent (the root of a negative one), the
table has what it has for the nearest input where it is, which `Report.notes` tell.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.errors import DataError

from . import refusals
from .chains import values_of
from .derived import of_values
from .integer_writer import Quantized, Wide, stored_type
from .tables import FRACTION, Goal, by_bytes, fine, inputs_of, zoomed

if TYPE_CHECKING:
    from tosa_engine.graph import Operator
    from tosa_engine.types import Array

    from .rules import Context

MOST_BITS = 22  # of an int32 result from int8
# operators that read an int32 operand with more bits than 8
TAKES_FINE = frozenset({"MUL"})


def emit(ctx: Context, op: Operator, base: str) -> None:
    """The TABLE of the chain that ends with `op`.

    Raises DataError when the function is NaN for every number that the input's QParams can represent.
    """
    out = op.outputs[0]
    x = ctx.quantized(base)

    def function(reals: Array) -> Array:
        return _defined(ctx, op, values_of(ctx, out, base, reals))

    if x.dtype is types.i8 and op.op in ("FLOOR", "CEIL"):
        whole = function(inputs_of(x))
        bits = 7 if np.abs(whole).max() < 128 else 15
        entries = np.clip(whole, -(1 << bits), (1 << bits) - 1).astype(np.int64)
        ctx.wide[out] = Wide(by_bytes(ctx, x, entries, f"{out}_exact", bits), (1.0,), 1 << bits)
    if x.dtype is types.i8 and _stays_inside(ctx, op):
        ctx.fine[out] = fine(ctx, x, function, out, MOST_BITS, _largest(ctx, out), base)
        if out not in ctx.quant:
            ctx.values[out] = ctx.fine[out]
            return
    if out not in ctx.quant:
        own = of_values(ctx, out, base, inputs_of(x), function(inputs_of(x)), x.quant.bits)
        ctx.quant |= {out: own} if own is not None else {}
    quant = ctx.qparams(out)
    found = zoomed(ctx, x, function, Goal(quant), out, base)
    if x.dtype is types.i16:
        finer = 128 if quant.bits == 8 else 1
        if finer == 1:
            ctx.wide[out] = Wide(found, (quant.scale[0] * FRACTION,), 1 << 22)
        found = ctx.writer.rescale(
            found, ctx.final_name(out), stored_type(quant), FRACTION / finer, 1 << 22,
            output_zp=quant.zero_point[0], why=f"1 / 128 / {finer}",
        )  # fmt: skip
    elif quant.bits == 16:
        found = ctx.writer.rescale(found, ctx.final_name(out), types.i16, 1.0, 1 << 16, why="1")
    ctx.define(out, Quantized(found, quant))


def _stays_inside(ctx: Context, op: Operator) -> bool:
    """A result that the model has no name for, or a reciprocal, and only products read: it may have more bits."""
    out = op.outputs[0]
    source = ctx.tensor(out).source
    inner = op.op in ("RECIPROCAL", "RSQRT") or (source is not None and not source.name)
    readers = ctx.consumers.get(out, [])
    return inner and not ctx.is_output(out) and bool(readers) and all(r.op in TAKES_FINE for r in readers)


def _largest(ctx: Context, out: str) -> float:
    """The largest magnitude that calibration has seen, where it has."""
    quant = ctx.quant.get(out)
    if quant is None:
        return math.inf
    return quant.scale[0] * max(quant.high - quant.zero_point[0], quant.zero_point[0] - quant.low)


def _defined(ctx: Context, op: Operator, values: Array) -> Array:
    """The values with those that are NaN replaced by what the nearest input has."""
    out = op.outputs[0]
    missing = np.isnan(values)
    if not missing.any():
        return values
    if missing.all():
        message = f"no TABLE for {op.op}{ctx.place(out, op)}: the function is NaN for every input"
        raise DataError(message, label=refusals.TABLE, tensor=ctx.source_name(out))
    note = (
        f"{ctx.source_name(out)}: {op.op} isn't defined for some of the inputs that its range can hold; there the "
        f"table has the value of the nearest input where it is"
    )
    if note not in ctx.notes:
        ctx.notes.append(note)
    there, every = np.flatnonzero(~missing), np.arange(len(values))
    behind = np.clip(np.searchsorted(there, every), 0, len(there) - 1)
    before = np.maximum(behind - 1, 0)
    nearer = (np.abs(every - there[before]) < np.abs(there[behind] - every)) & (there[before] <= every)
    found: Array = values[there[np.where(nearer, before, behind)]]
    return found
