"""Elementwise functions of one int8 tensor: however many float operators compute it, one TABLE does.

A chain is a subgraph of elementwise operators and composites with one tensor that isn't constant at its root, in which
nothing but the result is read from outside. Values inside a chain aren't stored, so QParams for them have no effect.
A CLAMP on a tensor that isn't itself inside a chain begins none: saturation does its work for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lut import FUNCTIONS, TableRangeError, table_8
from tosa_engine.errors import DataError
from tosa_engine.graph import Block, Composite, Operator

from .emit import Quantized

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tosa_engine.types import Array

    from .rules import Context

OPERANDS = {
    "EXP": 1, "RECIPROCAL": 1, "NEGATE": 1, "ABS": 1, "CLAMP": 1,
    "ADD": 2, "SUB": 2, "MUL": 2, "MAXIMUM": 2, "MINIMUM": 2,
}  # fmt: skip
FORMULAS: Mapping[str, Callable[..., Array]] = {
    "EXP": np.exp, "RECIPROCAL": np.reciprocal, "NEGATE": np.negative, "ABS": np.abs,
    "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "MAXIMUM": np.maximum, "MINIMUM": np.minimum,
}  # fmt: skip


@dataclass(frozen=True)
class Chains:
    """`roots`: result of a chain -> the tensor it is a function of. `inside`: results that nobody stores."""

    roots: Mapping[str, str]
    inside: frozenset[str]


def find(ctx: Context) -> Chains:
    """The chains of the float graph."""
    root: dict[str, str] = {}
    function_of: dict[str, str] = {}
    stored = set(ctx.block.outputs)
    for op in ctx.block.operators:
        operands = _operands(ctx.block, op)
        out = op.outputs[0] if op.outputs else ""
        at = {root.get(name, name) for name in operands} if operands else set()
        begins = bool(operands) and all(name not in root for name in operands)
        if len(at) == 1 and not (begins and _left_to_rules(ctx, op, next(iter(at)))) and _same_shape(ctx, out, at):
            function_of[out] = next(iter(at))
            if ctx.sole_consumer(out) is not None:
                root[out] = function_of[out]
            else:
                stored.add(out)
        else:
            stored.update(op.inputs)
    roots = {out: base for out, base in function_of.items() if out in stored}
    return Chains(roots, frozenset(function_of) - frozenset(roots))


def _left_to_rules(ctx: Context, op: Operator, base: str) -> bool:
    """A first CLAMP is saturation; arithmetic on a tensor without QParams works on its accumulator."""
    return op.op == "CLAMP" or (op.op in ("ADD", "SUB", "MUL") and base not in ctx.quant)


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
    out = op.outputs[0]
    x, quant = ctx.quantized(base), ctx.qparams(out)

    def function(real: float) -> float:
        return _evaluate(ctx.block, ctx.producers, out, {base: np.float64(real)})

    try:
        entries = table_8(function, x.scale, x.zero_point, quant.scale[0], quant.zero_point[0])
    except TableRangeError as error:
        raise DataError(f"no TABLE for {op.op}{ctx.place(out, op)}: {error}", tensor=ctx.source_name(out)) from error
    name = ctx.emitter.table(x.name, entries, ctx.final_name(out))
    ctx.define(out, Quantized(name, quant))


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
