"""The folder through which a graph, its inputs and its outputs are exchanged: `.npy` or `.bin`, and a description.

`.bin` files are the elements in the order of memory, little-endian, in the storage of their format: int4 in a byte,
int48 in eight, bool in a byte.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from ... import arrays, serialize, types
from ...errors import TosaEngineError
from .answer import Answer, Ending

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ...graph import Graph, Tensor
    from ...types import Array


class Exchange:
    """A folder with `graph.tosa`, `desc.json`, `inputs/NAME.npy`; outputs are looked for in `outputs/NAME.npy`."""

    def __init__(self, folder: Path, files: str) -> None:
        self.folder, self.files = folder, files
        self.inputs, self.outputs = folder / "inputs", folder / "outputs"
        for one in (self.inputs, self.outputs):
            one.mkdir(parents=True, exist_ok=True)
        self.graph, self.description = folder / "graph.tosa", folder / "desc.json"

    def give(self, graph: Graph, feeds: Mapping[str, Array]) -> None:
        """Write a test; what the last one left is removed."""
        for stale in (*self.inputs.iterdir(), *self.outputs.iterdir()):
            stale.unlink()
        serialize.write(graph, self.graph)
        for name, array in feeds.items():
            self._write(self.input_of(name), name, array)
        self.description.write_text(json.dumps(self.described(graph), indent=1), encoding="utf-8")

    def _write(self, path: Path, name: str, array: Array) -> None:
        if self.files == "npy":
            arrays.write(path, {name: array})
        else:
            path.write_bytes(np.ascontiguousarray(array).tobytes())

    def input_of(self, name: str) -> Path:
        return self.inputs / f"{name}.{self.files}"

    def output_of(self, name: str) -> Path:
        return self.outputs / f"{name}.{self.files}"

    def described(self, graph: Graph) -> dict[str, object]:
        """The description that Arm's runner has of a test."""
        main = graph.main
        return {
            "tosa_file": "graph.tosa",
            "ifm_name": main.inputs,
            "ifm_file": [f"inputs/{name}.{self.files}" for name in main.inputs],
            "ofm_name": main.outputs,
            "ofm_file": [f"outputs/{name}.{self.files}" for name in main.outputs],
            "expected_failure": False,
        }

    def taken(self, graph: Graph) -> Answer:
        """The outputs that lie in the folder, in the formats of the graph; NO_OUTPUT says which isn't there."""
        found: dict[str, Array] = {}
        for tensor in graph.outputs:
            path = self.output_of(tensor.name)
            try:
                found[tensor.name] = self._read(path, tensor)
            except (OSError, ValueError, TosaEngineError) as problem:
                return Answer(Ending.NO_OUTPUT, f"output '{tensor.name}': {problem}")
        return Answer(Ending.VALID, outputs=found)

    def _read(self, path: Path, tensor: Tensor) -> Array:
        if self.files == "npy":
            return types.of_bits(arrays.read(path), tensor.dtype)
        stored = np.frombuffer(path.read_bytes(), tensor.dtype.storage)
        return stored.reshape(tensor.shape or ())
