"""Work on several processes or machines, through dask.distributed (extra `distributed`)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE: Final = "10s"


@contextmanager
def connected(flag: str, scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """A client of a running scheduler at an address, or (None) of `workers` processes on this machine, which end with
    it; None: one for each processor.

    Raises UsageError, naming the `flag` that asked for it, without dask.distributed or a scheduler there.
    """
    try:
        import distributed
    except ImportError:
        raise UsageError(f"{flag} needs dask.distributed; try: pip install 'tosa-engine[distributed]'") from None
    if scheduler is None:
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, processes=True
        )
        with cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except OSError as problem:
        raise UsageError(f"no dask scheduler answers at {scheduler}: {problem}") from problem
    with client:
        yield client


class Completion:
    """What submitted work gives, as it comes; more may be added on the way."""

    def __init__(self, futures: list[Any]) -> None:
        import distributed

        self._running = distributed.as_completed(futures)

    def add(self, future: Any) -> None:
        self._running.add(future)

    def __iter__(self) -> Iterator[Any]:
        for future in self._running:
            yield future.result()
