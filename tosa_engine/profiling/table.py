"""A profile as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..text import joined, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    Facts = dict[str, Any]

RATES = f"{'us':>10} {'share':>7} {'GMAC/s':>8} {'GB/s':>7} {'bound':>7}"
WIDEST = 60


def table(found: Facts, *, every: bool = False) -> str:
    """What a run takes, by operator, and by step: those that lose most to their bounds, or `every` one in order."""
    rates = ", ".join(f"{rate:.0f} GMAC/s of {pair}" for pair, rate in found["machine"]["products"].items())
    steps = found["steps"] if every else [_numbered(found, number) for number in found["furthest"]]
    title = "all steps" if every else f"the {len(steps)} steps that lose most to their bounds"
    return joined([
        f"a run          {_time(found['run'])} on one thread (the fastest quarter of {found['runs']} runs)",
        f"in its steps   {_time(found['in_steps'])}, {found['accounted']:.1%}; around them {_time(found['around'])}",
        f"the bound      {_time(found['bound'])}: {rates or 'no products'}, {found['machine']['bytes']:.0f} GB/s",
        "",
        *_lines("by operator", "steps", [(one["operators"], one["steps"], one) for one in found["operators"]], found),
        "",
        *_lines(title, "step", [(_name(one), one["number"], one) for one in steps], found),
    ])  # fmt: skip


def _numbered(found: Facts, number: int) -> Facts:
    step: Facts = next(step for step in found["steps"] if step["number"] == number)
    return step


def _name(step: Facts) -> str:
    return f"{step['operators']}  {', '.join(shown(node, WIDEST) for node in step['nodes'][:2])}"


def _lines(title: str, count: str, rows: Sequence[tuple[str, int, Facts]], found: Facts) -> list[str]:
    return [
        f"{count:>5} {RATES}  {title}",
        *(
            f"{number:5} {one['nanoseconds'] / 1e3:10,.1f} {one['nanoseconds'] / found['run']:7.1%} "
            f"{_rate(one['macs'], one)} {_rate(one['bytes'], one, 7)} {one['share']:7.0%}  {name}"
            for name, number, one in rows
        ),
    ]


def _rate(count: int, one: Facts, width: int = 8) -> str:
    return f"{count / one['nanoseconds']:{width}.1f}" if count and one["nanoseconds"] else " " * width


def _time(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.3f} ms" if nanoseconds >= 1e6 else f"{nanoseconds / 1e3:.1f} us"
