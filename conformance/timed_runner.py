"""Arm's test runner with a stopwatch: `timed_runner.py TIMES.json ARGUMENTS_OF_tosa_verif_run_tests`.

Adds up, for each implementation, the wall time of `runTestGraph`: from the graph's file to the files of its outputs.
Making the inputs and comparing the outputs is no part of it. TIMES.json holds the seconds by module.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from official_runner import PLUG_IN, REFERENCE
from runner import tosa_verif_run_tests


def timed(module: str, seconds: dict[str, float]) -> None:
    """Make the test class of a module add its time to `seconds`."""
    tests = importlib.import_module(module).TosaSUTRunner
    original = tests.runTestGraph

    @functools.wraps(original)
    def run(self: Any) -> Any:
        start = time.perf_counter()
        try:
            return original(self)
        finally:
            seconds[module] += time.perf_counter() - start

    tests.runTestGraph = run


def main() -> int:
    path, *arguments = sys.argv[1:]
    seconds = dict.fromkeys((REFERENCE, PLUG_IN), 0.0)
    for module in seconds:
        timed(module, seconds)
    code: int = tosa_verif_run_tests.main(arguments)
    Path(path).write_text(json.dumps(seconds), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
