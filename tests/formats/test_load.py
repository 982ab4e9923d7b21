"""Graphs that are loaded hold equal constants once: those of one model that is bound to several shapes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from child import PYTHONPATH

pytest.importorskip("onnx", reason="needs the extra `onnx`")

from onnx import TensorProto, helper, numpy_helper

from tosa_engine import load as module
from tosa_engine.load import load

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph


def network(folder: Path) -> Path:
    """A convolution and a product, of any extents: their filters are turned when the model is read."""
    random = np.random.default_rng(5)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["c"], ["m"]),
        helper.make_node("Flatten", ["m"], ["f"]),
        helper.make_node("Gemm", ["f", "v"], ["y"]),
    ]
    held = [
        numpy_helper.from_array(random.standard_normal((32, 8, 3, 3), np.float32), "w"),
        numpy_helper.from_array(random.standard_normal((32, 40), np.float32), "v"),
    ]
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8, "h", "w"])]
    graph = helper.make_graph(nodes, "g", ports, [helper.make_empty_tensor_value_info("y")], held)
    path = folder / "m.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    path.write_bytes(model.SerializeToString())
    return path


def weights(graph: Graph) -> list[int]:
    return sorted(id(t.data) for t in graph.main.tensors.values() if t.data is not None and t.data.nbytes > 1024)


def test_bindings_of_one_model_have_the_same_weights(tmp_path: Path) -> None:
    path = network(tmp_path)
    small, large = load(path, shape={"x": (1, 8, 6, 6)}), load(path, shape={"x": (2, 8, 9, 5)})
    assert len(weights(small)) == 2
    assert weights(small) == weights(large)


def test_other_values_and_other_types_are_kept_apart() -> None:
    ones = np.ones((8, 64), np.float32)
    same, others = module._shared(ones), [ones + 1, ones.view(np.int32), ones.reshape(64, 8)]
    assert module._shared(ones.copy()) is same
    assert all(module._shared(other) is other for other in others)


def test_constants_that_no_graph_needs_are_gone(tmp_path: Path) -> None:
    gc.collect()
    before = len(module._known)
    graph = load(network(tmp_path), shape={"x": (1, 8, 6, 6)})
    assert len(module._known) == before + 2
    del graph
    gc.collect()
    assert len(module._known) == before


SECOND = """
import sys
import numpy as np
from tosa_engine import Session
from tosa_engine.kernels import _jit
from tosa_engine.load import load

began = []
with _jit.watch(began.append):
    for shape in ((1, 8, 6, 6), (2, 8, 9, 5)):
        before = len(began)
        Session(load(sys.argv[1], shape={"x": shape}), threads=1).run(None, {"x": np.ones(shape, np.float32)})
        print(len(began) > before)
"""


@pytest.mark.slow("compiles kernels into an empty cache")
def test_a_second_binding_compiles_nothing(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": PYTHONPATH, "TOSA_ENGINE_CACHE_DIR": str(tmp_path / "cache"), "TOSA_ENGINE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SECOND, network(tmp_path)],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.stdout.split() == ["True", "False"], done.stderr
