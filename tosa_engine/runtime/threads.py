"""The threads that help the caller's one. They end with the team, or with the interpreter."""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.work import aligned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .program import Program


class Helpers:
    """Workers 1 .. workers - 1: threads that wait for a walk. There is one at a time."""

    def __init__(self, workers: int) -> None:
        self._shared = shared = _Shared(workers)
        weakref.finalize(self, shared.stop)
        for worker in range(1, workers):
            threading.Thread(target=shared.help, args=(worker,), name=f"tosa_engine-{worker}", daemon=True).start()

    @contextmanager
    def walking(self, program: Program) -> Iterator[int]:
        """Helpers share the rows that are opened; the address of the words that they look at."""
        from ..kernels.walk import mailbox

        shared = self._shared
        mailbox.open_walk(shared.address, program.address, program.state.ctypes.data)
        shared.wake()
        try:
            yield shared.address + mailbox.SHARED
        finally:
            mailbox.close_walk(shared.address)


class _Shared:
    """What the threads hold: nothing that would keep the team alive."""

    def __init__(self, workers: int) -> None:
        from ..kernels.walk import mailbox

        self.workers = workers
        self._box = aligned(mailbox.box_size(workers), np.int64)
        self.address: int = self._box.ctypes.data
        self._sleep = [threading.Lock() for _ in range(workers)]
        for lock in self._sleep:
            lock.acquire()  # a helper sleeps until it is released
        mailbox.close_walk(self.address)

    def wake(self) -> None:
        from ..kernels.walk import mailbox

        for worker in range(1, self.workers):
            if mailbox.sleeps(self.address, worker):
                self._sleep[worker].release()

    def stop(self) -> None:
        from ..kernels.walk import mailbox

        mailbox.stop(self.address)
        self.wake()

    def help(self, worker: int) -> None:
        from ..kernels.walk import mailbox

        while mailbox.serve(self.address, worker, self.workers):
            self._sleep[worker].acquire()
