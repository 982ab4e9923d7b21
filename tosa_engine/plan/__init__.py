"""From a graph to steps: what is computed, by which kernel, into which buffer.

A plan expands composites, drops what nobody reads, computes what depends on constants only, fuses (`fuse`), lets
IDENTITY and RESHAPE share their input's bytes, and places the buffers (`arena`). Tensors in `keep` are stored under
their own name: never fused away, and readable until the step after the one that wrote them has begun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..infer import infer, regions_of, waits
from ..kernels import KERNELS
from ..kernels.work import DONE, aligned
from ..passes import composites
from ..probe import name_of
from ..spec import bind_operator
from .arena import Life, place
from .fuse import fuse
from .late import late_work, unknown
from .proofs import prove, prove_alone
from .steps import Plan, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Block, Graph
    from ..kernels import Work
    from ..spec.table import Call
    from ..target import Level
    from ..types import Array

__all__ = ["Plan", "Step", "expand", "make_plan"]


def expand(graph: Graph) -> Graph:
    """A copy of the graph without composites, in order, with all shapes."""
    graph = composites.expand(graph)
    infer(graph)
    return graph


def make_plan(
    graph: Graph, keep: frozenset[str] = frozenset(), *, optimise: bool = True, level: Level | None = None
) -> Plan:
    """The plan of a legal graph that `expand` returned. Without `optimise` every operator is a step of its own.

    `keep` names tensors as probes do (`probe.name_of`); `level` is what constants that are known only in a run are
    checked against.
    """
    regions: dict[str, Plan] = {}
    main = _plan_block(graph, graph.main, keep, optimise, level, regions)
    pending = [main]
    while pending:
        calls = [call for step in pending.pop().steps for call in step.calls]
        for name in dict.fromkeys(name for call in calls for name in regions_of(call.operator)):
            region = graph.region(name)
            if region is not None and name not in regions:
                block = region.blocks[0]
                named = (tensor for tensor in block.tensors if name_of(graph, name, tensor) in keep)
                kept = frozenset(named if optimise else block.tensors)
                regions[name] = _plan_block(graph, block, kept, optimise, level, regions)
                pending.append(regions[name])
    return main


def _plan_block(
    graph: Graph,
    block: Block,
    keep: frozenset[str],
    optimise: bool,
    level: Level | None,
    regions: Mapping[str, Plan],
) -> Plan:
    calls = [bind_operator(op, block, graph) for op in block.operators]
    constants: dict[str, Array] = {}
    for call in calls:
        if call.spec.is_constant:
            values = call.constant("output")
            assert values is not None
            constants[call.operator.outputs[0]] = values
    calls = [call for call in calls if not call.spec.is_constant]
    if optimise:
        calls = _live(calls, block, keep)
        calls = _fold(calls, block, constants)
    fused: Mapping[int, Step] = {}
    if optimise:
        fused = fuse(calls, block.outputs, keep, prove(calls))
    else:
        calls = [prove_alone(call) for call in calls]
    taken = {id(c) for step in fused.values() for c in step.calls}
    steps: list[Step] = []
    for i, call in enumerate(calls):
        if i in fused:
            steps.append(fused[i])
        elif id(call) not in taken:
            steps.append(_single(call, level))
    roots = _roots(block, steps)
    lives = _lives(block, steps, roots, constants, keep)
    return Plan(block, tuple(steps), roots, constants, place(lives), keep, regions)


def prepare(call: Call, level: Level | None = None) -> Work:
    """The work of one operator by its kernel, for all values of its inputs' types."""
    return _work(prove_alone(call), level)


def _work(call: Call, level: Level | None = None) -> Work:
    """Work now, or when the operator's constants are known."""
    assert call.row is not None
    kernel = KERNELS[call.spec.name, call.row.key]
    return late_work(kernel, call, level) if unknown(kernel, call) else kernel.prepare(call)


def _single(call: Call, level: Level | None) -> Step:
    assert call.row is not None
    kernel = KERNELS[call.spec.name, call.row.key]
    operator = call.operator
    work = None if kernel.alias and not unknown(kernel, call) else _work(call, level)
    return Step((call,), tuple(operator.inputs), tuple(operator.outputs), work)


def _live(calls: list[Call], block: Block, keep: frozenset[str]) -> list[Call]:
    """Without the operators whose results nobody needs, unless they have a REQUIRE, which counts for the verdict, or
    do more than computing results.
    """
    needed = set(block.outputs) | keep
    found: list[Call] = []
    for call in reversed(calls):
        if call.spec.requires or not call.spec.pure or waits(call) or needed.intersection(call.operator.outputs):
            needed.update(call.operator.inputs)
            found.append(call)
    return found[::-1]


def _fold(calls: list[Call], block: Block, constants: dict[str, Array]) -> list[Call]:
    """Compute what depends on constants only. What violates a REQUIRE stays, to be told when it runs."""
    found: list[Call] = []
    for call in calls:
        operator = call.operator
        if not call.spec.pure or not all(name in constants for name in operator.inputs):
            found.append(bind_operator(operator, block, call.graph))  # sees constants computed before
            continue
        work = prepare(call)
        result = call.spec.outputs[0].name
        out = np.zeros(call.shape_of(result), call.tensor(result).dtype.storage)
        scratch = [aligned(count, dtype) for dtype, count in work.scratch]
        if work.bind([constants[n] for n in operator.inputs], [out])(0, work.units, scratch) != DONE:
            found.append(call)
            continue
        constants[operator.outputs[0]] = out
        block.tensors[operator.outputs[0]].data = out
    return found


def _roots(block: Block, steps: list[Step]) -> dict[str, str]:
    roots = {name: name for name in block.tensors}
    for step in steps:
        if step.work is None:
            roots[step.output] = roots[step.inputs[0]]
    return roots


def _next_work(steps: list[Step], i: int) -> int:
    """The step that other workers may have begun while the first one still looks at the tensors of step i."""
    return next((j for j in range(i + 1, len(steps)) if steps[j].work is not None), len(steps))


def _lives(
    block: Block, steps: list[Step], roots: dict[str, str], constants: dict[str, Array], keep: frozenset[str]
) -> dict[str, Life]:
    """From the step that writes a buffer to the last one that reads it; graph inputs live from before the first.

    After a step, its kept inputs and output may be looked at while other workers have begun the next.
    """
    first = dict.fromkeys((roots[n] for n in block.inputs), -1)
    last = dict(first)
    for i, step in enumerate(steps):
        for output in step.outputs:
            first.setdefault(roots[output], i)
            last.setdefault(roots[output], i)
        for name in (*step.inputs, *step.outputs):
            last[roots[name]] = max(last.get(roots[name], i), _next_work(steps, i) if name in keep else i)
    for name in block.outputs:
        last[roots[name]] = len(steps)
    used = {n: f for n, f in first.items() if n not in constants}
    return {
        n: Life(block.tensors[n].size * block.tensors[n].dtype.storage.itemsize, f, last[n]) for n, f in used.items()
    }
