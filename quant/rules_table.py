"""Elementwise functions of one quantized tensor: however many float operators compute it, one TABLE does.

A chain is a subgraph of elementwise operators and composites with one tensor that isn't constant at its root, in which
nothing but results is read from outside. Values inside a chain aren't stored, so QParams for them have no effect. From
int8 to int8 the table has 256 entries; from int16 it has 513, fitted, and the RESCALE behind it takes off the 7
fractional bits; from int8 to int16 there are two of 256, one for each byte.
A CLAMP on a tensor that isn't itself inside a chain begins none: saturation does its work for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lut import FUNCTIONS, TableRangeError, fit_16, table_8
from tosa_engine import types
from tosa_engine.errors import DataError
from tosa_engine.graph import Block, Composite, Operator

from .emit import Quantized, stored_type
from .ranges import quantize_array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tosa_engine.graph import QParams

    from .rules import Context

FRACTION = 1 / 128  # what a step of a 513-entry table's result is of a step of its entries

OPERANDS = {
    "EXP": 1, "RECIPROCAL": 1, "NEGATE": 1, "ABS": 1, "CLAMP": 1, "LOG": 1, "SIN": 1, "COS": 1, "ERF": 1, "TANH": 1,
    "SIGMOID": 1, "RSQRT": 1, "FLOOR": 1, "CEIL": 1, "LOGICAL_NOT": 1, "IDENTITY": 1,
    "ADD": 2, "SUB": 2, "MUL": 2, "MAXIMUM": 2, "MINIMUM": 2, "POW": 2, "GREATER": 2, "GREATER_EQUAL": 2, "EQUAL": 2,
    "LOGICAL_AND": 2, "LOGICAL_OR": 2, "SELECT": 3,
}  # fmt: skip
FORMULAS: Mapping[str, Callable[..., Any]] = {
    "EXP": np.exp, "RECIPROCAL": np.reciprocal, "NEGATE": np.negative, "ABS": np.abs,
    "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "MAXIMUM": np.maximum, "MINIMUM": np.minimum,
    "LOG": np.log, "SIN": np.sin, "COS": np.cos, "ERF": FUNCTIONS["erf"], "TANH": np.tanh,
    "SIGMOID": FUNCTIONS["sigmoid"],
    "RSQRT": lambda x: 1 / np.sqrt(x), "FLOOR": np.floor, "CEIL": np.ceil, "POW": np.power, "IDENTITY": np.positive,
    "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal, "EQUAL": np.equal, "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or, "LOGICAL_NOT": np.logical_not, "SELECT": lambda c, yes, no: yes if c else no,
}  # fmt: skip


@dataclass(frozen=True)
class Chains:
    """`roots`: result of a chain -> the tensor it is a function of. `inside`: results that nobody stores."""

    roots: Mapping[str, str]
    inside: frozenset[str]


def find(ctx: Context) -> Chains:
    """The chains of the float graph.

    A tensor that several operators read is inside a chain when all of them compute functions of the same root.
    """
    reach = _functions(ctx)
    root: dict[str, str] = {}
    function_of: dict[str, str] = {}
    stored = set(ctx.block.outputs)
    for op in ctx.block.operators:
        operands = [] if ctx.stays_float(op) else _operands(ctx.block, op)
        out = op.outputs[0] if op.outputs else ""
        at = {root.get(name, name) for name in operands} if operands else set()
        begins = bool(operands) and all(name not in root for name in operands)
        if len(at) == 1 and not (begins and _left_to_rules(ctx, op, next(iter(at)))) and _same_shape(ctx, out, at):
            function_of[out] = next(iter(at))
            readers = ctx.consumers.get(out, [])
            if not ctx.is_output(out) and all(reach.get(r.outputs[0]) == reach.get(out) for r in readers) and readers:
                root[out] = function_of[out]
            else:
                stored.add(out)
        else:
            stored.update(op.inputs)
    _without_truths(ctx, function_of, stored)
    roots = {out: base for out, base in function_of.items() if out in stored}
    return Chains(roots, frozenset(function_of) - frozenset(roots))


def _functions(ctx: Context) -> dict[str, str]:
    """Of every tensor that is an elementwise function of a single other one: which, as far back as it goes."""
    found: dict[str, str] = {}
    for op in ctx.block.operators:
        operands = [] if ctx.stays_float(op) else _operands(ctx.block, op)
        at = {found.get(name, name) for name in operands}
        begins = bool(operands) and all(name not in found for name in operands)
        if (
            len(at) == 1
            and _same_shape(ctx, op.outputs[0], at)
            and not (begins and _left_to_rules(ctx, op, next(iter(at))))
        ):
            found[op.outputs[0]] = next(iter(at))
    return found


def _without_truths(ctx: Context, function_of: dict[str, str], stored: set[str]) -> None:
    """A bool that is read from outside of a chain is the result of a comparison, not of a TABLE."""
    for op in reversed(ctx.block.operators):
        out = op.outputs[0] if op.outputs else ""
        if out in function_of and out in stored and ctx.tensor(out).dtype is types.bool_:
            del function_of[out]
            stored.update(op.inputs)


def _left_to_rules(ctx: Context, op: Operator, base: str) -> bool:
    """A first CLAMP is saturation; arithmetic on a tensor without QParams works on its accumulator."""
    return (
        op.op in ("CLAMP", "IDENTITY")
        or ctx.tensor(base).dtype is not types.fp32
        or (op.op in ("ADD", "SUB", "MUL") and base not in ctx.quant)
    )


def _same_shape(ctx: Context, out: str, at: set[str]) -> bool:
    return ctx.shape(out) == ctx.shape(next(iter(at)))


def _operands(block: Block, op: Operator) -> list[str]:
    """The inputs of an elementwise operator that aren't constant; nothing when it isn't elementwise with numbers."""
    if is_elementwise(op) and isinstance(op, Composite):
        return list(op.inputs)
    if isinstance(op, Composite) or op.op not in OPERANDS:
        return []
    names = op.inputs[: OPERANDS[op.op]]
    data = [block.tensors[name].data for name in names]
    if any(d is not None and d.size != 1 for d in data):
        return []
    return [name for name, d in zip(names, data, strict=True) if d is None]


def is_elementwise(op: Operator) -> bool:
    """A composite that a TABLE can stand for: a function by name, or a body of elementwise operators."""
    if not isinstance(op, Composite):
        return op.op in OPERANDS
    if len(op.inputs) != 1:
        return False
    if _by_name(op):
        return True
    return all(o.op in ("CONST", "CONST_SHAPE") or bool(_operands(op.body, o)) for o in op.body.operators)


def _by_name(op: Composite) -> bool:
    """Whether the composite is a function of `lut`: one with attributes (a slope, say) is what its body computes."""
    return op.op in FUNCTIONS and not op.attributes


def emit(ctx: Context, op: Operator, base: str) -> None:
    """The TABLE of the chain that ends with `op`.

    Raises DataError when the function is NaN for a number that the input's QParams can represent.
    """
    out, e = op.outputs[0], ctx.emitter
    x, quant = ctx.quantized(base), ctx.qparams(out)

    def function(real: float) -> float:
        return _evaluate(ctx.block, ctx.producers, out, {base: np.float64(real)})

    try:
        if x.dtype is types.i16:
            name = _from_sixteen(ctx, x, function, quant, out)
        elif quant.bits == 16:
            name = _two_bytes(ctx, x, function, quant, out)
        else:
            entries = table_8(function, x.scale, x.zero_point, quant.scale[0], quant.zero_point[0])
            name = e.table(x.name, entries, ctx.final_name(out))
    except TableRangeError as error:
        raise DataError(f"no TABLE for {op.op}{ctx.place(out, op)}: {error}", tensor=ctx.source_name(out)) from error
    ctx.define(out, Quantized(name, quant))


def _from_sixteen(ctx: Context, x: Quantized, function: Callable[[float], float], quant: QParams, out: str) -> str:
    """A table of 513 entries, for an int8 result 128 times as fine: 255 steps from its zero point fit int16."""
    finer = 128 if quant.bits == 8 else 1
    step = quant.scale[0] / finer
    name = ctx.emitter.table(x.name, fit_16(function, x.scale, step), f"{out}_table")
    return ctx.emitter.rescale(
        name, ctx.final_name(out), stored_type(quant), FRACTION / finer, 1 << 22,
        output_zp=quant.zero_point[0], why=f"1 / 128 / {finer}",
    )  # fmt: skip


def _two_bytes(ctx: Context, x: Quantized, function: Callable[[float], float], quant: QParams, out: str) -> str:
    """From int8 to int16: every input has an entry of 16 bits, one TABLE for each of its bytes."""
    e = ctx.emitter
    values = [function(x.scale * (q - x.zero_point)) for q in range(-128, 128)]
    if np.isnan(values).any():
        raise TableRangeError("the function is NaN inside the table's range")
    entries = quantize_array(np.array(values), quant).astype(np.int64)
    parts = []
    for stem, byte, zero, scale in (("high", entries >> 8, 0, 256.0), ("low", (entries & 255) - 128, -128, 1.0)):
        table = e.table(x.name, byte, f"{out}_{stem}")
        parts.append(e.rescale(table, f"{out}_{stem}_wide", types.i32, scale, 255, input_zp=zero, why=f"{scale:g}"))
    total = e.binary("ADD", parts, f"{out}_both")
    return e.rescale(total, ctx.final_name(out), types.i16, 1.0, 1 << 16, why="1")


def _evaluate(block: Block, producers: Mapping[str, Operator], name: str, known: dict[str, np.float64]) -> float:
    """The value of a tensor in a chain, in double precision, from the value at the chain's root."""
    if name in known:
        return float(known[name])
    data = block.tensors[name].data
    if data is not None:
        return float(data.reshape(-1)[0])
    op = producers[name]
    operands = op.inputs if isinstance(op, Composite) else op.inputs[: OPERANDS[op.op]]
    values = [np.float64(_evaluate(block, producers, operand, known)) for operand in operands]
    known[name] = np.float64(_apply(op, values))
    return float(known[name])


def _apply(op: Operator, values: list[np.float64]) -> float:
    if isinstance(op, Composite):
        if _by_name(op):
            return FUNCTIONS[op.op](float(values[0]))
        inner = {op.body.inputs[0]: values[0]}
        return _evaluate(op.body, op.body.producers(), op.body.outputs[0], inner)
    if op.op == "CLAMP":
        return float(np.clip(values[0], op.attributes["min_val"], op.attributes["max_val"]))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return float(FORMULAS[op.op](*values))
