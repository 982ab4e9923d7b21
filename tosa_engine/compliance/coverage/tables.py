"""Coverage as text, Markdown, a part of a page, and data."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING, Any, Final

from .corners import IMPOSSIBLE as NO_CORNER
from .labels import IMPOSSIBLE as NO_LABEL
from .measure import KINDS, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .measure import Coverage

WIDTH: Final = 24
SHOWN: Final = 8  # holes of one kind of an operator in texts for people


def operators(coverage: Coverage) -> list[str]:
    return list(dict.fromkeys(item.operator for item, _ in within(coverage.target)))


def percent(seen: int, there: int) -> str:
    """Two numbers and a share, which is never rounded up to all."""
    if not there:
        return "-"
    return f"{seen} of {there} ({100 if seen == there else min(99.99, 100 * seen / there):.4g} %)"


def headline(coverage: Coverage) -> str:
    parts = [f"{kind} {percent(*coverage.share(kind))}" for kind in KINDS]
    unread = f"; {coverage.unread} couldn't be read" if coverage.unread else ""
    return f"{coverage.tests} tests{unread}: {', '.join(parts)}"


def as_text(coverage: Coverage) -> str:
    """A line for each operator; what is whole is left blank."""
    lines = ["".join(word.rjust(16) if i else word.ljust(WIDTH) for i, word in enumerate(("operator", *KINDS)))]
    for operator in operators(coverage):
        shares = [coverage.share(kind, operator) for kind in KINDS]
        cells = ["" if seen == there else f"{seen} of {there}" for seen, there in shares]
        lines.append(operator.ljust(WIDTH) + "".join(cell.rjust(16) for cell in cells))
    totals = ["{} of {}".format(*coverage.share(kind)) for kind in KINDS]
    lines.append("all".ljust(WIDTH) + "".join(total.rjust(16) for total in totals))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def as_markdown(coverage: Coverage) -> str:
    """The table, then the holes of each operator."""
    lines = [f"| operator | {' | '.join(KINDS)} |", "|---|" + "---:|" * len(KINDS)]
    for operator in operators(coverage):
        cells = [_cell(*coverage.share(kind, operator)) for kind in KINDS]
        lines.append(f"| {operator} | {' | '.join(cells)} |")
    lines.append(f"| **all** | {' | '.join(percent(*coverage.share(kind)) for kind in KINDS)} |")
    return "\n".join(lines) + "\n"


def _cell(seen: int, there: int) -> str:
    return "" if not there else "all" if seen == there else f"{seen} of {there}"


def holes(coverage: Coverage, kinds: Sequence[str] = KINDS) -> dict[str, dict[str, list[str]]]:
    """By kind and operator what wasn't seen."""
    found: dict[str, dict[str, list[str]]] = {}
    for kind in kinds:
        named: dict[str, list[str]] = defaultdict(list)
        for item in coverage.holes(kind):
            named[item.operator].append(item.name)
        found[kind] = dict(named)
    return found


def totals(coverage: Coverage) -> dict[str, dict[str, int]]:
    """By kind how many were seen, and how many there are."""
    return {kind: dict(zip(("seen", "there"), coverage.share(kind), strict=True)) for kind in KINDS}


def as_data(coverage: Coverage) -> dict[str, Any]:
    """For JSON."""
    return {
        "tests": coverage.tests,
        "unread": coverage.unread,
        "kinds": totals(coverage),
        "operators": {
            operator: {kind: coverage.share(kind, operator) for kind in KINDS} for operator in operators(coverage)
        },
        "holes": holes(coverage),
        "impossible": {**NO_LABEL, **{" ".join(key): why for key, why in NO_CORNER.items()}},
    }


def as_html(coverage: Coverage) -> str:
    """A part of a page: the table, and what wasn't seen behind each operator's line."""
    head = "".join(f"<th>{kind}</th>" for kind in KINDS)
    rows = []
    for operator in operators(coverage):
        cells = "".join(f"<td>{_cell(*coverage.share(kind, operator))}</td>" for kind in KINDS)
        rows.append(f"<tr><td>{operator}{_missing(coverage, operator)}</td>{cells}</tr>")
    totals = "".join(f"<td>{percent(*coverage.share(kind))}</td>" for kind in KINDS)
    rows.append(f"<tr><td>all</td>{totals}</tr>")
    return f"<table><tr><th>operator</th>{head}</tr>{''.join(rows)}</table>"


def _missing(coverage: Coverage, operator: str) -> str:
    found = [f"{kind}: {item.name}" for kind in KINDS for item in coverage.holes(kind, operator)[:SHOWN]]
    if not found:
        return ""
    listed = "<br>".join(escape(one) for one in found)
    return f"<details><summary>not seen</summary>{listed}</details>"
