"""Compiling the kernels of a graph in processes beside this one (`compiling`)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..graph import Graph

PROGRAM: Final = f"{__package__}.compiling"
PROCESSES: Final = 2  # at most
LENGTH: Final = 8  # bytes in front of the graph


class Compiling:
    """The processes that compile for a graph. They end soon behind the one that started them."""

    def __init__(self, graph: Graph, threads: int) -> None:
        from ..serialize import tosa_to_bytes

        content = tosa_to_bytes(graph)
        self._processes = [
            _started(content, threads, order) for order in (1, -1)[: min(PROCESSES, os.cpu_count() or 1)]
        ]

    def ended(self) -> bool:
        """Whether there is nothing to wait for any more, be it that they failed."""
        running = [process for process in self._processes if process.poll() is None]
        return not running

    def wait(self) -> None:
        for process in self._processes:
            process.wait()


def _started(content: bytes, threads: int, order: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", PROGRAM, str(threads), str(order)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )  # fmt: skip

    def give() -> None:
        assert process.stdin is not None
        try:
            process.stdin.write(len(content).to_bytes(LENGTH, "little") + content)
            process.stdin.flush()  # and stays open, as long as this process lives
        except OSError:
            pass  # it has ended: nothing is compiled ahead

    threading.Thread(target=give, name="tosa_engine-ahead", daemon=True).start()
    return process
