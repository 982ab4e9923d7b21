"""What a run takes, compared with what it may take before anything is allocated."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ..errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ..graph import Tensor
    from ..plan.steps import Plan

MEMINFO: Final = "/proc/meminfo"


def available(meminfo: str | Path = MEMINFO) -> int | None:
    """Bytes that the machine can give without swapping; None where it doesn't say."""
    try:
        with open(meminfo, encoding="ascii") as file:
            return next((int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable:")), None)
    except FileNotFoundError:
        names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
        pages = {"SC_PHYS_PAGES", "SC_PAGE_SIZE"}
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if pages <= set(names) else None


def check(plan: Plan, workers: int, ports: Iterable[Tensor], limit: int | None) -> None:
    """Raise DataError where a run of the plan takes more than `limit` bytes (None: than the machine has)."""
    most = available() if limit is None else limit
    blocks = [plan, *plan.regions.values()]
    work = sum(block.arena.size for block in blocks)
    scratch = max((step.work.scratch_bytes for b in blocks for step in b.steps if step.work is not None), default=0)
    own = work + scratch if plan.parts_in_parallel else scratch
    shared = 0 if plan.parts_in_parallel else work
    arrays = sum(t.size * t.dtype.storage.itemsize for t in ports)
    total = shared + workers * own + arrays
    if most is not None and total > most:
        sizes = (
            f"{work:,} for tensors, {scratch:,} for work in each of {workers} threads, {arrays:,} for in- and outputs"
        )
        which = "available" if limit is None else "allowed"
        advice = "take a smaller batch, fewer threads, or allow more (--max-memory, Session(max_memory=...))"
        raise DataError(f"a run takes {total:,} bytes ({sizes}), {most:,} are {which}; {advice}", label="RUN.memory")
