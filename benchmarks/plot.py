"""The plot of compare.py: for each network the time of every runtime at batch 1, on a logarithmic axis, as SVG."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from runtimes import DIFFERENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LEFT, RIGHT, TOP, LINE, BOTTOM = 262, 24, 92, 17, 62
WIDTH = 900
PALE, DARK = "#d9d9d9", "#222222"


def _diamond(x: float, y: float, r: float) -> str:
    return f"M{x - 1.3 * r:.1f} {y:.1f}L{x:.1f} {y - 1.3 * r:.1f}L{x + 1.3 * r:.1f} {y:.1f}L{x:.1f} {y + 1.3 * r:.1f}Z"


def _circle(x: float, y: float, r: float) -> str:
    return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"


def _square(x: float, y: float, r: float) -> str:
    return f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}Z"


def _up(x: float, y: float, r: float) -> str:
    return f"M{x:.1f} {y - 1.2 * r:.1f}L{x + 1.2 * r:.1f} {y + r:.1f}H{x - 1.2 * r:.1f}Z"


def _down(x: float, y: float, r: float) -> str:
    return f"M{x:.1f} {y + 1.2 * r:.1f}L{x + 1.2 * r:.1f} {y - r:.1f}H{x - 1.2 * r:.1f}Z"


def _bar(x: float, y: float, r: float) -> str:
    return f"M{x - 0.6 * r:.1f} {y - 1.2 * r:.1f}h{1.2 * r:.1f}v{2.4 * r:.1f}h{-1.2 * r:.1f}Z"


Shape = tuple[str, "Callable[[float, float, float], str]"]
# colours that stay apart for colour-blind readers
SHAPES: dict[str, Shape] = {
    "tosa_engine": ("#000000", _diamond),
    "OpenVINO": ("#0072b2", _up),
    "LiteRT": ("#d55e00", _circle),
    "ONNX Runtime": ("#009e73", _square),
    "IREE": ("#cc79a7", _down),
    "tosa_reference_model": ("#8a8a8a", _bar),
}


def mark(runtime: str, x: float, y: float, *, filled: bool, title: str = "") -> str:
    colour, shape = SHAPES[runtime]
    fill = colour if filled else "#ffffff"
    inside = f"<title>{escape(title)}</title>" if title else ""
    outline = f'stroke="{colour}" stroke-width="1.6" fill-opacity="0.85"'
    return f'<path d="{shape(x, y, 4.6)}" fill="{fill}" {outline}>{inside}</path>'


def words(x: float, y: float, what: str, *, anchor: str = "start", size: int = 12, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{weight}>{escape(what)}</text>'


def _shown(network: dict[str, Any], threads: int) -> list[dict[str, Any]]:
    """What is plotted of a network: ours last, to be on top."""
    found = [
        r
        for r in network["results"]
        if r["batch"] == 1 and r["threads"] == threads and r["runtime"] in SHAPES and "best_seconds" in r
    ]
    return sorted(found, key=lambda r: r["runtime"] == "tosa_engine")


def draw(record: dict[str, Any]) -> str:
    """The plot of a record, as the text of an SVG file."""
    networks = sorted(record["networks"], key=lambda n: -n["macs"])
    counts = sorted({r["threads"] for n in networks for r in n["results"]})
    times = [1e3 * r["median_seconds"] for n in networks for t in counts for r in _shown(n, t)]
    low, high = math.log10(min(times)) - 0.15, math.log10(max(times)) + 0.15
    span = (WIDTH - LEFT - RIGHT) / (high - low)

    def place(milliseconds: float) -> float:
        return LEFT + span * (math.log10(milliseconds) - low)

    height = TOP + sum(LINE * len(counts) + 10 for _ in networks) + BOTTOM
    body = [*_head(record, counts), *_axis(low, high, place, height)]
    y = TOP
    for network in networks:
        body.append(words(LEFT - 62, y + LINE * len(counts) / 2 + 4, network["name"], anchor="end"))
        for threads in counts:
            y += LINE
            middle = y - LINE / 2
            body.append(words(LEFT - 8, middle + 4, f"{threads} thread{'s' * (threads > 1)}", anchor="end", size=10))
            for result in _shown(network, threads):
                milliseconds = 1e3 * result["median_seconds"]
                title = f"{network['name']}, {result['runtime']}, {threads} threads: {milliseconds:.3f} ms"
                filled = threads == counts[0]
                body.append(mark(result["runtime"], place(milliseconds), middle, filled=filled, title=title))
        y += 10
        body.append(f'<path d="M12 {y - 5}H{WIDTH - RIGHT}" stroke="{PALE}"/>')
    body += _foot(record, height)
    style = f'font-family="system-ui, Helvetica, Arial, sans-serif" fill="{DARK}"'
    box = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    background = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {box} {style}>', background, *body, "</svg>", ""])


def _head(record: dict[str, Any], counts: list[int]) -> Iterator[str]:
    machine = record["environment"]
    yield words(12, 24, "Time of one inference, batch 1 (median; left is faster)", size=15, bold=True)
    yield words(12, 43, f"{machine['processor']}, {machine['cores']} cores; {machine['date']}", size=11)
    x = 12.0
    seen = {r["runtime"] for n in record["networks"] for r in n["results"] if "best_seconds" in r}
    for runtime in (name for name in SHAPES if name in seen):
        yield mark(runtime, x + 6, 64, filled=True)
        label = f"{runtime} {record['versions'].get(runtime, '')}".strip()
        yield words(x + 17, 68, label, size=11)
        x += 30 + 6.1 * len(label)
    if len(counts) > 1:
        yield words(WIDTH - RIGHT, 24, _threads(counts), anchor="end", size=11)


def _threads(counts: list[int]) -> str:
    return f"filled: {counts[0]} thread; hollow: {', '.join(map(str, counts[1:]))} threads"


def _axis(low: float, high: float, place: Callable[[float], float], height: int) -> Iterator[str]:
    base = height - BOTTOM + 4
    for decade in range(math.floor(low), math.ceil(high)):
        for step in range(1, 10):
            value = step * 10.0**decade
            if low <= math.log10(value) <= high:
                line = f"M{place(value):.1f} {TOP - 6}V{base}"
                yield f'<path d="{line}" stroke="{"#b0b0b0" if step == 1 else "#eeeeee"}"/>'
                if step == 1:
                    yield words(place(value), base + 16, f"{value:g} ms", anchor="middle", size=11)


def _foot(record: dict[str, Any], height: int) -> Iterator[str]:
    starts = [n["reference_start_seconds"] for n in record["networks"] if n["reference_start_seconds"]]
    notes = [f"tosa_reference_model: a process per run, {1e3 * min(starts):.0f} ms of it its start."] if starts else []
    other = sorted({(r["runtime"], n["name"]) for n in record["networks"] for r in n["results"] if differs(r)})
    for runtime in dict.fromkeys(name for name, _ in other):
        count = sum(name == runtime for name, _ in other)
        notes.append(f"{runtime} isn't shown for {count} of {len(record['networks'])} networks: other bytes.")
    yield words(12, height - 12, " ".join(notes), size=11)


def differs(result: dict[str, Any]) -> bool:
    return bool(result.get("left_out") == DIFFERENT)
