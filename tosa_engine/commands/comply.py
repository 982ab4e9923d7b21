"""`tosa-engine comply`: any implementation of TOSA put to the test."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cluster import add_workers
from ..errors import DataError, UsageError
from ..target import EXTENSIONS, LEVELS, PROFILES
from ..text import say
from ..versions import V1_0, VERSIONS

if TYPE_CHECKING:
    import argparse

    from ..compliance.campaign import Campaign, Record, Results
    from ..compliance.coverage import Coverage

EVERY = 200  # tests between two lines of progress


class _Comply:
    name = "comply"
    help = "test any implementation of TOSA: generated tests, verdicts, failures made small"
    example = (
        'comply --engine "mydut {graph} {inputs} {outputs}" --budget 10m -o results\n'
        "comply --engine mymodule:run --operators RESCALE TABLE --budget 2000 -o results"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--engine",
            help="what is tested: a command with {graph} {inputs} {outputs} or {desc} in it, pipe:COMMAND for a "
            "process that stays, MODULE:FUNCTION in Python, or arm:MODULE of Arm's runner",
        )
        parser.add_argument("-o", "--output", metavar="DIR", default="compliance", help="folder for results")
        _add_selection(parser)
        _add_running(parser)
        place = parser.add_argument_group("results")
        place.add_argument("--strict", action="store_true", help="a violated REQUIRE must be reported as unpredictable")
        place.add_argument("--known", metavar="NAME", help="differences of an implementation that are listed")
        place.add_argument("--write", metavar="DIR", help="only write the tests, as folders that Arm's runner reads")
        place.add_argument("--coverage", action="store_true", help="what our tests exercise, without running an engine")
        place.add_argument(
            "--coverage-of", metavar="DIR", help="what the tests of a folder exercise: desc.json, or .tosa with .npz"
        )
        place.add_argument(
            "--every", type=int, default=1, metavar="N", help="with --coverage-of: look at one test of N"
        )
        place.add_argument("--baseline", metavar="FILE", help="results.json of an earlier run: only what is new counts")

    def run(self, args: argparse.Namespace) -> int:
        if args.write:
            return _write_folders(args)
        if args.coverage or args.coverage_of:
            return _coverage(args)
        if not args.engine:
            raise UsageError("--engine says what is tested")
        from ..compliance.campaign import run

        results = run(_campaign(args), resume=args.resume, told=_told)
        write(results, Path(args.output))
        from ..compliance.campaign.pages import failure_lines, headline

        for failure in results.failures:
            say(f"{failure.name.split('/')[0]}: {failure.status}")
            say(*(f"  {name}: {text}" for name, text in failure_lines(failure)))
        say(f"{headline(results)}; see {args.output}/index.html")
        if args.baseline:
            return _against(results, Path(args.baseline))
        return 0 if results.good else 1


def _add_selection(parser: argparse.ArgumentParser) -> None:
    place = parser.add_argument_group("which tests")
    place.add_argument("--operators", nargs="+", metavar="NAME", default=[], help="only these, as RESCALE")
    place.add_argument("--rows", nargs="+", metavar="ROW", default=[], help="only these rows of types, as i8_i32")
    place.add_argument("--profile", nargs="+", metavar="P", help=f"profiles: {', '.join(PROFILES)}; default: all")
    place.add_argument("--extension", nargs="+", metavar="E", help=f"extensions: {', '.join(EXTENSIONS)}; default: all")
    place.add_argument("--version", choices=tuple(VERSIONS), default=str(V1_0), help="of TOSA")
    place.add_argument("--level", choices=tuple(LEVELS), default="8K", help="of the target")
    place.add_argument("--no-graphs", action="store_true", help="no random graphs of several operators")
    place.add_argument("--seed", type=int, default=0, help="of all random numbers")


def _add_running(parser: argparse.ArgumentParser) -> None:
    place = parser.add_argument_group("how they run")
    place.add_argument("--budget", default="10m", help="a time as 90s, 10m, 1h, or a number of tests")
    place.add_argument("--timeout", type=float, default=10.0, metavar="S", help="seconds after which a test hangs")
    place.add_argument("--memory", type=float, default=0.0, metavar="GB", help="that a test may take; 0: any")
    place.add_argument("--files", choices=("npy", "bin"), default="npy", help="how arrays are exchanged")
    place.add_argument("--jobs", type=int, default=1, metavar="N", help="tests at the same time")
    add_workers(place, "tests")
    place.add_argument("--resume", action="store_true", help="go on with the run whose journal is in the folder")


def _campaign(args: argparse.Namespace) -> Campaign:
    from ..compliance.campaign import Budget, Campaign, Settings
    from ..compliance.doors import Limits
    from ..compliance.suite import Selection
    from ..target import Target

    names = None
    if args.profile or args.extension:
        names = [*(args.profile or PROFILES), *(args.extension or ())]
    target = Target.parse(names, args.level, args.version)
    chosen = Selection(tuple(args.operators), tuple(args.rows), target, not args.no_graphs)
    limits = Limits(args.timeout, int(args.memory * (1 << 30)))
    settings = Settings(args.engine, chosen, args.seed, args.files, limits, args.strict, args.known or "")
    if args.jobs < 1:
        raise UsageError("--jobs is at least 1")
    folder = Path(args.output)
    return Campaign(settings, Budget.parse(args.budget), folder, args.jobs, args.workers)


def _write_folders(args: argparse.Namespace) -> int:
    from ..compliance.campaign.folders import write_folders

    args.engine = args.engine or ""
    campaign = _campaign(args)
    if campaign.budget.tests is None:
        raise UsageError("--write needs a number of tests as --budget")
    campaign.settings.check()
    written, left = write_folders(campaign.settings, campaign.budget.tests, Path(args.write))
    say(
        f"{args.write}: {written} tests written; {left} can't be: unpredictable ones, floats, errors that no file holds"
    )
    return 0


def _coverage(args: argparse.Namespace) -> int:
    """A line for each operator; all that wasn't seen is in the folder for results."""
    from itertools import islice

    from ..compliance import survey
    from ..compliance.coverage import tables
    from ..compliance.suite import finite

    args.engine = args.engine or ""
    campaign = _campaign(args)
    campaign.settings.check()
    selection = campaign.settings.selection
    if args.coverage_of:
        if args.every < 1:
            raise UsageError("--every is at least 1")
        found = survey.of_folder(Path(args.coverage_of), selection.target, _counted, args.every)
    else:
        names = islice(finite(selection), campaign.budget.tests)
        found = survey.of_suite(selection, args.seed, names, _counted)
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    _kept(found, folder)
    say(*tables.as_text(found).splitlines())
    say(f"{tables.headline(found)}; what is missing is in {folder / 'coverage.json'}")
    return 0


def _kept(coverage: Coverage, folder: Path) -> None:
    """All that was seen and all that wasn't."""
    from ..compliance.coverage import tables

    (folder / "coverage.json").write_text(json.dumps(tables.as_data(coverage), indent=1) + "\n", encoding="utf-8")


def _counted(tests: int) -> None:
    if tests % EVERY == 0:
        say(f"{tests} tests", file=sys.stderr)


def _told(count: int, record: Record) -> None:
    """Progress for people who wait, and every failure as it comes."""
    if not record.status.good:
        say(f"{record.name}: {record.status.value}: {record.text[:200]}", file=sys.stderr)
    elif count % EVERY == 0:
        say(f"{count} tests", file=sys.stderr)


def write(results: Results, folder: Path) -> None:
    """The same results in all forms."""
    from ..compliance.campaign import pages

    for name, text in (
        ("results.json", pages.as_json(results)), ("results.md", pages.as_markdown(results)),
        ("junit.xml", pages.as_junit(results)), ("index.html", pages.as_html(results)),
    ):  # fmt: skip
        (folder / name).write_text(text, encoding="utf-8")
    if results.coverage is not None:
        _kept(results.coverage, folder)


def _against(results: Results, path: Path) -> int:
    """What failed now and not before; 1 where there is something."""
    from ..compliance.campaign import Results
    from ..compliance.campaign.record import worse_than

    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        before = Results.of(found)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DataError(f"{path}: not results of comply: {problem}") from None
    new, gone = worse_than(results.records, before.records)
    for record in new:
        say(f"new: {record.name}: {record.status.value}: {record.text}")
    for record in gone:
        say(f"gone: {record.name}")
    say(f"{path}: {len(new)} new failures, {len(gone)} gone")
    return 1 if new else 0


command = _Comply()
