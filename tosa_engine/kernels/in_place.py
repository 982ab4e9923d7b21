"""A step that looks up, or changes in another way, what it has written, where it lies.

As a loop of its own behind those of the step: looking values up while they are made, some tens at a time, takes several
times as long as looking all of them up at once (docs/kernels.md).
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

from .work import DONE, Chain, Loop, Work, loops_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Array, Shape
    from .work import Run


def then_in_place(work: Work, then: Work, shape: Shape) -> Work:
    """`work`, and `then` upon its one output, which `then` may overwrite, and which has this shape before. No REQUIRE
    of either can fail.
    """
    assert then.overwritable == (0,)
    assert not then.scratch

    @wraps(work.bind)  # plans name a step's kernel by it
    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        first, second = work.bind(inputs, [outputs[0].reshape(shape)]), then.bind(outputs, outputs)
        loops = [loop for loop, _ in first.loops] if isinstance(first, Chain) else [first]
        if not (isinstance(second, Loop) and all(isinstance(loop, Loop) for loop in loops)):
            return _one_after_the_other(first, work.units, second, then.units)
        behind = (second.taking(0, 0), then.units)
        return Chain(*loops_of(first, work.units, 0, len(work.scratch)), behind)

    widest = max(work.units, work.most_units, then.units)
    return Work(1, work.cost + then.cost, bind, work.scratch, work.overwritable, widest, work.least_units)


def _one_after_the_other(first: Run, units: int, second: Run, then: int) -> Run:
    def run(low: int, high: int, scratch: Sequence[Array]) -> int:
        found = first(0, units, scratch)
        return second(0, then, ()) if found == DONE else found

    return run
