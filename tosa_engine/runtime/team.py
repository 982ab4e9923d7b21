"""The workers of a session, and how they walk the steps of a plan together.

The first worker is the caller's thread. It walks the plan and does small steps alone; it shares the units of large ones
with the others, and goes on when all units are done. Every unit is done by one worker, so that bytes don't depend on
who does it. Long steps are done in pieces by Python, which sees signals and the time limit between them.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from ..kernels.work import DONE, Chain
from .deadline import AT_ONCE, check
from .program import PIECES, Span
from .threads import Helpers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from ..kernels.work import Run
    from ..plan.steps import Step
    from ..types import Array
    from .bound import Bound
    from .program import Program

    After = Callable[[Step], None]


class Team:
    """The workers of a session. A run that finds them busy runs alone, with the same bytes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._busy = threading.Lock()
        self._others: _OtherWorkers | None = None
        self._process = 0  # that has them: a fork has no threads

    def walk(self, program: Program, after: After) -> Step | None:
        """Run all steps. The step whose kernel saw a REQUIRE fail, or None. Errors of any worker are raised.

        `after` is called behind the steps that the program marks.
        """
        if not (program.shared and self._busy.acquire(blocking=False)):
            return walk(program, after)
        try:
            if self._others is None or self._process != os.getpid():
                self._others, self._process = _OtherWorkers(self.threads), os.getpid()
            return walk(program, after, self._others)
        finally:
            self._busy.release()


class _OtherWorkers:
    """Workers 1 .. workers - 1, for compiled steps and for Python's."""

    def __init__(self, workers: int) -> None:
        self.helpers = Helpers(workers)
        self.pool = ThreadPoolExecutor(workers - 1, thread_name_prefix="tosa_engine")

    def share(self, bound: Bound) -> bool:
        """Do a step in pieces. False when one of them saw a REQUIRE fail."""
        return all(_Pieces(bound, run, units, self.pool).done() for run, units in _loops(bound))


def alone(bound: Bound) -> bool:
    """Do a step in this thread. False when it saw a REQUIRE fail."""
    if bound.is_long:
        return all(_Pieces(bound, run, units, None).done() for run, units in _loops(bound))
    assert bound.run is not None
    return bound.run(0, bound.units, bound.scratch[0]) == DONE


def _loops(bound: Bound) -> Sequence[tuple[Run, int]]:
    run = bound.run
    assert run is not None
    return run.loops if isinstance(run, Chain) else ((run, bound.units),)


class _Pieces:
    """The units of a loop, of which workers take a piece at a time until there are none, or one fails."""

    def __init__(self, bound: Bound, run: Run, units: int, pool: ThreadPoolExecutor | None) -> None:
        self._bound, self._run, self._units, self._pool = bound, run, units, pool
        workers = 1 if pool is None else len(bound.scratch)
        self._size = -(-units // workers)
        if bound.is_long:
            work = bound.step.work
            most = max(1, int(units * AT_ONCE / 2 / bound.cost), 1 if work is None else work.least_units)
            self._size = max(1, min(most, self._size // (PIECES if workers > 1 else 1)))
        self._begins = deque(range(0, units, self._size))  # threads that take from it get different ones
        self._failed = False

    def done(self) -> bool:
        """Do all of them. False when one saw a REQUIRE fail. None runs any more behind this call, even if it raises."""
        others: list[Future[None]] = []
        try:
            if self._pool is not None:
                others += [self._pool.submit(self._take, scratch) for scratch in self._bound.scratch[1:]]
            self._take(self._bound.scratch[0], self._bound.step)
        finally:
            self._begins.clear()
            _wait(others)
        for other in others:
            other.result()
        return not self._failed

    def _take(self, scratch: Sequence[Array], checked: Step | None = None) -> None:
        while self._begins:
            if checked is not None:
                check(checked.calls)
            try:
                low = self._begins.popleft()
            except IndexError:  # another one was faster
                return
            if self._run(low, min(low + self._size, self._units), scratch) != DONE:
                self._failed = True
                self._begins.clear()


def _wait(others: Sequence[Future[None]]) -> None:
    """Wait for the others, who write into memory that later runs use, and for them only then be interrupted."""
    try:
        wait(others)
    except KeyboardInterrupt:
        _wait(others)
        raise


def walk(program: Program, after: After, others: _OtherWorkers | None = None) -> Step | None:
    """Run all steps in this thread, the shared ones with others. The step that saw a REQUIRE fail, or None."""
    if others is None and program.is_span:
        assert program.walk is not None
        check(program.origin[0].step.calls)
        row = program.walk(*program.alone)
        return None if row < 0 else program.origin[row].step
    if others is not None:
        program.state.fill(0)
    for part in program.parts:
        if isinstance(part, Span):
            check(program.origin[part.first].step.calls)
            row = _span(program, part, others)
            if row >= 0:
                return program.origin[row].step
        elif part.look:
            after(part.bound.step)
        else:
            check(part.bound.step.calls)
            if not (alone(part.bound) if others is None or not part.bound.shared else others.share(part.bound)):
                return part.bound.step
    return None


def _span(program: Program, span: Span, others: _OtherWorkers | None) -> int:
    """The row that saw a REQUIRE fail; negative when there is none."""
    assert program.walk is not None
    if others is None or not span.shared:
        return program.walk(program.address, span.first, span.end, 1, 0, 0)
    with others.helpers.walking(program) as shared:
        return program.walk(program.address, span.first, span.end, program.workers, program.state_address, shared)
