"""Arm's test runner over a list of tests: the reference model and our plug-in one after the other, totals and times.

What a process noted is kept beside its log; a run of the same tests by the same sources can be taken from there.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite_cache import environment

import tosa_engine
from tosa_engine.compliance import Totals
from tosa_engine.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

HERE = Path(__file__).resolve().parent
PLUG_IN = "tosa_engine_sut_run"
REFERENCE = "runner.tosa_refmodel_compliance_sut_run"
REFERENCE_FILE, KEPT = "reference.json", "kept"  # beside a test, where its outputs by the reference model are kept
SHOWN_FAILURES = 10


@dataclass(frozen=True)
class Result:
    """How the tests of a part ended. `failures` are shown texts; `reference` counts the reference model's own runs.

    `engine_seconds` and `reference_seconds`: wall time of executing the graphs, from the graph's file to the outputs'.
    `reference_kept` is how many of the reference model's runs were earlier ones, whose outputs and seconds were kept.
    `passed` are the tests whose outputs were right, `labels` those of the rules that rejected what must be rejected.
    """

    name: str
    totals: Totals
    reference: Totals
    failures: tuple[str, ...]
    engine_seconds: float = 0.0
    reference_seconds: float = 0.0
    reference_kept: int = 0
    passed: tuple[Path, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return self.totals.good and self.reference.good


@dataclass(frozen=True)
class Batch:
    """The parts that one process ran, its JUnit file, and its wall time."""

    results: tuple[Result, ...]
    xunit: Path | None
    seconds: float


@dataclass(frozen=True)
class OfficialRunner:
    """How tests are run: `engine` executes the graphs, which are checked against `target` and `version`, `folder` keeps
    logs.

    `resume`: what the same sources gave for the same tests is taken again. `anew`: the reference model runs them all,
    otherwise those alone for which it hasn't run before.
    """

    engine: str
    target: str
    version: str
    folder: Path
    resume: bool = False
    anew: bool = False

    def run(self, name: str, parts: Mapping[str, Sequence[Path]], fill: Callable[[], object] = bool) -> Batch:
        """Run the tests in these folders, by part, in one process; before, `fill` the folders that were emptied.

        Raises:
            DataError: the runner failed, or counted other tests than these.
        """
        start = time.monotonic()
        tests = [test for part in parts.values() for test in part]
        if not tests:
            return Batch(tuple(Result(part, Totals(), Totals(), ()) for part in parts), None, 0.0)
        self.folder.mkdir(parents=True, exist_ok=True)
        listed, xunit, ends, kept = (self.folder / f"{name}.{end}" for end in ("txt", "xml", "tests.json", "key"))
        key = self._key(tests)
        again = self.resume and kept.is_file() and kept.read_text(encoding="utf-8") == key
        if not again:
            fill()
            kept.unlink(missing_ok=True)
            for test in tests if self.anew else ():
                (test / REFERENCE_FILE).unlink(missing_ok=True)
            listed.write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")
            totals = self._official(name, listed, xunit, ends)
        batch = Batch(tuple(_results(parts, ends, xunit)), xunit, time.monotonic() - start)
        if not again:
            counted = [sum((getattr(r, who) for r in batch.results), Totals()) for who in ("totals", "reference")]
            if counted != totals:
                raise DataError(f"{name}: the test runner counted {totals[0]} of {len(tests)} tests, not {counted[0]}")
            kept.write_text(key, encoding="utf-8")
        return batch

    def _official(self, name: str, listed: Path, xunit: Path, ends: Path) -> list[Totals]:
        """Run Arm's runner; our totals and the reference model's as it prints them."""
        command = [
            sys.executable, str(HERE / "timed_runner.py"), str(ends), "--test-list", str(listed), "-j1", "--no-color",
            "--profile", "all", "--extension", "all", "--xunit-file", str(xunit), "--sut-module", PLUG_IN,
            "--sut-module-args", f"{PLUG_IN}:engine={self.engine}", f"{PLUG_IN}:target={self.target}",
            f"{PLUG_IN}:version={self.version}",
        ]  # fmt: skip
        ran = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.folder, env=environment(HERE)
        )
        (self.folder / f"{name}.log").write_text(ran.stdout + ran.stderr, encoding="utf-8")
        if ran.returncode:
            raise DataError(f"the test runner failed on {name}:\n{ran.stdout[-1000:]}{ran.stderr[-3000:]}")
        return [Totals.parse(ran.stdout, PLUG_IN), Totals.parse(ran.stdout, REFERENCE)]

    def _key(self, tests: Sequence[Path]) -> str:
        """Says which tests these are and which sources run them."""
        digest = hashlib.sha256(repr((self.engine, self.target, self.version, [str(t) for t in tests])).encode())
        for folder in (Path(tosa_engine.__file__).parent, HERE):
            for source in sorted(folder.rglob("*.py")):
                digest.update(source.read_bytes())
        return digest.hexdigest()


def _results(parts: Mapping[str, Sequence[Path]], ends: Path, xunit: Path) -> Iterator[Result]:
    """Each part's result from what the process noted of its tests."""
    noted, why = json.loads(ends.read_text(encoding="utf-8")), failures(xunit)
    for name, tests in parts.items():
        ours, reference = ([noted[module].get(str(t)) for t in tests] for module in (PLUG_IN, REFERENCE))
        spent = [sum(end[1] for end in its if end) for its in (ours, reference)]
        shown = [text for test in tests for text in why.get(str(test), ())]
        more = [f"... and {len(shown) - SHOWN_FAILURES} more"] if len(shown) > SHOWN_FAILURES else []
        ran = [end for end in reference if end]  # not those that must fail: there is nothing to compare
        passed = tuple(t for t, end in zip(tests, ours, strict=True) if end and end[0] == "expected_pass")
        rejected = {line.split(":")[0] for end in ours if end and end[0] == "expected_failure" for line in _lines(end)}
        labels = tuple(sorted(rejected))
        again = sum(end[2] == KEPT for end in ran)
        yield Result(name, _count(ours), _count(ran), (*shown[:SHOWN_FAILURES], *more), *spent, again, passed, labels)


def _lines(end: list[Any]) -> list[str]:
    return [line for line in str(end[2]).splitlines() if ":" in line]


def _count(ends: Sequence[list[Any] | None]) -> Totals:
    return Totals(**Counter("skipped" if end is None else end[0] for end in ends))


def failures(xunit: Path) -> dict[str, list[str]]:
    """The tests that failed and why, by their folders."""
    found: dict[str, list[str]] = {}
    for case in ET.parse(xunit).iter("testcase"):
        problem = case.find("failure")
        if problem is not None:
            test, text = case.get("name", ""), (problem.text or "").strip()
            found.setdefault(test, []).append(f"{Path(test).name} ({case.get('classname')}): {text}")
    return found


def write_xunit(batches: Mapping[str, Batch], path: Path) -> None:
    """One JUnit file of all batches; test names lose the folder that they happened to lie in."""
    root = ET.Element("testsuites")
    for name, batch in batches.items():
        for suite in ET.parse(batch.xunit).iter("testsuite") if batch.xunit else ():
            suite.set("name", f"{name}.{suite.get('name')}")
            for case in suite.iter("testcase"):
                case.set("name", Path(case.get("name", "")).name)
            root.append(suite)
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
