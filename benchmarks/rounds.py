"""Going round the worker processes of compare.py."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from runtimes import RUNTIMES

if TYPE_CHECKING:
    from types import TracebackType

WORKER = Path(__file__).with_name("worker.py")
PAUSE = 0.02  # seconds in which threads that spin after a run fall asleep
MOST_RUNS = 50  # of one turn
SLOW_ROUNDS = 3  # of a runtime that starts a process for every run


@dataclass
class Entry:
    """A runtime, a number of threads and a batch; what its runs took, all and by the median of each turn, or why there
    are none (nothing: not meant to).
    """

    runtime: str
    threads: int
    batch: int
    seconds: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    note: str = ""
    left_out: str | None = None
    macs: int = 0
    first: float = 0.0  # seconds of one run, to know how many fit a turn

    @property
    def key(self) -> str:
        return f"{self.runtime}/{self.batch}"


class Pool:
    """Worker processes by runtime and number of threads, started when first asked; `scratch` is a folder for them."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch.resolve()
        self.scratch.mkdir(parents=True, exist_ok=True)
        self._workers: dict[tuple[str, int], subprocess.Popen[str]] = {}

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers.values():
            _end(worker)

    def ask(self, entry: Entry, **request: object) -> dict[str, Any]:
        """The worker's answer; `left_out` where it died, which ends it for the other requests, too."""
        worker = self._worker(entry.runtime, entry.threads)
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(json.dumps({"key": entry.key, **request}) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        del self._workers[entry.runtime, entry.threads]
        status = _end(worker)
        said = (self.scratch / self._log(entry.runtime, entry.threads)).read_text(errors="replace").split("\n")
        last = [text for text in said if text.strip()][-1:]
        return {"left_out": f"the process died with status {status}: {''.join(last)[:120]}"}

    @staticmethod
    def _log(runtime: str, threads: int) -> str:
        return f"{runtime.replace(' ', '_').replace(',', '')}_{threads}.log"

    def _worker(self, runtime: str, threads: int) -> subprocess.Popen[str]:
        if (runtime, threads) not in self._workers:
            with (self.scratch / self._log(runtime, threads)).open("w") as log:
                self._workers[runtime, threads] = subprocess.Popen(
                    [sys.executable, str(WORKER), runtime, str(threads)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
        return self._workers[runtime, threads]


def _end(worker: subprocess.Popen[str]) -> int:
    for pipe in (worker.stdin, worker.stdout):
        assert pipe is not None
        with suppress(BrokenPipeError):
            pipe.close()
    return worker.wait()


def go_round(entries: list[Entry], pool: Pool, folders: dict[str, str], rounds: int, slot: float) -> None:
    """Fill in the seconds of all entries. A turn lasts about `slot` seconds; every round begins with another entry."""
    for entry in entries:
        answer = pool.ask(entry, do="load", batch=entry.batch, **folders)
        entry.left_out = answer.get("left_out")
        if entry.left_out is None:
            entry.first, entry.note, entry.macs = answer["seconds"], answer["note"], answer["macs"]
    for turn in range(rounds):
        start = turn % len(entries)
        for entry in entries[start:] + entries[:start]:
            if entry.left_out is not None or (turn >= SLOW_ROUNDS and RUNTIMES[entry.runtime].slow):
                continue
            time.sleep(PAUSE)
            answer = pool.ask(entry, do="run", times=_times(entry, slot))
            entry.left_out = answer.get("left_out")
            if entry.left_out is None:
                entry.seconds += answer["seconds"]
                entry.turns.append(median(answer["seconds"]))
                entry.first = min(entry.seconds)
    for entry in entries:
        if entry.left_out is None:
            pool.ask(entry, do="forget")


def _times(entry: Entry, slot: float) -> int:
    if RUNTIMES[entry.runtime].slow:
        return 1
    return max(1, min(MOST_RUNS, round(slot / max(entry.first, 1e-6))))
