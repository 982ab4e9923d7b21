"""Who runs batches of tests: this process, several processes, or the workers of a dask cluster."""

from __future__ import annotations

import importlib
import multiprocessing
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from .work import work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..doors import Door
    from .record import Record
    from .settings import Settings

    Batches = Iterator[Sequence[str]]

AHEAD = 2  # batches for each worker


def here(settings: Settings, batches: Batches, door: Door | None = None) -> Iterator[list[Record]]:
    """In this process."""
    for names in batches:
        yield work(settings, names, door)


def processes(settings: Settings, batches: Batches, count: int) -> Iterator[list[Record]]:
    """In processes of their own. An interrupt ends them."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        running = deque(
            pool.submit(work, settings, names) for _, names in zip(range(AHEAD * count), batches, strict=False)
        )
        try:
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    running.remove(future)
                    following = next(batches, None)
                    if following is not None:
                        running.append(pool.submit(work, settings, following))
                    yield future.result()
        finally:
            for future in running:
                future.cancel()


def dask(settings: Settings, batches: Batches, address: str) -> Iterator[list[Record]]:
    """On the workers of a dask scheduler at an address, or of a cluster on this machine (no address)."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise UsageError("--workers dask needs distributed; try: pip install 'tosa-engine[distributed]'") from None
    with distributed.Client(address or None) as client:
        count = max(1, len(client.scheduler_info()["workers"]))
        first = [
            client.submit(work, settings, names, pure=False)
            for _, names in zip(range(AHEAD * count), batches, strict=False)
        ]
        running = distributed.as_completed(first)
        for future in running:
            following = next(batches, None)
            if following is not None:
                running.add(client.submit(work, settings, following, pure=False))
            yield future.result()
