"""Runs whose parts of the batch are shared by the workers: each walks the whole plan in memory of its own.

Workers share the packed constants, and meet only where they take parts. A part is a unit of the one row of a program
(see `kernels.walk_parts`), so that parts are taken, and failures told, as units of a step are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..kernels.work import Chain, Loop, aligned
from .program import Program, Span
from .steps import Step
from .workspace import WORTH, Bound, Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..kernels.work import Run
    from ..types import Array
    from .steps import Plan
    from .team import Team

LONG: Final = 4_000_000.0  # nanoseconds of a run, beside which a worker who comes late is no matter


class Apart:
    """The memory of one run at a time: a workspace for each worker, and the program of all parts."""

    def __init__(self, plan: Plan, workers: int) -> None:
        from ..kernels import walk_parts as at

        self.workspaces = [Workspace(plan, 1) for _ in range(workers)]
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
        from ..kernels import walk_parts as at

        if parts != self._parts:
            loop, shared = Loop(at.walk_parts, self._ports.reshape(-1)), parts * self._cost >= WORTH
            scratch = tuple((words,) for words in self._own)
            every = Bound(Step((), (), (), None), loop, parts, shared=shared and len(scratch) > 1, scratch=scratch)
            self._parts, self._program = parts, Program([every], len(scratch), frozenset())
        return self._program

    def run(self, team: Team, parts: int, feeds: Mapping[str, Array], found: Mapping[str, Array]) -> bool:
        """Compute outputs of all parts, whose arrays lie behind each other, into the arrays of `found`. False where a
        REQUIRE failed.
        """
        from ..kernels import walk_parts as at

        given = [np.ascontiguousarray(feeds[name]) for name in self._inputs]
        wanted = [found[name].ctypes.data if name in found else 0 for name in self._outputs]
        self._ports[:, at.WHOLE] = [*(array.ctypes.data for array in given), *wanted]
        return team.walk(self._program_of(parts), lambda step: None) is None


def cost_of(plan: Plan) -> float:
    """Nanoseconds of all steps."""
    return sum(step.work.cost for step in plan.steps if step.work is not None)


def worth_apart(whole: Plan, workers: int) -> bool:
    """Whether a run of all samples takes so long that workers should have parts of their own."""
    return workers > 1 and cost_of(whole) >= LONG


def is_compiled(plan: Plan) -> bool:
    """Whether there are steps, and a run needs Python for none of them."""
    from ..kernels import _jit

    steps = Workspace(plan, 1).steps if _jit.JIT and not plan.regions else []
    return any(bound.run is not None for bound in steps) and all(_loops(bound.run) for bound in steps)


def _loops(run: Run | None) -> bool:
    from ..kernels import _jit

    loops = [loop for loop, _ in run.loops] if isinstance(run, Chain) else [run]
    return run is None or all(isinstance(loop, Loop) and _jit.is_compiled(loop.function) for loop in loops)
