"""Quantized documents run as integers straight from their own graph.quant and stored integer weights.

Against LiteRT's recorded outputs; layer by layer against the recorded tensors of its reference kernels. How they were
recorded: benchmarks/layers.py.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from quant.legalize.quantize import Report, quantize
from tosa_engine import Session, types
from tosa_engine.frontends import nnef

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests" / "data" / "nnef"
SHARED = ROOT.parent / "shared" / "models" / "nnef" / "quantized"


@pytest.fixture
def layers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("layers")


def integers(path: Path) -> Graph:
    report = Report()
    graph = quantize(nnef.load(path), report)
    assert report.notes == []  # no scale of the file was replaced, no weight saturates
    assert all(not tensor.dtype.is_float for tensor in graph.main.tensors.values())
    return graph


def run(graph: Graph, x: Array) -> Array:
    return Session(graph).run(None, {graph.inputs[0].name: x})[0]


def distance(found: Array, expected: Array) -> tuple[int, float]:
    """The largest difference, and the share of elements that differ."""
    differences = np.abs(found.astype(np.int64) - expected)
    return int(differences.max()), float((differences > 0).mean())


def test_ds_cnn_kws(report: Callable[[str], None]) -> None:
    bundle = np.load(DATA / "ds_cnn_kws.int8.io.npz")
    found = run(integers(DATA / "ds_cnn_kws.int8.nnef.tgz"), bundle["in0"])
    assert found.tolist() == bundle["out0_xnnpack"].tolist()
    most, share = distance(found, bundle["out0_reference_kernels"])
    assert most <= 2
    report(f"ds_cnn_kws: XNNPACK's bytes; {share:.0%} differ from LiteRT's reference kernels, by at most {most}")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared/models")
def test_mobilenet_v2(report: Callable[[str], None]) -> None:
    bundle = np.load(SHARED / "mobilenet_v2_w100_224.int8.io.npz")
    found = run(integers(SHARED / "mobilenet_v2_w100_224.int8"), bundle["in0"])
    most, share = distance(found, bundle["out0_reference_kernels"])
    allowed, theirs = distance(bundle["out0_xnnpack"], bundle["out0_reference_kernels"])
    assert most <= allowed
    assert share <= theirs
    shown = f"{share:.1%} differ from LiteRT's reference kernels, by at most {most}"
    report(f"mobilenet_v2: {shown}; of XNNPACK's {theirs:.1%}, by at most {allowed}")


def test_the_stored_weights_are_those_of_the_graph() -> None:
    """No weight goes through floats and comes back as another code."""
    path = DATA / "ds_cnn_kws.int8.nnef.tgz"
    document = nnef.load_document(path)
    graph = integers(path)
    assert document.container is not None
    stored = nnef.read_dat(document.container.read("variable14.dat"), "variable14.dat").array  # [64, 64, 1, 1]
    filters = [
        op.inputs[1] for op in graph.main.operators if op.op == "CONV2D" and op.inputs[1].startswith("variable14")
    ]
    weight = graph.main.tensors[filters[0]]
    assert weight.dtype is types.i8
    assert weight.data is not None
    np.testing.assert_array_equal(weight.data, stored.transpose(0, 2, 3, 1))
    stored = nnef.read_dat(document.container.read("variable4.dat"), "variable4.dat").array  # its bias
    bias = [graph.main.tensors[op.inputs[2]].data for op in graph.main.operators if op.inputs[1:2] == filters]
    np.testing.assert_array_equal(bias[0], stored.reshape(-1))


def test_every_layer_of_ds_cnn_kws_is_within_1(layers: ModuleType, report: Callable[[str], None]) -> None:
    graph = integers(DATA / "ds_cnn_kws.int8.nnef.tgz")
    with np.load(DATA / "ds_cnn_kws.int8.layers.npz") as recorded:
        arrays = {name: recorded[name] for name in recorded.files}
    rows = layers.compare(graph, arrays)
    assert [row.name for row in rows] == ["pad1", *(f"relu{i}" for i in range(1, 10)), "mean_reduce1", "linear1"]
    assert all(row.most <= 1 for row in rows)
    assert all(row.twice == 0 for row in rows)  # rounding is the whole difference
    total = layers.total(rows)
    assert 0 < total.differing < 0.005 * total.size
    report(f"ds_cnn_kws, layer by layer: {total.differing} of {total.size} elements differ by 1; rounded twice, none")


def test_rounding_twice_gives_the_bytes_of_the_reference_kernels(layers: ModuleType) -> None:
    bundle = np.load(DATA / "ds_cnn_kws.int8.io.npz")
    found = run(layers.rounding_twice(integers(DATA / "ds_cnn_kws.int8.nnef.tgz")), bundle["in0"])
    assert found.tolist() == bundle["out0_reference_kernels"].tolist()


def test_a_wrong_layer_is_noticed(layers: ModuleType) -> None:
    graph = integers(DATA / "ds_cnn_kws.int8.nnef.tgz")
    with np.load(DATA / "ds_cnn_kws.int8.layers.npz") as recorded:
        arrays = {name: recorded[name] for name in recorded.files}
    (weight,) = [t for name, t in graph.main.tensors.items() if name.startswith("variable14") and t.data is not None]
    assert weight.data is not None
    weight.data = weight.data[::-1]
    rows = {row.name: row.most for row in layers.compare(graph, arrays)}
    assert [name for name, most in rows.items() if most > 1] == ["relu3"]
