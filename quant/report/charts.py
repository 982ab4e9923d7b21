"""Small pictures as inline SVG. They scale without text inside; what needs words stands in HTML beside them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.types import Array

    from .measure import Measurement
    from .measured import Measured
    from .outputs import SampleError

BINS: Final = 48
WIDTH, HEIGHT = 1000, 240
MOST_POINTS: Final = 500


def histogram(layer: Measured, height: int = 36) -> str:
    """The floats of a tensor, heights by logarithm; behind them the chosen range, beyond it bars of another colour."""
    (low, high), counts = layer.range, bars(layer)
    left, right = extent(layer)
    span = (right - left) or 1.0
    top = math.log1p(float(counts.max(initial=0)))
    shapes = []
    for i, count in enumerate(counts):
        if count:
            tall = max(math.log1p(float(count)) / top * height, 1.0)
            middle = left + (i + 0.5) / BINS * span
            kind = "bar" if low <= middle <= high else "bar out"
            shapes.append(f'<rect class="{kind}" x="{i}" y="{height - tall:.1f}" width="0.9" height="{tall:.1f}"/>')
    a, b = ((bound - left) / span * BINS for bound in (low, high))
    band = f'<rect class="band" x="{a:.2f}" y="0" width="{max(b - a, 0.2):.2f}" height="{height}"/>'
    return _svg(BINS, height, [band, *shapes], "histogram")


def bars(layer: Measured) -> Array:
    """How many values fall into each of `BINS` equal parts of `extent`."""
    values, counts = layer.seen.histogram()
    left, right = extent(layer)
    place = np.clip((values - left) / ((right - left) or 1.0) * BINS, 0, BINS - 1).astype(np.int64)
    return np.bincount(place, counts, BINS)


def extent(layer: Measured) -> tuple[float, float]:
    """What the picture shows: the chosen range and all that was seen."""
    low, high = layer.range
    return min(low, layer.seen.low), max(high, layer.seen.high)


def channels(peaks: Sequence[float]) -> str:
    """The largest weight of each output channel; at most 256 bars, each the largest of its neighbours then."""
    step = -(-len(peaks) // 256)
    shown = [max(peaks[i : i + step]) for i in range(0, len(peaks), step)]
    top = max(shown, default=0.0) or 1.0
    shapes = [
        f'<rect class="bar" x="{i}" y="{36 - 36 * peak / top:.1f}" width="0.9" height="{36 * peak / top:.1f}"/>'
        for i, peak in enumerate(shown)
    ]
    return _svg(max(len(shown), 1), 36, shapes, "weights")


def sqnr_by_layer(layers: Sequence[Measured], top: float, beside: Sequence[float | None] = ()) -> str:
    """SQNR of all layers from the first to the last, 0 dB at the bottom, `top` at the top: alone and cumulative, and
    cumulative of another model (None: it has no such layer).
    """
    values: dict[str, Sequence[float | None]] = {
        "beside": beside,
        "cumulative": [layer.cumulative.sqnr for layer in layers],
        "local": [layer.local.sqnr for layer in layers],
    }
    return _svg(WIDTH, HEIGHT, [*_grid(top), *(_line(kind, v, top) for kind, v in values.items() if v)], "along")


def aligned(found: Measurement) -> list[float | None]:
    """The cumulative SQNR of the model beside, layer by layer of this one."""
    if found.beside is None:
        return []
    others = {layer.name: layer.cumulative.sqnr for layer in found.beside.layers}
    return [others.get(layer.name) for layer in found.layers]


def sqnr_by_sample(each: Sequence[SampleError], top: float) -> str:
    """As `sqnr_by_layer`, of samples; where there are many, the worst of some neighbours."""
    step = -(-len(each) // MOST_POINTS)
    values = [min(sample.sqnr for sample in each[i : i + step]) for i in range(0, len(each), step)]
    return _svg(WIDTH, HEIGHT, [*_grid(top), _line("cumulative", values, top)], "along low")


def _grid(top: float) -> list[str]:
    return [
        f'<line class="grid" x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        for y in (HEIGHT - db / top * HEIGHT for db in range(0, int(top) + 1, 20))
    ]


def _line(kind: str, values: Sequence[float | None], top: float) -> str:
    points = [
        f"{(i + 0.5) / len(values) * WIDTH:.1f},{HEIGHT - min(max(value, 0.0), top) / top * HEIGHT:.1f}"
        for i, value in enumerate(values)
        if value is not None
    ]
    if len(points) == 1:  # a point has no line
        points.append(points[0].replace(f"{WIDTH / 2:.1f}", f"{WIDTH / 2 + 1:.1f}"))
    return f'<polyline class="{kind}" points="{" ".join(points)}"/>'


def top_of(layers: Sequence[Measured]) -> float:
    """The next multiple of 20 dB above every layer, 60 at least and 120 at most."""
    most = max((v for x in layers for v in (x.local.sqnr, x.cumulative.sqnr) if math.isfinite(v)), default=0.0)
    return _top(most)


def top_of_samples(each: Sequence[SampleError]) -> float:
    return _top(max((sample.sqnr for sample in each if math.isfinite(sample.sqnr)), default=0.0))


def _top(most: float) -> float:
    return float(min(max(-(-most // 20) * 20, 60), 120))


def _svg(width: int, height: int, shapes: Sequence[str], kind: str) -> str:
    box = f'viewBox="0 0 {width} {height}" preserveAspectRatio="none"'
    return f'<svg class="{kind}" {box} aria-hidden="true">{"".join(shapes)}</svg>'
