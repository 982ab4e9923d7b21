"""The steps of a workspace as a program: neighbouring compiled steps become one span that is walked without Python.

Python does the rest between them: steps that aren't compiled, and looking at what was written. It runs long steps, too,
and comes between spans that would be long, so that signals are seen and runs end in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ..kernels.work import BLOCK, Chain, Loop, aligned
from .deadline import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..types import Array
    from .bound import Bound

PAIR_OF_LINES: Final = 16  # words, so that no two workers write to neighbouring lines of the cache
PIECES: Final = 16  # at most that a worker's part of a shared step is taken in


@dataclass(frozen=True)
class Span:
    """Rows first .. end - 1 of the program. `shared`: there is something in it for several workers."""

    first: int
    end: int
    shared: bool


@dataclass(frozen=True)
class Single:
    """A step that Python runs, or a long one; with `look`, one that was run, and whose tensors Python looks at now."""

    bound: Bound
    look: bool = False


class Program:
    """What is done in a run, in order, as `parts`; `looked_at` are the steps behind which Python looks at tensors.

    `is_span`: all of it is one span. It belongs to one workspace. `state` is what the workers of one run at a time
    share (see `kernels.walk`).
    """

    def __init__(self, steps: Sequence[Bound], workers: int, looked_at: frozenset[int]) -> None:
        self.workers = workers
        self.shared = any(bound.shared for bound in steps)
        self.parts: list[Span | Single] = []
        self.origin: list[Bound] = []  # of each row
        self._words: list[Array] = []  # keeps them alive
        rows: list[list[int]] = []
        since = 0.0  # cost of the span that isn't ended
        for i, bound in enumerate(steps):
            found = [] if bound.run is None else self._rows(bound)
            since += bound.cost
            if since > AT_ONCE:
                self._end_span()
                since, found = bound.cost, [] if bound.is_long else found
            rows += found
            self.origin += [bound] * len(found)
            if bound.run is not None and not found:
                self._end_span()
                self.parts.append(Single(bound))
            if i in looked_at:
                self._end_span()
                self.parts.append(Single(bound, look=True))
        self._end_span()
        self._table = np.array(rows, np.int64)
        self.walk = _compiled_walk() if rows else None
        self.is_span = len(self.parts) == 1 and isinstance(self.parts[0], Span)
        self.state = _state(len(rows), workers) if self.shared else np.zeros(0, np.int64)
        self.address: int = self._table.ctypes.data
        self.state_address: int = self.state.ctypes.data
        self.alone = (self.address, 0, len(rows), 1, 0, 0)  # what `walk` is given where one worker walks all of it

    def _end_span(self) -> None:
        first = max((part.end for part in self.parts if isinstance(part, Span)), default=0)
        if first < len(self.origin):
            shared = any(bound.shared for bound in self.origin[first:])
            self.parts.append(Span(first, len(self.origin), shared))

    def _rows(self, bound: Bound) -> list[list[int]]:
        """The step as rows, or none if it isn't all compiled loops."""
        run = bound.run
        loops = run.loops if isinstance(run, Chain) else ((run, bound.units),)
        found = [self._row(loop, units, bound) for loop, units in loops if isinstance(loop, Loop)]
        rows = [row for row in found if row is not None]
        return rows if len(rows) == len(loops) else []

    def _row(self, loop: Loop, units: int, bound: Bound) -> list[int] | None:
        from ..kernels import _jit

        arguments = [(*loop.arguments, *scratch[loop.takes], 0, units) for scratch in bound.scratch]
        address = _jit.entry(loop.function, arguments[0])
        if address is None:
            return None
        from ..kernels.walk import walk

        words = [[word for argument in one for word in _jit.words(argument)] for one in arguments]
        used = len(words[0])
        size = -(-used // PAIR_OF_LINES) * PAIR_OF_LINES
        memory = aligned(len(words) * size, np.int64)
        memory.reshape(len(words), size)[:, :used] = words
        self._words.append(memory)
        row = [0] * walk.ROW
        row[walk.ENTRY], row[walk.ARGUMENTS], row[walk.PITCH] = address, memory.ctypes.data, size * memory.itemsize
        row[walk.RANGE], row[walk.UNITS] = used - 2, units
        row[walk.BLOCK], row[walk.COUNT] = (1, units) if loop.count is None else (BLOCK, loop.count)
        least = 1 if bound.step.work is None else bound.step.work.least_units
        piece = max(least, units // (self.workers * PIECES))
        row[walk.PIECE] = piece if bound.shared and units > 1 else 0
        return row


def _compiled_walk() -> Callable[..., int]:
    from ..kernels._jit import direct
    from ..kernels.walk import walk

    return direct(walk.walk)


def _state(rows: int, workers: int) -> Array:
    from ..kernels.walk import walk

    return aligned(walk.state_size(rows, workers), np.int64)
