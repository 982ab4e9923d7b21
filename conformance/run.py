"""Official TOSA tests on our engine: generate those of the operators asked for, run them, print the totals.

    python conformance/run.py add RESCALE conv2d_3x3    these operators
    python conformance/run.py                           the whole selection, with EXT-DYNAMIC
    python conformance/run.py --seeds 1 2 3             unofficial tests with other seeds, all operators
    python conformance/run.py --files                   the official tests' graphs, written and read back

Exit code 0 only where every test ran and ended as expected.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import record
from official_runner import OfficialRunner, write_xunit
from other_seeds import KINDS, generate_seed, operator_of, spread
from suite_cache import Selection, generate, known_operators, parts_of, tests_in, tools_version

from tosa_engine.compliance import ENGINES, Totals
from tosa_engine.errors import TosaEngineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from official_runner import Batch, Result

HERE = Path(__file__).resolve().parent
CI_PARTS = ("add", "rescale", "table", "conv2d_3x3")
SEED_TESTS = 2000
BATCH = 2000


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    selection = Selection()
    cache = options.cache.resolve() / f"tosa-tools-{tools_version()}" / selection.key
    print(f"official tests {selection.version} for {selection.target} on the {options.engine}, kept in {cache}")
    try:
        if options.files:
            return _files(options, selection, cache)
        return _seeds(options, selection, cache) if options.seeds else _suite(options, selection, cache)
    except TosaEngineError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return problem.exit_code


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="such as add, ADD or conv2d_3x3")
    parser.add_argument("--ci", action="store_true", help=f"only {' '.join(CI_PARTS)}")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="N", help="unofficial tests with these seeds instead")
    parser.add_argument("--tests", type=int, default=SEED_TESTS, metavar="N", help=f"of all seeds ({SEED_TESTS})")
    parser.add_argument("--files", action="store_true", help="write and read the tests' graphs instead of running them")
    parser.add_argument("--engine", choices=list(ENGINES), default="kernels", help="what executes the graphs")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at a time (2)")
    parser.add_argument("--resume", action="store_true", help="keep what these sources gave for an operator before")
    parser.add_argument("--compile", action="store_true", help="compile the kernels anew, in the time that is measured")
    parser.add_argument("--cache", type=Path, default=HERE / "cache", metavar="DIR", help="where generated tests stay")
    parser.add_argument("--xunit-file", type=Path, metavar="FILE", help="JUnit XML (DIR/result.xml)")
    parser.add_argument("--record", action="store_true", help="write what came out to conformance/RESULTS.md")
    options = parser.parse_args(arguments)
    if options.ci and options.operators:
        parser.error("--ci chooses the operators itself")
    if options.seeds and (options.files or options.ci or options.operators):
        parser.error("--seeds is for all operators")
    if options.record and (options.ci or options.operators or options.engine != "kernels"):
        parser.error("--record is for all operators on the kernels")
    if options.jobs < 1 or options.tests < 1:
        parser.error("--jobs and --tests are at least 1")
    return options


def _suite(options: argparse.Namespace, selection: Selection, cache: Path) -> int:
    tests = _tests(options, selection, cache)
    results, seconds, good = _run(options, selection, cache, "suite", tests)
    if options.record:
        record.suite(selection, results, seconds, compiled=options.compile, jobs=options.jobs)
    return 0 if good else 1


def _tests(options: argparse.Namespace, selection: Selection, cache: Path) -> dict[str, list[Path]]:
    """The tests asked for, by part, generated where they aren't there yet."""
    known = known_operators(selection)
    parts = parts_of(list(CI_PARTS) if options.ci else options.operators or known, known)
    with ThreadPoolExecutor(options.jobs) as pool:
        folders = pool.map(lambda part: generate(selection, part.operator, cache), parts)
        return {part.name: tests_in(folder, part) for part, folder in zip(parts, folders, strict=True)}


def _seeds(options: argparse.Namespace, selection: Selection, cache: Path) -> int:
    folders = [generate_seed(selection, seed, kind, cache) for seed in options.seeds for kind in KINDS]
    tests: dict[str, list[Path]] = {}
    for test in sorted(spread(folders, options.tests)):
        tests.setdefault(operator_of(test), []).append(test)
    results, seconds, good = _run(options, selection, cache, "seeds", dict(sorted(tests.items())))
    if options.record:
        record.seeds(selection, options.seeds, results, seconds)
    return 0 if good else 1


def _files(options: argparse.Namespace, selection: Selection, cache: Path) -> int:
    from round_trip import round_trips

    tests = _tests(options, selection, cache)
    files = round_trips([test for part in tests.values() for test in part], options.jobs)
    print(
        f"{files.graphs} graphs written, read and written again; {len(files.unlike)} problems", *files.unlike, sep="\n"
    )
    if options.record:
        record.files(selection, files)
    return 0 if files.good else 1


def _run(
    options: argparse.Namespace, selection: Selection, cache: Path, name: str, tests: Mapping[str, list[Path]]
) -> tuple[list[Result], float, bool]:
    """Every part's result, the wall time of all, and whether all is well. Totals are printed as they come."""
    start = time.monotonic()
    runner = OfficialRunner(options.engine, selection.target, cache / "results", options.resume)

    def run(named: tuple[str, dict[str, list[Path]]]) -> Batch:
        batch = runner.run(*named)
        for result in batch.results:
            if result.totals.count:
                print(f"{result.name}: {result.totals}", *result.failures, sep="\n  ", flush=True)
        return batch

    batches = split(name, tests)
    with tempfile.TemporaryDirectory() as empty:
        if options.compile:
            os.environ["TOSA_ENGINE_CACHE_DIR"] = empty
        pool = ThreadPoolExecutor(options.jobs)
        try:
            done = dict(zip(batches, pool.map(run, batches.items()), strict=True))
        finally:
            pool.shutdown(cancel_futures=True)
    results = sorted((r for batch in done.values() for r in batch.results), key=lambda r: list(tests).index(r.name))
    seconds = time.monotonic() - start
    total = sum((r.totals for r in results), Totals())
    ours, reference = sum(r.engine_seconds for r in results), sum(r.reference_seconds for r in results)
    print(f"executing the graphs: {ours:.0f} s in the engine, {reference:.0f} s in the reference model")
    print(f"Totals ({total.count} tests, {seconds:.0f} s): {total}")
    write_xunit(done, options.xunit_file or options.cache / "result.xml")
    return results, seconds, bool(total.count) and all(r.good for r in results)


def split(name: str, tests: Mapping[str, list[Path]]) -> dict[str, dict[str, list[Path]]]:
    """Parts together in batches of about `BATCH` tests: a process for each batch, not for each part."""
    batches: list[dict[str, list[Path]]] = [{}]
    for part, its in tests.items():
        if sum(map(len, batches[-1].values())) >= BATCH:
            batches.append({})
        batches[-1][part] = its
    return {f"{name}-{i}-of-{len(batches)}": batch for i, batch in enumerate(batches, 1)}


if __name__ == "__main__":
    sys.exit(main())
