"""The findings as a table and as plain data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..text import joined
from .findings import DEPENDS, PROVED, VIOLATED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Array
    from .analyse import Ranges
    from .findings import Finding

COLUMNS = ("node", "label", "verdict", "bound", "limit", "margin", "channel")
MOST_WIDTH = 48


class Note(NamedTuple):
    """What was found out about a REQUIRE that isn't proved: in words, and the inputs that violate it, if some do."""

    text: str
    inputs: Mapping[str, Array] | None = None


def text(ranges: Ranges, notes: Mapping[tuple[str, str], Note]) -> str:
    """One line per REQUIRE, for the channel that has the least margin; then the counts. `notes` say more, by node and
    label.
    """
    rows = [COLUMNS, *(_row(f) for f in ranges.findings)]
    widths = [min(MOST_WIDTH, max(len(row[i]) for row in rows)) for i in range(len(COLUMNS))]
    lines = [_line(rows[0], widths)]
    for finding, row in zip(ranges.findings, rows[1:], strict=True):
        lines.append(_line(row, widths))
        note = notes.get((finding.node, finding.label))
        lines += [f"    {note.text}"] if note is not None else []
    return joined([*lines, summary(ranges)])


def summary(ranges: Ranges) -> str:
    return (
        f"REQUIREs: {len(ranges.findings)}; proved for all inputs: {ranges.count(PROVED)}; "
        f"depends on the input: {ranges.count(DEPENDS)}; violated for all inputs: {ranges.count(VIOLATED)}"
    )


def data(ranges: Ranges, notes: Mapping[tuple[str, str], Note]) -> dict[str, Any]:
    """Everything, per channel, for JSON; a margin without a bound is null, as are a note and a witness that aren't."""
    return {
        "findings": [_finding(f, notes.get((f.node, f.label), NO_NOTE)) for f in ranges.findings],
        "counts": {v: ranges.count(v) for v in (PROVED, DEPENDS, VIOLATED)},
    }


NO_NOTE: Final = Note("")


def _finding(finding: Finding, note: Note) -> dict[str, Any]:
    return {
        "node": finding.node,
        "tensor": finding.tensor,
        "label": finding.label,
        "text": finding.text,
        "verdict": finding.verdict,
        "low": finding.low.tolist(),
        "high": finding.high.tolist(),
        "least": finding.least.tolist(),
        "most": finding.most.tolist(),
        "margin_bits": [m if math.isfinite(m) else None for m in finding.margins.tolist()],
        "note": note.text or None,
        "witness": None if note.inputs is None else {name: _array(array) for name, array in note.inputs.items()},
    }


def _array(array: Array) -> dict[str, Any]:
    """An array for JSON: `values` are nested lists, or one value that all elements have."""
    same = bool((array == array.flat[0]).all())
    values = array.flat[0].item() if same else array.tolist()
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": values}


def _row(finding: Finding) -> tuple[str, ...]:
    if finding.low.size == 0:
        return finding.node, finding.label, finding.verdict, "", "", "", ""
    channel, margin = finding.worst
    bound = f"{finding.low[channel]} .. {finding.high[channel]}"
    limit = f"{finding.least[channel]} .. {finding.most[channel]}"
    shown = f"{margin:.2f}" if math.isfinite(margin) else "-"
    return finding.node, finding.label, finding.verdict, bound, limit, shown, str(channel)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell if len(cell) <= width else f"...{cell[3 - width :]}" for cell, width in zip(row, widths, strict=True)]
    padded = [c.rjust(w) if i >= 5 else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
    return "  ".join(padded).rstrip()
