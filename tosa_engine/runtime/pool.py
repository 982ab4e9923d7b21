"""A plan and the memory of its runs, kept for later ones."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from .batch_parallel import Apart, is_compiled
from .workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..plan.steps import Plan, Step

    Seen = Callable[[Workspace, Step], None]


class Prepared:
    """A plan with the workspaces of past runs, for runs that come at the same time.

    Args:
        failed: is called when a kernel saw a REQUIRE fail in a region; raises.
        after: is called behind each step of a region.
    """

    def __init__(self, plan: Plan, failed: Seen, after: Seen | None = None) -> None:
        self.plan, self._failed, self._after = plan, failed, after
        self._free: list[Workspace] = []
        self._apart: list[Apart] = []
        self._lock = threading.Lock()

    def borrow(self, workers: int) -> Workspace:
        with self._lock:
            if self._free:
                return self._free.pop()
        workspace = Workspace(self.plan, workers)
        workspace.around.failed, workspace.around.after = self._failed, self._after
        return workspace

    def give_back(self, workspace: Workspace) -> None:
        with self._lock:
            self._free.append(workspace)

    @cached_property
    def is_compiled(self) -> bool:
        """Whether runs can be shared as wholes."""
        return self.plan.apart or is_compiled(self.plan)

    @contextmanager
    def borrowed_apart(self, workers: int) -> Iterator[Apart]:
        with self._lock:
            found = self._apart.pop() if self._apart else None
        found = found or Apart(self.plan, workers)
        try:
            yield found
        finally:
            with self._lock:
                self._apart.append(found)
