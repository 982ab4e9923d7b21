"""Runs whose parts of the batch are shared by the workers: each walks the whole plan in memory of its own.

Workers share the packed constants, and meet only where they take parts. A part is a unit of the one row of a program
(see `kernels.walk.parts`), so that parts are taken, and failures told, as units of a step are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.work import Chain, Loop, aligned
from ..plan import make_plan
from ..plan.batch import (
    batch_of,
    cost_of,
    fits_cache,
    parts_for,
    parts_in_parallel,
    with_batch,
    with_constants,
    worth_parallel_parts,
)
from ..plan.steps import Step
from .blocks import Blocks
from .bound import Bound
from .deadline import AT_ONCE
from .program import Program, Span
from .workspace import WORTH_WAKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Graph
    from ..kernels.work import Run
    from ..plan.steps import Plan
    from ..target import Level
    from ..types import Array
    from .team import Team


class PartsInParallel:
    """The memory of one run at a time: a workspace for each worker, and the program of all parts."""

    def __init__(self, plan: Plan, workers: int) -> None:
        from ..kernels.walk import parts as at

        self.workspaces = [Blocks(plan, 1).main for _ in range(workers)]
        self._inputs, self._outputs = plan.block.inputs, plan.block.outputs
        names = [*self._inputs, *self._outputs]
        views = [[workspace.view(name) for name in names] for workspace in self.workspaces]
        self._ports = aligned(at.PORT * len(names), np.int64).reshape(-1, at.PORT)
        self._ports[:, at.BYTES] = [view.nbytes for view in views[0]]
        self._ports[len(self._inputs) :, at.OUTPUT] = 1
        self._own = [aligned(at.PORTS + len(names), np.int64) for _ in self.workspaces]
        for words, workspace, its in zip(self._own, self.workspaces, views, strict=True):
            (span,) = workspace.program.parts
            assert isinstance(span, Span)
            words[:] = [workspace.program.address, span.end, *(view.ctypes.data for view in its)]
        self._cost = cost_of(plan)
        self._parts, self._program = 0, Program([], workers, frozenset())

    def _program_of(self, parts: int) -> Program:
        """All parts as one row."""
        from ..kernels.walk import parts as at

        if parts != self._parts:
            loop, shared = Loop(at.walk_parts, self._ports.reshape(-1)), parts * self._cost >= WORTH_WAKING
            scratch = tuple((words,) for words in self._own)
            shared = shared and len(scratch) > 1
            every = Bound(Step((), (), (), None), loop, parts, shared=shared, scratch=scratch, cost=parts * self._cost)
            self._parts, self._program = parts, Program([every], len(scratch), frozenset())
        return self._program

    def run(self, team: Team, parts: int, feeds: Mapping[str, Array], found: Mapping[str, Array]) -> bool:
        """Compute outputs of all parts, whose arrays lie behind each other, into the arrays of `found`. False where a
        REQUIRE failed.
        """
        from ..kernels.walk import parts as at

        given = [np.ascontiguousarray(feeds[name]) for name in self._inputs]
        wanted = [found[name].ctypes.data if name in found else 0 for name in self._outputs]
        self._ports[:, at.WHOLE] = [*(array.ctypes.data for array in given), *wanted]
        return team.walk(self._program_of(parts), lambda step: None) is None


def is_compiled(plan: Plan) -> bool:
    """Whether there are steps, and a run needs Python for none of them, nor between them."""
    from ..kernels import _jit

    short = cost_of(plan) <= AT_ONCE
    steps = Blocks(plan, 1).main.steps if _jit.JIT and short and not plan.regions else []
    return any(bound.run is not None for bound in steps) and all(_loops(bound.run) for bound in steps)


def _loops(run: Run | None) -> bool:
    from ..kernels import _jit

    loops = [loop for loop, _ in run.loops] if isinstance(run, Chain) else [run]
    return run is None or all(isinstance(loop, Loop) and _jit.is_compiled(loop.function) for loop in loops)


def plan_in_parts(graph: Graph, level: Level | None, workers: int, fits: Callable[[Plan], bool]) -> Plan:
    """The plan without probes, for a part of the batch where this is faster (`plan.batch`).

    Workers do parts of their own only where a plan for that `fits` into memory.
    """
    original = graph.copy()  # planning folds constants
    whole = make_plan(graph, level=level)
    long, size = worth_parallel_parts(whole, workers), whole.arena.size
    if not long and fits_cache(size):
        return whole
    folded = with_constants(original, whole.constants)
    samples = batch_of(folded)

    def for_parts(parts: int, *, parallel: bool = False) -> Plan:
        plan = make_plan(with_batch(folded, samples // parts), level=level)
        return replace(plan, parts=parts, parts_in_parallel=parallel)

    parts = parts_in_parallel(samples, size, workers) if long else 1
    if parts > 1 and fits(plan := for_parts(parts, parallel=True)) and is_compiled(plan):
        return plan
    parts = parts_for(samples, size)
    return whole if parts == 1 else for_parts(parts)
