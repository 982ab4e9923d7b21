"""Arm's test runner over a list of tests: the reference model and our plug-in one after the other, totals and times.

What a part's run gave is kept beside its log; a run of the same tests by the same engine can be taken from there.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite_cache import environment

import tosa_engine
from tosa_engine.compliance import Totals
from tosa_engine.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
PLUG_IN = "tosa_engine_sut_run"
REFERENCE = "runner.tosa_refmodel_compliance_sut_run"
SHOWN_FAILURES = 10


@dataclass(frozen=True)
class Result:
    """How the tests of a part ended. `failures` are shown texts; `reference` counts the reference model's own runs.

    `engine_seconds` and `reference_seconds`: wall time of executing the graphs, from the graph's file to the outputs'.
    """

    name: str
    totals: Totals
    reference: Totals
    failures: tuple[str, ...]
    xunit: Path | None
    seconds: float
    engine_seconds: float = 0.0
    reference_seconds: float = 0.0

    @property
    def good(self) -> bool:
        return self.totals.good and self.reference.good


@dataclass(frozen=True)
class OfficialRunner:
    """How tests are run: `engine` executes the graphs, they are checked against `target`, `folder` keeps logs."""

    engine: str
    target: str
    folder: Path
    resume: bool = False

    def run(self, name: str, tests: Sequence[Path]) -> Result:
        """Run the tests in these folders.

        Raises:
            DataError: the runner failed, or counted other tests than these.
        """
        start = time.monotonic()
        if not tests:
            return Result(name, Totals(), Totals(), (), None, 0.0)
        self.folder.mkdir(parents=True, exist_ok=True)
        kept, key = self.folder / f"{name}.result.json", self._key(tests)
        if self.resume and (found := _kept(kept, key)) is not None:
            return found
        kept.unlink(missing_ok=True)
        listed, xunit, times = (self.folder / f"{name}.{end}" for end in ("txt", "xml", "times.json"))
        listed.write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")
        command = [
            sys.executable, str(HERE / "timed_runner.py"), str(times), "--test-list", str(listed), "-j1", "--no-color",
            "--profile", "all", "--extension", "all", "--xunit-file", str(xunit), "--sut-module", PLUG_IN,
            "--sut-module-args", f"{PLUG_IN}:engine={self.engine}", f"{PLUG_IN}:target={self.target}",
        ]  # fmt: skip
        ran = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.folder, env=environment(HERE)
        )
        (self.folder / f"{name}.log").write_text(ran.stdout + ran.stderr, encoding="utf-8")
        if ran.returncode:
            raise DataError(f"the test runner failed on {name}:\n{ran.stdout[-1000:]}{ran.stderr[-3000:]}")
        totals, reference = Totals.parse(ran.stdout, PLUG_IN), Totals.parse(ran.stdout, REFERENCE)
        if totals.count != len(tests):
            raise DataError(f"{name} has {len(tests)} tests, the test runner counted {totals.count}")
        spent = json.loads(times.read_text(encoding="utf-8"))
        result = Result(
            name, totals, reference, failures(xunit), xunit, time.monotonic() - start, spent[PLUG_IN], spent[REFERENCE]
        )
        kept.write_text(json.dumps({"key": key, **_to_json(result)}, indent=1), encoding="utf-8")
        return result

    def _key(self, tests: Sequence[Path]) -> str:
        """Says which tests these are and which sources run them."""
        digest = hashlib.sha256(repr((self.engine, self.target, [str(t) for t in tests])).encode())
        for folder in (Path(tosa_engine.__file__).parent, HERE):
            for source in sorted(folder.rglob("*.py")):
                digest.update(source.read_bytes())
        return digest.hexdigest()


def _to_json(result: Result) -> dict[str, Any]:
    return {**asdict(result), "xunit": str(result.xunit)}


def _kept(path: Path, key: str) -> Result | None:
    if not path.is_file():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    if found.pop("key") != key:
        return None
    totals, reference = Totals(**found.pop("totals")), Totals(**found.pop("reference"))
    shown, xunit = tuple(found.pop("failures")), Path(found.pop("xunit"))
    return Result(totals=totals, reference=reference, failures=shown, xunit=xunit, **found)


def failures(xunit: Path) -> tuple[str, ...]:
    """The tests that failed and why, the first ones in full."""
    shown: list[str] = []
    for case in ET.parse(xunit).iter("testcase"):
        problem = case.find("failure")
        if problem is not None:
            text = (problem.text or "").strip()
            shown.append(f"{Path(case.get('name', '')).name} ({case.get('classname')}): {text}")
    more = [f"... and {len(shown) - SHOWN_FAILURES} more"] if len(shown) > SHOWN_FAILURES else []
    return (*shown[:SHOWN_FAILURES], *more)


def write_xunit(results: Sequence[Result], path: Path) -> None:
    """One JUnit file of all parts; test names lose the folder that they happened to lie in."""
    root = ET.Element("testsuites")
    for result in results:
        for suite in ET.parse(result.xunit).iter("testsuite") if result.xunit else ():
            suite.set("name", f"{result.name}.{suite.get('name')}")
            for case in suite.iter("testcase"):
                case.set("name", Path(case.get("name", "")).name)
            root.append(suite)
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
