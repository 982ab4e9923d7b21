"""Damaged ONNX models: nodes that don't fit their operator's schema, and fields changed at random."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine.errors import TosaEngineError
from tosa_engine.load import load

pytest.importorskip("onnx", reason="needs the extra `onnx`")

from limits import within_limits
from onnx import TensorProto, helper, numpy_helper
from onnx_mutations import onnx as broken
from scene_files import onnx_models

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {
    "zero": np.array([0]), "real": np.array([1.0], np.float32), "none": np.zeros(0, np.float32),
    "pads": np.ones(8, np.int64), "kernel": np.ones((1, 1, 2, 2), np.float32),
    "yes": np.array(True), "m": np.array([1, 2]),
}  # fmt: skip


PORTS = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])]


def written(folder: Path, node: Any, opset: int = 20) -> Path:
    held = [numpy_helper.from_array(array, name) for name, array in VALUES.items()]
    graph = helper.make_graph([node], "g", PORTS, [helper.make_empty_tensor_value_info("y")], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    return folder / "m.onnx"


def of(op: str, *inputs: str, **attributes: Any) -> Any:
    return helper.make_node(op, inputs, ["y"], **attributes)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (of("Concat", "x", "x"), "attribute 'axis' is missing"),
        (of("Concat", "x", "", axis=0), "input 'inputs' is missing"),
        (of("Concat", "x", axis=0.5), "attribute 'axis' is of kind float, not int"),
        (of("Conv", "x", "kernel", strides="ab"), "attribute 'strides' is of kind string, not ints"),
        (of("Conv", "x"), "1 inputs and 1 outputs, of which it has 2 to 3 and at most 1"),
        (of("Conv", "x", ""), "input 'W' is missing"),
        (of("Conv", "x", "yes"), "input 'W' can't be of type bool"),
        (of("Conv", "x", "kernel", auto_pad="SAME"), "auto_pad 'SAME' is none of ONNX's"),
        (of("MaxPool", "x", kernel_shape=[2, 2, 2]), "a window of [2, 2, 2] with dilations [1, 1]"),
        (of("MaxPool", "x", kernel_shape=[2, 0]), "a window of [2, 0] with dilations [1, 1]"),
        (of("Pad", "x", "pads", mode="wrong"), "mode 'wrong' is none of Pad's"),
        (of("Pad", "x", "pads", "none"), "the filling: a single value, not 0"),
        (of("If", "yes"), "attribute 'else_branch' is missing"),
        (of("Loop", "m", "yes", body=helper.make_graph([], "b", [], PORTS)), "number of steps: a single value, not 2"),
        (of("Loop", "zero", "yes", "x", body=helper.make_graph([], "b", [], [])), "a body of 0 outputs for 1 values"),
    ],
)  # fmt: skip
def test_nodes_that_do_not_fit_their_operator(tmp_path: Path, node: Any, message: str) -> None:
    with pytest.raises(TosaEngineError) as caught:
        load(written(tmp_path, node))
    assert message in str(caught.value)


def test_an_operator_set_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(TosaEngineError, match="there is no operator set 1099511627776"):
        load(written(tmp_path, of("Relu", "x"), opset=1 << 40))


def test_a_hundred_thousand_dimensions(tmp_path: Path) -> None:
    many = (2**31,) * 100_000
    port = helper.make_tensor_value_info("x", TensorProto.FLOAT, many)
    held = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=many)
    for ports, constants, what in (([port], [], "input 'x'"), (PORTS, [held], "initializer 'w'")):
        inputs = ["x", "w"] if constants else ["x", "x"]
        graph = helper.make_graph(
            [of("Add", *inputs)], "g", ports, [helper.make_empty_tensor_value_info("y")], constants
        )
        (tmp_path / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
        with pytest.raises(TosaEngineError) as caught:
            load(tmp_path / "m.onnx")
        assert f"{what} has 100000 dimensions, at most 32 are read" in str(caught.value)


def test_files_cut_off_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx_models(np.random.default_rng(0))
    data = (tmp_path / "ops.onnx").read_bytes()
    refused = 0
    with within_limits():
        for length in range(0, len(data), len(data) // 100):
            (tmp_path / "m.onnx").write_bytes(data[:length])
            try:
                load("m.onnx")
            except TosaEngineError as problem:
                refused += "m.onnx" in str(problem)
    assert refused > 90


def test_fields_changed_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx_models(np.random.default_rng(0))
    models = {name: (tmp_path / name).read_bytes() for name in ("net.onnx", "ops.onnx", "weights.onnx")}
    refused = 0
    for seed in range(int(os.environ.get("FUZZ_SEEDS", "150"))):
        rng = random.Random(seed)
        name = rng.choice(list(models))
        (tmp_path / "m.onnx").write_bytes(broken(models[name], rng))
        try:
            load("m.onnx")
        except (TosaEngineError, OSError):
            refused += 1
    assert 0 < refused < seed
