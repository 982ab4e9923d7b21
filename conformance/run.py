"""Official TOSA tests on our engine: generate those of the operators asked for, run them, print the totals.

    python conformance/run.py add RESCALE conv2d_3x3    these operators
    python conformance/run.py                           the integer selection
    python conformance/run.py --profile fp              the floating-point selection; --profile all: every selection
    python conformance/run.py --tosa-version 1.1-draft  the tests of that version, checked against it
    python conformance/run.py --without conv2d          all operators but these
    python conformance/run.py --seeds 1 2 3             unofficial tests with other seeds, all operators
    python conformance/run.py --files                   the official tests' graphs, written and read back
    python conformance/run.py --coverage                which names of the complete official list the selections have

Exit code 0 only where every test ran and ended as expected.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import record
from official_runner import OfficialRunner, write_xunit
from other_seeds import generate_seed, kinds_of, operator_of, spread
from suite_cache import (
    RELEASES,
    SELECTIONS,
    Part,
    Selection,
    all_names,
    empty,
    generate,
    known_operators,
    listed,
    parts_of,
    selections,
    size,
    test_names,
    tests_in,
    tools_version,
)

from tosa_engine.compliance import ENGINES, Totals
from tosa_engine.errors import TosaEngineError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from official_runner import Batch, Result

HERE = Path(__file__).resolve().parent
CI_PARTS = ("add", "rescale", "table", "conv2d_3x3")
SEED_TESTS = 2000
TOGETHER = 4  # operators in one process, and what an interrupt loses of its results
GB = 10**9


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    try:
        if options.coverage:
            return _coverage(options)
        there = selections(options.tosa_version)
        if options.profile not in (*there, "all"):
            raise UsageError(f"no selection '{options.profile}' of version {options.tosa_version}: {', '.join(there)}")
        names = list(there) if options.profile == "all" else [options.profile]
        return max(_selected(options, there[name]) for name in names)
    except TosaEngineError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.exit_code


def _selected(options: argparse.Namespace, selection: Selection) -> int:
    cache = options.cache.resolve() / f"tosa-tools-{tools_version()}" / selection.key
    print(f"official tests {selection.version} for {selection.target} on the {options.engine}, kept in {cache}")
    if options.files:
        return _files(options, selection, cache)
    return _seeds(options, selection, cache) if options.seeds else _suite(options, selection, cache)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="such as add, ADD or conv2d_3x3")
    parser.add_argument("--profile", choices=[*SELECTIONS, "all"], default="int", help="which selection (int)")
    parser.add_argument("--tosa-version", choices=list(RELEASES), default="1.0", help="whose tests (1.0)")
    parser.add_argument("--ci", action="store_true", help=f"only {' '.join(CI_PARTS)}")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help="unofficial tests with these seeds instead")
    parser.add_argument("--tests", type=int, default=SEED_TESTS, metavar="N", help=f"of all seeds ({SEED_TESTS})")
    parser.add_argument("--files", action="store_true", help="write and read the tests' graphs instead of running them")
    parser.add_argument(
        "--coverage", action="store_true", help="compare the selections with the complete list of names"
    )
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="OPERATOR", help="leave out; what is recorded says so"
    )
    parser.add_argument("--disk", type=float, default=40, metavar="GB", help="delete data of done tests beyond it (40)")
    parser.add_argument("--engine", choices=list(ENGINES), default="kernels", help="what executes the graphs")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at a time (2)")
    parser.add_argument("--resume", action="store_true", help="keep what these sources gave for the tests before")
    parser.add_argument("--anew", action="store_true", help="run the reference model even where its outputs are kept")
    parser.add_argument("--compile", action="store_true", help="compile the kernels anew, in the time that is measured")
    parser.add_argument("--cache", type=Path, default=HERE / "cache", metavar="DIR", help="where generated tests stay")
    parser.add_argument("--xunit-file", type=Path, metavar="FILE", help="JUnit XML (DIR/result.xml)")
    parser.add_argument("--record", action="store_true", help="write what came out to conformance/RESULTS.md")
    options = parser.parse_args(arguments)
    if options.ci and options.operators:
        parser.error("--ci chooses the operators itself")
    if options.seeds and (options.files or options.ci or options.operators):
        parser.error("--seeds is for all operators")
    if options.without and (options.seeds or options.files):
        parser.error("--without is for the suite")
    if options.record and (options.ci or options.operators or options.engine != "kernels"):
        parser.error("--record is for all operators on the kernels")
    if options.record and RELEASES[options.tosa_version] != Selection.version:
        parser.error(f"--record is for version {Selection.version}")
    if options.jobs < 1 or options.tests < 1:
        parser.error("--jobs and --tests are at least 1")
    return options


def _suite(options: argparse.Namespace, selection: Selection, cache: Path) -> int:
    without = {part.operator for part in parts_of(options.without, known_operators(selection))}
    groups = split("suite", [part for part in _parts(options, selection) if part.operator not in without])

    def find(group: list[Part]) -> dict[str, list[Path]]:
        return {part.name: tests_in(selection, listed(selection, part.operator, cache), part) for part in group}

    results, seconds, good = _run(options, selection, cache, groups, find)
    if options.record:
        how = {"compiled": options.compile, "jobs": options.jobs, "resumed": options.resume}
        record.suite(selection, results, seconds, **how, without=without)
    return 0 if good else 1


def _parts(options: argparse.Namespace, selection: Selection) -> list[Part]:
    known = known_operators(selection)
    return parts_of(list(CI_PARTS) if options.ci else options.operators or known, known)


def _seeds(options: argparse.Namespace, selection: Selection, cache: Path) -> int:
    folders = [generate_seed(selection, seed, kind, cache) for seed in options.seeds for kind in kinds_of(selection)]
    tests: dict[str, list[Path]] = {}
    for test in sorted(spread(folders, options.tests)):
        tests.setdefault(operator_of(test), []).append(test)
    groups = split("seeds", [Part(name) for name in sorted(tests)])

    def find(group: list[Part]) -> dict[str, list[Path]]:
        return {part.name: tests[part.name] for part in group}

    results, seconds, good = _run(options, selection, cache, groups, find)
    if options.record:
        record.seeds(selection, options.seeds, results, seconds)
    return 0 if good else 1


def _files(options: argparse.Namespace, selection: Selection, cache: Path) -> int:
    from round_trip import round_trips

    parts = _parts(options, selection)
    with ThreadPoolExecutor(options.jobs) as pool:
        folders = pool.map(lambda part: generate(selection, part.operator, cache), parts)
        tests = [
            test for part, folder in zip(parts, folders, strict=True) for test in tests_in(selection, folder, part)
        ]
    files = round_trips(tests, options.jobs)
    print(
        f"{files.graphs} graphs written, read and written again; {len(files.unlike)} problems", *files.unlike, sep="\n"
    )
    if options.record:
        record.files(selection, files)
    return 0 if files.good else 1


def _coverage(options: argparse.Namespace) -> int:
    """Say which names of the complete list no selection has, as far as the tests are generated."""
    cache = options.cache.resolve() / f"tosa-tools-{tools_version()}"
    complete = all_names(RELEASES[options.tosa_version], cache)
    there = selections(options.tosa_version)
    made = {name: test_names(selection, cache / selection.key) for name, selection in there.items()}
    missing = sorted(complete - set().union(*made.values()))
    for name, its in made.items():
        print(f"{name}: {len(its)} tests, {len(complete & its)} of the {len(complete)} names of the complete list")
    print(f"in no selection: {len(missing)}", *missing, sep="\n")
    if options.record:
        record.coverage(len(complete), {name: len(complete & its) for name, its in made.items()}, missing)
    return 1 if missing else 0


def _run(
    options: argparse.Namespace,
    selection: Selection,
    cache: Path,
    groups: Mapping[str, list[Part]],
    find: Callable[[list[Part]], dict[str, list[Path]]],
) -> tuple[list[Result], float, bool]:
    """Every part's result, the wall time of all, and whether all is well. Totals are printed as they come.

    A group's tests are found, run and noted before the next group's: the disk need not hold all of them at once.
    """
    start = time.monotonic()
    runner = OfficialRunner(
        options.engine, selection.target, selection.tosa_version, cache / "results", options.resume, options.anew
    )

    def run(name: str) -> Batch:
        suite = [part.operator for part in groups[name]] if name.startswith("suite") else []
        batch = runner.run(name, find(groups[name]), lambda: [generate(selection, one, cache) for one in suite])
        for result in batch.results:
            if result.totals.count:
                print(f"{result.name}: {result.totals}", *result.failures, sep="\n  ", flush=True)
        _bound(options.disk * GB, cache, suite)
        return batch

    with tempfile.TemporaryDirectory() as empty:
        if options.compile:
            os.environ["TOSA_ENGINE_CACHE_DIR"] = empty
        pool = ThreadPoolExecutor(options.jobs)
        try:
            done = dict(zip(groups, pool.map(run, groups), strict=True))
        finally:
            pool.shutdown(cancel_futures=True)
    results = [r for batch in done.values() for r in batch.results]
    seconds = time.monotonic() - start
    total = sum((r.totals for r in results), Totals())
    ours, reference = sum(r.engine_seconds for r in results), sum(r.reference_seconds for r in results)
    print(f"executing the graphs: {ours:.0f} s in the engine, {reference:.0f} s in the reference model")
    print(f"Totals ({total.count} tests, {seconds:.0f} s): {total}")
    write_xunit(done, options.xunit_file or options.cache / "result.xml")
    return results, seconds, bool(total.count) and all(r.good for r in results)


def _bound(limit: float, cache: Path, operators: Sequence[str]) -> None:
    """Print what the cache takes; beyond the limit, delete the data of these operators' tests, which have been run."""
    used, free = size(cache), shutil.disk_usage(cache).free
    print(f"disk: {used / GB:.2f} GB of tests, {free / GB:.1f} GB free", flush=True)
    if used > limit:
        for operator in operators:
            empty(operator, cache)


def split(name: str, parts: Sequence[Part]) -> dict[str, list[Part]]:
    """Groups of operators: a process for each group, not for each operator."""
    groups = [list(parts[i : i + TOGETHER]) for i in range(0, len(parts), TOGETHER)]
    return {f"{name}-{i}-of-{len(groups)}": group for i, group in enumerate(groups, 1)}


if __name__ == "__main__":
    sys.exit(main())
