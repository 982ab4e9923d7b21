"""The report as plain data: JSON, and one line of CSV per layer."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any, Final

from .advice import advise, lints, unevenness

if TYPE_CHECKING:
    from .advice import Advice, Files
    from .measure import Measurement
    from .measured import Measured

FORMAT: Final = "tosa-engine report"
VERSION: Final = 2
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets would compute


def to_json(found: Measurement, files: Files) -> str:
    """Fields as in the CSV; `sqnr` is null where there is no noise."""
    content = {
        "format": FORMAT, "version": VERSION, "files": found.files, "samples": found.samples, "metric": _metric(found),
        "settings": found.settings, "lints": lints(found), "accumulator_bits_to_spare": found.margins,
        "layers": [{**fields, "weights": list(layer.peaks)} for layer, fields in _rows(found)],
        "each": [
            {
                "sample": one.number, "sqnr": _finite(one.sqnr), "largest": one.largest,
                "metric_float": one.real, "metric_integer": one.integer,
            }
            for one in found.each
        ],
        "beside": None if found.beside is None else {"files": found.beside.files, "metric": _metric(found.beside)},
        "next": [_advice(a) for a in advise(found, files)],
        "time": found.time,
        "target": found.target,
    }  # fmt: skip
    return json.dumps(content, indent=2) + "\n"


def _metric(found: Measurement) -> dict[str, Any] | None:
    if found.reading is None or found.real is None:
        return None
    return {"name": found.reading.name, "float": _finite(found.real.value), "integer": _finite(found.reading.value)}


def _advice(found: Advice) -> dict[str, Any]:
    trial = found.trial
    measured = {} if trial is None else {
        "gain": _finite(trial.gain), "before": _finite(trial.before.sqnr), "after": _finite(trial.after.sqnr),
        "metric": None if trial.readings is None else [_finite(reading.value) for reading in trial.readings],
        "cost": trial.cost,
    }  # fmt: skip
    return {"change": found.title, **measured, "reasons": list(found.reasons), "command": found.command}


def to_csv(found: Measurement) -> str:
    """A header and a line per layer. A name that a spreadsheet would take for a formula gets a ' before it."""
    stream = io.StringIO()
    rows = [fields for _, fields in _rows(found)]
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        harmless = {k: f"'{v}" if isinstance(v, str) and v.startswith(FORMULA) else v for k, v in row.items()}
        writer.writerow(harmless)
    return stream.getvalue()


def _rows(found: Measurement) -> list[tuple[Measured, dict[str, Any]]]:
    tried = found.suggestions
    rows = [(layer, _fields(layer)) for layer in found.layers]
    for layer, fields in rows:
        fields["gain"] = None if tried is None or layer.moves else tried.gain_of(layer.layer)
    if found.beside is not None:
        others = {layer.name: layer for layer in found.beside.layers}
        for layer, fields in rows:
            other = others.get(layer.name)
            fields["beside_local_sqnr"] = None if other is None else _finite(other.local.sqnr)
            fields["beside_sqnr"] = None if other is None else _finite(other.cumulative.sqnr)
    return rows


def _fields(layer: Measured) -> dict[str, Any]:
    low, high = layer.range
    return {
        "layer": layer.name, "tensor": layer.stored, "operator": layer.operator, "dtype": layer.dtype,
        "scale": layer.quant.scale[0], "zero_point": layer.quant.zero_point[0], "range_low": low, "range_high": high,
        "seen_low": layer.seen.low, "seen_high": layer.seen.high,
        "local_sqnr": _finite(layer.local.sqnr), "local_cosine": layer.local.cosine,
        "local_largest_lsb": layer.local.largest, "local_mean_lsb": layer.local.mean,
        "sqnr": _finite(layer.cumulative.sqnr), "cosine": layer.cumulative.cosine,
        "largest_lsb": layer.cumulative.largest, "mean_lsb": layer.cumulative.mean,
        "effect_sqnr": None if layer.effect is None else _finite(layer.effect.sqnr),
        "macs": layer.sizes.macs, "weight_bytes": layer.sizes.weights, "bytes_written": layer.sizes.written,
        "saturation": layer.saturation, "elements": layer.local.elements,
        "weight_unevenness": unevenness(layer.peaks) if layer.peaks else None,
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
