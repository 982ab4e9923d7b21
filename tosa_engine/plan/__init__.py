"""From a graph to steps: what is computed, by which kernel, into which buffer.

A plan expands composites, drops what nobody reads, computes what depends on constants only, fuses (`windows`, `fuse`),
copies as little as possible (`moves`, `sharing`), and places the buffers (`arena`). Tensors in `keep` are stored (where
`roots` and `starts` say): never fused away, and readable until the step after the one that wrote them has begun.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..infer import infer, regions_of, waits
from ..kernels import KERNELS
from ..kernels.work import DONE, aligned
from ..passes import composites
from ..probe import name_of
from ..spec import bind_operator
from .memory.arena import place
from .memory.liveness import lives_of, resolve
from .memory.sharing import share
from .rewrite.dynamic_constants import late_work, unknown
from .rewrite.fold_pad import Padding, with_padding
from .rewrite.fuse import fuse
from .rewrite.fuse_table import with_tables
from .rewrite.proofs import prove, prove_alone
from .rewrite.tabulate import Functions
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
        calls = _fold(_live(calls, block, keep), block, constants)
        calls = Functions(calls, block, constants, keep).run()
        padding = Padding(calls, block, keep, level)
        calls = padding.run()
        analysis = prove(calls)
        steps = _steps(calls, fuse(calls, block.outputs, keep, analysis), level)
        steps = with_tables(steps, block, keep, analysis)
        steps = [replace(step, calls=with_padding(step.calls, padding.taken)) for step in steps]
        steps, places = share(block, steps, constants, keep)
    else:
        steps = _steps([prove_alone(call) for call in calls], {}, level)
        places = {step.output: (step.inputs[0], 0) for step in steps if step.work is None}
    lives = lives_of(block, steps, places, constants, keep)
    found = {name: resolve(places, name) for name in block.tensors}
    roots = {name: root for name, (root, _) in found.items()}
    starts = {name: start for name, (_, start) in found.items() if start}
    return Plan(block, tuple(steps), roots, constants, place(lives), starts, keep, regions)


def _steps(calls: list[Call], fused: Mapping[int, Step], level: Level | None) -> list[Step]:
    """The fused steps, and one for each operator that is in none of them."""
    taken = {id(c) for step in fused.values() for c in step.calls}
    single = {i: _single(call, level) for i, call in enumerate(calls) if id(call) not in taken}
    return [step for _, step in sorted({**fused, **single}.items())]


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
        names = [a.name for a in call.spec.outputs]
        values = [np.zeros(call.shape_of(name), call.tensor(name).dtype.storage) for name in names]
        scratch = [aligned(count, dtype) for dtype, count in work.scratch]
        if work.bind([constants[n] for n in operator.inputs], values)(0, work.units, scratch) != DONE:
            found.append(call)
            continue
        for output, value in zip(operator.outputs, values, strict=True):
            constants[output] = value
            block.tensors[output].data = value
    return found
