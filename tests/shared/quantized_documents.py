"""NNEF documents of one tensor with quantization, in floats and in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quant.legalize.quantize import Report, quantize
from tosa_engine import Session, oracle
from tosa_engine.formats import open_model
from tosa_engine.frontends import nnef

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

HEAD = "version 1.0;\nextension KHR_enable_fragment_definitions;\nextension KHR_enable_operator_expressions;\n"
SHAPE = (1, 3, 8, 12)
X = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)


def linear(zero_point: Any, scale: Any, bits: int = 8, signed: bool = True, symmetric: bool = False) -> str:
    flags = f"signed = {str(signed).lower()}, symmetric = {str(symmetric).lower()}"
    return f"zero_point_linear_quantize(zero_point = {zero_point}, scale = {scale}, bits = {bits}, {flags})"


X_LINE = f'"x": {linear(0, 1 / 32)};\n'
TERNARY = """fragment ternary(x: tensor<scalar>, step: scalar, limit: integer = 1) -> (y: tensor<scalar>)
{ y = clamp(round(x / step), scalar(-limit), scalar(limit)) * step; }
"""


def write(
    folder: Path, body: str, quant: str = "", *, fragments: str = "", tensors: dict[str, Array | bytes] | None = None
) -> Path:
    path = folder / "m.nnef"
    path.mkdir()
    text = f"{HEAD}{fragments}\ngraph g(x) -> (y)\n{{\n    x = external(shape = {list(SHAPE)});\n    {body}\n}}"
    (path / "graph.nnef").write_text(text)
    if quant:
        (path / "graph.quant").write_text(quant)
    for name, array in (tensors or {}).items():
        (path / f"{name}.dat").write_bytes(array if isinstance(array, bytes) else nnef.write_dat(array))
    return path


def floats(path: Path) -> Array:
    return oracle.run(nnef.load(path), {"x": X})["y"]


def integers(path: Path, report: Report | None = None) -> Graph:
    source = open_model(path)
    return quantize(source.graph(source.hints(), for_integers=True), report)


def run(graph: Graph, codes: Array) -> Array:
    return Session(graph).run(None, {"x": codes})[0]


def operators(graph: Graph) -> list[str]:
    return [op.op for op in graph.main.operators if op.op not in ("CONST", "CONST_SHAPE", "TRANSPOSE")]


def all_codes(graph: Graph) -> Array:
    """An input with every code of int8 in it somewhere."""
    size = int(np.prod(graph.inputs[0].shape or ()))
    return np.resize(np.arange(-128, 128), size).astype(np.int8).reshape(graph.inputs[0].shape or ())


# logarithmic
