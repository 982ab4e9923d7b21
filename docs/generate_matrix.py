"""Writes docs/conformance-matrix.md from the op table, the registries and the recorded results of the official suite.

`make docs` runs it; a test keeps the page fresh.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosa_engine.check import check
from tosa_engine.kernels import KERNELS
from tosa_engine.oracle import ORACLES
from tosa_engine.spec import FAMILIES, TABLE
from tosa_engine.versions import V1_0

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tosa_engine.spec import OpSpec, Row

PAGE = Path(__file__).with_name("conformance-matrix.md")
NUMBERS = Path(__file__).parents[1] / "conformance" / "results.json"
INTRODUCTION = """# Conformance matrix

Made from the op table, the registries of kernels and oracles and `conformance/results.json` by `make docs`: change
those, not this page.

One line for each row of the op table; a row that came after TOSA 1.0 says so. *kernel* and *oracle* name the function
that stands for the row. *official tests passed* counts the official tests of all selections
([RESULTS.md](../conformance/RESULTS.md)) whose outputs were right.
*rules hit* counts the operator's own ERROR_IFs that the table's mutations break in the row's example; a rule about
other formats than the row's can't be broken there. The lines below say which rules no row hits (a test holds that
there are none), and which rules rejected an official test that must be rejected.
"""


def page() -> str:
    """The whole page as Markdown."""
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.is_file() else {}
    suite = together([found for name, found in sorted(numbers.items()) if name.split()[0] == "suite"])
    lines = [INTRODUCTION, summary(suite)]
    for family in FAMILIES:
        title = (family.__doc__ or "").splitlines()[0].rstrip(".")
        lines += [f"## {title}\n", "| operator | row | kernel | oracle | official tests passed | rules hit |"]
        lines.append("|---|---|---|---|---:|---:|")
        lines += [line(spec, row, suite) for spec in family.OPERATORS for row in spec.rows]
        lines += ["", *(rules(spec, suite) for spec in family.OPERATORS if spec.checks), ""]
    return "\n".join(lines).rstrip() + "\n"


def together(suites: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The rows and labels of all selections; a test that two of them have counts twice."""
    rows: dict[str, Counter[str]] = {}
    for suite in suites:
        for operator, counts in suite["rows"].items():
            rows.setdefault(operator, Counter()).update(counts)
    return {"rows": rows, "labels": sorted({label for suite in suites for label in suite["labels"]})}


def summary(suite: Mapping[str, Any]) -> str:
    rows = [(spec, row) for spec in TABLE.values() for row in spec.rows]
    passed = sum(count for counts in suite.get("rows", {}).values() for count in counts.values())
    kernels = sum((spec.name, row.key) in KERNELS for spec, row in rows)
    oracles = sum(spec.name in ORACLES for spec in TABLE.values())
    return (
        f"{len(rows)} rows of {len(TABLE)} operators: {kernels} have a kernel, the oracle knows {oracles} operators,\n"
        f"{passed} official tests passed.\n"
    )


def line(spec: OpSpec, row: Row, suite: Mapping[str, Any]) -> str:
    kernel, oracle = KERNELS.get((spec.name, row.key)), ORACLES.get(spec.name)
    tests = suite.get("rows", {}).get(spec.name, {}).get(row.key, 0)
    cells = (
        spec.name,
        f"`{row.key}`{'' if row.since == V1_0 else f' (since {row.since})'}",
        "**none**" if kernel is None else f"`{kernel.prepare.__name__}`",
        "**none**" if oracle is None else f"`{oracle.__name__}`",
        str(tests or "-"),
        f"{len(hits(spec, row))} of {len(spec.checks)}" if spec.checks else "-",
    )
    return f"| {' | '.join(cells)} |"


def hits(spec: OpSpec, row: Row) -> set[str]:
    """The operator's rules that the row's example breaks when their mutator has been at work."""
    found = set()
    for rule in spec.checks:
        case = spec.example(row)
        try:
            rule.mutate(case)
        except AssertionError:  # the mutator's own way to say that the rule isn't for this row
            continue
        found |= {rule.label for problem in check(case.graph()) if problem.label == rule.label}
    return found


def rules(spec: OpSpec, suite: Mapping[str, Any]) -> str:
    missed = {rule.label for rule in spec.checks} - {label for row in spec.rows for label in hits(spec, row)}
    official = [label for label in suite.get("labels", ()) if label.split(".")[0] == spec.name]
    return f"- {spec.name}: hit by no row: {listed(sorted(missed))}; by official tests: {listed(official)}"


def listed(labels: Sequence[str]) -> str:
    return ", ".join(f"`{label}`" for label in labels) or "none"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
