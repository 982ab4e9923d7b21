"""Calibration by several processes or machines, through dask.distributed (extra `distributed`).

The samples' numbers are dealt out in runs of `CHUNK`; each worker counts its own and sends the statistics back as
text. Merging doesn't depend on who counted what, or when, so that the result has the bytes of one process. A worker
that dies costs its unfinished chunks, which dask gives to another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tosa_engine.errors import UsageError
from tosa_engine.memory import allowed, limited

from . import records
from .observe import collect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tosa_engine.graph import Graph
    from tosa_engine.samples.arrays import Samples

    from .records import Statistics

CHUNK: Final = 16
PATIENCE: Final = "10s"


def collect_distributed(
    graph: Graph,
    samples: Samples,
    statistics: Statistics,
    numbers: Sequence[int],
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    seen: Callable[[int], None] = lambda samples: None,
) -> None:
    """Count the samples `numbers` into `statistics`, chunk by chunk as they come back.

    `scheduler` is the address of a running dask scheduler whose workers can read the same files; without it `workers`
    processes are started on this machine (None: one for each processor). `seen` is told how many samples came back.

    Raises:
        UsageError: dask.distributed isn't installed, or there is no scheduler at the address.
        DataError: as `Collector.add`.
    """
    client = connect(scheduler, workers)
    try:
        shared = client.scatter((graph, samples), broadcast=True, hash=False)
        chunks = [list(numbers[i : i + CHUNK]) for i in range(0, len(numbers), CHUNK)]
        futures = [client.submit(_count, shared, chunk, allowed(), pure=False, retries=3) for chunk in chunks]
        for text in in_order_of_completion(futures):
            part = records.from_text(text, "a worker's statistics")
            part.data = statistics.data
            statistics.add(part)
            seen(part.samples)
    finally:
        client.close()
        if scheduler is None:
            client.cluster.close()


def connect(scheduler: str | None, workers: int | None) -> Any:
    """A client of a running scheduler, or of processes on this machine."""
    try:
        import distributed
    except ImportError:
        raise UsageError("--engine dask needs dask.distributed; try: pip install 'tosa-engine[distributed]'") from None
    if scheduler is None:
        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, processes=True
        )
        return distributed.Client(cluster)
    try:
        return distributed.Client(scheduler, timeout=PATIENCE)
    except OSError as problem:
        raise UsageError(f"no dask scheduler answers at {scheduler}: {problem}") from problem


def in_order_of_completion(futures: list[Any]) -> Iterator[Any]:
    """What each gives, as it comes."""
    import distributed

    for future in distributed.as_completed(futures):
        yield future.result()


def _count(shared: tuple[Graph, Samples], numbers: Sequence[int], most: int | None) -> str:
    """In a worker: the statistics of some samples, as text."""
    graph, samples = shared
    with limited(most):
        return collect(graph, samples.read(numbers), threads=1).to_text()
