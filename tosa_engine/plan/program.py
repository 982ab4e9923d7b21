"""The steps of a workspace as a program: neighbouring compiled steps become one span that is walked without Python.

Python does the rest between them: steps that are Python's, and looking at what was written (`after`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..kernels.work import BLOCK, Chain, Loop, aligned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..types import Array
    from .workspace import Bound

PIECES: Final = 4  # that a worker's part of a shared step is taken in


@dataclass(frozen=True)
class Span:
    """Rows first .. end - 1 of the program."""

    first: int
    end: int


@dataclass(frozen=True)
class Single:
    """A step that Python runs, with the barriers around it."""

    bound: Bound
    before: bool
    after: bool


class Program:
    """What workers do, in order: `parts` are spans, single steps, and steps behind which Python looks at tensors.

    `compiled`: it is one span. The other workers needn't come further than row `last_shared`. `state` is for the
    barriers of one run at a time; a program belongs to one workspace.
    """

    def __init__(self, steps: Sequence[Bound], workers: int, looked_at: frozenset[int]) -> None:
        self.workers = workers
        self.shared = any(bound.shared for bound in steps)
        self.parts: list[Span | Single | Bound] = []
        self.origin: list[Bound] = []  # of each row
        self._words: list[Array] = []  # keeps them alive
        rows: list[list[int]] = []
        start = 0
        for i, (bound, before, after) in enumerate(_with_barriers(steps)):
            found = [] if bound.run is None else self._rows(bound, before, after)
            rows += found
            self.origin += [bound] * len(found)
            single = bound.run is not None and not found
            if (single or i in looked_at) and len(rows) > start:
                self.parts.append(Span(start, len(rows)))
                start = len(rows)
            if single:
                self.parts.append(Single(bound, before, after))
            if i in looked_at:
                self.parts.append(bound)
        if len(rows) > start:
            self.parts.append(Span(start, len(rows)))
        self.compiled = self.parts == [Span(0, len(rows))]
        self.last_shared = max((i + 1 for i, bound in enumerate(self.origin) if bound.shared), default=0)
        self.rows = np.array(rows, np.int64)
        self.address: int = self.rows.ctypes.data
        self.state = _state(len(rows), workers) if self.shared else np.zeros(0, np.int64)

    def _rows(self, bound: Bound, before: bool, after: bool) -> list[list[int]]:
        """The step as rows, or none if it isn't all compiled loops."""
        run = bound.run
        loops = run.loops if isinstance(run, Chain) else ((run, bound.units),)
        found = [self._row(loop, units, bound) for loop, units in loops if isinstance(loop, Loop)]
        rows = [row for row in found if row is not None]
        if len(rows) < len(loops):
            return []
        from ..kernels import walk

        rows[0][walk.BEFORE], rows[-1][walk.AFTER] = before, after
        return rows

    def _row(self, loop: Loop, units: int, bound: Bound) -> list[int] | None:
        from ..kernels import _jit

        arguments = [(*loop.arguments, *scratch, 0, units) for scratch in bound.scratch]
        address = _jit.entry(loop.function, arguments[0])
        if address is None:
            return None
        from ..kernels import walk

        words = [[word for argument in one for word in _jit.words(argument)] for one in arguments]
        used = len(words[0])
        size = next(size for size in walk.SIZES if size >= used)
        memory = aligned(len(words) * size, np.int64)
        memory.reshape(len(words), size)[:, :used] = words
        self._words.append(memory)
        row = [0] * walk.ROW
        row[walk.ENTRY], row[walk.ARGUMENTS], row[walk.PITCH] = address, memory.ctypes.data, size * memory.itemsize
        row[walk.SIZE], row[walk.RANGE], row[walk.UNITS] = size, used - 2, units
        row[walk.BLOCK], row[walk.COUNT] = (1, units) if loop.count is None else (BLOCK, loop.count)
        row[walk.PIECE] = max(1, units // (self.workers * PIECES)) if bound.shared else 0
        return row


def _state(rows: int, workers: int) -> Array:
    from ..kernels import walk

    return aligned(walk.state_size(rows, workers), np.int64)


def _with_barriers(steps: Sequence[Bound]) -> Iterator[tuple[Bound, bool, bool]]:
    """The steps, and whether all workers wait before and behind each: around shared ones, but only once between two."""
    fenced = True  # nothing ran since the last barrier
    for bound in steps:
        if bound.run is None:
            yield bound, False, False
            continue
        yield bound, bound.shared and not fenced, bound.shared
        fenced = bound.shared
