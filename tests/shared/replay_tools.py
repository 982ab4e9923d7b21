"""Runs a graph by a plan with everything that plans do, and by one without any of it, and compares every byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import Session
from tosa_engine.plan import expand, make_plan
from tosa_engine.plan.describe import describe
from tosa_engine.runtime.blocks import Blocks
from tosa_engine.runtime.team import Team

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.graph import Graph
    from tosa_engine.plan import Plan, Step
    from tosa_engine.runtime.workspace import Workspace
    from tosa_engine.types import Array

    Feeds = Mapping[str, Array]
    Bytes = dict[str, bytes]


@dataclass(frozen=True)
class Replay:
    """What a run of a plan wrote into the tensors that were asked for; None where a REQUIRE failed."""

    values: Bytes | None
    plan: Plan


def run_plan(plan: Plan, feeds: Feeds, threads: int = 1) -> Replay:
    """Outputs and kept tensors; kept ones as they are when a probe would look at them."""
    blocks, team = Blocks(plan, threads), Team(threads)
    workspace = blocks.main
    found: Bytes = {}
    outputs = plan.block.outputs

    def look(step: Step | None) -> None:
        found.update({n: workspace.view(n).tobytes() for _, n in workspace.written_by(step) if n in plan.keep})

    def fail(region: Workspace, step: Step) -> None:
        raise AssertionError(f"{step.operators} failed in a region")

    blocks.failed = fail
    for name, array in feeds.items():
        np.copyto(workspace.view(name), array)
    look(None)
    if team.walk(workspace.program, look) is not None:
        return Replay(None, plan)
    found |= {name: workspace.view(name).tobytes() for name in outputs}
    return Replay(found, plan)


def computed(graph: Graph) -> frozenset[str]:
    """Every tensor that an operator computes and a run stores."""
    return frozenset(name for op in graph.main.operators if not op.op.startswith("CONST") for name in op.outputs)


def unfused(graph: Graph, feeds: Feeds) -> Bytes | None:
    """All tensors, every operator a step of its own."""
    expanded = expand(graph)
    return run_plan(make_plan(expanded, computed(expanded), optimise=False), feeds).values


def replay(graph: Graph, feeds: Feeds, threads: int = 1) -> list[Plan]:
    """Compare both, with nothing, some and all tensors kept; the plans that were made."""
    wanted = unfused(graph, feeds)
    every = sorted(computed(expand(graph)))
    plans = []
    for keep in (frozenset[str](), frozenset(every[::3]), frozenset(every)):
        found = run_plan(make_plan(expand(graph), keep), feeds, threads)
        plans.append(found.plan)
        assert (found.values is None) == (wanted is None), "one of both plans saw a REQUIRE fail"
        if found.values is not None and wanted is not None:
            assert keep <= found.values.keys()
            different = [name for name, value in found.values.items() if value != wanted[name]]
            assert not different, f"{different} of {describe(found.plan)}"
    return plans


def replay_model(graph: Graph, feeds: Feeds, threads: tuple[int, ...]) -> None:
    """Compare a session's outputs and probes with the unfused plan; sessions share what they can."""
    wanted = unfused(graph, feeds)
    assert wanted is not None
    for count in threads:
        session = Session(graph, count)
        names = [port.name for port in session.outputs]
        seen: Bytes = {}
        for probes in (None, [Look(seen)]):
            outputs = session.run(None, feeds, probes)
            assert [a.tobytes() for a in outputs] == [wanted[name] for name in names]
        different = [name for name in seen if seen[name] != wanted[name]]
        assert not different, different
        assert seen.keys() == computed(session.graph)


class Look:
    """A probe on every tensor that is computed."""

    tensors = None

    def __init__(self, seen: Bytes) -> None:
        self.seen = seen

    def __call__(self, node: str, tensor: str, array: Array) -> None:
        self.seen[tensor] = array.tobytes()
