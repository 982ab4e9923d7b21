"""What the processors of this machine cost each other, which bounds what a second thread gains.

    python benchmarks/cores.py [NETWORK_FOLDER ...]

Prints how long a word takes from one processor to another and back, and how many times as much two threads do as one
when they share nothing: of the tile's product, and of networks (folders with `model.tosa` and a case), by two sessions
side by side. Beside it stands what two threads gain on one run. All are best times of interleaved rounds.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from cases import read_case, timed
from tile import best_product

from tosa_engine import Session
from tosa_engine.kernels import work
from tosa_engine.kernels._jit import jit
from tosa_engine.kernels.walk.atomics import LINE, atomic_load, exchange, pause

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES, ROUNDS, RUNS = 20_000, 10, 5


@jit
def answer(word: int, first: int, messages: int) -> int:
    """Waits for first, first + 2, ... in a word, and counts on."""
    for i in range(first, 2 * messages, 2):
        while atomic_load(word) != i:
            pause()
        exchange(word, i + 1)
    return messages


def together(*jobs: Callable[[], object]) -> float:
    """Seconds until all of them, begun at once in a thread each, are done."""
    begin = threading.Barrier(len(jobs) + 1)

    def do(job: Callable[[], object]) -> None:
        begin.wait()
        job()

    threads = [threading.Thread(target=do, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    begin.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def repeated(job: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(RUNS):
            job()

    return run


def round_trip() -> float:
    word = work.aligned(LINE // 8, np.int64)
    address = word.ctypes.data
    seconds = together(*(lambda first=first: answer(address, first, MESSAGES) for first in (0, 1)))
    return seconds / MESSAGES


def main() -> None:
    answer(work.aligned(LINE // 8, np.int64).ctypes.data, 0, 0)
    trips = []
    apart = {"the tile": [best_product()[0] for _ in range(2)]}
    shared: dict[str, Callable[[], object]] = {}
    for folder in map(Path, sys.argv[1:]):
        feeds, _, _ = read_case(folder)
        sessions = [Session(folder / "model.tosa", threads, compiled=True) for threads in (1, 1, 2)]
        runs = [lambda s=s, f=feeds: s.run(None, f) for s in sessions]
        apart[folder.name], shared[folder.name] = runs[:2], runs[2]
    best: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        trips.append(round_trip())
        for name, jobs in apart.items():
            found = {"one": timed(repeated(jobs[0])), "apart": together(*map(repeated, jobs))}
            if name in shared:
                found["shared"] = timed(repeated(shared[name]))
            for kind, seconds in found.items():
                best[name, kind] = min(best.get((name, kind), seconds), seconds)
    print(f"a word there and back: {1e9 * min(trips):.0f} ns at best, {1e9 * max(trips):.0f} ns at worst")
    for name in apart:
        one = best[name, "one"]
        text = f"{name}: two threads that share nothing do {2 * one / best[name, 'apart']:.2f} times as much as one"
        if name in shared:
            two = best[name, "shared"]
            text += f"; two threads of one run take {1e3 * two / RUNS:.3f} of {1e3 * one / RUNS:.3f} ms"
            text += f", {one / two:.2f} times as fast"
        print(text)


if __name__ == "__main__":
    main()
