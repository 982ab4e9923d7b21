"""The tables of a function of one quantized tensor: one, or the few that a steep one needs.

From int8 to int8 a table has 256 entries; from int16 it has 513, fitted, and the RESCALE behind it takes off the 7
fractional bits; from int8 to more bits there is one of 256 for each byte.

Zoom: where a function is so steep beside 0 that an input's step (of int8, if the input was rounded from more), or the
line between two entries (of int16), is off by several steps of the output, a second table has that region alone, with
an input a power of two finer, and SELECT takes its results there; a third the region that is still too steep.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lut import fit_values_16, lookup_16
from tosa_engine import types
from tosa_engine.graph import QParams
from tosa_engine.qparams.arrays import quantize_array

from .integer_writer import Quantized, Wide
from .multiplier import INT32_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.types import Array

    from .rules import Context

    Function = Callable[[Array], Array]

FRACTION = 1 / 128  # what a step of a 513-entry table's result is of a step of its entries
STEEP = 2.0  # steps of the output that a table may be off beside 0 before it is zoomed
MOST_ZOOM = 4096


@dataclass(frozen=True)
class Goal:
    """What a TABLE's results shall be: `quant` of a tensor; or with `bits` up to 22 int32 of that scale."""

    quant: QParams
    bits: int = 0

    @property
    def step(self) -> float:
        return self.quant.scale[0]

    @property
    def ends(self) -> tuple[float, float]:
        """The largest and least results, in steps."""
        if self.bits:
            return -float(1 << self.bits), float(1 << self.bits)
        return float(self.quant.low - self.quant.zero_point[0]), float(self.quant.high - self.quant.zero_point[0])


def fine(
    ctx: Context, x: Quantized, function: Function, stem: str, bits: int, most: float = np.inf, base: str = ""
) -> Wide:
    """A function of a quantized tensor as int32 of up to `bits` bits and a sign; results beyond `most` saturate.

    `base` is the float tensor that `x` stands for, if any.
    """
    with np.errstate(all="ignore"):
        values = function(inputs_of(x))
    largest = min(float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0, most)
    sixteen = x.dtype is types.i16
    own = min(bits, 15) if sixteen else bits
    step = largest / ((1 << own) - 1)
    goal = Goal(QParams((step,), (0,), 16, symmetric=True), 0 if sixteen else own)
    name = zoomed(ctx, x, function, goal, stem, base)
    if not sixteen:
        return Wide(name, (step,), 1 << own)
    drop = max(0, 22 - bits)
    if drop:
        name = ctx.writer.rescale(name, f"{stem}_short", types.i32, 2.0**-drop, 1 << 22, why=f"2^-{drop}")
    return Wide(name, (step * 2.0 ** (drop - 7),), 1 << (22 - drop))


def inputs_of(x: Quantized) -> Array:
    """The real numbers of a table's inputs: 256, or 65,537 of int16 (the last never occurs)."""
    if x.dtype is types.i16:
        return x.scale * np.arange(-32768.0, 32769.0)
    return x.scale * (np.arange(-128.0, 128.0) - x.zero_point)


def zoomed(ctx: Context, x: Quantized, function: Function, goal: Goal, stem: str, base: str) -> str:
    """The results of all tables: int8, or int32 (from int16 with 7 more fractional bits)."""
    wide = ctx.wide.get(base)
    exact = wide if wide is not None and len(wide.scale) == 1 else None
    squares = exact is not None and x.dtype is types.i16 and base in ctx.exact
    most = int(x.scale / exact.scale[0]) if squares and exact is not None else MOST_ZOOM
    e, found, zoom = ctx.writer, "", 1
    while True:
        own = Quantized(x.name, x.quant) if zoom == 1 else _finer(ctx, x, exact, zoom, f"{stem}_zoom{zoom}")
        with np.errstate(all="ignore"):
            values = function(inputs_of(own))
        level = stem if zoom == 1 else f"{stem}_zoom{zoom}"
        table, error = _table(ctx, own, values, goal, level, squares or (exact is not None and x.dtype is types.i8))
        if found:
            inside = _below(ctx, own, exact, level) if squares and exact is not None else _inside(ctx, x, zoom, level)
            dtype, shape = e.tensor(found).dtype, e.shape(x.name)
            found = e.emit("SELECT", [inside, table, found], f"{level}_chosen", dtype, shape)
        else:
            found = table
        more = _factor(own, error)
        if squares:
            more = min(more, most // zoom)
        if more < 2 or zoom * more > most or (exact is None and x.dtype is types.i8):
            break
        zoom *= more
    if zoom == 1 and e.tensor(found).dtype is types.i8:
        final = ctx.final_name(stem) if stem in ctx.block.tensors else stem
        e.rename(found, final)
        return final if final in e.block.tensors else found
    return found


def _finer(ctx: Context, x: Quantized, wide: Wide | None, zoom: int, stem: str) -> Quantized:
    """The input with steps `zoom` times as fine, saturated."""
    quant = QParams((x.scale / zoom,), (x.zero_point,), x.quant.bits, symmetric=x.quant.symmetric)
    e = ctx.writer
    if wide is None:
        name = e.rescale(x.name, stem, x.dtype, float(zoom), x.reach, input_zp=x.zero_point, output_zp=x.zero_point,
                         why=f"{zoom}")  # fmt: skip
    else:
        why = f"{wide.scale[0]!r} (accumulator) / {quant.scale[0]!r}"
        name = e.rescale(wide.name, stem, x.dtype, wide.scale[0] / quant.scale[0], wide.bound,
                         output_zp=x.zero_point, why=why)  # fmt: skip
    return Quantized(name, quant)


def _table(ctx: Context, x: Quantized, values: Array, goal: Goal, stem: str, rounded: bool) -> tuple[str, Array]:
    """One table, and for each of its inputs how far it is off, in steps of the output, within what the output holds.

    That is also how far the function goes in half a step of an input that was `rounded` from more bits.
    """
    low, high = goal.ends
    if x.dtype is types.i16:
        finer = 128 if goal.quant.bits == 8 else 1
        entries = fit_values_16(values, goal.step / finer, quick=True)
        if rounded and abs(at_zero := values[32768] / goal.step * finer) < 32768:
            entries[256] = round(at_zero)  # nothing stays nothing: the best line beside it may be off there
        wanted = np.clip(values[:-1] / goal.step, low, high)
        got = np.clip(lookup_16(entries, np.arange(-32768, 32768).astype(np.int16)) * FRACTION / finer, low, high)
        off = np.abs(got - wanted) + (np.abs(np.gradient(wanted)) / 2 if rounded else 0.0)
        return ctx.writer.table(x.name, entries, f"{stem}_table"), off
    steps = np.clip(np.nan_to_num(values / goal.step, posinf=1e15, neginf=-1e15), low, high)
    slope = np.abs(np.gradient(steps)) / 2 if rounded else np.zeros(256)
    if goal.bits:
        slope = slope * (255.0 / max(float(np.ptp(steps)), 1.0))  # as if the result had 8 bits
        whole = QParams((goal.step,), (0,), goal.bits + 1)
        return by_bytes(ctx, x, quantize_array(values, whole).astype(np.int64), stem, goal.bits), slope
    entries_8 = quantize_array(values, goal.quant)
    if goal.quant.bits == 16:
        return by_bytes(ctx, x, entries_8.astype(np.int64), stem, 15), slope / 256
    return ctx.writer.table(x.name, entries_8, f"{stem}_table"), slope


def _factor(x: Quantized, error: Array) -> int:
    """How many times finer an input must be that has just the region around 0 where errors are too large."""
    at = np.flatnonzero(error > STEEP)
    if not at.size:
        return 1
    first = x.quant.low - x.zero_point if x.dtype is types.i8 else -32768
    away = at + first
    reach = max(float(away.max()) / max(x.quant.high - x.zero_point, 1), float(-away.min()) / max(-first, 1), 1e-9)
    return int(2.0 ** math.floor(math.log2(1 / reach))) if reach < 0.5 else 1


def _inside(ctx: Context, x: Quantized, zoom: int, label: str) -> str:
    """Whether the finer input isn't saturated."""
    e = ctx.writer
    shape = e.shape(x.name)
    wide, _ = e.widen(x, f"{label}_input")
    ends = ((x.quant.high - x.zero_point) // zoom - 1, -((x.zero_point - x.quant.low) // zoom) + 1)
    high, low = (e.constant(f"{label}_end", types.i32, np.full((1,) * len(shape), end)) for end in ends)
    inside = e.emit("GREATER", [high, wide], f"{label}_below", types.bool_, shape)
    if x.zero_point > x.quant.low:
        above = e.emit("GREATER", [wide, low], f"{label}_above", types.bool_, shape)
        inside = e.emit("LOGICAL_AND", [inside, above], f"{label}_inside", types.bool_, shape)
    return inside


def _below(ctx: Context, x: Quantized, wide: Wide, label: str) -> str:
    """The same of a sum of squares, by what it was rounded from: steps of the input before are too coarse to tell."""
    e, shape = ctx.writer, ctx.writer.shape(x.name)
    end = min(int((x.quant.high - 1) * x.scale / wide.scale[0]), INT32_MAX)
    high = e.constant(f"{label}_end", types.i32, np.full((1,) * len(shape), end))
    return e.emit("GREATER", [high, wide.name], f"{label}_below", types.bool_, shape)


def by_bytes(ctx: Context, x: Quantized, entries: Array, stem: str, bits: int) -> str:
    """int32 entries of more than a byte, from one TABLE for each of their bytes: the sum of the parts."""
    e, total = ctx.writer, ""
    for byte in range(bits // 8 + 1):
        top = byte == bits // 8
        part = entries >> (8 * byte) if top else ((entries >> (8 * byte)) & 255) - 128
        table = e.table(x.name, part, f"{stem}_byte{byte}")
        scale, zero = float(1 << (8 * byte)), 0 if top else -128
        wide = e.rescale(table, f"{stem}_part{byte}", types.i32, scale, 255, input_zp=zero, why=f"{scale!r}")
        total = e.binary("ADD", (total, wide), f"{stem}_sum{byte}") if total else wide
    return total
