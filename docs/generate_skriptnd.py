"""Writes the table of operators in docs/skriptnd.md: what each is in the library, and its way to TOSA."""

from __future__ import annotations

import sys
from pathlib import Path

from tosa_engine.frontends.skriptnd.library import STANDARD, standard
from tosa_engine.frontends.skriptnd.operators import MAPPERS

PAGE = Path(__file__).parent / "skriptnd.md"
BEGIN, END = "<!-- operators -->\n", "<!-- end of operators -->\n"
REFUSED = ("algo.nonmax_suppress", "layout.nonzero", "rand.uniform", "rand.normal", "rand.bernoulli")


def way(module: str, name: str) -> tuple[str, str]:
    """What an operator is in the library, and how it becomes TOSA."""
    operator = standard(module).operator(name)
    assert operator is not None
    kind = "formula" if operator.lowerings else "composed" if operator.components else "neither"
    if operator.qualified in REFUSED:
        return kind, "refused"
    if operator.qualified in MAPPERS:
        return kind, "its own"
    return kind, {"formula": "its formula", "composed": "its parts"}[kind]


def table() -> str:
    lines = ["| operator | in the library | way to TOSA |\n", "|---|---|---|\n"]
    ways: dict[str, int] = {}
    for module in STANDARD:
        for name in standard(module).names:
            kind, found = way(module, name)
            ways[found] = ways.get(found, 0) + 1
            lines.append(f"| `{module}.{name}` | {kind} | {found} |\n")
    counts = ", ".join(f"{number} {name}" for name, number in ways.items())
    return f"{sum(ways.values())} operators: {counts}.\n\n{''.join(lines)}"


def page(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
