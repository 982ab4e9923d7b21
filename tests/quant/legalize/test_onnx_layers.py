"""A node of an ONNX model that becomes many operators is one layer for rules, by the name of its first result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra `onnx`")
from onnx import helper
from onnx_models import model, written

from quant import LayerRule, Scheme, attach
from quant.calibration.observe import collect
from quant.legalize.layers import layers_of
from tosa_engine.load import load

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(0)


def constants(*shape: int) -> Any:
    return RNG.uniform(0.5, 1.5, shape).astype(np.float32)


@pytest.mark.parametrize(
    ("op", "given", "least"),
    [
        ("LayerNormalization", {"s": constants(8)}, 8),
        ("InstanceNormalization", {"s": constants(4), "b": constants(4)}, 9),
        ("Gelu", {}, 5),
        ("LogSoftmax", {}, 5),
    ],
)
def test_a_rule_is_for_every_operator_of_a_node(tmp_path: Path, op: str, given: dict[str, Any], least: int) -> None:
    nodes = [helper.make_node(op, ["x", *given], ["made"]), helper.make_node("Sin", ["made"], ["y"])]
    graph = load(written(tmp_path, model(nodes, {"x": [2, 4, 8]}, ["y"], given)))
    statistics = collect(graph, enumerate({"x": RNG.normal(size=(2, 4, 8)).astype(np.float32)} for _ in range(2)))
    block = attach(graph, statistics, Scheme(), [LayerRule("*", "int8"), LayerRule("made", "int16")]).main
    layers = layers_of(block)
    assert [layer.name for layer in layers[-2:]] == ["made", "y"]
    bits = [{q.bits for name in layer.tensors if (q := block.tensors[name].quant)} for layer in layers]
    assert len(layers) == least + 1
    assert all(found <= {16} for found in bits[:-1])
    assert bits[-2:] == [{16}, {8}]
