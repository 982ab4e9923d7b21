"""How the integers of a graph stand for real numbers, as JSON: inside of `model.tosa`, or in `model.qparams.json`.

A TOSA graph has no place for that. In a `.tosa` file the text stands behind the flatbuffer (`trailer`). A `.json` model
has none, and a file of its own beside it: the sidecar. It names the model by its SHA-256, so that scales never go with
another graph.

Fields: `inputs` and `outputs`, lists in graph order of `name`, `shape`, `dtype` and, for quantized ones, `scale` and
`zero_point` (real = scale * (stored - zero_point)) and `unsigned` where the bits are; `tensors`, the same for every
quantized tensor inside, with the `source`, its name in the float model, where that is another one; `record`, how it was
made (`graph.Record`); `model_sha256`, only in a sidecar, which may lack it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError
from ..files import write_atomically
from ..graph import Location, QParams, Record
from . import trailer

if TYPE_CHECKING:
    import os

    from ..graph import Graph, Tensor

LARGEST: Final = 2.0**95  # of a scale: its products with codes of 32 bits are float32

__all__ = ["Record", "attach", "attach_beside", "attach_text", "path_for", "record", "to_text", "write"]


def path_for(model: str | os.PathLike[str]) -> Path:
    """`x.json` -> `x.qparams.json`."""
    return Path(model).with_suffix(".qparams.json")


def to_text(graph: Graph, model_sha256: str = "") -> str | None:
    """The JSON; None where nothing is known."""
    inside = [t for t in graph.main.tensors.values() if _is_quantized(t)]
    if not inside and graph.record is None:
        return None
    borders = {*graph.main.inputs, *graph.main.outputs}
    content: dict[str, Any] = {"model_sha256": model_sha256} if model_sha256 else {}
    content |= {
        "inputs": [_entry(t) for t in graph.inputs],
        "outputs": [_entry(t) for t in graph.outputs],
        "tensors": [_entry(t) for t in inside if t.name not in borders],
    }
    if graph.record is not None:
        content["record"] = asdict(graph.record)
    return json.dumps(content, indent=2) + "\n"


def write(graph: Graph, model: str | os.PathLike[str]) -> Path | None:
    """Write the sidecar of a model file that was written; the path it has, or None where the graph knows no scales.

    Raises OSError.
    """
    text = to_text(graph, _sha256(Path(model).read_bytes()))
    if text is None:
        return None
    path = path_for(model)
    write_atomically(path, text.encode("utf-8"))
    return path


def record(model: str | os.PathLike[str]) -> Record:
    """How the model was made, as its file or its sidecar says; empty where none does. Raises DataError for damage."""
    path, name = Path(model), str(model)
    text = trailer.read(path) if path.suffix == ".tosa" else None
    if text is None and path_for(path).exists():
        name, text = str(path_for(path)), path_for(path).read_text(encoding="utf-8", errors="replace")
    return (_record(_content(text, name), name) if text is not None else None) or Record()


def attach_beside(graph: Graph, model: Path, content: bytes) -> None:
    """Give the graph of a model file, which has this content, what its sidecar says, if there is one.

    Raises DataError, as `attach`, and for a sidecar of another model.
    """
    path = path_for(model)
    if path != model and path.exists():
        attach(graph, path, _sha256(content))


def attach(graph: Graph, path: str | os.PathLike[str], model_sha256: str = "") -> None:
    """Give the tensors of an integer graph the QParams and sources that a sidecar says, and the graph its record.

    Raises OSError, and DataError for a file that isn't one, or that is about another graph: `model_sha256` differs from
    its own, or a tensor's name, type or shape does.
    """
    name, text = str(path), Path(path).read_text(encoding="utf-8", errors="replace")
    wanted = _content(text, name).get("model_sha256", "")
    if wanted and model_sha256 and wanted != model_sha256:
        raise _of_another(name, "its model_sha256 isn't that of the file")
    attach_text(graph, text, name)


def attach_text(graph: Graph, text: str, name: str) -> None:
    """The same for the JSON as a text; `name` is what errors call it."""
    content = _content(text, name)
    try:
        entries = [entry for key in ("inputs", "outputs", "tensors") for entry in content.get(key, [])]
        forms = [(str(e["name"]), e.get("dtype"), e.get("shape")) for e in entries]
        known = [(str(e["name"]), str(e.get("source", "")), _qparams(e)) for e in entries if "scale" in e]
    except (ValueError, AttributeError, TypeError, KeyError, OverflowError) as problem:
        raise _not_one(name, problem) from problem
    for tensor_name, dtype, shape in forms:
        tensor = graph.main.tensors.get(tensor_name)
        if tensor is None or dtype not in (None, tensor.dtype.name) or shape not in (None, list(tensor.shape or ())):
            raise _of_another(name, f"there is no tensor '{tensor_name}' of {dtype}{shape}")
    for tensor_name, source, quant in known:
        tensor = graph.main.tensors[tensor_name]
        if not tensor.dtype.is_int:
            raise _of_another(name, f"there is no integer tensor '{tensor_name}'")
        tensor.quant = quant
        if source:
            tensor.source = Location(name=source)
    graph.record = _record(content, name)


def _content(text: str, name: str) -> dict[str, Any]:
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise _not_one(name, problem) from problem
    if not isinstance(content, dict):
        raise _not_one(name, "no object of JSON")
    return content


def _record(content: dict[str, Any], name: str) -> Record | None:
    found: Any = content.get("record")
    if found is None:
        return None
    try:
        notes, margins = [*found.get("notes", [])], {**found.get("margins", {})}
        settings = {**found.get("settings", {})}
        return Record([str(n) for n in notes], {str(n): float(b) for n, b in margins.items()}, settings)
    except (ValueError, AttributeError, TypeError, OverflowError) as problem:
        raise _not_one(name, problem) from problem


def _not_one(name: str, problem: object) -> DataError:
    return DataError(f"{name}: not a file of scales and zero points: {problem}")


def _of_another(name: str, reason: str) -> DataError:
    return DataError(f"{name}: it is about another model: {reason}; write the model again, or remove that file")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_quantized(tensor: Tensor) -> bool:
    """Whether integers of a run stand for real numbers by one scale."""
    quant = tensor.quant
    return quant is not None and tensor.data is None and tensor.dtype.is_int and len(quant.scale) == 1


def _qparams(entry: Any) -> QParams:
    scale, zero_point, unsigned = float(entry["scale"]), entry["zero_point"], entry.get("unsigned", False)
    if not (0 < scale <= LARGEST and type(zero_point) is int and abs(zero_point) < 1 << 32):
        raise ValueError(f"scale {scale!r}, zero point {zero_point!r} of '{entry['name']}'")
    bits = {"i16": 16, "i32": 32}.get(entry.get("dtype"), 8)
    return QParams((scale,), (zero_point,), bits, signed=not unsigned, symmetric=bits > 8 and not unsigned)


def _entry(tensor: Tensor) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": tensor.name, "shape": list(tensor.shape or ()), "dtype": tensor.dtype.name}
    if _is_quantized(tensor):
        assert tensor.quant is not None
        entry["scale"], entry["zero_point"] = tensor.quant.scale[0], tensor.quant.zero_point[0]
        if not tensor.quant.signed:
            entry["unsigned"] = True
    if tensor.source_name not in ("", tensor.name):
        entry["source"] = tensor.source_name
    return entry
