"""The workers of a session, and how they walk the steps of a plan together.

The first worker is the caller's thread. It walks the plan and does small steps alone; it shares the units of large ones
with the others, and goes on when all units are done. Every unit is done by one worker, so that bytes don't depend on
who does it.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from ..kernels.work import DONE
from .program import Span
from .threads import Helpers

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..plan.steps import Step
    from .bound import Bound
    from .program import Program

    After = Callable[[Step], None]


class Team:
    """The workers of a session. A run that finds them busy runs alone, with the same bytes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._busy = threading.Lock()
        self._others: _OtherWorkers | None = None

    def walk(self, program: Program, after: After) -> Step | None:
        """Run all steps. The step whose kernel saw a REQUIRE fail, or None. Errors of any worker are raised.

        `after` is called behind the steps that the program marks.
        """
        if not (program.shared and self._busy.acquire(blocking=False)):
            return walk(program, after)
        try:
            if self._others is None:
                self._others = _OtherWorkers(self.threads)
            return walk(program, after, self._others)
        finally:
            self._busy.release()


class _OtherWorkers:
    """Workers 1 .. workers - 1, for compiled steps and for Python's."""

    def __init__(self, workers: int) -> None:
        self.helpers = Helpers(workers)
        self._pool = ThreadPoolExecutor(workers - 1, thread_name_prefix="tosa_engine")

    def share(self, bound: Bound) -> bool:
        """Do a step of Python's in equal parts. False when one of them saw a REQUIRE fail."""
        run, units, workers = bound.run, bound.units, len(bound.scratch)
        assert run is not None

        def job(worker: int) -> bool:
            low, high = units * worker // workers, units * (worker + 1) // workers
            return low == high or run(low, high, bound.scratch[worker]) == DONE

        others = [self._pool.submit(job, worker) for worker in range(1, workers)]
        try:
            done = job(0)
        finally:
            wait(others)
        return all([done, *(other.result() for other in others)])


def walk(program: Program, after: After, others: _OtherWorkers | None = None) -> Step | None:
    """Run all steps in this thread, the shared ones with others. The step that saw a REQUIRE fail, or None."""
    if others is None and program.is_span:
        assert program.walk is not None
        row = program.walk(program.address, 0, len(program.origin), 1, 0, 0)
        return None if row < 0 else program.origin[row].step
    if others is not None:
        program.state.fill(0)
    for part in program.parts:
        if isinstance(part, Span):
            row = _span(program, part, others)
            if row >= 0:
                return program.origin[row].step
        elif part.look:
            after(part.bound.step)
        elif not (_alone(part.bound) if others is None or not part.bound.shared else others.share(part.bound)):
            return part.bound.step
    return None


def _span(program: Program, span: Span, others: _OtherWorkers | None) -> int:
    """The row that saw a REQUIRE fail; negative when there is none."""
    assert program.walk is not None
    if others is None or not span.shared:
        return program.walk(program.address, span.first, span.end, 1, 0, 0)
    with others.helpers.walking(program) as shared:
        return program.walk(program.address, span.first, span.end, program.workers, program.state_address, shared)


def _alone(bound: Bound) -> bool:
    assert bound.run is not None
    return bound.run(0, bound.units, bound.scratch[0]) == DONE
