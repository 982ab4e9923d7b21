"""The threads that help the caller's one. They end with the team, or with the interpreter."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.work import aligned

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Array
    from .program import Program


class Helpers:
    """Workers 1 .. workers - 1, as threads that wait for a job. One job at a time; `wait` must follow each."""

    def __init__(self, workers: int) -> None:
        from ..kernels import helpers

        self.workers = workers
        self._shared = _Shared(workers)
        self._stop = weakref.finalize(self, self._shared.post, helpers.STOP)
        for worker in range(1, workers):
            threading.Thread(
                target=self._shared.help, args=(worker,), name=f"tosa_engine-{worker}", daemon=True
            ).start()

    def walk(self, program: Program) -> None:
        """Walk a whole program of compiled steps."""
        from ..kernels import helpers

        self._shared.post(helpers.WALK, program.address, program.last_shared, program.state.ctypes.data)

    def call(self, job: Callable[[int], None]) -> None:
        """Call a function with the number of the worker."""
        from ..kernels import helpers

        self._shared.job = job
        self._shared.post(helpers.PYTHON)

    def wait(self) -> int:
        """Wait until all are done: the row in which one saw a REQUIRE fail, if any. Raises the error of a job."""
        from ..kernels import helpers

        row = helpers.wait_for(self._shared.address, self.workers - 1)
        shared, self._shared.job = self._shared, None
        if shared.errors:
            error = shared.errors[0]
            shared.errors.clear()
            raise error
        return row


class _Shared:
    """What the threads hold: nothing that would keep the team alive."""

    def __init__(self, workers: int) -> None:
        from ..kernels import helpers

        self.workers = workers
        self._box: Array = aligned(helpers.box_size(workers), np.int64)
        self.address = self._box.ctypes.data
        self._asleep = [threading.Lock() for _ in range(workers)]
        for lock in self._asleep:
            lock.acquire()  # until it is released, a helper sleeps
        self.job: Callable[[int], None] | None = None
        self.errors: list[BaseException] = []

    def post(self, kind: int, program: int = 0, end: int = 0, state: int = 0) -> None:
        from ..kernels import helpers

        helpers.post(self.address, kind, program, end, state)
        for worker in range(1, self.workers):
            if helpers.sleeps(self.address, worker):
                self._asleep[worker].release()

    def help(self, worker: int) -> None:
        from ..kernels import helpers

        while True:
            wanted = helpers.serve(self.address, worker, self.workers)
            if wanted == helpers.STOP:
                return
            if wanted == helpers.ASLEEP:
                self._asleep[worker].acquire()
                continue
            job = self.job
            assert job is not None, "a job is set before it is posted"
            try:
                job(worker)
            except BaseException as error:  # whatever it is, the caller gets it
                self.errors.append(error)
            del job
            helpers.done(self.address)
