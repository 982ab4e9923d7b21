"""From a graph to steps: what is computed, by which kernel, into which buffer.

`rewrite` makes steps of a block's operators, as few as possible, `memory` places their tensors, copying as little as
possible; `batch` says when a plan is better made for a part of the batch, `describe` what a plan is made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..infer import infer, regions_of
from ..passes import composites
from ..probe import name_of
from .block import plan_block
from .single import prepare
from .steps import Plan, Step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..graph import Graph
    from ..target import Level

__all__ = ["Plan", "Step", "expand", "make_plan", "prepare"]


def expand(graph: Graph) -> Graph:
    """A copy of the graph without composites, in order, with all shapes."""
    graph = composites.expand(graph)
    infer(graph)
    return graph


def make_plan(
    graph: Graph, keep: frozenset[str] = frozenset(), *, optimise: bool = True, level: Level | None = None
) -> Plan:
    """The plan of a legal graph that `expand` returned. Without `optimise` every operator is a step of its own.

    Tensors in `keep`, named as probes do (`probe.name_of`), are stored, never fused away, and readable until the step
    after the one that wrote them has begun. `level` is what constants that are known only in a run are checked against.
    """
    regions: dict[str, Plan] = {}
    main = plan_block(graph, graph.main, keep, optimise=optimise, level=level, regions=regions)
    pending = [main]
    while pending:
        for name in _called_by(pending.pop()):
            region = graph.region(name)
            if region is not None and name not in regions:
                block = region.blocks[0]
                named = (tensor for tensor in block.tensors if name_of(graph, name, tensor) in keep)
                kept = frozenset(named if optimise else block.tensors)
                regions[name] = plan_block(graph, block, kept, optimise=optimise, level=level, regions=regions)
                pending.append(regions[name])
    return main


def _called_by(plan: Plan) -> Iterator[str]:
    """The regions that control flow in a plan runs."""
    names = (name for step in plan.steps for call in step.calls for name in regions_of(call.operator))
    yield from dict.fromkeys(names)
