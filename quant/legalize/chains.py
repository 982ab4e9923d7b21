"""Elementwise functions of one quantized tensor: however many float operators compute it, one TABLE does.

A chain is a subgraph of elementwise operators and composites with one tensor that isn't constant at its root, in which
nothing but results is read from outside. Values inside a chain aren't stored, so QParams for them have no effect.
A CLAMP on a tensor that isn't itself inside a chain begins none: saturation does its work for nothing.
The line between two entries of a table for int16 can't follow a jump (of a sign, of rounding): from int16, a function
that jumps is no chain but what its operators' own rules make of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lut import FUNCTIONS
from tosa_engine import types
from tosa_engine.graph import Block, Composite, Operator
from tosa_engine.spec import TABLE, is_constant, traits_of

from .rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tosa_engine.types import Array

    from .rules import Context

FORMULAS: Mapping[str, Callable[..., Any]] = {
    "EXP": np.exp, "RECIPROCAL": np.reciprocal, "NEGATE": np.negative, "ABS": np.abs,
    "ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "MAXIMUM": np.maximum, "MINIMUM": np.minimum,
    "LOG": np.log, "SIN": np.sin, "COS": np.cos, "ERF": np.vectorize(FUNCTIONS["erf"], otypes=[float]),
    "TANH": np.tanh, "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
    "RSQRT": lambda x: 1 / np.sqrt(x), "FLOOR": np.floor, "CEIL": np.ceil, "POW": np.power, "IDENTITY": np.positive,
    "GREATER": np.greater, "GREATER_EQUAL": np.greater_equal, "EQUAL": np.equal, "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or, "LOGICAL_XOR": np.logical_xor, "LOGICAL_NOT": np.logical_not, "SELECT": np.where,
}  # fmt: skip
JUMP = 32.0  # steps of an int16 result from one input to the next, and as many times those beside it: no line
AFFINE = frozenset({"ADD", "SUB", "MUL"})
BREAKS = frozenset({"FLOOR", "CEIL", "GREATER", "GREATER_EQUAL", "EQUAL", "SELECT"})  # all jumps come from these


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
    _without_jumps(ctx, function_of, stored)
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
    """A truth or a whole number that is read from outside of a chain is that of its operator, not of a TABLE."""
    for op in reversed(ctx.block.operators):
        out = op.outputs[0] if op.outputs else ""
        if out in function_of and out in stored and not ctx.tensor(out).dtype.is_float:
            del function_of[out]
            stored.update(op.inputs)


def _without_jumps(ctx: Context, function_of: dict[str, str], stored: set[str]) -> None:
    """Results of chains from int16 that jump: their operators read what is stored."""
    broken, exact = _broken(ctx), set[str]()  # exact: what is rounded to whole numbers, where a table is too coarse
    for op in reversed(ctx.block.operators):
        out = op.outputs[0] if op.outputs else ""
        if out not in function_of or out not in stored:
            continue
        affine = out in exact and op.op in AFFINE
        if affine or (out in broken and _jumps(ctx, out, function_of[out])):
            stored.update(op.inputs)
            operands = set(_operands(ctx.block, op))
            if op.op in RULES or len(operands) != 1:
                del function_of[out]
            else:  # a TABLE of what it reads itself
                (function_of[out],) = operands
            if affine or op.op in ("FLOOR", "CEIL"):
                exact.update(op.inputs)
    _without_truths(ctx, function_of, stored)


def _broken(ctx: Context) -> set[str]:
    """Tensors that an operator with jumps has a part in."""
    found: set[str] = set()
    for op in ctx.block.operators:
        inner = op.body.operators if isinstance(op, Composite) else [op]
        if any(o.op in BREAKS for o in inner) or not found.isdisjoint(op.inputs):
            found.update(op.outputs)
    return found


def _jumps(ctx: Context, out: str, base: str) -> bool:
    """Whether a function of an int16 tensor has neighbouring results that no line joins."""
    x, quant = ctx.quant.get(base), ctx.quant.get(out)
    if x is None or x.bits != 16:
        return False
    values = values_of(ctx, out, base, x.scale[0] * np.arange(-32768.0, 32768.0))
    if quant is None:  # as if its range were that of the results
        unit = float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) / 32767 or 1.0
    else:
        unit = quant.scale[0] * (1 if quant.bits == 16 else 1 / 128)
    steps = np.clip(values / unit, -32768, 32767)
    height = np.abs(np.diff(np.nan_to_num(steps)))
    apart = np.minimum(height[1:], height[:-1])  # of two steps the lower: one jump beside another isn't a slope
    beside = np.maximum(np.append(apart[1:], (0, 0)), np.append((0, 0), apart[:-1]))
    return bool((height > JUMP * np.maximum(beside, 1.0)).any())


def _left_to_rules(ctx: Context, op: Operator, base: str) -> bool:
    """A first CLAMP is saturation; arithmetic on a tensor without QParams works on its accumulator."""
    return (
        op.op in ("CLAMP", "IDENTITY")
        or op.outputs[0] in ctx.squares
        or ctx.tensor(base).dtype is not types.fp32
        or (op.op in ("ADD", "SUB", "MUL") and base not in ctx.quant)
    )


def _same_shape(ctx: Context, out: str, at: set[str]) -> bool:
    return ctx.shape(out) == ctx.shape(next(iter(at)))


def _operands(block: Block, op: Operator) -> list[str]:
    """The inputs of an elementwise operator that aren't constant; nothing when it isn't elementwise with numbers."""
    if is_elementwise(op) and isinstance(op, Composite):
        return list(op.inputs)
    names = _read(op)
    data = [block.tensors[name].data for name in names]
    if any(d is not None and d.size != 1 for d in data):
        return []
    return [name for name, d in zip(names, data, strict=True) if d is None]


def _read(op: Operator) -> list[str]:
    """What an operator reads element by element; nothing where there is no formula for it."""
    elementwise = traits_of(op).elementwise
    if elementwise is None or (op.op not in FORMULAS and op.op != "CLAMP"):
        return []
    return [op.inputs[TABLE[op.op].position(name)] for name in elementwise.operands]


def is_elementwise(op: Operator) -> bool:
    """A composite that a TABLE can stand for: a function by name, or a body of elementwise operators."""
    if not isinstance(op, Composite):
        return bool(_read(op))
    if len(op.inputs) != 1:
        return False
    if _by_name(op):
        return True
    return all(is_constant(o) or bool(_operands(op.body, o)) for o in op.body.operators)


def _by_name(op: Composite) -> bool:
    """Whether the composite is a function of `lut`: one with attributes (a slope, say) is what its body computes."""
    return op.op in FUNCTIONS and not op.attributes


def values_of(ctx: Context, out: str, base: str, reals: Array) -> Array:
    """The function of a chain at real numbers, in double precision; NaN where it isn't defined."""
    with np.errstate(all="ignore"):
        found = _evaluate(ctx.block, ctx.producers, out, {base: reals})
    return np.broadcast_to(np.asarray(found, np.float64), reals.shape)


def _evaluate(block: Block, producers: Mapping[str, Operator], name: str, known: dict[str, Array]) -> Array:
    """The values of a tensor in a chain from the values at the chain's root, which are among the `known`."""
    if name in known:
        return known[name]
    data = block.tensors[name].data
    if data is not None:
        one: Array = data.reshape(-1)[:1].astype(np.bool_ if data.dtype == np.bool_ else np.float64)
        return one
    op = producers[name]
    operands = op.inputs if isinstance(op, Composite) else _read(op)
    known[name] = _apply(op, [_evaluate(block, producers, operand, known) for operand in operands])
    return known[name]


def _apply(op: Operator, values: list[Array]) -> Array:
    found: Array
    if isinstance(op, Composite):
        if _by_name(op):
            return np.array([FUNCTIONS[op.op](value) for value in values[0].tolist()])
        return _evaluate(op.body, op.body.producers(), op.body.outputs[0], {op.body.inputs[0]: values[0]})
    if op.op == "CLAMP":
        found = np.clip(values[0], op.attributes["min_val"], op.attributes["max_val"])
    else:
        found = FORMULAS[op.op](*values)
    return found
