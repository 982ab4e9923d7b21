"""How much a hostile file may take: 5 s of processor time and 1 GiB more than there was before."""

from __future__ import annotations

import resource
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS, MEMORY = 5.0, 1 << 30


@contextmanager
def within_limits() -> Iterator[None]:
    """Allocating more raises MemoryError; taking longer is an AssertionError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    start = time.process_time()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    taken = time.process_time() - start
    assert taken < SECONDS, f"{taken:.1f} s"
