"""A profile as a picture: the run from left to right, as wide as it takes long, its operators below, then its steps."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from ..text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    Facts = dict[str, Any]

WIDTH: Final = 1200
ROW: Final = 26
LETTER: Final = 8.2  # how wide one is at most, on average
LEAST: Final = 30  # that takes words


def picture(found: Facts) -> str:
    """One SVG. Steps are green where they are at their bound, red where they are far from it; each says what it is."""
    scale = WIDTH / max(found["run"], found["in_steps"], 1.0)
    head = f"{found['run'] / 1e3:,.1f} us, {found['accounted']:.1%} of it in {len(found['steps'])} steps"
    boxes = [_box(0, 0, WIDTH, head, head, "hsl(215 25% 88%)")]
    left = 0.0
    for name, steps in _neighbours(found):
        wide = sum(step["nanoseconds"] for step in steps)
        said = f"{name}: {wide / 1e3:,.1f} us, {wide / found['run']:.1%}"
        boxes.append(_box(left * scale, 1, wide * scale, name, said, "hsl(215 25% 80%)"))
        for step in steps:
            label = step["nodes"][0]
            boxes.append(_box(left * scale, 2, step["nanoseconds"] * scale, label, _says(step, found), _colour(step)))
            left += step["nanoseconds"]
    high = 3 * ROW
    return (
        f'<svg class="flame" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" height="{high}" role="img" '
        f'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="12">'
        f"<title>time of each step</title>{''.join(boxes)}</svg>"
    )


def _neighbours(found: Facts) -> Iterator[tuple[str, list[Facts]]]:
    """Steps in order, those of the same operators together where they follow each other."""
    for name, steps in groupby(found["steps"], key=lambda step: step["operators"]):
        yield name, list(steps)


def _says(step: Facts, found: Facts) -> str:
    rate = f", {step['macs'] / step['nanoseconds']:.1f} GMAC/s" if step["macs"] and step["nanoseconds"] else ""
    return (
        f"{step['number']}: {step['operators']} ({', '.join(step['nodes'])}), {step['nanoseconds'] / 1e3:,.1f} us, "
        f"{step['nanoseconds'] / found['run']:.1%}{rate}, {step['share']:.0%} of the bound"
    )


def _colour(step: Facts) -> str:
    return f"hsl({min(step['share'], 1.0) * 120:.0f} 60% 75%)"


def _box(left: float, row: int, wide: float, label: str, said: str, colour: str) -> str:
    room = int(wide / LETTER) - 1
    words = ""
    if wide >= LEAST:
        short = label if len(label) <= room else f"{label[: max(room - 1, 1)]}…"
        words = f'<text x="{left + 4:.1f}" y="{row * ROW + 17}">{escape(shown(short))}</text>'
    return (
        f'<g><title>{escape(shown(said))}</title><rect x="{left:.2f}" y="{row * ROW}" width="{max(wide, 0.1):.2f}" '
        f'height="{ROW - 1}" fill="{colour}" stroke="white" stroke-width="0.5"/>{words}</g>'
    )
