"""What `compare` prints of one sample: text for people, or JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from ..text import counted, joined
from .rows import TAIL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .comparison import Comparison
    from .exact import ExactValue
    from .explanation import Explanation
    from .requirement import Missing
    from .rows import Row
    from .samples_comparison import Tally

SHOWN_NAMES: Final = 5


def text(found: Comparison) -> str:
    return joined([*overview(found), *closing(found)])


def overview(found: Comparison) -> list[str]:
    """What is known before causes are looked for."""
    lines = [*heading(found, found.beyond), "", *_table(found.rows)]
    return [*lines, "", *first_difference(found)] if found.first is not None else lines


def closing(found: Comparison) -> list[str]:
    """The causes and the verdict."""
    return [*causes(found), "", *_verdict(found).split("\n")]


def heading(found: Comparison, beyond: Mapping[str, int]) -> list[str]:
    """The sides, what is assumed of them, and which tensors were lined up."""
    lines = [f"here   {found.here.label} ({found.here.kind})", f"there  {found.there.label} ({found.there.kind})"]
    lines += _assumed(found, beyond)
    lineup = found.lineup
    lines.append(
        f"{counted(len(lineup.pairs), 'tensor')} lined up ({', '.join(f'{n} by {h}' for h, n in lineup.how.items())})"
    )
    for what, alone in (("here", lineup.alone_here), ("there", lineup.alone_there)):
        if alone:
            more = f" and {len(alone) - SHOWN_NAMES} more" if len(alone) > SHOWN_NAMES else ""
            lines.append(f"only {what}: {', '.join(alone[:SHOWN_NAMES])}{more}")
    return lines


def _assumed(found: Comparison, beyond: Mapping[str, int]) -> list[str]:
    if found.assumed is None:
        return []
    listed = [f"'{node}' ({count})" for node, count in beyond.items()]
    more = f" and {len(listed) - SHOWN_NAMES} more nodes" if len(listed) > SHOWN_NAMES else ""
    where = f"; elements that don't fit: {', '.join(listed[:SHOWN_NAMES])}{more}" if listed else "; all values fit"
    return [f"assumed: {found.assumed}{where}"]


def unknown_scales(rows: Iterable[Row | Tally]) -> list[str]:
    """What to warn of: integers whose scale is unknown."""
    unknown = sum(row.relation == "unknown" for row in rows)
    of = "1 tensor is integers" if unknown == 1 else f"{unknown} tensors are integers"
    return [f"{of} on one side and the scale is unknown, so nothing is said of it"] if unknown else []


def missing_lines(missing: Sequence[Missing]) -> list[str]:
    """The verdict on tensors that had to be compared."""
    lines = [f"NOT COMPARED: {one}" for one in missing[:SHOWN_NAMES]]
    return [*lines, f"NOT COMPARED: {len(missing) - SHOWN_NAMES} more"] if len(missing) > SHOWN_NAMES else lines


def _table(rows: Sequence[Row]) -> list[str]:
    width = min(max((len(row.here) for row in rows), default=6), 40)
    lines = [f"{'tensor':{width}}  {'elements':>9}  {'different':>9}  {'largest':>10}  {'SQNR':>8}  {'cosine':>8}"]
    for row in rows:
        agreement = row.agreement
        lsb = f"{agreement.largest:.2f} LSB" if agreement and row.relation == "real" else largest(row)
        sqnr = f"{agreement.sqnr:.1f} dB" if agreement is not None else ""
        cosine = f"{agreement.cosine:.6f}" if agreement is not None else ""
        different = "" if row.different is None else str(row.different)
        line = f"{row.here:{width}}  {row.elements:9}  {different:>9}  {lsb:>10}  {sqnr:>8}  {cosine:>8}"
        note = "; ".join(filter(None, ["input" if row.echo else "", row.note]))
        lines.append(f"{line.rstrip()}{'  ' + note if note else ''}")
    return lines


def largest(row: Row | Tally) -> str:
    """By how many LSB the elements of integers differ at most; "" for floats."""
    if not row.lsb:
        return "" if row.relation != "exact" else "0 LSB"
    most = max(abs(d) for d in row.lsb)
    return f"> {TAIL} LSB" if most > TAIL else f"{most} LSB"


def first_difference(found: Comparison) -> list[str]:
    row = found.first
    assert row is not None
    if row.relation == "form":
        return [f"first difference: '{row.here}' is {row.note}"]
    here, there = row.values
    where = f"'{row.here}' at {list(row.index)}: {here} here, {there} there"
    lines = [f"first difference: {where}; {row.different} of {row.elements} elements differ"]
    if row.where:
        lines.append(f"where: {row.where}")
    if row.echo:
        lines.append("this is an input: the sides are of other samples, or one of them reads it in another way")
    if row.lsb:
        shown = (f"{_by(d)}: {n}" for d, n in sorted(row.lsb.items()))
        lines.append(f"LSB, there - here: {', '.join(shown)}")
    return lines


def _by(lsb: int) -> str:
    return f"beyond {TAIL if lsb > 0 else -TAIL:+}" if abs(lsb) > TAIL else format(lsb, "+")


def causes(found: Comparison) -> list[str]:
    """Of the first difference, and of others that aren't passed on, as far as they were looked for."""
    lines = list[str]()
    for i, one in enumerate(found.explanations):
        if i:
            lines += ["", *_own_fault(one.row)]
        lines += _explained(one)
    lines += [
        f"'{row.here}' differs, but what reads it agrees: this tensor is wrong in the dump alone"
        for row in found.rows if row.dump_fault
    ]  # fmt: skip
    passed = sum(row.local == 0 for row in found.different)
    if passed:
        are = "is right for what it was" if passed == 1 else "are right for what they were"
        lines.append(f"{passed} of the tensors that differ {are} computed from")
    return lines


def _own_fault(row: Row) -> list[str]:
    which = "1 element that isn't" if row.local == 1 else f"{row.local} elements that aren't"
    text = f"another difference: '{row.here}' has {which} what the other side's tensors give"
    return [text, f"where: {row.where}"] if row.where else [text]


def _explained(one: Explanation) -> list[str]:
    lines = list[str]()
    if one.exact_value is not None and set(one.row.lsb) <= {-1, 1}:
        lines += _exact_value(one.exact_value, one.row)
    lines += [f"cause: {cause}" for cause in one.causes]
    if one.stopped:
        lines.append(f"the search for causes was stopped {one.stopped}, with {one.tried} tried (--causes-for)")
    elif not one.causes:
        lines.append(f"cause: none of the known ones ({one.tried} were tried)")
    return lines


def _exact_value(found: ExactValue, row: Row) -> list[str]:
    here, there = row.values
    lines = [f"exactly: {found} (RESCALE '{found.node}')"]
    for side, value in (("here", here), ("there", there)):
        names = [r.rule for r in found.rules if r.result == value]
        lines.append(f"  {value} ({side}) by: {'; '.join(names) or 'no rule that we know'}")
    low, high = found.inexact
    lines.append(f"  INEXACT_ROUND allows {low if low == high else f'{low} .. {high}'} before the clip")
    lines += [
        f"  of the {found.differing} differing elements {r.there} are there by {r.rule}"
        for r in found.rules if r.there
    ]  # fmt: skip
    return lines


def _verdict(found: Comparison) -> str:
    rows = [row for row in found.rows if not row.echo or row.different or row.relation == "form"]
    exact = [row for row in rows if row.relation in ("exact", "floats", "form")]
    real = [row for row in rows if row.relation == "real" and row.agreement is not None]
    lines = missing_lines(found.missing)
    if exact:
        different = len(found.different)
        all_of = counted(len(exact), "tensor")
        equal = compared_equal(len(exact)) if lines else f"EQUAL: {all_of}"
        lines.append(f"DIFFERENT: {different} of {all_of}" if different else equal)
    if real:
        worst = min(real, key=lambda row: row.agreement.sqnr if row.agreement else math.inf)
        assert worst.agreement is not None
        lines.append(f"integers beside floats: least SQNR {worst.agreement.sqnr:.1f} dB, of '{worst.here}'")
    return joined(lines) if exact or real else joined([*lines, "nothing could be compared"])


def compared_equal(number: int, where: str = "") -> str:
    """What is said of equal tensors beside others that weren't compared."""
    return f"{counted(number, 'tensor')}{where} that {'was compared is' if number == 1 else 'were compared are'} equal"


def to_json(found: Comparison) -> dict[str, Any]:
    first = found.first.here if found.first is not None else None
    rows = [_row(row) for row in found.rows]
    return {
        **sides(found, found.beyond),
        "tensors": rows,
        "first": first,
        **missing(found.missing),
        **explanation(found),
    }


def sides(found: Comparison, beyond: Mapping[str, int]) -> dict[str, Any]:
    return {
        "here": {"path": found.here.label, "kind": found.here.kind},
        "there": {"path": found.there.label, "kind": found.there.kind},
        "assumed": None if found.assumed is None else str(found.assumed),
        "beyond": dict(beyond),
        "only_here": found.lineup.alone_here,
        "only_there": found.lineup.alone_there,
    }


def missing(found: Sequence[Missing]) -> dict[str, Any]:
    """What had to be compared and wasn't."""
    return {"not_compared": [{"side": m.side, "tensor": m.name, "output": m.is_output, "why": m.why} for m in found]}


def explanation(found: Comparison) -> dict[str, Any]:
    """What may have caused the first difference, and the `others` that aren't passed on."""
    if not found.explanations:
        return {"exact": None, "causes": [], "causes_tried": None, "causes_stopped": None, "others": []}
    first, *others = found.explanations
    told = [{"here": one.row.here, "there": one.row.there, **_explanation(one)} for one in others]
    return {**_explanation(first), "others": told}


def _explanation(one: Explanation) -> dict[str, Any]:
    value = one.exact_value
    return {
        "exact": None if value is None else {
            "index": list(value.index), "value": str(value.exact), "tie": value.is_tie,
            "rules": {r.rule: {"result": r.result, "here": r.here, "there": r.there} for r in value.rules},
        },
        "causes": [
            {"label": c.label, "text": c.text, "operator": c.operator, "node": c.node, "reproduced": c.reproduced,
             "size": c.size, "complete": c.complete, "explained": c.share} for c in one.causes
        ],
        "causes_tried": one.tried,
        "causes_stopped": one.stopped or None,
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "here": row.here, "there": row.there, "relation": row.relation, "elements": row.elements, "input": row.echo,
    }  # fmt: skip
    if row.different is not None:
        entry |= {"different": row.different, "index": list(row.index), "lsb": {str(d): n for d, n in row.lsb.items()}}
        entry |= {"where": row.where or None, "local": row.local, "dump_fault": row.dump_fault}
    if row.agreement is not None:
        entry |= {"sqnr": finite(row.agreement.sqnr), "cosine": row.agreement.cosine}
        entry |= {"largest_lsb": row.agreement.largest} if row.relation == "real" else {}
    return entry


def finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
