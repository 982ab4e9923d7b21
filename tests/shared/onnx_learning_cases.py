"""Small models with operators of ai.onnx.ml, and the outputs that ONNX Runtime gives for them.

python tests/shared/onnx_learning_cases.py     writes tests/data/onnx/learning.json, with onnxruntime installed
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

RECORDED = Path(__file__).resolve().parents[1] / "data" / "onnx" / "learning.json"
DOMAIN = "ai.onnx.ml"
CODES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32}


class Case(NamedTuple):
    """One node: its inputs, which are data up to the first that `known` counts; types of the outputs."""

    op: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any]
    outputs: tuple[str, ...] = ("float32",)
    known: tuple[int, ...] = ()
    version: int = 3

    def model(self) -> Any:
        names = [f"i{n}" for n in range(len(self.inputs))]
        node = helper.make_node(self.op, names, [f"o{n}" for n in range(len(self.outputs))], domain=DOMAIN)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in self.attributes.items())
        held = [numpy_helper.from_array(self.inputs[n], names[n]) for n in self.known]
        ports = [helper.make_tensor_value_info(f"i{n}", CODES[x.dtype.name], x.shape) for n, x in self.fed()]
        ends = [helper.make_tensor_value_info(f"o{n}", CODES[kind], None) for n, kind in enumerate(self.outputs)]
        graph = helper.make_graph([node], "g", ports, ends, held)
        sets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, self.version)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8)

    def fed(self) -> list[tuple[int, Any]]:
        return [(n, x) for n, x in enumerate(self.inputs) if n not in self.known]


def cases() -> dict[str, Case]:
    """By name; the same numbers in every run."""
    random = np.random.default_rng(11)

    def f(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float32)

    def i(*shape: int) -> Any:
        return random.integers(-3, 4, shape)

    def n(*shape: int) -> list[float]:
        return [float(one) for one in f(*shape).reshape(-1)]

    holes, zeros = f(3, 4), f(3, 4)
    holes[[0, 2], [1, 3]], zeros[1] = np.nan, 0
    below = -np.abs(f(2, 3))
    both = ("int64", "float32")
    three, two = {"classlabels_ints": [0, 1, 2]}, {"classlabels_ints": [3, 7]}
    weights = {"coefficients": n(3, 4), "intercepts": n(3)}
    one = {"coefficients": n(4), "intercepts": n(1)}
    return {
        "scaler": Case("Scaler", (f(3, 4),), {"offset": n(4), "scale": n(4)}),
        "scaler_of_integers": Case("Scaler", (i(3, 4),), {"offset": [1.0], "scale": [0.5]}),
        "regressor": Case("LinearRegressor", (f(3, 4),), one),
        "regressor_of_three": Case("LinearRegressor", (f(3, 4),), weights | {"targets": 3}),
        "regressor_without_intercepts": Case("LinearRegressor", (f(3, 4),), {"coefficients": n(4)}),
        "classifier": Case("LinearClassifier", (f(6, 4),), weights | three, both),
        "classifier_softmax": Case(
            "LinearClassifier", (f(6, 4),), weights | three | {"post_transform": "SOFTMAX"}, both
        ),
        "classifier_labels": Case("LinearClassifier", (f(6, 4),), weights | {"classlabels_ints": [5, -2, 9]}, both),
        "classifier_logistic": Case(
            "LinearClassifier", (f(6, 4),), weights | three | {"post_transform": "LOGISTIC"}, both
        ),
        "one_score": Case("LinearClassifier", (f(6, 4),), one | two, both),
        "one_score_logistic": Case("LinearClassifier", (f(6, 4),), one | two | {"post_transform": "LOGISTIC"}, both),
        "normalizer_max": Case("Normalizer", (zeros,), {"norm": "MAX"}),
        "normalizer_max_below": Case("Normalizer", (below,), {"norm": "MAX"}),
        "normalizer_l1": Case("Normalizer", (zeros,), {"norm": "L1"}),
        "normalizer_l2": Case("Normalizer", (zeros,), {"norm": "L2"}),
        "binarizer": Case("Binarizer", (f(3, 4),), {"threshold": 0.25}),
        "imputer": Case("Imputer", (holes,), {"imputed_value_floats": n(4), "replaced_value_float": float("nan")}),
        "imputer_of_zeros": Case("Imputer", (zeros,), {"imputed_value_floats": [0.5], "replaced_value_float": 0.0}),
        "imputer_of_integers": Case(
            "Imputer", (i(3, 4),), {"imputed_value_int64s": [7], "replaced_value_int64": 2}, ("int64",)
        ),
        "features": Case("ArrayFeatureExtractor", (f(3, 5), np.array([4, 0, 1])), {}, ("float32",), (1,)),
        "feature": Case("ArrayFeatureExtractor", (f(3, 5), np.array([2])), {}, ("float32",), (1,)),
        "labels": Case("ArrayFeatureExtractor", (np.array([4, 8, 9]), np.array([2, 0, 0, 1])), {}, ("int64",), (0,)),
        "vectorizer": Case("FeatureVectorizer", (f(3, 2), f(3, 1)), {"inputdimensions": [2, 1]}),
        "one_hot": Case("OneHotEncoder", (i(3, 2),), {"cats_int64s": [-1, 0, 2], "zeros": 1}),
        "encoder": Case(
            "LabelEncoder", (i(3, 4),), {"keys_int64s": [-1, 0, 2, 3], "values_floats": n(4), "default_float": 9.0}
        ),
        "encoder_to_integers": Case(
            "LabelEncoder", (i(5),), {"keys_int64s": [0, 1, 2], "values_int64s": [70, 71, 72]}, ("int64",)
        ),
        "encoder_of_floats": Case(
            "LabelEncoder",
            (np.array([0.5, 1.5, 2.0], np.float32),),
            {"keys_floats": [2.0, 0.5], "values_int64s": [4, 5], "default_int64": -7},
            ("int64",),
        ),
        "encoder_of_tensors": Case(
            "LabelEncoder",
            (np.array([1, 2, 0, 1, 3]),),
            {
                "keys_tensor": numpy_helper.from_array(np.array([1, 2])),
                "values_tensor": numpy_helper.from_array(np.array([0.25, 0.5], np.float32)),
                "default_tensor": numpy_helper.from_array(np.array([-1], np.float32)),
            },
            version=4,
        ),
    }


def record() -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    found = {}
    for name, case in cases().items():
        session = onnxruntime.InferenceSession(case.model().SerializeToString(), options)
        found[name] = [one.tolist() for one in session.run(None, {f"i{n}": x for n, x in case.fed()})]
    text = json.dumps({"onnxruntime": onnxruntime.__version__, "outputs": found})
    RECORDED.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
