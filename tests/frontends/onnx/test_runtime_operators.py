"""Operators of ONNX Runtime's own domain beside what ONNX Runtime gave: integers within one step, floats closely."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra `onnx`")

from onnx_runtime_cases import DOMAIN, RECORDED, cases

from tosa_engine import oracle
from tosa_engine.frontends.onnx.operators import OPERATORS
from tosa_engine.frontends.onnx.source import ModelSource

if TYPE_CHECKING:
    from pathlib import Path

CASES = cases()
OUTPUTS = json.loads(RECORDED.read_text(encoding="utf-8"))["outputs"]


def test_every_operator_has_a_case() -> None:
    there = {(case.domain, case.op) for case in CASES.values()}
    assert there == {key for key in OPERATORS if key[0] == DOMAIN or key[1] == "SimplifiedLayerNormalization"}
    assert set(OUTPUTS) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_as_the_runtime(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = tmp_path / "m.onnx"
    path.write_bytes(case.model().SerializeToString())
    source = ModelSource(path)
    graph = source.graph()
    if set(case.outputs) <= {"float32", ""}:  # real numbers stand for integers inside only
        assert source.graph(for_integers=True).main.outputs == graph.main.outputs
    ready = {
        port.name: value.view(port.dtype.storage) if value.dtype.kind == "u" else value
        for port, value in zip(graph.inputs, case.feeds().values(), strict=True)
    }
    found = oracle.run(graph, ready)
    for output, wanted, kind in zip(graph.main.outputs, OUTPUTS[name], [k for k in case.outputs if k], strict=True):
        got = found[output].view(np.dtype(kind)).astype(np.float64)
        if kind == "float32":
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=2e-5)
        else:
            assert np.abs(got - wanted).max() <= 1
            assert np.mean(got != wanted) <= 0.05
