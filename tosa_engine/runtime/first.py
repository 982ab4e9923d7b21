"""What a session does until its kernels are compiled: plain runs, while other processes compile.

`TOSA_ENGINE_FIRST_RUN=compiled` (or `Session(compiled=True)`) has the first run compile and wait instead.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import TYPE_CHECKING, Final

from ..errors import UsageError
from ..kernels import _jit
from ..memory import fits
from .plain import PlainRuns, can_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..graph import Graph
    from .ahead import Compiling

logger = logging.getLogger("tosa_engine")
VARIABLE: Final = "TOSA_ENGINE_FIRST_RUN"
CHOICES: Final = ("plain", "compiled")
MOST_SECONDS: Final = 3.0  # of a plain run: the first one of larger networks waits for its kernels


def waits() -> bool:
    """Whether first runs wait for compiled kernels."""
    wanted = os.environ.get(VARIABLE) or CHOICES[0]
    if wanted not in CHOICES:
        raise UsageError(f"{VARIABLE}: unknown value '{wanted}'; choose from: {', '.join(CHOICES)}")
    return wanted == "compiled"


class FirstRuns:
    """Whether a graph's kernels are there, and its plain runs until then."""

    def __init__(self, graph: Graph, threads: int, most: int | None) -> None:
        self._graph, self._threads, self._most = graph, threads, most
        self._lock = threading.Lock()
        self._compiling: Compiling | None = None
        self._runs: PlainRuns | None = None

    def runs(self, prepare: Callable[[], None]) -> PlainRuns | None:
        """Plain runs to make now; None where `prepare` finds all kernels on the disk, or has to compile them itself.

        The first call starts to compile the others.
        """
        with self._lock:
            if self._compiling is not None:
                return None if self._compiling.ended() else self._runs
            try:
                with _jit.only_kept():
                    prepare()
                return None
            except _jit.NotKept as missing:
                self._runs = self._worth()
                if self._runs is None:
                    return None
                from .ahead import Compiling

                logger.info("runs are plain until %s and other kernels are compiled", missing)
                self._compiling = Compiling(self._graph, self._threads)
                return self._runs

    def _worth(self) -> PlainRuns | None:
        """Plain runs, where they are fast, fit into memory, and what others compile can be read here."""
        if not sys.executable or _jit.cache_folder() is None or _jit.unkept:
            return None
        runs = PlainRuns(self._graph)
        return runs if fits(runs.most_bytes, self._most) and runs.seconds <= MOST_SECONDS else None


def first_runs(graph: Graph, threads: int, most: int | None) -> FirstRuns | None:
    """None where all runs are compiled."""
    if not _jit.JIT or waits() or not can_run(graph):
        return None
    return FirstRuns(graph, threads, most)
