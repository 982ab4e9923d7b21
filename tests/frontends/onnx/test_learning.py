"""Operators of ai.onnx.ml beside what ONNX Runtime gave, and what is refused of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra `onnx`")

from onnx import TensorProto, helper
from onnx_learning_cases import DOMAIN, RECORDED, Case, cases

from tosa_engine import oracle
from tosa_engine.errors import DataError, Unsupported
from tosa_engine.frontends.onnx.operators import OPERATORS
from tosa_engine.frontends.onnx.source import ModelSource

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.errors import TosaEngineError
    from tosa_engine.graph import Graph

CASES = cases()
OUTPUTS = json.loads(RECORDED.read_text(encoding="utf-8"))["outputs"]
X = np.zeros((2, 3), np.float32)


def graph_of(proto: Any, folder: Path) -> Graph:
    path = folder / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return ModelSource(path).graph()


def test_every_operator_has_a_case() -> None:
    assert {case.op for case in CASES.values()} | {"ZipMap"} == {op for domain, op in OPERATORS if domain == DOMAIN}
    assert set(OUTPUTS) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_as_the_runtime(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    graph = graph_of(case.model(), tmp_path)
    found = oracle.run(graph, {f"i{n}": x.astype(graph.main.tensors[f"i{n}"].dtype.storage) for n, x in case.fed()})
    for output, wanted, kind in zip(graph.main.outputs, OUTPUTS[name], case.outputs, strict=True):
        got, expected = found[output], np.array(wanted)
        assert got.shape == expected.shape
        if kind == "float32":
            np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-6)
        else:
            assert got.tolist() == wanted


def test_zip_map_gives_its_tensor(tmp_path: Path) -> None:
    """What is declared as a list of dictionaries has a column for each key."""
    nodes = [
        helper.make_node("LinearClassifier", ["x"], ["label", "p"], domain=DOMAIN, classlabels_ints=[0, 1, 2],
                         coefficients=[1.0] * 9, intercepts=[0.0, 1.0, 2.0]),
        helper.make_node("ZipMap", ["p"], ["z"], domain=DOMAIN, classlabels_int64s=[0, 1, 2]),
    ]  # fmt: skip
    kind = helper.make_sequence_type_proto(
        helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    )
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    ends = [
        helper.make_tensor_value_info("label", TensorProto.INT64, [2]),
        helper.make_value_info("z", kind),
    ]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 3)]
    graph = graph_of(helper.make_model(helper.make_graph(nodes, "g", ports, ends), opset_imports=sets), tmp_path)
    found = oracle.run(graph, {"x": X})
    assert graph.main.outputs == ["label", "z"]
    assert found["label"].tolist() == [2, 2]
    assert found["z"].tolist() == [[0, 1, 2]] * 2


@pytest.mark.parametrize(
    ("case", "kind", "message"),
    [
        (
            Case("LinearClassifier", (X,), {"coefficients": [1.0] * 6, "intercepts": [0.0] * 2,
                                            "classlabels_strings": ["a", "b"]}, ("int64", "float32")),
            Unsupported,
            "its labels are strings, TOSA has numbers only: train with a number for each class",
        ),
        (
            Case("LinearRegressor", (X,), {"coefficients": [1.0] * 3, "post_transform": "PROBIT"}),
            Unsupported,
            "post_transform PROBIT",
        ),
        (
            Case("LinearRegressor", (X,), {"coefficients": [1.0] * 4}),
            DataError,
            "4 coefficients for 1 outputs of 3 features",
        ),
        (
            Case("Scaler", (X,), {"scale": [1.0] * 2}),
            DataError,
            "attribute 'scale' has 2 numbers for 3 features",
        ),
        (
            Case("LabelEncoder", (X.astype(np.int64),), {"keys_int64s": [1], "values_strings": ["a"]}),
            Unsupported,
            "its values aren't numbers that TOSA has",
        ),
        (
            Case("OneHotEncoder", (X,), {"cats_int64s": [1], "zeros": 0}),
            Unsupported,
            "zeros=0, which wants an error for a number that is no category",
        ),
        (
            Case("SVMRegressor", (X,), {"kernel_type": "LINEAR"}),
            Unsupported,
            "this operator isn't supported",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(case: Case, kind: type[TosaEngineError], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind) as caught:
        graph_of(case.model(), tmp_path)
    assert str(caught.value) == f"m.onnx: {case.op} of 'o0': {message}"
