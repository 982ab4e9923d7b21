"""Writes docs/coverage.md: what our suite and the official one exercise, and the holes of the official one.

    tosa-engine comply --coverage -o ours
    tosa-engine comply --coverage --profile PRO-INT --extension ... -o ours-int
    tosa-engine comply --coverage-of SUITE --profile PRO-INT --extension ... -o official
    python docs/generate_coverage.py ours ours-int official

SUITE is what `conformance/run.py` keeps in its cache: tests of the selection `int`, with their data.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosa_engine.compliance.coverage import KINDS
from tosa_engine.compliance.coverage.corners import IMPOSSIBLE as NO_CORNER
from tosa_engine.compliance.coverage.impossible import rules
from tosa_engine.compliance.coverage.labels import IMPOSSIBLE as NO_LABEL
from tosa_engine.compliance.coverage.measure import within
from tosa_engine.compliance.coverage.tables import percent
from tosa_engine.spec import TABLE
from tosa_engine.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE = Path(__file__).with_name("coverage.md")
EXTENSIONS = ("INT16", "INT4", "DOUBLEROUND", "INEXACTROUND", "CONTROLFLOW", "VARIABLE", "DYNAMIC")
INTEGERS = Target.parse(["PRO-INT", *(f"EXT-{name}" for name in EXTENSIONS)], version="1.0")
INTRODUCTION = """# Coverage of our suite and of the official one

Made by `python docs/generate_coverage.py`: change that, not this page. What is counted is explained in
[comply.md](comply.md#coverage).

The official suite is the selection `int` of `conformance/run.py` (tosa-tools 2026.8.0, version 1.0.2: PRO-INT with
INT16, INT4, DOUBLEROUND, INEXACTROUND, CONTROLFLOW, VARIABLE, DYNAMIC), all of its tests. Beside it stand our suite for
the same profile and extensions, and our whole suite. The official floating-point selection isn't measured: making its
10,809 tests takes hours.

"""


def main(folders: Sequence[str]) -> int:
    if len(folders) != 3:
        print(__doc__)
        return 2
    ours, narrow, official = (json.loads((Path(f) / "coverage.json").read_text(encoding="utf-8")) for f in folders)
    PAGE.write_text(INTRODUCTION + "\n".join(_page(ours, narrow, official)) + "\n", encoding="utf-8")
    return 0


def _page(ours: Any, narrow: Any, official: Any) -> Iterator[str]:
    yield "| | our suite | ours, PRO-INT | official, PRO-INT |\n|---|---:|---:|---:|"
    yield f"| tests | {ours['tests']} | {narrow['tests']} | {official['tests']} |"
    for kind in KINDS:
        cells = " | ".join(percent(*one["kinds"][kind].values()) for one in (ours, narrow, official))
        yield f"| {kind} | {cells} |"
    yield "\nThe labels that ours lacks for PRO-INT need floats: CAST.R1, CLAMP.E2, and a second type of variables."
    yield "\n## Holes of our suite\n"
    for kind in KINDS:
        for operator, names in ours["holes"][kind].items():
            yield f"- {operator}: {'; '.join(names)}. It takes windows of 8.4 million elements, minutes for an oracle."
    yield "\n## Holes of the official suite, by operator\n"
    yield "What is whole is left blank.\n"
    yield f"| operator | {' | '.join(KINDS)} |\n|---|" + "---:|" * len(KINDS)
    for operator, shares in official["operators"].items():
        cells = ["" if seen == there else f"{seen} of {there}" for seen, there in (shares[kind] for kind in KINDS)]
        yield f"| {operator} | {' | '.join(cells)} |"
    yield from _rows_and_classes(official)
    yield from _labels(official)
    yield from _corners(official)
    yield from _impossible()


def _rows_and_classes(official: Any) -> Iterator[str]:
    yield "\n## Rows and classes that no official test has\n\n| operator | rows | classes |\n|---|---|---|"
    rows, classes = (official["holes"][kind] for kind in ("rows", "classes"))
    for operator in official["operators"]:
        if operator in rows or operator in classes:
            yield f"| {operator} | {', '.join(rows.get(operator, ()))} | {', '.join(classes.get(operator, ()))} |"


def _labels(official: Any) -> Iterator[str]:
    yield "\n## Labels that no official test has\n"
    yield "`L1 at` is a limit of level 8K reached, `L1 beyond` one more; `R1` a REQUIRE that is violated.\n"
    yield "| operator | labels |\n|---|---|"
    for operator, labels in official["holes"]["labels"].items():
        yield f"| {operator} | {', '.join(label.removeprefix(operator + '.') for label in labels)} |"


def _corners(official: Any) -> Iterator[str]:
    """By the name of a corner, in how many rows of operators it isn't met."""
    there: Counter[str] = Counter()
    for item, _ in within(INTEGERS):
        if item.kind == "corners":
            there[item.name.split(": ", 1)[1]] += 1
    missing: dict[str, list[str]] = defaultdict(list)
    for operator, names in official["holes"]["corners"].items():
        for name in names:
            row, corner = name.split(": ", 1)
            missing[corner].append(f"{operator} {row}")
    yield "\n## Corners that official tests miss\n\n| corner | not met in | of rows | such as |\n|---|---:|---:|---|"
    for corner, places in sorted(missing.items(), key=lambda one: -len(one[1])):
        yield f"| {corner} | {len(places)} | {there[corner]} | {', '.join(places[:3])} |"


def _impossible() -> Iterator[str]:
    yield "\n## What no test can have\n\n| operator | what | why |\n|---|---|---|"
    for label, why in NO_LABEL.items():
        yield f"| {label.split('.', maxsplit=1)[0]} | {label} | {why} |"
    for (operator, row, corner), why in NO_CORNER.items():
        yield f"| {operator} | {'' if row == '*' else row + ', '}{corner} | {why} |"
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for operator in TABLE:
        for rule in rules(operator):
            text = " with ".join(f"{name} {' or '.join(classes)}" for name, classes in rule.classes.items())
            found[text, rule.why].append(operator)
    for (text, why), operators in found.items():
        named = ", ".join(operators) if len(operators) < 6 else f"{len(operators)} operators"
        yield f"| {named} | {text} | {why} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
