"""How long the steps of a session's plan take: `Session.profile`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..plan.steps import Plan, Step
    from .clock import Clock

LEAST_RUNS: Final = 5
MOST_RUNS: Final = 10_000


@dataclass(frozen=True)
class StepTime:
    """A step of the plan, by its number there, and the nanoseconds that it takes."""

    number: int
    step: Step
    nanoseconds: float


@dataclass(frozen=True)
class Profile:
    """Times of one thread, in nanoseconds: means over the fastest quarter of `runs`.

    `run` is a whole call of `Session.run`, `clocked` one with a clock behind every step. What the steps leave of it is
    spent around them: inputs are checked and copied in, outputs copied out, and Python goes from one to the next.
    """

    plan: Plan
    steps: tuple[StepTime, ...]
    run: float
    clocked: float
    runs: int

    @property
    def in_steps(self) -> float:
        return sum(one.nanoseconds for one in self.steps)

    @property
    def accounted(self) -> float:
        """The share of a run that the steps take."""
        return self.in_steps / self.run


def measure(
    plan: Plan, clock: Clock, run: Callable[[], object], clocked: Callable[[], object], seconds: float
) -> Profile:
    """Call both in turns for so many seconds; `clocked` walks with the clock."""
    wholes: list[int] = []
    timed: list[int] = []
    found: list[list[float]] = []
    steps = [(i, step) for i, step in enumerate(plan.steps) if step.work is not None]
    clocked()
    clock.take()
    deadline = time.monotonic() + seconds
    while len(wholes) < LEAST_RUNS or (time.monotonic() < deadline and len(wholes) < MOST_RUNS):
        wholes.append(_nanoseconds(run))
        timed.append(_nanoseconds(clocked))
        times = clock.take()
        found.append([times.get(id(step), 0.0) for _, step in steps])
    fast = np.argsort(timed)[: (len(timed) + 3) // 4]
    means = np.array(found).reshape(len(found), len(steps))[fast].mean(axis=0).tolist()
    return Profile(
        plan,
        tuple(StepTime(i, step, mean) for (i, step), mean in zip(steps, means, strict=True)),
        _of_fastest(wholes),
        _of_fastest(timed),
        len(wholes),
    )


def _of_fastest(times: list[int]) -> float:
    return float(np.mean(sorted(times)[: (len(times) + 3) // 4]))


def _nanoseconds(call: Callable[[], object]) -> int:
    begin = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - begin
