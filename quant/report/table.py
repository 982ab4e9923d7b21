"""The table of layers: a row for each tensor, which the page's script sorts and filters.

A cell has a value to sort by (`data-v`) where its text isn't one; a row says its operator.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from ..calibration.lints import MOST_SATURATED
from . import charts
from .advice import decibels, signed, unevenness
from .markup import anchor, class_of, counted, link, text

if TYPE_CHECKING:
    from .measure import Measurement
    from .measured import Measured


class Cell(NamedTuple):
    """`value`: what the column is sorted by; None: always last."""

    html: str
    value: float | str | None
    kind: str = ""


BESIDE: Final = ("beside dB", "difference dB")


def table(found: Measurement) -> str:
    others = {layer.name: layer for layer in found.beside.layers} if found.beside is not None else {}
    rows = [(layer, _cells(layer, found, others.get(layer.name))) for layer in found.layers]
    heads = "".join(
        f'<th scope="col"{class_of(cell.kind.replace("warn", ""))}><button type="button">{text(label)}</button></th>'
        for label, cell in rows[0][1].items()
    )
    body = "\n".join(_row(layer, cells) for layer, cells in rows)
    return (
        f'<section><h2>Layers</h2>{_controls(found)}<div class="table" tabindex="0"><table><thead><tr>{heads}</tr>'
        f"</thead>\n<tbody>\n{body}\n</tbody></table></div></section>"
    )


def _controls(found: Measurement) -> str:
    """Without the script there is nothing to press, and every row is there."""
    counts = Counter(_operator(layer) for layer in found.layers)
    moves = {_operator(layer) for layer in found.layers if layer.moves}
    buttons = "".join(
        f'<button type="button" data-op="{text(op)}" aria-pressed="{"false" if op in moves else "true"}">'
        f"{text(op)} <span>{count}</span></button>"
        for op, count in counts.most_common()
    )
    return (
        '<div class="controls" hidden><label>name <input type="search" autocomplete="off"></label> '
        '<button type="button" data-all="true">all</button><button type="button" data-all="false">none</button>'
        f'<span class="operators">{buttons}</span> <output></output></div>'
    )


def _operator(layer: Measured) -> str:
    """What computes, without the CLAMP after it."""
    return layer.operator.partition(",")[0] or "input"


def _row(layer: Measured, cells: dict[str, Cell]) -> str:
    inside = "".join(f"<td{class_of(cell.kind)}{_value(cell.value)}>{cell.html}</td>" for cell in cells.values())
    return f'<tr id="{anchor(layer)}" data-op="{text(_operator(layer))}">{inside}</tr>'


def _value(value: float | str | None) -> str:
    if value is None:
        return ' data-v=""'
    return f' data-v="{value:.9g}"' if isinstance(value, float) and math.isfinite(value) else f' data-v="{text(value)}"'


def _cells(layer: Measured, found: Measurement, other: Measured | None) -> dict[str, Cell]:
    low, high = layer.range
    gain = found.suggestions.gain_of(layer.layer) if found.suggestions is not None and not layer.moves else None
    cells = {
        "layer": Cell(link(layer), layer.name.lower(), "name"),
        "alone dB": _meter(layer.local.sqnr, "local"),
        "cumulative dB": _meter(layer.cumulative.sqnr, "cumulative"),
    }
    if found.beside is not None:
        cells |= dict(zip(BESIDE, _beside(layer, other), strict=True))
    if any(other.effect is not None for other in found.layers):
        cells["at output dB"] = Cell("", None) if layer.effect is None else _number(layer.effect.sqnr, ".1f")
    if found.suggestions is not None:
        cells["gain dB"] = Cell("" if gain is None else signed(gain), gain)
    cells |= {
        "operator": Cell(text(layer.operator or "input"), layer.operator, "left"),
        "type": Cell(text(layer.dtype), layer.dtype, "left"),
        "scale": _number(layer.quant.scale[0], ".4g"),
        "zero point": _number(float(layer.quant.zero_point[0]), ".0f"),
        "range": Cell(f"{low:.4g} .. {high:.4g}", high - low),
        "saturated": Cell(
            f"{100 * layer.saturation:.2f} %", layer.saturation, "warn" if layer.saturation > MOST_SATURATED else ""
        ),
        "mean LSB": _number(layer.cumulative.mean, ".3f"),
        "largest LSB": _number(layer.cumulative.largest, ".2f"),
        "cosine": _number(layer.cumulative.cosine, ".6f"),
        "MACs": _size(layer.sizes.macs),
        "weight bytes": _size(layer.sizes.weights),
        "bytes written": _size(layer.sizes.written),
        "values": Cell(charts.histogram(layer), None, "left"),
        "weights": _weights(layer),
    }
    return cells


def _beside(layer: Measured, other: Measured | None) -> tuple[Cell, Cell]:
    if other is None:
        return Cell("", None), Cell("", None)
    mine, its = layer.cumulative.sqnr, other.cumulative.sqnr
    difference = 0.0 if mine == its else its - mine
    shown = signed(difference) if math.isfinite(difference) else ""
    return _meter(its, "beside"), Cell(shown, difference if shown else None)


def _number(value: float, form: str) -> Cell:
    return Cell(format(value, form), value)


def _size(value: int) -> Cell:
    return Cell(counted(value) if value else "", float(value) if value else None)


def _weights(layer: Measured) -> Cell:
    if not layer.peaks:
        return Cell("", None, "left")
    times = unevenness(layer.peaks)
    shown = f"<span>{times:.{1 if times < 10 else 0}f}&times;</span>"
    return Cell(f'<div class="side">{charts.channels(layer.peaks)}{shown}</div>', times, "left")


def _meter(value: float, kind: str) -> Cell:
    width = min(max(value, 0.0), 60.0) / 60 * 100
    return Cell(f'<span class="meter {kind}"><i style="width:{width:.0f}%"></i></span>{text(decibels(value))}', value)
