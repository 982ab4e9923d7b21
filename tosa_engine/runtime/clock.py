"""Walking a plan with a clock: how long each step takes, where it stands among the others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from .program import Span
from .team import alone

if TYPE_CHECKING:
    from ..plan.steps import Step
    from .program import Program
    from .team import After


class Clock:
    """Times of steps, in nanoseconds, summed over walks until they are taken. One worker walks."""

    def __init__(self) -> None:
        self._ticks: dict[int, int] = {}
        self._nanoseconds: dict[int, int] = {}
        self._rate = 0.0

    def walk(self, program: Program, after: After) -> Step | None:
        """As `team.walk`. Compiled steps are timed by the processor's counter, the others by Python's."""
        for part in program.parts:
            if isinstance(part, Span):
                row = self._span(program, part)
                if row >= 0:
                    return program.origin[row].step
            elif part.look:
                after(part.bound.step)
            else:
                bound, begin = part.bound, time.perf_counter_ns()
                if not alone(bound):
                    return bound.step
                _add(self._nanoseconds, bound.step, time.perf_counter_ns() - begin)
        return None

    def _span(self, program: Program, span: Span) -> int:
        from ..kernels.walk.clock import walk_and_note

        stamps = np.zeros(span.end - span.first + 1, np.int64)
        row: int = walk_and_note(program.address, span.first, span.end, stamps.ctypes.data)
        if row < 0:
            for bound, ticks in zip(program.origin[span.first : span.end], np.diff(stamps).tolist(), strict=True):
                _add(self._ticks, bound.step, ticks)
        return row

    def take(self) -> dict[int, float]:
        """The times since the last call, by `id` of the step."""
        if self._ticks and not self._rate:
            self._rate = _nanoseconds_per_tick()
        found: dict[int, float] = {key: ticks * self._rate for key, ticks in self._ticks.items()}
        for key, nanoseconds in self._nanoseconds.items():
            found[key] = found.get(key, 0.0) + nanoseconds
        self._ticks, self._nanoseconds = {}, {}
        return found


def _add(times: dict[int, int], step: Step, more: int) -> None:
    times[id(step)] = times.get(id(step), 0) + more


def _nanoseconds_per_tick(milliseconds: int = 20) -> float:
    from ..kernels.walk.clock import ticks

    first, begin = ticks(), time.perf_counter_ns()
    time.sleep(milliseconds / 1000)
    last, end = ticks(), time.perf_counter_ns()
    return (end - begin) / (last - first)
