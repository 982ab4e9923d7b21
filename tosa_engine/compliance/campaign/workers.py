"""Who runs batches of tests: this process, several processes, or the workers of a dask cluster."""

from __future__ import annotations

import multiprocessing
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from ...cluster import Completion, connected
from .work import work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...cluster import Workers
    from ..doors import Door
    from .record import Record
    from .settings import Settings

    Batches = Iterator[Sequence[str]]

AHEAD = 2  # batches for each worker


def here(settings: Settings, batches: Batches, door: Door | None, until: float | None) -> Iterator[list[Record]]:
    """In this process."""
    for names in batches:
        yield work(settings, names, door, until)


def processes(settings: Settings, batches: Batches, count: int, until: float | None) -> Iterator[list[Record]]:
    """In processes of their own. An interrupt ends them."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        running = deque(
            pool.submit(work, settings, names, None, until)
            for _, names in zip(range(AHEAD * count), batches, strict=False)
        )
        try:
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    running.remove(future)
                    following = next(batches, None)
                    if following is not None:
                        running.append(pool.submit(work, settings, following, None, until))
                    yield future.result()
        finally:
            for future in running:
                future.cancel()


def dask(settings: Settings, batches: Batches, wanted: Workers, until: float | None) -> Iterator[list[Record]]:
    """On workers of dask."""
    with connected(wanted) as client:
        ahead = AHEAD * max(1, len(client.scheduler_info()["workers"]))

        def submitted(names: Sequence[str]) -> Any:
            return client.submit(work, settings, names, None, until, pure=False, retries=3)

        running = Completion([submitted(names) for _, names in zip(range(ahead), batches, strict=False)])
        for records in running:
            following = next(batches, None)
            if following is not None:
                running.add(submitted(following))
            yield records
