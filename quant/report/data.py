"""The report as plain data: JSON, and one line of CSV per layer."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any, Final

from .advice import advise, lints, overall, unevenness

if TYPE_CHECKING:
    from .advice import Advice, Files
    from .measure import Measured, Measurement

FORMAT: Final = "tosa-engine report"
VERSION: Final = 1
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets would compute


def to_json(found: Measurement, files: Files) -> str:
    """Fields as in the CSV; `sqnr` is null where there is no noise."""
    network = overall(found, files)
    content = {
        "format": FORMAT, "version": VERSION, "files": found.files, "samples": found.samples,
        "settings": found.settings, "lints": lints(found), "accumulator_bits_to_spare": found.margins,
        "layers": [{**_fields(layer), "weights": list(layer.peaks)} for layer in found.layers],
        "next": [_advice(a) for a in advise(found, files)], "network": _advice(network) if network else None,
    }  # fmt: skip
    return json.dumps(content, indent=2) + "\n"


def _advice(found: Advice) -> dict[str, Any]:
    return {"layer": found.layer.name, "reasons": list(found.reasons), "commands": list(found.commands)}


def to_csv(found: Measurement) -> str:
    """A header and a line per layer. A name that a spreadsheet would take for a formula gets a ' before it."""
    stream = io.StringIO()
    rows = [_fields(layer) for layer in found.layers]
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        harmless = {k: f"'{v}" if isinstance(v, str) and v.startswith(FORMULA) else v for k, v in row.items()}
        writer.writerow(harmless)
    return stream.getvalue()


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
        "saturation": layer.saturation, "elements": layer.local.elements,
        "weight_unevenness": unevenness(layer.peaks) if layer.peaks else None,
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
