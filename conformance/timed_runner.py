"""Arm's test runner with a stopwatch: `timed_runner.py TESTS.json ARGUMENTS_OF_tosa_verif_run_tests`.

Notes for each test and implementation how it ended, in the runner's own words, and the wall time of `runTestGraph`:
from the graph's file to the files of its outputs. Making the inputs and comparing the outputs is no part of it.
TESTS.json holds [result, seconds, message] by module and test folder; a test that was skipped is not there.
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


def watched(module: str, ends: dict[str, list[Any]]) -> None:
    """Make the test class of a module note in `ends` how its tests end."""
    tests = importlib.import_module(module).TosaSUTRunner
    run, judge = tests.runTestGraph, tests.testResult

    @functools.wraps(run)
    def timed(self: Any) -> Any:
        start = time.perf_counter()
        message = ""
        try:
            verdict, message = run(self)
            return verdict, message
        finally:
            ends[str(self.testDirPath)] = ["internal_error", time.perf_counter() - start, message or ""]

    @functools.wraps(judge)
    def judged(self: Any, *arguments: Any) -> Any:
        result = judge(self, *arguments)
        ends[str(self.testDirPath)][0] = result[0].name.lower()
        return result

    tests.runTestGraph, tests.testResult = timed, judged


def main() -> int:
    path, *arguments = sys.argv[1:]
    ends: dict[str, dict[str, list[Any]]] = {REFERENCE: {}, PLUG_IN: {}}
    for module, its in ends.items():
        watched(module, its)
    code: int = tosa_verif_run_tests.main(arguments)
    Path(path).write_text(json.dumps(ends), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
