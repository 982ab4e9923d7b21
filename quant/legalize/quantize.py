"""The pass from a TOSA-FP graph whose tensors carry QParams to a TOSA-INT graph that computes the same in integers.

Each activation is int8 or int16 as its QParams say: 16x8 networks and mixed ones are a matter of QParams alone.

Each float operator has a rule in a `rules_*` module; elementwise functions of one tensor become one TABLE
(`rules_table`); composites without a rule are expanded first. No float operator is left: what has no rule, and every
tensor that would need QParams and has none, is reported together and nothing is returned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.check import validate
from tosa_engine.errors import Problems, TosaEngineError, Unsupported, raise_all
from tosa_engine.graph import Composite, Graph, Operator, QParams, Tensor
from tosa_engine.infer import infer
from tosa_engine.passes import composites, dead_code
from tosa_engine.spec import is_constant, traits_of
from tosa_engine.spec.traits import How
from tosa_engine.target import Target

from . import (
    chains,
    lints,
    narrow,
    refusals,
    rules_choice,
    rules_conv,
    rules_elementwise,
    rules_float,
    rules_layout,
    rules_plain,
    rules_power,
    rules_reduction,
    rules_rounding,
    rules_softmax,
    rules_state,
    rules_table,
    squares,
    uneven,
    unsigned,
)
from .derived import derived
from .integer_writer import IntegerWriter, Plain, Quantized, Real, Wide, stored_type
from .masks import endless, mask_of
from .rules import RULES, UNKNOWN, Context, attached
from .sharing import complete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tosa_engine.graph import Block

NEEDED: dict[str, set[types.DType | str]] = {
    "PRO-FP": {types.fp32}, "EXT-INT16": {types.i16, types.i48}, "EXT-INT4": {types.i4}, "EXT-VARIABLE": {"VARIABLE"},
}  # fmt: skip
FAMILIES = (
    rules_choice,
    rules_conv,
    rules_elementwise,
    rules_layout,
    rules_plain,
    rules_power,
    rules_reduction,
    rules_rounding,
    rules_softmax,
    rules_state,
)  # importing registers them


# operators that stay without a rule, and what to do instead
REFUSED = {
    "CUSTOM": "only its author knows what it computes; leave it out, or give its steps as operators",
    "COND_IF": "a branch has no samples to calibrate when it isn't taken; compute both and SELECT",
    "WHILE_LOOP": "its number of steps depends on data; unroll the loop",
    "FFT2D": "complex values aren't quantized; multiply by the matrices of the transform (MATMUL)",
    "RFFT2D": "complex values aren't quantized; multiply by the matrices of the transform (MATMUL)",
    "REDUCE_PRODUCT": "a product's range grows with the number of its factors; multiply them one by one (MUL)",
}


@dataclass
class Report:
    """What is worth knowing about a quantization: `notes` for people; `lints`, with their labels; `margins`: of each
    accumulator the bits that its type has to spare, which is int48 for `wide_accumulators`, else int32.

    `accumulators`: the int32 or int48 tensor of each convolution and MATMUL, by its name in the `prepared` float graph;
    `operands`: the integers that each of them multiplies by its weights.
    `inside`: the tensors that nobody stores, because a TABLE computes what is made of them.
    """

    notes: list[str] = field(default_factory=list)
    lints: list[lints.Lint] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)
    wide_accumulators: set[str] = field(default_factory=set)
    accumulators: dict[str, Wide] = field(default_factory=dict)
    operands: dict[str, Quantized] = field(default_factory=dict)
    inside: set[str] = field(default_factory=set)


def quantize(graph: Graph, report: Report | None = None, floats: Iterable[str] = ()) -> Graph:
    """The integer graph of a float graph; `graph` isn't changed.

    Inputs and outputs keep their names and shapes and become int8 or int16 (indices and truths stay); each carries its
    QParams, as does every integer tensor that stands for a float one, whose name is in `Tensor.source`. Those with
    unsigned QParams hold unsigned bits (`quant.legalize.unsigned`); fewer bits than 8 or 16 are kept by CLAMPs. The
    result is legal for profile PRO-INT (with EXT-INT16 where a tensor has 16 bits, EXT-INT4 where weights have 4,
    EXT-VARIABLE where there is state) at level 8K, and no REQUIRE can be violated.
    What writes a tensor of `floats` (names in the `prepared` graph) computes in fp32, with profile PRO-FP: it gets the
    real numbers that integers stand for, and its result becomes integers where other operators read it. In a graph
    that is `quantized` so does what writes a tensor without QParams; a note names these tensors.

    Raises:
        Problems: (or the one problem itself) operators without an integer form, tensors without QParams, scales that
            RESCALE can't apply, accumulators that could overflow: all of them.
    """
    source = prepared(narrow.run(graph))
    result = unchecked(source, report, floats)
    found = {t.dtype for t in result.main.tensors.values()} | {op.op for op in result.main.operators}
    validate(result, Target.parse(["PRO-INT", *(name for name, needing in NEEDED.items() if needing & found)]))
    if report is not None:
        report.lints += [*lints.of_graph(result), *uneven.lints(source.main, attached(source.main), frozenset(floats))]
    return result


def unchecked(source: Graph, report: Report | None = None, floats: Iterable[str] = ()) -> Graph:
    """`quantize` of a `prepared` graph whose activations have 8 or 16 bits, without the check of its result: for
    networks that are tried and thrown away.
    """
    chosen = frozenset(floats)
    ctx = _legalized(source, chosen)
    while source.quantized and (more := _without_scale(ctx)) != ctx.floats:
        ctx = _legalized(source, more)
    if own := sorted({ctx.source_name(name) for name in ctx.floats - chosen}):
        ctx.notes.append(
            f"{len(own)} tensors stay float, because the model has no scale for them, and no samples were given: "
            f"{', '.join(own[:12])}{', ...' if len(own) > 12 else ''}"
        )
    raise_all(ctx.problems, "the graph can't be computed in integers:")
    if report is not None:
        report.notes += ctx.notes
        report.lints += ctx.lints
        report.margins.update(ctx.margins)
        report.wide_accumulators |= ctx.wide_accumulators
        report.accumulators.update(ctx.accumulators)
        report.operands.update(ctx.operands)
        report.inside |= ctx.inside
    result = dead_code.run(ctx.writer.graph)
    return composites.run(result) if ctx.floats else result


def _without_scale(ctx: Context) -> frozenset[str]:
    """The tensors that stay float, with those that are found to have no scale, and what operators make of these."""
    if not ctx.unscaled:
        return ctx.floats
    found = {*ctx.floats, *ctx.unscaled}
    for op in ctx.block.operators:  # in order: what reads such a tensor, up to a tensor with a scale
        if any(name in found and name not in ctx.quant for name in op.inputs):
            found.update(op.outputs)
    return frozenset(found)


def _legalized(source: Graph, floats: frozenset[str]) -> Context:
    """All operators with their integer forms, and what is wrong with them."""
    block = source.main
    ctx = Context(
        block, IntegerWriter(source), complete(block, attached(block)), block.producers(), block.consumers(), derived,
        floats=floats, spare=source.spare, even=source.quantized,
    )  # fmt: skip
    ctx.squares = squares.find(block) - ctx.quant.keys() - floats
    ctx.exact = squares.ends(block, ctx.squares)
    _inputs(ctx)
    _no_infinity_left(ctx)
    found_chains = chains.find(ctx)
    ctx.inside = found_chains.inside
    for op in block.operators:
        if is_constant(op) or any(out in found_chains.inside for out in op.outputs):
            continue
        ctx.writer.base.location = op.location
        try:
            if ctx.stays_float(op):
                rules_float.emit(ctx, op)
            elif op.outputs and op.outputs[0] in found_chains.roots:
                rules_table.emit(ctx, op, found_chains.roots[op.outputs[0]])
            else:
                _apply(ctx, op)
        except TosaEngineError as problem:
            ctx.problems += problem.problems if isinstance(problem, Problems) else [problem]
            _stand_in(ctx, op)
    _outputs(ctx)
    return ctx


def prepared(graph: Graph) -> Graph:
    """A copy with known shapes in which only those composites are left that quantization has a form for."""
    copied = graph.copy()
    infer(copied)
    kept = {
        op.op for op in copied.main.operators
        if isinstance(op, Composite) and (op.op in RULES or chains.is_elementwise(op))
    }  # fmt: skip
    if any(isinstance(op, Composite) and op.op not in kept for op in copied.main.operators):
        copied = composites.run(copied, keep=frozenset(kept))
        infer(copied)
    return copied


def float_tensors(graph: Graph) -> list[Tensor]:
    """The activations of a float graph that its quantization needs QParams for, or could use them."""
    block: Block = prepared(graph).main
    return [t for t in block.tensors.values() if t.data is None and t.dtype is types.fp32]


def unbounded(graph: Graph) -> frozenset[str]:
    """Activations that may be infinite and be quantized all the same: those inside of chains, which nobody stores, and
    what an infinite constant gets into (a SELECT or PAD for a maximum) before the maximum is taken.
    """
    block = prepared(graph).main
    every = {t.name: UNKNOWN for t in block.tensors.values() if t.data is None and t.dtype is types.fp32}
    ctx = Context(block, IntegerWriter(graph), every, block.producers(), block.consumers(), derived)
    return chains.find(ctx).inside | _masked(block, lambda op: _hands_on(op) or _is_extreme(op))


def _hands_on(op: Operator) -> bool:
    """Whether an infinite constant stays what it is."""
    moves = traits_of(op).moves
    return moves is not None and moves.how is How.MOVED


def _is_extreme(op: Operator) -> bool:
    """Whether an infinite constant may get lost: it isn't chosen, or is clipped."""
    moves = traits_of(op).moves
    return (moves is not None and moves.how is How.CHOSEN) or op.op in ("ARGMAX", "CLAMP")


def _masked(block: Block, through: Callable[[Operator], bool]) -> frozenset[str]:
    """The results of operators with an infinite constant among their values, and what such operators make of them."""
    found: set[str] = set()
    for op in block.operators:
        data = [block.tensors[name].data for name in op.inputs]
        endless = any(d is not None and d.dtype.kind == "f" and np.isinf(d).any() for d in data)
        if (endless and _hands_on(op)) or (through(op) and not found.isdisjoint(op.inputs)):
            found.update(op.outputs)
    return frozenset(found)


def _no_infinity_left(ctx: Context) -> None:
    """An infinite value that isn't lost in a maximum would become the end of a range, which is something else.

    Before softmax it is a mask.
    """
    masked, producers = _masked(ctx.block, _hands_on), ctx.block.producers()
    for op in ctx.block.operators:
        for name in masked.intersection(op.inputs):
            if not (_hands_on(op) or _is_extreme(op) or mask_of(ctx.block, producers, op)):
                ctx.problems.append(endless(ctx, op, name))


def _apply(ctx: Context, op: Operator) -> None:
    if op.op in REFUSED:
        out = next(iter((*op.outputs, *op.inputs)), "")
        place = ctx.place(out, op) if out else ""
        name = ctx.source_name(out) if out else ""
        message = f"operator {op.op} has no integer form: {REFUSED[op.op]}{place}"
        raise Unsupported(message, label=refusals.OPERATOR, node=op.name, tensor=name)
    if rules_plain.without_floats(ctx, op):
        rules_plain.copied(ctx, op)
    elif op.op in RULES:
        RULES[op.op](ctx, op)
    else:
        message = f"operator {op.op} has no rule of quantization"
        raise ctx.refused(refusals.OPERATOR, message, op.outputs[0], op, node=op.name)


def _stand_in(ctx: Context, op: Operator) -> None:
    """After a problem: stand-ins for the outputs, so that the other operators can be looked at too."""
    for out in op.outputs:
        quant, dtype = ctx.quant.get(out, UNKNOWN), ctx.tensor(out).dtype
        wanted = stored_type(quant) if dtype.is_float else dtype
        name = ctx.writer.base.tensor(out, wanted, ctx.shape(out)).name
        if not dtype.is_float:
            ctx.values[out] = Plain(name)
            continue
        ctx.missing.add(out)
        ctx.values[out] = Quantized(name, quant)


def _inputs(ctx: Context) -> None:
    block, made = ctx.block, ctx.writer.block
    for name in block.inputs:
        tensor = ctx.tensor(name)
        if tensor.dtype not in (types.i32, types.bool_, types.fp32):
            message = f"a graph input of type {tensor.dtype}: quantization begins with fp32; CAST it before"
            ctx.problems.append(ctx.refused(refusals.INPUT, message, name))
            ctx.missing.add(name)
        if not tensor.dtype.is_float:
            made.add(Tensor(name, tensor.dtype, tensor.shape, source=tensor.source))
            made.inputs.append(name)
            ctx.values[name] = Plain(name)
            continue
        made.inputs.append(name)
        if name in ctx.floats:
            made.add(Tensor(name, types.fp32, tensor.shape, source=tensor.source))
            ctx.values[name] = Real(name)
            continue
        if tensor.quant is not None and unsigned.is_unsigned(tensor.quant):
            made.add(Tensor(name, stored_type(tensor.quant), tensor.shape, source=tensor.source, quant=tensor.quant))
            ctx.values[name] = unsigned.enter(ctx.writer, name, tensor.quant)
            continue
        quant: QParams = ctx.qparams(name)
        made.add(Tensor(name, stored_type(quant), tensor.shape, source=tensor.source, quant=quant))
        ctx.values[name] = Quantized(name, quant)


def _outputs(ctx: Context) -> None:
    """Every graph output under its own name."""
    made = ctx.writer.block
    ctx.writer.base.location = None
    for name in ctx.block.outputs:
        value = ctx.value(name)
        if not isinstance(value, (Plain, Real)):
            value = ctx.quantized(name)
        quant = ctx.tensor(name).quant
        if isinstance(value, Quantized) and quant is not None and unsigned.is_unsigned(quant):
            value = Quantized(unsigned.leave(ctx.writer, value, name, quant), quant)
            made.tensors[name].source = ctx.tensor(name).source
        if value.name != name:
            old = made.tensors[value.name]
            copied = ctx.writer.emit("IDENTITY", [old.name], name, old.dtype, ctx.shape(name))
            made.tensors[copied].source = ctx.tensor(name).source
            value = Quantized(copied, value.quant) if isinstance(value, Quantized) else Plain(copied)
        if isinstance(value, Quantized):
            made.tensors[value.name].quant = value.quant
        made.outputs.append(value.name)
