"""What `compare` prints of several samples: text for people, or JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..text import counted, joined
from .output import (
    causes,
    compared_equal,
    explanation,
    finite,
    first_difference,
    heading,
    largest,
    missing,
    missing_lines,
    sides,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .samples_comparison import SamplesComparison, Tally


def text(found: SamplesComparison) -> str:
    return joined([*overview(found), *closing(found)])


def overview(found: SamplesComparison) -> list[str]:
    """What is known before causes are looked for."""
    return [*heading(found.model, found.beyond), counted(found.samples, "sample"), "", *_table(found.tallies)]


def closing(found: SamplesComparison) -> list[str]:
    """The first difference of the worst sample, its causes, and the verdict."""
    lines = list[str]()
    if found.example is not None:
        lines += ["", f"sample {found.at}:", *first_difference(found.example), *causes(found.example)]
    return [*lines, "", *_verdict(found).split("\n")]


def _table(tallies: Sequence[Tally]) -> list[str]:
    """SQNR and cosine of all samples together, `different` per sample; then the worst sample."""
    width = min(max((len(tally.here) for tally in tallies), default=6), 40)
    columns = f"{'elements':>9}  {'different':>9}  {'largest':>10}  {'SQNR':>8}  {'cosine':>8}  worst sample"
    lines = [f"{'tensor':{width}}  {columns}"]
    for tally in tallies:
        agreement = tally.agreement
        lsb = f"{agreement.largest:.2f} LSB" if agreement and tally.relation == "real" else largest(tally)
        sqnr = f"{agreement.sqnr:.1f} dB" if agreement is not None else ""
        cosine = f"{agreement.cosine:.6f}" if agreement is not None else ""
        mean = "" if tally.mean_different is None else f"{tally.mean_different:.4g}"
        line = (
            f"{tally.here:{width}}  {tally.elements:9}  {mean:>9}  {lsb:>10}  {sqnr:>8}  {cosine:>8}  {_worst(tally)}"
        )
        note = "; ".join(filter(None, ["input" if tally.worst_row.echo else "", tally.note]))
        lines.append(f"{line.rstrip()}{'  ' + note if note else ''}")
    return lines


def _worst(tally: Tally) -> str:
    """Nothing where all samples are alike: equal, or not compared."""
    row = tally.worst_row
    if row.agreement is not None and math.isfinite(row.agreement.sqnr):
        return f"{tally.worst}: {row.agreement.sqnr:.1f} dB"
    return f"{tally.worst}: {row.different} different" if row.different else ""


def _verdict(found: SamplesComparison) -> str:
    tallies = [tally for tally in found.tallies if not tally.worst_row.echo or tally.differing]
    exact = [tally for tally in tallies if tally.relation in ("exact", "floats", "form")]
    real = [tally for tally in tallies if tally.relation == "real" and tally.worst_row.agreement is not None]
    lines = missing_lines(found.missing)
    if found.different:
        most = max(tally.differing for tally in found.different)
        all_of, samples = counted(len(exact), "tensor"), counted(found.samples, "sample")
        lines.append(f"DIFFERENT: {len(found.different)} of {all_of}, in up to {most} of {samples}")
    elif exact:
        where = f" in {counted(found.samples, 'sample')}"
        equal = f"EQUAL: {counted(len(exact), 'tensor')}{where}"
        lines.append(compared_equal(len(exact), where) if lines else equal)
    if real:
        worst = min(real, key=lambda t: t.worst_row.agreement.sqnr if t.worst_row.agreement else math.inf)
        assert worst.worst_row.agreement is not None
        least = f"{worst.worst_row.agreement.sqnr:.1f} dB, of '{worst.here}' in sample {worst.worst}"
        lines.append(f"integers beside floats: least SQNR {least}")
    return joined(lines) if exact or real else joined([*lines, "nothing could be compared"])


def to_json(found: SamplesComparison) -> dict[str, Any]:
    first = found.different[0].here if found.different else None
    reason = explanation(found.example) if found.example is not None else {}
    return {
        **sides(found.model, found.beyond),
        "samples": found.samples,
        "tensors": [_tally(tally) for tally in found.tallies],
        "first": first,
        "sample": found.at,
        **missing(found.missing),
        **reason,
    }


def _tally(tally: Tally) -> dict[str, Any]:
    row = tally.worst_row
    entry: dict[str, Any] = {
        "here": tally.here, "there": tally.there, "relation": tally.relation, "elements": tally.elements,
        "input": row.echo,
    }  # fmt: skip
    worst: dict[str, Any] = {"sample": tally.worst}
    if tally.different is not None:
        entry |= {"different": tally.different, "mean_different": tally.mean_different}
        entry |= {"differing_samples": tally.differing, "lsb": {str(d): n for d, n in tally.lsb.items()}}
        worst |= {"different": row.different, "index": list(row.index)}
    if tally.agreement is not None and row.agreement is not None:
        entry |= {"sqnr": finite(tally.agreement.sqnr), "cosine": tally.agreement.cosine}
        worst |= {"sqnr": finite(row.agreement.sqnr), "cosine": row.agreement.cosine}
        if tally.relation == "real":
            entry["largest_lsb"], worst["largest_lsb"] = tally.agreement.largest, row.agreement.largest
    return entry | {"worst": worst}
