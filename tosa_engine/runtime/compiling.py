"""The process that compiles the kernels of a graph for another one.

`python -m tosa_engine.runtime.compiling THREADS ORDER` reads the length of a `.tosa` file and the file from standard
input. It compiles what a session with so many threads calls, keeps it on disk, and ends. Two such processes with the
orders 1 and -1 begin at the two ends and meet. When standard input ends, because whoever started it has ended, it ends
behind the function at hand: at least one is kept, so that processes that end early leave more code every time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Final

from ..kernels import _jit
from ..kernels.work import Chain, Loop
from ..serialize import tosa_from_bytes
from .ahead import LENGTH
from .blocks import Blocks
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from ..plan.steps import Plan

POLITE: Final = 5  # more than the niceness of the process that waits for a first result


def main(threads: int, order: int, source: BinaryIO) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(os, "nice"):
        os.nice(POLITE)
    length = int.from_bytes(source.read(LENGTH), "little")
    content = source.read(length)
    if len(content) < length or length == 0:
        return
    alone = threading.Event()

    def wait_for_end() -> None:
        source.read(1)
        alone.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    compiled = False

    def note(function: str) -> None:
        nonlocal compiled
        compiled = True

    session = Session(tosa_from_bytes(content), threads, compiled=True)
    with _jit.watch(note):
        for make in list(tasks(session.plan(), threads))[::order]:
            make()
            if compiled and alone.is_set():
                return


def tasks(plan: Plan, threads: int) -> Iterator[Callable[[], object]]:
    """Each gets the code of one function that a session's runs call: from the disk, or it compiles it."""
    from ..kernels.walk import mailbox, parts, walk

    blocks = Blocks(plan, threads)
    for workspace in (blocks.main, *(blocks.workspace(name) for name in plan.regions)):
        for bound in workspace.steps:
            loops = [loop for loop, _ in bound.run.loops] if isinstance(bound.run, Chain) else [bound.run]
            for loop in loops:
                if isinstance(loop, Loop):
                    yield partial(_jit.entry, loop.function, (*loop.arguments, *bound.scratch[0][loop.takes], 0, 0))
    yield partial(_jit.direct, walk.walk)
    if threads > 1:
        yield mailbox.warm_up
    if plan.parts_in_parallel:
        yield parts.warm_up


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.stdin.buffer)
