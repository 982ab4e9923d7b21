"""Work on several processes or machines, through dask.distributed (extra `distributed`)."""

from __future__ import annotations

import argparse
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE: Final = "10s"
FLAG: Final = "--workers"


@dataclass(frozen=True)
class Workers:
    """Those of a running scheduler at an address, or `count` processes on this machine; None: one per processor."""

    address: str | None = None
    count: int | None = None


def workers(text: str) -> Workers:
    """An argparse type: `dask`, `dask:N` or `dask:ADDRESS`."""
    kind, _, rest = text.partition(":")
    if kind != "dask" or rest == "0" or (not rest and text != kind):
        raise argparse.ArgumentTypeError(f"'{text}' is not dask, dask:PROCESSES or dask:ADDRESS")
    return Workers(count=int(rest)) if rest.isdecimal() else Workers(rest or None)


def add_workers(group: argparse._ArgumentGroup, what: str) -> None:
    """The flag by which a verb's work is dealt out."""
    help_ = f"{what} run on processes of this machine (default: one per processor), or on those of a dask scheduler"
    group.add_argument(FLAG, type=workers, metavar="dask[:N|:ADDRESS]", help=help_)


@contextmanager
def connected(wanted: Workers) -> Iterator[Any]:
    """A client of these workers; processes on this machine end with it.

    Raises UsageError without dask.distributed or a scheduler at the address.
    """
    try:
        import distributed
    except ImportError:
        raise UsageError(f"{FLAG} dask needs dask.distributed; try: pip install 'tosa-engine[distributed]'") from None
    if wanted.address is None:
        cluster = distributed.LocalCluster(
            n_workers=wanted.count, threads_per_worker=1, dashboard_address=None, processes=True
        )
        with cluster, distributed.Client(cluster) as client:
            yield client
        return
    try:
        client = distributed.Client(wanted.address, timeout=PATIENCE)
    except OSError as problem:
        raise UsageError(f"no dask scheduler answers at {wanted.address}: {problem}") from problem
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
