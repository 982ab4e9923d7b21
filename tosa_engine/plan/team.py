"""The workers of a session, and how they walk the steps of a plan together.

The first worker is the caller's thread. It walks the plan and does small steps alone; it shares the units of large ones
with the others, and goes on when all units are done. Every unit is done by one worker, so that bytes don't depend on
who does it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ..kernels.work import DONE
from .helpers import Helpers
from .program import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from .program import Program
    from .steps import Step
    from .workspace import Bound

    After = Callable[[Step], None]


class Team:
    """The workers of a session. A run that finds them busy runs alone, with the same bytes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._busy = threading.Lock()
        self._helpers: Helpers | None = None

    def walk(self, program: Program, after: After) -> Step | None:
        """Run all steps. The step whose kernel saw a REQUIRE fail, or None. Errors of any worker are raised.

        `after` is called behind the steps that the program marks.
        """
        if not (program.shared and self._busy.acquire(blocking=False)):
            return walk(program, after)
        try:
            if self._helpers is None:
                self._helpers = Helpers(self.threads)
            return walk(program, after, self._helpers)
        finally:
            self._busy.release()


def walk(program: Program, after: After, helpers: Helpers | None = None) -> Step | None:
    """Run all steps in this thread, with helpers for those that are shared. The step that saw a REQUIRE fail, or None."""
    if helpers is not None:
        program.state.fill(0)
    for part in program.parts:
        if isinstance(part, Span):
            row = _span(program, part, helpers)
            if row >= 0:
                return program.origin[row].step
        elif part.look:
            after(part.bound.step)
        elif not (_share(part.bound, helpers) if part.bound.shared and helpers is not None else _alone(part.bound)):
            return part.bound.step
    return None


def _span(program: Program, span: Span, helpers: Helpers | None) -> int:
    """The row that saw a REQUIRE fail; negative when there is none."""
    from ..kernels import walk as compiled

    if helpers is None or not span.shared:
        return compiled.walk(program.address, span.first, span.end, 1, 0, 0)
    with helpers.walking(program) as shared:
        return compiled.walk(program.address, span.first, span.end, program.workers, program.state_address, shared)


def _alone(bound: Bound) -> bool:
    assert bound.run is not None
    return bound.run(0, bound.units, bound.scratch[0]) == DONE


def _share(bound: Bound, helpers: Helpers) -> bool:
    """A step of Python's, in equal parts."""
    run, workers, found = bound.run, len(bound.scratch), []
    assert run is not None

    def job(worker: int) -> None:
        low, high = bound.units * worker // workers, bound.units * (worker + 1) // workers
        if low < high and run(low, high, bound.scratch[worker]) != DONE:
            found.append(worker)

    helpers.call(job)
    return not found
