"""The plan of one block: its operators become steps (`rewrite`), and its tensors get places in memory (`memory`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..spec import bind_operator
from .memory.arena import place
from .memory.liveness import lifetimes, resolve
from .memory.sharing import share
from .proofs import prove, prove_alone
from .rewrite.chains import join_elementwise
from .rewrite.clamp_first import clamp_first
from .rewrite.fold import fold, live
from .rewrite.fold_pad import Padding, with_padding
from .rewrite.fuse import fuse
from .rewrite.held import hold
from .rewrite.in_place import join_in_place
from .rewrite.small import join_small
from .rewrite.tabulate import Functions
from .single import single
from .steps import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Block, Graph
    from ..spec.table import Call
    from ..target import Level
    from ..types import Array
    from .memory.liveness import Places
    from .steps import Step


def plan_block(
    graph: Graph,
    block: Block,
    keep: frozenset[str],
    *,
    optimise: bool,
    level: Level | None,
    regions: Mapping[str, Plan],
) -> Plan:
    """The plan of a block; `regions` are those of the graph's other blocks, or will be."""
    calls, constants = bound(graph, block)
    if optimise:
        holding = hold(graph, block, calls)
        block = holding.block
        steps = rewritten(holding.calls, block, constants, keep, level)
        steps, places = share(block, steps, constants, keep)
        steps = [*holding.first, *steps, *holding.last]
        return replace(laid_out(block, steps, places, constants, keep, regions), held=holding.held)
    steps = [single(prove_alone(call), level) for call in calls]
    places = {step.output: (step.inputs[0], 0) for step in steps if step.work is None}
    return laid_out(block, steps, places, constants, keep, regions)


def bound(graph: Graph, block: Block) -> tuple[list[Call], dict[str, Array]]:
    """The operators of a block in order, without the constants, and the values of these by name."""
    calls: list[Call] = []
    constants: dict[str, Array] = {}
    for operator in block.operators:
        call = bind_operator(operator, block, graph)
        if call.spec.is_constant:
            values = call.constant("output")
            assert values is not None
            constants[operator.outputs[0]] = values
        else:
            calls.append(call)
    return calls, constants


def rewritten(
    calls: list[Call], block: Block, constants: dict[str, Array], keep: frozenset[str], level: Level | None
) -> list[Step]:
    """As few steps as possible; adds what is computed now to `constants`."""
    fixed = keep.union(block.outputs)
    calls = fold(live(calls, fixed), block, constants)
    calls = Functions(calls, block, constants, keep).run()
    calls = clamp_first(calls, block, fixed)
    padding = Padding(calls, block, keep, level)
    calls = padding.run()
    analysis = prove(calls)
    steps = fuse(calls, fixed, analysis, level)
    steps = join_small(steps, block, fixed)
    steps = join_elementwise(steps, block, constants, fixed)
    steps = join_in_place(steps, block, keep, analysis)
    return [replace(step, calls=with_padding(step.calls, padding.taken)) for step in steps]


def laid_out(
    block: Block,
    steps: list[Step],
    places: Places,
    constants: Mapping[str, Array],
    keep: frozenset[str],
    regions: Mapping[str, Plan],
) -> Plan:
    """The steps with a place for every tensor: in the arena, in another one's bytes, or among the constants."""
    arena = place(lifetimes(block, steps, places, constants, keep))
    found = {name: resolve(places, name) for name in block.tensors}
    roots = {name: root for name, (root, _) in found.items()}
    starts = {name: start for name, (_, start) in found.items() if start}
    return Plan(block, tuple(steps), roots, constants, arena, starts, keep, regions)
