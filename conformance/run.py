"""Official TOSA tests on our engine: generate those of the operators asked for, run them, print the totals.

    python conformance/run.py add RESCALE conv2d_3x3

Without operators: all of the op table. Exit code 0 only where every test ran and ended as expected.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import platform
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from suite_cache import Part, Selection, environment, generate, known_operators, parts_of, tests_in, tools_version

from tosa_engine.compliance import ENGINES, Totals
from tosa_engine.compliance.report import table
from tosa_engine.errors import DataError, TosaEngineError
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).resolve().parent
PLUG_IN = "tosa_engine_sut_run"
REFERENCE = "runner.tosa_refmodel_compliance_sut_run"
CI_PARTS = ("add", "rescale", "table", "conv2d_3x3")
SHOWN_FAILURES = 10
RECORDED_VERSIONS = ("tosa-tools", "numpy", "numba", "llvmlite")


@dataclass(frozen=True)
class Result:
    """How the tests of a part ended. `failures` are shown texts; `reference` counts the reference model's own runs."""

    part: Part
    totals: Totals
    reference: Totals
    failures: tuple[str, ...]
    xunit: Path | None
    seconds: float

    @property
    def good(self) -> bool:
        return self.totals.good and self.reference.good


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    try:
        return _run_all(options)
    except TosaEngineError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.exit_code


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="such as add, ADD or conv2d_3x3")
    parser.add_argument("--ci", action="store_true", help=f"only {' '.join(CI_PARTS)}")
    parser.add_argument("--engine", choices=list(ENGINES), default="kernels", help="what executes the graphs")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="operators at a time (2)")
    parser.add_argument("--cache", type=Path, default=HERE / "cache", metavar="DIR", help="where generated tests stay")
    parser.add_argument("--xunit-file", type=Path, metavar="FILE", help="JUnit XML (DIR/result.xml)")
    parser.add_argument("--record", action="store_true", help="write the totals to conformance/RESULTS.md")
    options = parser.parse_args(arguments)
    if options.ci and options.operators:
        parser.error("--ci chooses the operators itself")
    if options.record and (options.ci or options.operators or options.engine != "kernels"):
        parser.error("--record is for all operators on the kernels")
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    return options


def _run_all(options: argparse.Namespace) -> int:
    selection, start = Selection(), time.monotonic()
    cache = options.cache.resolve() / f"tosa-tools-{tools_version()}" / selection.key
    known = known_operators(selection)
    absent = [] if options.ci or options.operators else [name for name in TABLE if name.lower() not in known]
    requests = list(CI_PARTS) if options.ci else options.operators or [n for n in TABLE if n not in absent]
    parts = parts_of(requests, known)
    print(f"official tests {selection.version} for {selection.target} on the {options.engine}, kept in {cache}")

    def run(part: Part) -> Result:
        result = _run_part(part, selection, cache, options.engine)
        print(f"{part.name}: {result.totals} ({result.seconds:.0f} s)", *result.failures, sep="\n  ", flush=True)
        return result

    pool = ThreadPoolExecutor(options.jobs)
    try:
        results = list(pool.map(run, parts))
    finally:
        pool.shutdown(cancel_futures=True)
    for name in absent:
        print(f"{name.lower()}: the official suite has no tests of its own for it")
    total = sum((r.totals for r in results), Totals())
    print(f"Totals ({total.count} tests, {time.monotonic() - start:.0f} s): {total}")
    _write_xunit(results, options.xunit_file or options.cache / "result.xml")
    if options.record:
        (HERE / "RESULTS.md").write_text(_record(selection, results, absent), encoding="utf-8")
    return 0 if total.count and all(r.good for r in results) else 1


def _run_part(part: Part, selection: Selection, cache: Path, engine: str) -> Result:
    start = time.monotonic()
    tests = tests_in(generate(selection, part.operator, cache), part)
    if not tests:
        return Result(part, Totals(), Totals(), (), None, time.monotonic() - start)
    results = cache / "results"
    results.mkdir(parents=True, exist_ok=True)
    listed, xunit = results / f"{part.name}.txt", results / f"{part.name}.xml"
    listed.write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")
    command = [
        sys.executable, "-m", "runner.tosa_verif_run_tests", "--test-list", str(listed), "-j1", "--no-color",
        "--profile", "all", "--extension", "all", "--xunit-file", str(xunit), "--sut-module", PLUG_IN,
        "--sut-module-args", f"{PLUG_IN}:engine={engine}", f"{PLUG_IN}:target={selection.target}",
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=results, env=environment(HERE))
    (results / f"{part.name}.log").write_text(ran.stdout + ran.stderr, encoding="utf-8")
    if ran.returncode:
        raise DataError(f"the test runner failed on {part.name}:\n{ran.stdout[-1000:]}{ran.stderr[-3000:]}")
    totals, reference = Totals.parse(ran.stdout, PLUG_IN), Totals.parse(ran.stdout, REFERENCE)
    if totals.count != len(tests):
        raise DataError(f"{part.name} has {len(tests)} tests, the test runner counted {totals.count}")
    return Result(part, totals, reference, _failures(xunit), xunit, time.monotonic() - start)


def _failures(xunit: Path) -> tuple[str, ...]:
    """The tests that failed and why, the first ones in full."""
    shown: list[str] = []
    for case in ET.parse(xunit).iter("testcase"):
        problem = case.find("failure")
        if problem is not None:
            text = (problem.text or "").strip()
            shown.append(f"{Path(case.get('name', '')).name} ({case.get('classname')}): {text}")
    more = [f"... and {len(shown) - SHOWN_FAILURES} more"] if len(shown) > SHOWN_FAILURES else []
    return (*shown[:SHOWN_FAILURES], *more)


def _write_xunit(results: list[Result], path: Path) -> None:
    """One JUnit file of all parts; test names lose the folder that they happened to lie in."""
    root = ET.Element("testsuites")
    for result in results:
        for suite in ET.parse(result.xunit).iter("testsuite") if result.xunit else ():
            suite.set("name", f"{result.part.name}.{suite.get('name')}")
            for case in suite.iter("testcase"):
                case.set("name", Path(case.get("name", "")).name)
            root.append(suite)
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _record(selection: Selection, results: list[Result], absent: list[str]) -> str:
    versions = [f"{name} {importlib.metadata.version(name)}" for name in RECORDED_VERSIONS]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=HERE
    )
    empty = [r.part.name.upper() for r in results if not r.totals.count]
    lines = [
        "# Results of the official conformance tests",
        "",
        "Written by `make conformance OPS=--record`; not to be edited.",
        "",
        f"- date: {dt.datetime.now(dt.timezone.utc):%Y-%m-%d}, commit: {commit.stdout.strip() or 'unknown'}",
        f"- specification {selection.version}, {selection.target.replace(',', ', ')}, level 8K",
        f"- Python {platform.python_version()}, {', '.join(versions)}, {platform.system()} {platform.machine()}",
        f"- generated by: `tosa_verif_conformance_generator {shlex.join(selection.arguments)} --operators OPERATOR`",
        f"- run by: `tosa_verif_run_tests --profile all --extension all --sut-module {PLUG_IN}`",
        "",
        table({r.part.name: r.totals for r in results if r.totals.count}),
        f"No test in this selection: {', '.join([*empty, *absent]) or 'none'}.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
