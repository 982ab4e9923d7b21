"""Small documents of Common IR, and writing them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    Json = dict[str, Any]


def tensor(*shape: int | str, element: str = "float32") -> Json:
    return {"tensor": element, "shape": list(shape)}


def port(name: str, kind: Any = None, **more: Any) -> Json:
    return {"name": name, "type": kind or tensor("*"), **more}


def node(name: str, operator: str, inputs: list[str], outputs: list[str], **more: Any) -> Json:
    return {
        "name": name, "operator": operator, "inputs": inputs, "outputs": outputs, "arg_count": [1] * len(inputs), **more
    }  # fmt: skip


def library(*operators: Json, domain: str = "ai.onnx", version: int = 20, **more: Any) -> Json:
    return {
        "common_ir": 1, "kind": "library", "name": "set", "domain": domain, "ir_version": 8, "model_version": version,
        "doc_string": "Operators.", "operators": list(operators), **more,
    }  # fmt: skip


def operator(name: str, inputs: int = 1, shape: str = "m*", **more: Any) -> Json:
    """An elementwise operator of float32."""
    names = [f"operand{index}" for index in range(inputs)]
    ports = {"inputs": [port(one, tensor(shape)) for one in names], "outputs": [port("result", tensor(shape))]}
    return {"name": name, **ports, **more}


OPERATORS = library(
    operator("Relu"), operator("Neg"), operator("Add", 2),
    {"name": "Concat", "inputs": [port("parts", count="repeated")], "outputs": [port("result")],
     "attributes": [{"name": "axis", "type": "int64", "required": True}]},
)  # fmt: skip


def graph(nodes: list[Json], inputs: Json | None = None, outputs: list[Json] | None = None, **more: Any) -> Json:
    """A graph of `x` and what `nodes` make of it, that bundles `OPERATORS`."""
    kinds = inputs or {"x": tensor(2)}
    return {
        "common_ir": 1, "kind": "graph", "name": "net", "domain": "org.example", "ir_version": 8, "model_version": 1,
        "doc_string": "A net.", "imports": ["onnx.cir.json"], "bundled": {"onnx.cir.json": OPERATORS},
        "inputs": [port(name, kind) for name, kind in kinds.items()],
        "outputs": outputs or [port("y", tensor(2))], "nodes": nodes, **more,
    }  # fmt: skip


def relu() -> Json:
    return graph([node("n", "Relu", ["x"], ["y"])])


def written(folder: Path, document: Json, name: str = "net.cir.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path
