"""The report as one HTML page that needs nothing else: no network, no script."""

from __future__ import annotations

import html
import json
import re
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from ..calibration.lints import MOST_SATURATED
from . import charts
from .advice import Advice, advise, decibels, lints, overall, unevenness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .advice import Files
    from .measure import Measured, Measurement

DEFINITIONS: Final = (
    ("SQNR", "10 log10(sum x² / sum (x - q)²) in dB, of floats x and what integers stand for, q. 6 dB are one bit."),
    ("alone", "the layer's integer operators are given the quantized floats of the float model: its own error."),
    ("cumulative", "the integer model runs on its own: with the errors of all layers before."),
    ("cosine", "of the angle between the floats and what the integers stand for, cumulative."),
    ("LSB", "one step of the integer tensor; mean and largest distance |x - q| / scale, cumulative."),
    ("saturated", "the share of floats that lie beyond the range of the integer tensor by more than a step."),
    ("values", "histogram of the floats, heights by logarithm. Shaded: the chosen range. Bars beyond it saturate."),
    ("weights", "the largest weight of each output channel; beside it, how many times the largest is the smallest."),
)  # fmt: skip
# control characters, halves of pairs, and what turns the direction of text around
NO_TEXT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]")
HEADS: Final = (
    ("layer", "name"), ("operator", "left"), ("type", "left"), ("range", ""), ("alone dB", ""), ("cumulative dB", ""),
    ("cosine", ""), ("mean LSB", ""), ("largest LSB", ""), ("saturated", ""), ("values", "left"), ("weights", "left"),
)  # fmt: skip


def page(found: Measurement, files: Files) -> str:
    """The whole page. Names come from files of strangers: they are escaped, and can't turn the text around them."""
    title = f"Quantization of {found.files.get('float model', files.model)}"
    parts = [
        _summary(found), _sqnr_section(found), _next(advise(found, files), overall(found, files)), _lints(lints(found)),
        _table(found), _settings(found), _definitions(),
    ]  # fmt: skip
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{style}</style></head>\n"
        f'<body><header><h1 class="name">{name(title)}</h1></header>\n<main>\n'
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def text(value: object) -> str:
    """For HTML; characters that no text has are shown as such."""
    return html.escape(NO_TEXT.sub("\ufffd", str(value)))


def name(value: object) -> str:
    """A name from a file, apart from the direction of the text around it."""
    return f"<bdi>{text(value)}</bdi>"


def _summary(found: Measurement) -> str:
    facts = [(decibels(layer.cumulative.sqnr) + " dB", f"SQNR of output {layer.name}") for layer in found.outputs[:4]]
    computed = [layer for layer in found.layers if layer.operator] or found.layers
    worst = min(computed, key=lambda layer: layer.local.sqnr)
    facts.append((f"{decibels(worst.local.sqnr)} dB", f"worst layer alone: {worst.name}"))
    saturated = sum(layer.saturation > MOST_SATURATED for layer in found.layers)
    facts.append((str(saturated), "tensors saturate over 1 %"))
    facts.append((str(len(found.layers)), "tensors compared"))
    facts.append((str(found.samples), "samples"))
    boxes = "".join(
        f'<div class="fact"><b>{text(v)}</b><span class="name">{name(label)}</span></div>' for v, label in facts
    )
    return f'<section class="facts">{boxes}</section>'


def _sqnr_section(found: Measurement) -> str:
    top = charts.top_of(found.layers)
    scale = "".join(f"<span>{db}</span>" for db in range(int(top), -1, -20))
    first, last = found.layers[0].name, found.layers[-1].name
    return (
        '<section><h2>SQNR along the network, in dB</h2><p><span class="key local"></span>layer alone '
        '<span class="key cumulative"></span>cumulative</p>'
        f'<div class="plot"><div class="y">{scale}</div>{charts.sqnr_by_layer(found.layers, top)}'
        f'<div class="x"><span>{name(first)}</span><span>{name(last)}</span></div></div></section>'
    )


def _next(found: list[Advice], network: Advice | None) -> str:
    if not found and network is None:
        return "<section><h2>What to do next</h2><p>No layer has a noticeable error of its own.</p></section>"
    cards = []
    if network is not None:
        reasons = "".join(f"<li>{text(reason)}</li>" for reason in network.reasons)
        cards.append(f'<article class="card"><h3>The network</h3><ul>{reasons}</ul>{_commands(network)}</article>')
    for advice in found:
        layer = advice.layer
        left, right = charts.extent(layer)
        reasons = "".join(f"<li>{text(reason)}</li>" for reason in advice.reasons)
        cards.append(
            f'<article class="card"><h3><a href="#{_anchor(layer)}">{name(layer.name)}</a> '
            f'<span class="soft">{text(layer.operator)}</span></h3>'
            f'{charts.histogram(layer)}<div class="x"><span>{left:.4g}</span><span>{right:.4g}</span></div>'
            f"<ul>{reasons}</ul>{_commands(advice)}</article>"
        )
    return f'<section><h2>What to do next, worst layers first</h2><div class="cards">{"".join(cards)}</div></section>'


def _commands(advice: Advice) -> str:
    """Each on its own; lines break between words only, so that an option keeps its hyphens."""
    lines = [" ".join(f"<span>{text(word)}</span>" for word in command.split(" ")) for command in advice.commands]
    return f"<pre>{''.join(f'<code>{line}</code>' for line in lines)}</pre>" if lines else ""


def _lints(found: list[str]) -> str:
    lines = "".join(f"<li>{text(line)}</li>" for line in found)
    return f"<section><h2>Lints</h2>{f'<ul>{lines}</ul>' if found else '<p>None.</p>'}</section>"


def _table(found: Measurement) -> str:
    heads = "".join(f'<th scope="col"{_class(kind)}>{text(label)}</th>' for label, kind in HEADS)
    rows = "\n".join(_row(layer) for layer in found.layers)
    return (
        f'<section><h2>Layers</h2><div class="table" tabindex="0"><table><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div></section>"
    )


def _row(layer: Measured) -> str:
    low, high = layer.range
    saturated = layer.saturation > MOST_SATURATED
    cells = (
        ("name", f'<a href="#{_anchor(layer)}">{name(layer.name)}</a>'),
        ("left", text(layer.operator or "input")),
        ("left", text(layer.dtype)),
        ("", f"{low:.4g} .. {high:.4g}"),
        ("", _meter(layer.local.sqnr, "local")),
        ("", _meter(layer.cumulative.sqnr, "cumulative")),
        ("", f"{layer.cumulative.cosine:.6f}"),
        ("", f"{layer.cumulative.mean:.3f}"),
        ("", f"{layer.cumulative.largest:.2f}"),
        ("warn" if saturated else "", f"{100 * layer.saturation:.2f} %"),
        ("left", charts.histogram(layer)),
        ("left", _weights(layer)),
    )
    inside = "".join(f"<td{_class(kind)}>{content}</td>" for kind, content in cells)
    return f'<tr id="{_anchor(layer)}">{inside}</tr>'


def _weights(layer: Measured) -> str:
    if not layer.peaks:
        return ""
    times = unevenness(layer.peaks)
    return (
        f'<div class="side">{charts.channels(layer.peaks)}<span>{times:.{1 if times < 10 else 0}f}&times;</span></div>'
    )


def _meter(value: float, kind: str) -> str:
    width = min(max(value, 0.0), 60.0) / 60 * 100
    return f'<span class="meter {kind}"><i style="width:{width:.0f}%"></i></span>{text(decibels(value))}'


def _settings(found: Measurement) -> str:
    margins = sorted(found.margins.items(), key=lambda pair: pair[1])[:5]
    entries: dict[str, Any] = {**found.files, "samples": found.samples, **found.settings}
    if margins:
        entries["fullest accumulators"] = ", ".join(f"{n} ({bits:.1f} bits to spare)" for n, bits in margins)
    return f"<section><h2>Resolved configuration</h2>{_definition_list(entries)}</section>"


def _definitions() -> str:
    return f"<section><h2>What the columns mean</h2>{_definition_list(dict(DEFINITIONS))}</section>"


def _definition_list(entries: Mapping[str, Any]) -> str:
    shown = {k: v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for k, v in entries.items()}
    return "<dl>" + "".join(f"<dt>{text(k)}</dt><dd>{name(v)}</dd>" for k, v in shown.items()) + "</dl>"


def _anchor(layer: Measured) -> str:
    """Names of tensors may hold anything: anchors are made of their bytes."""
    return "t-" + layer.stored.encode("utf-8", "replace").hex()


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
