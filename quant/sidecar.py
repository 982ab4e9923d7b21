"""`model.qparams.json` beside `model.tosa`: how its integer inputs and outputs stand for real numbers.

A TOSA file has no place for that. Fields: `inputs` and `outputs`, lists in graph order of `name`, `shape`, `dtype` and,
for quantized ones, `scale` and `zero_point` (real = scale * (stored - zero_point)).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import write_atomically

if TYPE_CHECKING:
    import os

    from tosa_engine.graph import Graph, Tensor


def path_for(model: str | os.PathLike[str]) -> Path:
    """`x.tosa` -> `x.qparams.json`."""
    return Path(model).with_suffix(".qparams.json")


def to_text(graph: Graph) -> str:
    content = {
        "inputs": [_entry(t) for t in graph.inputs],
        "outputs": [_entry(t) for t in graph.outputs],
    }
    return json.dumps(content, indent=2) + "\n"


def write(graph: Graph, model: str | os.PathLike[str]) -> Path:
    """Write the sidecar of a model file; the path it has. Raises OSError."""
    path = path_for(model)
    write_atomically(path, to_text(graph).encode("utf-8"))
    return path


def _entry(tensor: Tensor) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": tensor.name, "shape": list(tensor.shape or ()), "dtype": tensor.dtype.name}
    if tensor.quant is not None:
        entry["scale"], entry["zero_point"] = tensor.quant.scale[0], tensor.quant.zero_point[0]
    return entry
