"""Arm's test runner with a stopwatch: `timed_runner.py TESTS.json ARGUMENTS_OF_tosa_verif_run_tests`.

Notes for each test and implementation how it ended, in the runner's own words, and the wall time of `runTestGraph`:
from the graph's file to the files of its outputs. Making the inputs and comparing the outputs is no part of it.
TESTS.json holds [result, seconds, message] by module and test folder; a test that was skipped is not there.

What the reference model gave for a valid test stays in the test's folder and is not computed again: `reference.json`
has the seconds that it took. Its message here is then `kept`.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from official_runner import KEPT, PLUG_IN, REFERENCE, REFERENCE_FILE
from runner import tosa_verif_run_tests
from runner.tosa_test_runner import TosaTestRunner, getBoundsResultFilePath, getRunnerResultFilePath

if TYPE_CHECKING:
    from collections.abc import Iterator

VALID = TosaTestRunner.TosaGraphResult.TOSA_VALID


def watched(module: str, ends: dict[str, list[Any]]) -> None:
    """Make the test class of a module note in `ends` how its tests end."""
    tests = importlib.import_module(module).TosaSUTRunner
    run, judge = tests.runTestGraph, tests.testResult

    @functools.wraps(run)
    def timed(self: Any) -> Any:
        start = time.perf_counter()
        message, seconds = "", taken_again(self.testDirPath, self.testDesc) if module == REFERENCE else None
        if seconds is not None:
            ends[str(self.testDirPath)] = ["internal_error", seconds, KEPT]
            return VALID, None
        try:
            verdict, message = run(self)
            if module == REFERENCE and verdict == VALID:
                (self.testDirPath / REFERENCE_FILE).write_text(json.dumps({"seconds": time.perf_counter() - start}))
            return verdict, message
        finally:
            ends[str(self.testDirPath)] = ["internal_error", time.perf_counter() - start, message or ""]

    @functools.wraps(judge)
    def judged(self: Any, *arguments: Any) -> Any:
        result = judge(self, *arguments)
        ends[str(self.testDirPath)][0] = result[0].name.lower()
        return result

    tests.runTestGraph, tests.testResult = timed, judged


def taken_again(test: Path, description: dict[str, Any]) -> float | None:
    """Put what the reference model gave for a test where it writes it; the seconds that it took, None: not all is kept.

    Arm's runner then moves the files as if they were new.
    """
    note, files = test / REFERENCE_FILE, dict(_files(test, description))
    if not note.is_file() or not all(kept.is_file() for kept in files.values()):
        return None
    for written, kept in files.items():
        kept.replace(written)
    return float(json.loads(note.read_text())["seconds"])


def _files(test: Path, description: dict[str, Any]) -> Iterator[tuple[Path, Path]]:
    """What the reference model writes for a test, and where Arm's runner moves it."""
    bounds = description.get("test_requirements", {}).get("bounds_file_required", False)
    for name in description["ofm_file"]:
        path = test / name
        yield path, getRunnerResultFilePath(path, REFERENCE)
        if bounds:
            yield getBoundsResultFilePath(path), getBoundsResultFilePath(path, REFERENCE)


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
