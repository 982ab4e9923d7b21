"""The workers of a session, and how they walk the steps of a plan together.

Each large step's units are shared; small steps belong to the first worker, which is the caller's thread. A barrier
stands before a step whenever its inputs, or the memory of its output, may still be in use by another worker.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..kernels.work import DONE
from .helpers import Helpers
from .program import Single, Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from .program import Program
    from .steps import Step

    After = Callable[[Step], None]


class Team:
    """The workers of a session. A run that finds them busy runs alone, with the same bytes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._busy = threading.Lock()
        self._helpers: Helpers | None = None

    def walk(self, program: Program, after: After) -> Step | None:
        """Run all steps. The step whose kernel saw a REQUIRE fail, or None. Errors of any worker are raised.

        `after` is called behind the steps that the program has to be looked at.
        """
        if not (program.shared and self._busy.acquire(blocking=False)):
            return alone(program, after)
        try:
            return self._together(program, after)
        finally:
            self._busy.release()

    def _together(self, program: Program, after: After) -> Step | None:
        if self._helpers is None:
            self._helpers = Helpers(self.threads)
        program.state.fill(0)
        walk = Walk(program, after, self.threads)
        if program.compiled:
            self._helpers.walk(program)
        else:
            self._helpers.call(walk.work)
        try:
            walk.work(0)
        finally:
            row = self._helpers.wait()  # after an error of this thread, the state's abort flag ends the others
        return program.origin[row].step if row >= 0 else walk.failed


def alone(program: Program, after: After) -> Step | None:
    """Run all steps in this thread. The step whose kernel saw a REQUIRE fail, or None."""
    walk = Walk(program, after, 1)
    walk.parts(0)
    return walk.failed


class Walk:
    """One run by some workers. `failed` is the step that saw a REQUIRE fail: all workers were in it, or waited."""

    def __init__(self, program: Program, after: After, workers: int) -> None:
        self.program, self.after, self.workers = program, after, workers
        self.failed: Step | None = None
        self.state: int = program.state.ctypes.data if workers > 1 else 0

    def work(self, worker: int) -> None:
        """Do one worker's share; whatever ends it early ends the others."""
        from ..kernels import barrier

        finished = False
        try:
            finished = self.parts(worker)
        finally:
            if not finished:
                barrier.abort(self.state)

    def parts(self, worker: int) -> bool:
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

        stopped = walk.walk(self.program.address, span.first, span.end, worker, self.workers, self.state)
        if stopped >= 0:
            self.failed = self.program.origin[stopped].step
        return bool(stopped == walk.FINISHED)

    def _single(self, part: Single, worker: int) -> bool:
        bound, workers = part.bound, self.workers
        if part.before and not self._meet():
            return False
        if bound.shared:
            low, high = bound.units * worker // workers, bound.units * (worker + 1) // workers
        else:
            low, high = 0, bound.units if worker == 0 else 0
        assert bound.run is not None
        if low < high and bound.run(low, high, bound.scratch[worker]) != DONE:
            self.failed = bound.step
            return False
        return not part.after or self._meet()

    def _meet(self) -> bool:
        if self.workers == 1:
            return True
        from ..kernels import barrier

        return bool(barrier.meet(self.state, self.workers))
