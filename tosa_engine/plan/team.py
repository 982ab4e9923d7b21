"""The workers of a session, and how they walk the steps of a plan together.

Each large step's units are shared; small steps belong to the first worker, which is the caller's thread. A barrier
stands before a step whenever its inputs, or the memory of its output, may still be in use by another worker.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from ..kernels.work import DONE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..types import Array
    from .steps import Step
    from .workspace import Bound

    After = Callable[[Step | None], None]


class Team:
    """The workers of a session. A run that finds them busy runs alone, with the same bytes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._busy = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    def walk(self, steps: Sequence[Bound], after: After) -> Step | None:
        """Run all steps. The step whose kernel saw a REQUIRE fail, or None. Errors of any worker are raised."""
        from ..kernels import _jit

        after(None)
        team = self.threads > 1 and _jit.JIT and any(s.shared for s in steps) and self._busy.acquire(blocking=False)
        if not team:
            return alone(steps, after)
        try:
            return self._together(steps, after)
        finally:
            self._busy.release()

    def _together(self, steps: Sequence[Bound], after: After) -> Step | None:
        from ..kernels import barrier

        if self._pool is None:
            barrier.warm_up()
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="tosa_engine")
        walk = Walk(steps, after, self.threads, barrier.new())
        others = [self._pool.submit(walk.work, worker) for worker in range(1, self.threads)]
        try:
            walk.work(0)
        finally:
            for other in others:
                other.exception()  # waits; after an error of this thread the state's abort flag ends the others
        for other in others:
            other.result()
        return min(walk.failed, key=lambda found: found[0])[1] if walk.failed else None


def alone(steps: Sequence[Bound], after: After) -> Step | None:
    """Run all steps in this thread. The step whose kernel saw a REQUIRE fail, or None."""
    for bound in steps:
        if bound.run is not None and bound.run(0, bound.units, bound.scratch[0]) != DONE:
            return bound.step
        after(bound.step)
    return None


class Walk:
    """One run by several workers."""

    def __init__(
        self,
        steps: Sequence[Bound],
        after: After,
        workers: int,
        state: Array,
    ) -> None:
        self.steps, self.after, self.workers, self.state = steps, after, workers, state
        self.failed: list[tuple[int, Step]] = []

    def work(self, worker: int) -> None:
        from ..kernels import barrier

        finished = False
        try:
            finished = self._steps(worker)
        finally:
            if not finished:
                barrier.abort(self.state)

    def _steps(self, worker: int) -> bool:
        """Walk the steps; False when this worker, or another one, had to stop."""
        from ..kernels import barrier

        fenced = True  # nothing ran since the last barrier
        for i, bound in enumerate(self.steps):
            if bound.run is None:
                if worker == 0:
                    self.after(bound.step)
                continue
            if bound.shared:
                if not fenced and not barrier.wait(self.state, self.workers):
                    return False
                low, high = bound.units * worker // self.workers, bound.units * (worker + 1) // self.workers
                status = bound.run(low, high, bound.scratch[worker]) if low < high else DONE
            else:
                status = bound.run(0, bound.units, bound.scratch[0]) if worker == 0 else DONE
            fenced = False
            if status != DONE:
                self.failed.append((i, bound.step))
                return False
            if bound.shared:
                if not barrier.wait(self.state, self.workers):
                    return False
                fenced = True
            if worker == 0:
                self.after(bound.step)
        return True
