"""Writing the tensors of a run while it runs."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ..files import write_atomically
from ..layouts import Form
from .elements import SUFFIXES, check_endian, content, symbol
from .index import CONSTANT, Index

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..graph import Graph
    from ..types import Array

INDEX: Final = "index.json"
VERSION: Final = 1


class Recorder:
    """A probe of one run: `begin` writes what is known before it, each call a tensor, `finish` the index.

    What a region wrote when it ran for the second time is called TENSOR#2.
    """

    tensors = None  # all of them

    def __init__(self, graph: Graph, folder: Path, how: str, form: Form) -> None:
        """`graph` is the one that a session runs, without composites."""
        check_endian(how, form.endian)
        self._index, self._folder, self._how, self._form = Index(graph), folder, how, form
        self._files: dict[str, dict[str, Any]] = {}
        self._times: Counter[str] = Counter()

    def begin(self, feeds: Mapping[str, Array]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / INDEX).unlink(missing_ok=True)  # of files that are about to be replaced
        for name, array in feeds.items():
            self._write(name, name, array)
        for name, tensor in self._index.constants():
            assert tensor.data is not None
            self._write(name, name, tensor.data)

    def __call__(self, node: str, tensor: str, array: Array) -> None:
        del node
        self._times[tensor] += 1
        times = self._times[tensor]
        self._write(tensor if times == 1 else f"{tensor}#{times}", tensor, array)

    def finish(self, model: str, sha256: str) -> None:
        """`sha256` of the model's file, empty where it is a folder."""
        main = self._index.graph.main
        found = {
            "version": VERSION, "model": model, "sha256": sha256, "format": self._how, "endian": self._form.endian,
            "inputs": main.inputs, "outputs": main.outputs, "tensors": self._files, "operators": self._index.operators,
            "regions": self._index.regions,
        }  # fmt: skip
        write_atomically(self._folder / INDEX, (json.dumps(found, indent=1) + "\n").encode())

    def _write(self, key: str, name: str, array: Array) -> None:
        known = self._index.describe(name)
        # weights have axes of their own, which no layout of activations is about
        form = Form(endian=self._form.endian) if known["role"] == CONSTANT else self._form
        stem = f"{len(self._files):04}_{re.sub(r'[^A-Za-z0-9_.-]', '_', key)[:80]}"
        file = stem + SUFFIXES[self._how]
        raw = content(array, self._index.tensors[name].dtype, stem, self._how, form)
        (self._folder / file).write_bytes(raw)
        layout = "linear" if known["role"] == CONSTANT else form.name(array.shape)
        lies = {"shape": list(array.shape), "layout": layout, "stored_shape": list(form.stored(array.shape))}
        self._files[key] = {"file": file, **known, **lies}
        if self._how == "c-header":
            self._files[key]["symbol"] = symbol(stem)
