"""The report as one HTML page that needs nothing else: no network, and one script of its own.

The page's policy allows this script by its hash and no other, whatever the names in it hold.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.commands.inspect_target import text_of
from tosa_engine.profiling.picture import picture

from ..calibration.lints import MOST_SATURATED
from . import charts
from .advice import advise, decibels, lints, signed
from .markup import definition_list, link, name, text
from .table import table

if TYPE_CHECKING:
    from .advice import Advice, Files
    from .measure import Measurement
    from .outputs import SampleError
    from .trials import Suggestions, Trial

WORST_SAMPLES: Final = 10
DEFINITIONS: Final = (
    ("SQNR", "10 log10(sum x² / sum (x - q)²) in dB, of floats x and what integers stand for, q. 6 dB are one bit."),
    ("alone", "the layer's integer operators are given the quantized floats of the float model: its own error."),
    ("cumulative", "the integer model runs on its own: with the errors of all layers before."),
    ("beside, difference", "cumulative, of the other integer model; by how much that is better."),
    ("at output", "SQNR of the network's outputs where the layer's own error is the only one, on two samples."),
    ("gain", "what the outputs of the network gain where this layer, or what shares its table, has int16, else float."),
    ("cosine", "of the angle between the floats and what the integers stand for, cumulative."),
    ("LSB", "one step of the integer tensor; mean and largest distance |x - q| / scale, cumulative."),
    ("saturated", "the share of floats that lie beyond the range of the integer tensor by more than a step."),
    ("MACs, bytes", "multiplications of a run; bytes of the weights; bytes that the layer writes."),
    ("values", "histogram of the floats, heights by logarithm. Shaded: the chosen range. Bars beyond it saturate."),
    ("weights", "the largest weight of each output channel; beside it, how many times the largest is the smallest."),
)  # fmt: skip


def page(found: Measurement, files: Files) -> str:
    """The whole page."""
    title = f"Quantization of {found.files.get('float model', files.model)}"
    parts = [
        _summary(found), _sqnr_section(found), _next(found.suggestions, advise(found, files)), _lints(lints(found)),
        table(found), _samples(found), _time(found), _target(found), _settings(found), _definitions(),
    ]  # fmt: skip
    style, script = _file("page.css"), _file("page.js")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{style}</style></head>\n"
        f'<body><header><h1 class="name">{name(title)}</h1></header>\n<main>\n'
        + "\n".join(parts)
        + f"\n</main><script>{script}</script></body></html>\n"
    )


def _file(which: str) -> str:
    return resources.files(__package__).joinpath(which).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"


def _summary(found: Measurement) -> str:
    facts = list[tuple[str, str]]()
    for made in (found, *([found.beside] if found.beside is not None else [])):
        of = f", {made.files.get('integer model', 'the other model')}" if found.beside is not None else ""
        facts += [
            (decibels(layer.cumulative.sqnr) + " dB", f"SQNR of output {layer.name}{of}") for layer in made.outputs[:4]
        ]
        if made.reading is not None and made.real is not None:
            facts.append((made.reading.shown, f"{made.reading.name}{of}; {made.real.shown} in float"))
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
    beside = charts.aligned(found)
    top = charts.top_of([*found.layers, *(found.beside.layers if found.beside is not None else [])])
    scale = "".join(f"<span>{db}</span>" for db in range(int(top), -1, -20))
    first, last = found.layers[0].name, found.layers[-1].name
    which = "" if found.beside is None else found.beside.files.get("integer model", "the other model")
    other = f' <span class="key beside"></span>cumulative, {name(which)}'
    return (
        '<section><h2>SQNR along the network, in dB</h2><p><span class="key local"></span>layer alone '
        f'<span class="key cumulative"></span>cumulative{other if found.beside is not None else ""}</p>'
        f'<div class="plot"><div class="y">{scale}</div>{charts.sqnr_by_layer(found.layers, top, beside)}'
        f'<div class="x"><span>{name(first)}</span><span>{name(last)}</span></div></div></section>'
    )


def _next(tried: Suggestions | None, found: list[Advice]) -> str:
    head = "<section><h2>What to do next</h2>"
    if tried is None:
        return f"{head}<p>No change was tried.</p></section>"
    left = f", {tried.left} more had no time (--suggest SECONDS)" if tried.left else ""
    base = (
        f"{len(tried.tried)} changes were made and run on {tried.samples} samples{left}. "
        f"Without a change the network has {decibels(tried.before.sqnr)} dB there."
    )
    notes = "".join(f"<li>{text(note)}</li>" for note in tried.notes)
    none = "" if any(advice.trial for advice in found) else "<p>None of them gains half a decibel.</p>"
    cards, listed = "".join(_card(advice) for advice in found), f"<ul>{notes}</ul>" if notes else ""
    return f'{head}<p>{text(base)}</p>{listed}{none}<div class="cards">{cards}</div></section>'


def _card(advice: Advice) -> str:
    inside, gained = "", ""
    if advice.trial is not None:
        trial = advice.trial
        change = f"{decibels(trial.before.sqnr)} &rarr; {decibels(trial.after.sqnr)} dB"
        gained = (
            f'<p class="gain"><b>{signed(trial.gain)} dB</b> <span class="soft">{change}</span>{_readings(trial)}</p>'
        )
    if advice.layers:
        layer = advice.layers[-1]
        left, right = charts.extent(layer)
        inside = f'{charts.histogram(layer)}<div class="x"><span>{left:.4g}</span><span>{right:.4g}</span></div>'
        inside += f'<p class="soft">values of {link(layer)}, {text(layer.operator)}</p>'
    reasons = "".join(f"<li>{text(reason)}</li>" for reason in advice.reasons)
    return (
        f'<article class="card"><h3>{name(advice.title)}</h3>{gained}{inside}<ul>{reasons}</ul>'
        f"{_command(advice.command)}</article>"
    )


def _readings(trial: Trial) -> str:
    if trial.readings is None:
        return ""
    before, after = trial.readings
    return f"<br><span>{text(before)} &rarr; {text(after.shown)}</span>"


def _command(command: str) -> str:
    """Lines break between words only, so that an option keeps its hyphens."""
    return f"<pre><code>{' '.join(f'<span>{text(word)}</span>' for word in command.split(' '))}</code></pre>"


def _lints(found: list[str]) -> str:
    lines = "".join(f"<li>{text(line)}</li>" for line in found)
    return f"<section><h2>Lints</h2>{f'<ul>{lines}</ul>' if found else '<p>None.</p>'}</section>"


def _samples(found: Measurement) -> str:
    others = {sample.number: sample for sample in found.beside.each} if found.beside is not None else {}
    metric = found.reading.of_one if found.reading is not None and found.each[0].real is not None else None
    heads = ["sample", "SQNR dB", "largest error", *(["beside dB"] if others else [])]
    heads += [f"{metric} in float", f"{metric} in integers"] if metric else []
    worst = sorted(found.each, key=lambda sample: sample.sqnr)[:WORST_SAMPLES]
    rows = "".join(f"<tr>{_sample(sample, others.get(sample.number), metric)}</tr>" for sample in worst)
    top = charts.top_of_samples([*found.each, *others.values()])
    scale = "".join(f"<span>{db}</span>" for db in range(int(top), -1, -20))
    head = "".join(f'<th scope="col">{text(label)}</th>' for label in heads)
    return (
        "<section><h2>Samples</h2><p>SQNR of the outputs in dB, sample by sample; below, the worst.</p>"
        f'<div class="plot"><div class="y">{scale}</div>{charts.sqnr_by_sample(found.each, top)}'
        f'<div class="x"><span>0</span><span>{found.each[-1].number}</span></div></div>'
        f'<div class="table samples" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _sample(sample: SampleError, other: SampleError | None, metric: str | None) -> str:
    cells = [str(sample.number), decibels(sample.sqnr), f"{sample.largest:.4g}"]
    cells += [decibels(other.sqnr)] if other is not None else []
    if metric and sample.real is not None and sample.integer is not None:
        cells += [f"{sample.real:.4g}", f"{sample.integer:.4g}"]
    return "".join(f"<td>{text(cell)}</td>" for cell in cells)


def _time(found: Measurement) -> str:
    if found.time is None:
        return ""
    return (
        "<section><h2>Time</h2><p>A run of the integer model on one thread, as wide as it takes long; its operators; "
        f"its steps, green at the machine's bound, red far from it.</p>{picture(found.time)}</section>"
    )


def _target(found: Measurement) -> str:
    """What `inspect --target` prints."""
    if found.target is None:
        return ""
    lines = "".join(f'<li class="name">{name(line.strip())}</li>' for line in text_of(found.target)[1:])
    return f"<section><h2>Target {name(found.target['name'])}</h2><ul>{lines}</ul></section>"


def _settings(found: Measurement) -> str:
    margins = sorted(found.margins.items(), key=lambda pair: pair[1])[:5]
    entries: dict[str, Any] = {**found.files, **found.settings, "samples of this report": found.samples}
    if margins:
        entries["fullest accumulators"] = ", ".join(f"{n} ({bits:.1f} bits to spare)" for n, bits in margins)
    return f"<section><h2>Resolved configuration</h2>{definition_list(entries)}</section>"


def _definitions() -> str:
    return f"<section><h2>What the columns mean</h2>{definition_list(dict(DEFINITIONS))}</section>"
