"""A plan and the memory of its runs, kept for later ones."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from .batch_parallel import PartsInParallel, is_compiled
from .blocks import Blocks
from .direct import Direct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..plan.steps import Plan, Step
    from .workspace import Workspace

    Seen = Callable[[Workspace, Step], None]


class Prepared:
    """A plan with the memory of past runs, for runs that come at the same time.

    Args:
        failed: is called when a kernel saw a REQUIRE fail in a region; raises.
        after: is called behind each step of a region.
    """

    def __init__(self, plan: Plan, failed: Seen, after: Seen | None = None) -> None:
        self.plan, self._failed, self._after = plan, failed, after
        self._together = 0  # most runs at once that were found to fit into memory
        self.free: list[Blocks] = []  # threads that pop at once get different ones
        self._parallel: list[PartsInParallel] = []
        self._lock = threading.Lock()

    def borrow(self, workers: int) -> Blocks:
        try:
            return self.free.pop()
        except IndexError:
            blocks = Blocks(self.plan, workers)
            blocks.failed, blocks.after = self._failed, self._after
            return blocks

    def give_back(self, blocks: Blocks) -> None:
        self.free.append(blocks)

    @property
    def free_for_one_walk(self) -> list[Blocks]:
        """The memory of past runs where a run is one walk."""
        return self.free if all(Direct.suits(blocks.main) for blocks in self.free[:1]) else []

    @cached_property
    def is_compiled(self) -> bool:
        """Whether runs can be shared as wholes."""
        return self.plan.parts_in_parallel or is_compiled(self.plan)

    def lets_together(self, runs: int, fit: Callable[[int], bool]) -> bool:
        """Whether so many runs at once `fit` into memory; not asked again for as many or fewer."""
        if runs > self._together and fit(runs):
            self._together = runs
        return runs <= self._together

    @contextmanager
    def borrowed_for_parts(self, workers: int) -> Iterator[PartsInParallel]:
        with self._lock:
            found = self._parallel.pop() if self._parallel else None
        found = found or PartsInParallel(self.plan, workers)
        try:
            yield found
        finally:
            with self._lock:
                self._parallel.append(found)
