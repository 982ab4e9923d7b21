"""STABLEHLO.md: the totals of the tests of openxla/stablehlo, as stablehlo.py counts them."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import platform
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERDICTS = ("passed", "refused", "failed")
PAGE = Path(__file__).resolve().with_name("STABLEHLO.md")
NUMBERS = PAGE.with_name("stablehlo.json")  # by operation, for docs/generate_stablehlo.py


def totals(outcomes: Sequence[Any]) -> Iterator[str]:
    """A line for each suite and class of types, and for the failures."""
    for suite, kind in sorted({(one.suite, one.types) for one in outcomes}):
        mine = [one for one in outcomes if (one.suite, one.types) == (suite, kind)]
        yield f"{suite}, {kind or 'not read'}: {_counts(mine)}"
    yield f"Totals: {_counts(outcomes)}"


def _counts(outcomes: Sequence[Any]) -> str:
    counts = Counter(one.verdict for one in outcomes)
    return f"{len(outcomes)} tests: {', '.join(f'{counts[verdict]} {verdict}' for verdict in VERDICTS)}"


def write(outcomes: Sequence[Any], as_integers: Sequence[Any]) -> None:
    by_operation = _by_operation(outcomes)
    NUMBERS.write_text(json.dumps(by_operation, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    lines = [
        "# Tests of StableHLO", "",
        "Written by `python conformance/stablehlo.py CHECKOUT --record`; not to be edited.", "",
        f"- {_when()}", "- on the oracle; what a test gives to its operation are inputs of the graph", "",
        "| suite | types | tests | passed | refused | failed |", "|---|---|---:|---:|---:|---:|",
    ]  # fmt: skip
    for suite, kind in sorted({(one.suite, one.types) for one in outcomes}):
        mine = [one for one in outcomes if (one.suite, one.types) == (suite, kind)]
        lines.append(f"| {suite} | {kind or 'not read'} | {_cells(mine)} |")
    lines += ["", "## By operation", "", "A test counts for every operation in it.", ""]
    lines += ["| operation | tests | passed | refused | failed | ULP |", "|---|---:|---:|---:|---:|---:|"]
    for name, numbers in sorted(by_operation.items()):
        cells = " | ".join(str(numbers[key]) for key in ("tests", *VERDICTS, "ulp"))
        lines.append(f"| {name} | {cells} |")
    lines += ["", "## Quantized tests as integers", ""]
    lines += ["`python conformance/stablehlo_integers.py CHECKOUT`: `quant.quantize` of the module's own scales.", ""]
    lines += ["| operation | tests | within 1 | equal elements |", "|---|---:|---:|---:|"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in as_integers]
    reasons = Counter(_kind_of(one.reason) for one in outcomes if one.verdict == "refused")
    lines += ["", "## Why tests are refused", "", "| reason | tests |", "|---|---:|"]
    lines += [f"| {reason} | {count} |" for reason, count in reasons.most_common()]
    failed = [one for one in outcomes if one.verdict == "failed"]
    lines += ["", "## Failures", "", *(f"- `{one.suite}/{one.test}`: {one.reason}" for one in failed)]
    PAGE.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    suites: dict[str, Counter[str]] = {}
    for one in outcomes:
        suites.setdefault(one.suite, Counter())[one.verdict] += 1
    tests, near = (sum(row[i] for row in as_integers) for i in (1, 2))
    record.stablehlo(_when(), suites, near, tests)


def _by_operation(outcomes: Sequence[Any]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for one in outcomes:
        for name in one.operations:
            numbers = found.setdefault(name, dict.fromkeys(("tests", *VERDICTS, "ulp"), 0))
            numbers["tests"] += 1
            numbers[one.verdict] += 1
            own = one.verdict == "passed" and len(one.operations) == 1 and one.ulps < 1e6
            numbers["ulp"] = max(numbers["ulp"], int(one.ulps) if own else 0)
    return found


def _cells(outcomes: Sequence[Any]) -> str:
    counts = Counter(one.verdict for one in outcomes)
    return " | ".join(str(n) for n in (len(outcomes), *(counts[verdict] for verdict in VERDICTS)))


KINDS = (
    ("complex", "complex numbers"), ("f64", "f64"), ("no elements", "a tensor without elements"),
    ("--within", "64-bit integers that int32 may lack"), ("beyond int32", "64-bit integers that int32 lacks"),
    ("don't fit int32", "64-bit integers that int32 lacks"), ("MAX_RANK", "more than 6 dimensions"),
    ("no number format", "formats that TOSA lacks"), ("replicas", "several replicas"),
    ("run_parallel", "several replicas"),
)  # fmt: skip


def _kind_of(reason: str) -> str:
    """A reason without names, places and numbers."""
    found = next((kind for word, kind in KINDS if word in reason), None)
    return found or re.sub(r"\d+", "N", reason.rpartition(": ")[2])[:100]


def _when() -> str:
    """Date, commit and versions of a measurement."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=PAGE.parent
    ).stdout.strip()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("jaxlib", "ml_dtypes", "numpy"))
    day = f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d}"
    return f"{day}, commit {commit or 'unknown'}, Python {platform.python_version()}, {versions}"
