"""What was measured: results.json holds the numbers by section, RESULTS.md shows them."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import platform
import re
import shlex
import subprocess
from collections import Counter
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from official_runner import PLUG_IN
from other_seeds import NOT_OF_THE_VERSION
from suite_cache import SELECTIONS, Selection

from tosa_engine import serialize
from tosa_engine.compliance import Description, Totals
from tosa_engine.compliance.report import table
from tosa_engine.spec import bind_operator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from official_runner import Result
    from round_trip import Files

HERE = Path(__file__).resolve().parent
NUMBERS = HERE / "results.json"
PAGE = HERE / "RESULTS.md"
VERSIONS = ("tosa-tools", "numpy", "numba", "llvmlite")


def suite(
    selection: Selection,
    results: Sequence[Result],
    seconds: float,
    *,
    compiled: bool,
    jobs: int,
    resumed: bool,
    without: AbstractSet[str],
) -> None:
    """Keep a run of the whole official selection, or of what is left `without` these operators."""
    _keep(
        _section("suite", selection),
        {
            "profile": selection.name,
            "target": f"specification {selection.version}, {selection.target.replace(',', ', ')}, level 8K",
            "generator": shlex.join(selection.arguments),
            "compiled": compiled,
            "without": sorted(without),
            "jobs": jobs,
            "resumed": resumed,
            "seconds": round(seconds),
            "engine_seconds": round(sum(r.engine_seconds for r in results), 1),
            "reference_seconds": round(sum(r.reference_seconds for r in results), 1),
            "reference_kept": sum(r.reference_kept for r in results),
            "parts": {r.name: list(astuple(r.totals)) for r in results},
            "rows": _rows([test for r in results for test in r.passed]),
            "labels": sorted({label for r in results for label in r.labels}),
            "reference": list(astuple(sum((r.reference for r in results), Totals()))),
        },
    )


def seeds(selection: Selection, numbers: Sequence[int], results: Sequence[Result], seconds: float) -> None:
    """Keep a run of tests with other seeds."""
    parts = {r.name: list(astuple(r.totals)) for r in results}
    generator = shlex.join(selection.arguments)
    sets = Counter(found[1] for r in results for t in r.passed if (found := re.search(r"_(s[0-5])$", t.name)))
    _keep(
        _section("seeds", selection),
        {
            "profile": selection.name,
            "seeds": list(numbers),
            "generator": generator,
            "seconds": round(seconds),
            "parts": parts,
            "data_sets": dict(sorted(sets.items())),
        },
    )


def files(selection: Selection, found: Files) -> None:
    """Keep what reading and writing the graphs gave."""
    _keep(
        _section("files", selection),
        {
            "profile": selection.name,
            "version": selection.version,
            "graphs": found.graphs,
            "problems": list(found.unlike),
        },
    )


def coverage(complete: int, selections: Mapping[str, int], missing: Sequence[str]) -> None:
    """Keep how many names of the complete official list the selections have."""
    _keep("coverage", {"complete": complete, "selections": dict(selections), "missing": list(missing)})


def fuzz(summary: Mapping[str, Any]) -> None:
    """Keep the summary of a run of differential fuzzing."""
    _keep("fuzz", dict(summary))


def _rows(tests: Sequence[Path]) -> dict[str, dict[str, int]]:
    """How many of these tests are about each row: by operator and row key."""
    rows: dict[str, Counter[str]] = {}
    for test in tests:
        name = json.loads((test / "desc.json").read_text(encoding="utf-8"))["test_details"]["operator"]
        graph = serialize.read(Description.read(test / "desc.json").graph)
        for operator in (op for op in graph.main.operators if op.op == name):
            row = bind_operator(operator, graph.main, graph).row
            assert row is not None
            rows.setdefault(name, Counter())[row.key] += 1
            break
        else:
            rows.setdefault(name, Counter())[""] += 1
    return {name: dict(counts) for name, counts in sorted(rows.items())}


def read() -> dict[str, Any]:
    """The recorded sections by name; none where nothing is recorded."""
    found: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.is_file() else {}
    return found


def stablehlo(when: str, suites: Mapping[str, Mapping[str, int]], near: int, quantized: int) -> None:
    """Keep the totals of the tests of openxla/stablehlo by suite; `near` of the `quantized` ones are within 1."""
    counts = {suite: dict(verdicts) for suite, verdicts in suites.items()}
    _keep("stablehlo", {"when": when, "suites": counts, "near": near, "quantized": quantized})


def _section(kind: str, selection: Selection) -> str:
    return kind if selection == Selection() else f"{kind} {selection.name}"


def _keep(section: str, content: dict[str, Any]) -> None:
    numbers = {**read(), section: {"when": content.get("when") or _when(), **content}}
    NUMBERS.write_text(json.dumps(numbers, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(numbers), encoding="utf-8")


def _when() -> str:
    """Date, commit and versions of a measurement."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=HERE
    ).stdout.strip()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in VERSIONS)
    day = f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d}"
    machine = f"{platform.system()} {platform.machine()}"
    return f"{day}, commit {commit or 'unknown'}, Python {platform.python_version()}, {versions}, {machine}"


def page(numbers: Mapping[str, Any]) -> str:
    """RESULTS.md."""
    lines = ["# Results of the conformance tests", "", "Written by `--record`; not to be edited.", ""]
    if "coverage" in numbers:
        lines += _coverage(numbers["coverage"])
    for kind, show in (("suite", _suite), ("seeds", _seeds), ("files", _files)):
        for selection in SELECTIONS.values():
            if _section(kind, selection) in numbers:
                lines += show(numbers[_section(kind, selection)])
    if "stablehlo" in numbers:
        lines += _stablehlo(numbers["stablehlo"])
    if "fuzz" in numbers:
        lines += _fuzz(numbers["fuzz"])
    return "\n".join(lines).rstrip() + "\n"


def _coverage(found: Mapping[str, Any]) -> list[str]:
    lines = [f"| {name} | {count} |" for name, count in found["selections"].items()]
    return [
        "## Which tests there are", "",
        "    make conformance OPS=--coverage", "",
        f"- {found['when']}",
        f"- {found['complete']} names in the official list of all profiles and extensions",
        f"- in no selection: {len(found['missing'])}", "",
        "| selection | names |", "|---|---:|", *lines, "",
    ]  # fmt: skip


def _make(found: Mapping[str, Any], options: str) -> str:
    """The command that gives this section; `options` are those of run.py."""
    profile = found.get("profile", "int")
    chosen = "" if profile == "int" else f" PROFILE={profile}"
    return f"    make conformance{chosen} OPS={options}"


def _suite(found: Mapping[str, Any]) -> list[str]:
    parts = {name: Totals(*counts) for name, counts in found["parts"].items()}
    ours, reference = found["engine_seconds"], found["reference_seconds"]
    kept = found.get("reference_kept", 0)
    again = f"{kept} runs of the reference model were earlier ones, whose outputs and times were kept"
    again = again if kept else f"both in this run, ratio: {ours / reference:.2f}"
    without = " ".join(found.get("without", ()))
    before = ", without what an interrupted run of the same sources gave" if found.get("resumed") else ""
    start = "compiled in this time" if found["compiled"] else "compiled by an earlier run"
    return [
        f"## The official suite: {found.get('profile', 'int')}", "",
        _make(found, f'"--record --without {without}"' if without else "--record"), "",
        f"- {found['when']}",
        *([f"- NOT RUN, and not in these figures: {without}"] if without else []),
        f"- {found['target']}",
        f"- generated by `tosa_verif_conformance_generator {found['generator']} --operators OPERATOR`",
        f"- run by `tosa_verif_run_tests --profile all --extension all --sut-module {PLUG_IN}`",
        f"- {found['jobs']} processes at a time, {found['seconds']} s in all{before}",
        "- executing the graphs, from the graph's file to the outputs' files:",
        f"    - our engine: {ours} s (in the runner's process, one process for some operators; kernels {start})",
        f"    - the reference model: {reference} s (a process per test)",
        f"    - {again}",
        f"- the reference model itself: {Totals(*found['reference'])}", "",
        table({name: totals for name, totals in parts.items() if totals.count}),
    ]  # fmt: skip


def _seeds(found: Mapping[str, Any]) -> list[str]:
    chosen, tests = " ".join(map(str, found["seeds"])), sum(map(sum, found["parts"].values()))
    sets = ", ".join(f"{count} of {name.upper()}" for name, count in found.get("data_sets", {}).items())
    return [
        f"## Other seeds: {found.get('profile', 'int')}", "",
        _make(found, f'"--seeds {chosen} --tests {tests} --record"'), "",
        f"- {found['when']}",
        f"- generated by `tosa_verif_build_tests --seed N {found['generator']} --test-selection-criteria default`",
        f"- positive and negative tests, spread over the operators; run like the official ones, {found['seconds']} s",
        "- left out are tests that the generator makes although 1.0.2 rules them out:",
        *(f"    - `{pattern}`: {why}" for pattern, why in NOT_OF_THE_VERSION.items()),
        *([f"- passed of the data sets of dot products: {sets}"] if sets else []), "",
        table({name: Totals(*counts) for name, counts in found["parts"].items()}),
    ]  # fmt: skip


def _files(found: Mapping[str, Any]) -> list[str]:
    return [
        f"## Files: {found.get('profile', 'int')}", "",
        _make(found, '"--files --record"'), "",
        f"- {found['when']}",
        f"- {found['graphs']} graphs of the official tests, written, read back, written again as `.tosa` and `.json`",
        "- the reference model runs what we wrote, with the verdict and the outputs of the original",
        f"- problems: {len(found['problems'])}",
        *(f"    - {problem.splitlines()[0]}" for problem in found["problems"]), "",
    ]  # fmt: skip


def _stablehlo(found: Mapping[str, Any]) -> list[str]:
    verdicts = ("passed", "refused", "failed")
    suites = sorted(found["suites"].items())
    rows = [[suite, sum(of.values()), *(of.get(one, 0) for one in verdicts)] for suite, of in suites]
    return [
        "## The tests of openxla/stablehlo", "",
        "    python conformance/stablehlo.py CHECKOUT --record", "",
        f"- {found['when']}",
        f"- as integers {found['near']} of {found['quantized']} tests of quantized types are within 1",
        "- [STABLEHLO.md](STABLEHLO.md): by types and operation, with reasons and ULP", "",
        "| suite | tests | passed | refused | failed |", "|---|---:|---:|---:|---:|",
        *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows), "",
    ]  # fmt: skip


def _fuzz(found: Mapping[str, Any]) -> list[str]:
    return [
        "## Differential fuzzing against the reference model", "",
        f"    make fuzz MINUTES={found['minutes']} RECORD=1", "",
        f"- {found['when']}",
        f"- {found['minutes']} minutes, {found['graphs']} graphs with {found['operators']} operators",
        f"- the oracle computed {found['oracle']} of them, too", "",
        "| ours | reference model | explained by | graphs |", "|---|---|---|---:|",
        *(f"| {v['ours']} | {v['reference']} | {v['explained']} | {v['graphs']} |" for v in found["verdicts"]),
        "",
        f"Unexplained differences: {found['unexplained']}.", "",
    ]  # fmt: skip
