"""Calibration by several processes or machines, through dask.distributed (extra `distributed`).

The samples' numbers are dealt out in runs of `CHUNK`; each worker counts its own and sends the statistics back as
text. Merging doesn't depend on who counted what, or when, so that the result has the bytes of one process. A worker
that dies costs its unfinished chunks, which dask gives to another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tosa_engine.cluster import Completion, connected
from tosa_engine.memory import allowed, limited

from . import records
from .observe import collect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tosa_engine.cluster import Workers
    from tosa_engine.graph import Graph
    from tosa_engine.samples.arrays import Samples

    from .records import Statistics

CHUNK: Final = 16


def collect_distributed(
    graph: Graph,
    samples: Samples,
    statistics: Statistics,
    numbers: Sequence[int],
    workers: Workers,
    *,
    seen: Callable[[int], None] = lambda samples: None,
) -> None:
    """Count the samples `numbers` into `statistics`, chunk by chunk as they come back.

    The workers can read the same files. `seen` is told how many samples came back.

    Raises:
        UsageError: dask.distributed isn't installed, or there is no scheduler at the address.
        DataError: as `Collector.add`.
    """
    with connected(workers) as client:
        shared = client.scatter((graph, samples), broadcast=True, hash=False)
        chunks = [list(numbers[i : i + CHUNK]) for i in range(0, len(numbers), CHUNK)]
        futures = [client.submit(_count, shared, chunk, allowed(), pure=False, retries=3) for chunk in chunks]
        for text in Completion(futures):
            part = records.from_text(text, "a worker's statistics")
            part.data = statistics.data
            statistics.add(part)
            seen(part.samples)


def _count(shared: tuple[Graph, Samples], numbers: Sequence[int], most: int | None) -> str:
    """In a worker: the statistics of some samples, as text."""
    graph, samples = shared
    with limited(most):
        return collect(graph, samples.read(numbers), threads=1).to_text()
