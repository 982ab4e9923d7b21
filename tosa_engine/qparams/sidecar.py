"""`model.qparams.json` beside `model.tosa`: how its integers stand for real numbers.

A TOSA file has no place for that. Fields: `inputs` and `outputs`, lists in graph order of `name`, `shape`, `dtype` and,
for quantized ones, `scale` and `zero_point` (real = scale * (stored - zero_point)); `tensors`, the same for every
quantized tensor inside, with the `source`, its name in the float model, where that is another one; `record`, how it was
made: `notes`, `margins` (bits that accumulators have to spare) and `settings`, for the report.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from ..files import write_atomically
from ..graph import Location, QParams

if TYPE_CHECKING:
    import os

    from ..graph import Graph, Tensor


def path_for(model: str | os.PathLike[str]) -> Path:
    """`x.tosa` -> `x.qparams.json`."""
    return Path(model).with_suffix(".qparams.json")


@dataclass
class Record:
    """How an integer graph was made: `notes` for people, per accumulator the bits to spare, the resolved settings."""

    notes: list[str] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def to_text(graph: Graph, made: Record | None = None) -> str:
    inside = [t for t in graph.main.tensors.values() if t.quant is not None and t.data is None]
    borders = {*graph.main.inputs, *graph.main.outputs}
    content: dict[str, Any] = {
        "inputs": [_entry(t) for t in graph.inputs],
        "outputs": [_entry(t) for t in graph.outputs],
        "tensors": [_entry(t) for t in inside if t.name not in borders],
    }
    if made is not None:
        content["record"] = asdict(made)
    return json.dumps(content, indent=2) + "\n"


def write(graph: Graph, model: str | os.PathLike[str], made: Record | None = None) -> Path:
    """Write the sidecar of a model file; the path it has. Raises OSError."""
    path = path_for(model)
    write_atomically(path, to_text(graph, made).encode("utf-8"))
    return path


def record(model: str | os.PathLike[str]) -> Record:
    """How the model was made, as its sidecar says; empty where there is none. Raises DataError for a damaged one."""
    path = path_for(model)
    if not path.exists():
        return Record()
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8", errors="replace")).get("record", {})
        notes, margins, settings = (
            [*found.get("notes", [])],
            {**found.get("margins", {})},
            {**found.get("settings", {})},
        )
        return Record([str(n) for n in notes], {str(n): float(b) for n, b in margins.items()}, settings)
    except (ValueError, RecursionError, AttributeError, TypeError) as problem:
        raise DataError(f"{path}: not a file of scales and zero points: {problem}") from problem


def attach(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Give the tensors of an integer graph the QParams and sources that a sidecar says.

    Raises OSError, and DataError for a file that isn't one, or that names a tensor which the graph doesn't have.
    """
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8", errors="replace"))
        entries = [entry for key in ("inputs", "outputs", "tensors") for entry in content.get(key, [])]
        known = [(str(e["name"]), str(e.get("source", "")), _qparams(e)) for e in entries if "scale" in e]
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError) as problem:
        raise DataError(f"{path}: not a file of scales and zero points: {problem}") from problem
    for name, source, quant in known:
        tensor = graph.main.tensors.get(name)
        if tensor is None or not tensor.dtype.is_int:
            raise DataError(f"{path}: it is about another model: there is no integer tensor '{name}'")
        tensor.quant = quant
        if source:
            tensor.source = Location(name=source)


def _qparams(entry: Any) -> QParams:
    scale, zero_point = float(entry["scale"]), entry["zero_point"]
    if not (math.isfinite(scale) and scale > 0 and type(zero_point) is int and abs(zero_point) < 1 << 32):
        raise ValueError(f"scale {scale!r}, zero point {zero_point!r} of '{entry['name']}'")
    bits = 16 if entry.get("dtype") == "i16" else 8
    return QParams((scale,), (zero_point,), bits, symmetric=bits == 16)


def _entry(tensor: Tensor) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": tensor.name, "shape": list(tensor.shape or ()), "dtype": tensor.dtype.name}
    if tensor.quant is not None:
        entry["scale"], entry["zero_point"] = tensor.quant.scale[0], tensor.quant.zero_point[0]
    if tensor.source_name not in ("", tensor.name):
        entry["source"] = tensor.source_name
    return entry
