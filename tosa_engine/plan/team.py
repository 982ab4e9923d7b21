"""The workers of a session, and how they walk the steps of a plan together.

Each large step's units are shared; small steps belong to the first worker, which is the caller's thread. A barrier
stands before a step whenever its inputs, or the memory of its output, may still be in use by another worker.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import numpy as np

from ..kernels.work import DONE
from .program import Single, Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Array
    from .program import Program
    from .steps import Step
    from .workspace import Workspace

    After = Callable[[Step], None]

NOTHING: Final = np.zeros(1, np.int64)  # the state of a run that nobody waits in


class Team:
    """The workers of a session. A run that finds them busy runs alone, with the same bytes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._busy = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def walk(self, workspace: Workspace, after: After) -> Step | None:
        """Run all steps. The step whose kernel saw a REQUIRE fail, or None. Errors of any worker are raised."""
        from ..kernels import _jit

        program = workspace.program
        team = self.threads > 1 and _jit.JIT and program.shared and self._busy.acquire(blocking=False)
        if not team:
            return alone(program, after)
        try:
            return self._together(program, after)
        finally:
            self._busy.release()

    def _together(self, program: Program, after: After) -> Step | None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="tosa_engine")
        walk = Walk(program, after, self.threads)
        others = [self._pool.submit(walk.work, worker) for worker in range(1, self.threads)]
        try:
            walk.work(0)
        finally:
            for other in others:
                other.exception()  # waits; after an error of this thread the state's abort flag ends the others
        for other in others:
            other.result()
        return walk.failed


def alone(program: Program, after: After) -> Step | None:
    """Run all steps in this thread. The step whose kernel saw a REQUIRE fail, or None."""
    walk = Walk(program, after, 1)
    walk.work(0)
    return walk.failed


class Walk:
    """One run by some workers. `failed` is the step that saw a REQUIRE fail: all workers were in it, or waited."""

    def __init__(self, program: Program, after: After, workers: int) -> None:
        self.program, self.after, self.workers = program, after, workers
        self.failed: Step | None = None
        self.state: Array = NOTHING
        if workers > 1:
            from ..kernels import walk

            self.state = np.zeros(walk.state_size(len(program.rows), workers), np.int64)

    def work(self, worker: int) -> None:
        if self.workers == 1:
            self._parts(worker)
            return
        from ..kernels import barrier

        finished = False
        try:
            finished = self._parts(worker)
        finally:
            if not finished:
                barrier.abort(self.state)

    def _parts(self, worker: int) -> bool:
        """Do the parts in order; False when this worker, or another one, had to stop."""
        for part in self.program.parts:
            if isinstance(part, Span):
                if not self._span(part, worker):
                    return False
            elif isinstance(part, Single):
                if not self._single(part, worker):
                    return False
            elif worker == 0:
                self.after(part.step)
        return True

    def _span(self, span: Span, worker: int) -> bool:
        from ..kernels import walk

        stopped = walk.walk(self.program.rows, span.first, span.end, worker, self.workers, self.state)
        if stopped >= 0:
            self.failed = self.program.origin[stopped].step
        return bool(stopped == walk.FINISHED)

    def _single(self, part: Single, worker: int) -> bool:
        bound, workers = part.bound, self.workers
        if workers == 1:
            low, high = 0, bound.units
        else:
            from ..kernels import barrier

            if part.before and not barrier.meet(self.state, workers):
                return False
            if bound.shared:
                low, high = bound.units * worker // workers, bound.units * (worker + 1) // workers
            else:
                low, high = 0, bound.units if worker == 0 else 0
        assert bound.run is not None
        if low < high and bound.run(low, high, bound.scratch[worker]) != DONE:
            self.failed = bound.step
            return False
        return not (part.after and workers > 1) or bool(barrier.meet(self.state, workers))
