"""The threads that help the caller's one. They end with the team, or with the interpreter."""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.work import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .program import Program


class Helpers:
    """Workers 1 .. workers - 1: threads that wait for a job. There is one job at a time."""

    def __init__(self, workers: int) -> None:
        self._post = post = _Post(workers)
        weakref.finalize(self, post.stop)
        for worker in range(1, workers):
            threading.Thread(target=post.help, args=(worker,), name=f"tosa_engine-{worker}", daemon=True).start()

    @contextmanager
    def walking(self, program: Program) -> Iterator[int]:
        """Helpers share the rows that are opened; the address of the words that they look at."""
        from ..kernels import helpers

        post = self._post
        helpers.open_walk(post.address, program.address, program.state.ctypes.data)
        post.wake()
        try:
            yield post.address + helpers.SHARED
        finally:
            helpers.close_walk(post.address)

    def call(self, job: Callable[[int], None]) -> None:
        """Call a function with the number of each worker, the caller's thread being number 0, and wait for all.

        Raises the error of one of them.
        """
        self._post.call(job)


class _Post:
    """What the threads hold: nothing that would keep the team alive."""

    def __init__(self, workers: int) -> None:
        from ..kernels import helpers

        self.workers = workers
        self._box = aligned(helpers.box_size(workers), np.int64)
        self.address: int = self._box.ctypes.data
        self._sleep = [threading.Lock() for _ in range(workers)]
        for lock in self._sleep:
            lock.acquire()  # a helper sleeps until it is released
        self._job: Callable[[int], None] | None = None
        self._errors: list[BaseException] = []
        helpers.close_walk(self.address)

    def wake(self) -> None:
        from ..kernels import helpers

        for worker in range(1, self.workers):
            if helpers.sleeps(self.address, worker):
                self._sleep[worker].release()

    def stop(self) -> None:
        from ..kernels import helpers

        helpers.post(self.address, helpers.STOP)
        self.wake()

    def call(self, job: Callable[[int], None]) -> None:
        from ..kernels import helpers

        self._job = job
        helpers.post(self.address, helpers.PYTHON)
        self.wake()
        self._try(0)
        helpers.wait_done(self.address, self.workers - 1)
        self._job = None
        if self._errors:
            error = self._errors[0]
            self._errors.clear()
            raise error

    def help(self, worker: int) -> None:
        from ..kernels import helpers

        while True:
            wanted = helpers.serve(self.address, worker, self.workers)
            if wanted == helpers.STOP:
                return
            if wanted == helpers.ASLEEP:
                self._sleep[worker].acquire()
            else:
                self._try(worker)
                helpers.done(self.address)

    def _try(self, worker: int) -> None:
        assert self._job is not None, "a job is set before it is posted"
        try:
            self._job(worker)
        except BaseException as error:  # whatever it is, the caller gets it
            self._errors.append(error)
