"""A process of compare.py with one runtime and one number of threads: python worker.py RUNTIME THREADS

Requests come as lines of JSON, answers go as lines of JSON:

    {"do": "load", "key": K, "tosa": FOLDER, "perf": FOLDER, "scratch": FOLDER, "batch": N}
        -> {"seconds": of the second run, "note": how, "macs": 0, or those of what is no network}
        or {"left_out": why}, empty where the runtime isn't meant to do this
    {"do": "run", "key": K, "times": N} -> {"seconds": [N times]}, after one run that isn't counted
    {"do": "forget", "key": K} -> {}

What the runtimes print goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cases import timed
from runtimes import RUNTIMES, Job, LeftOut

if TYPE_CHECKING:
    from collections.abc import Callable


class Worker:
    """One runtime, and what it has loaded."""

    def __init__(self, runtime: str, threads: int) -> None:
        self.runtime, self.threads = RUNTIMES[runtime], threads
        self.loaded: dict[str, Callable[[], Any]] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        key = request["key"]
        if request["do"] == "load":
            return self._load(key, request)
        if request["do"] == "forget":
            self.loaded.pop(key, None)
            return {}
        run = self.loaded[key]
        run()
        return {"seconds": [timed(run) for _ in range(request["times"])]}

    def _load(self, key: str, request: dict[str, Any]) -> dict[str, Any]:
        folders = (Path(request[name]) for name in ("tosa", "perf", "scratch"))
        try:
            found = self.runtime.load(Job(*folders, threads=self.threads, batch=request["batch"]))
        except LeftOut as reason:
            return {"left_out": str(reason)}
        found.run()
        self.loaded[key] = found.run
        return {"seconds": timed(found.run), "note": found.note, "macs": found.macs}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(sys.argv[1], int(sys.argv[2]))
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
