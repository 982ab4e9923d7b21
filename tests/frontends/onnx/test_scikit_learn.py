"""What skl2onnx writes: the models that docs/scikit-learn.md names give scikit-learn's numbers, and become integers."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from quant import quantize_from_samples
from tosa_engine import oracle
from tosa_engine.errors import TosaEngineError
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph

NEEDED = ("onnx", "sklearn", "skl2onnx")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:.*:FutureWarning"),  # of scikit-learn, for its converters
    pytest.mark.skipif(bool(MISSING), reason=f"needs the extra `torch` ({', '.join(MISSING)}): make torch"),
]

SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer", "Binarizer")
CLASSIFIERS: dict[str, tuple[str, dict[str, Any]]] = {
    "MLPClassifier": ("neural_network", {"hidden_layer_sizes": (8,), "max_iter": 30, "tol": 1.0, "random_state": 0}),
    "LogisticRegression": ("linear_model", {}),
    "SGDClassifier": ("linear_model", {"random_state": 0}),
}
REGRESSORS: dict[str, tuple[str, dict[str, Any]]] = {
    "MLPRegressor": ("neural_network", {"hidden_layer_sizes": (8,), "max_iter": 30, "tol": 1e6, "random_state": 0}),
    "LinearRegression": ("linear_model", {}),
    "Ridge": ("linear_model", {}),
    "Lasso": ("linear_model", {"alpha": 0.01}),
}


def made(module: str, name: str, **arguments: Any) -> Any:
    return getattr(importlib.import_module(f"sklearn.{module}"), name)(**arguments)


def graph_of(fitted: Any, x: Any, folder: Path) -> Graph:
    from skl2onnx import to_onnx

    path = folder / "m.onnx"
    path.write_bytes(to_onnx(fitted, x[:1]).SerializeToString())
    return load(path, shape={"X": x.shape})


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    """60 rows of 6 features, some of them missing no value, and classes 1, 2 and 5."""
    random = np.random.default_rng(3)
    x = random.normal(0, [1, 2, 1, 3, 1, 1], (60, 6)).astype(np.float32)
    return x, np.array([1, 2, 5])[np.argmax(x[:, :3] + 0.3 * x[:, 3:], axis=1)]


def check(fitted: Any, x: Any, folder: Path, outputs: list[Callable[..., Any]]) -> None:
    """Floats are scikit-learn's; no operator of the integer graph gives floats."""
    graph = graph_of(fitted, x, folder)
    found = oracle.run(graph, {"X": x})
    for name, predict in zip(graph.main.outputs, outputs, strict=True):
        wanted = predict(x)
        np.testing.assert_allclose(found[name].reshape(wanted.shape), wanted, rtol=1e-4, atol=1e-4)
    integer = quantize_from_samples(graph, [{"X": x}]).graph
    assert not [n for n in integer.main.outputs if integer.main.tensors[n].dtype.is_float]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name: str, data: tuple[Any, Any], tmp_path: Path) -> None:
    from sklearn.pipeline import make_pipeline

    module, arguments = CLASSIFIERS[name]
    fitted = make_pipeline(made("preprocessing", "StandardScaler"), made(module, name, **arguments)).fit(*data)
    scores = fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.decision_function
    check(fitted, data[0], tmp_path, [fitted.predict, scores])


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name: str, data: tuple[Any, Any], tmp_path: Path) -> None:
    from sklearn.pipeline import make_pipeline

    module, arguments = REGRESSORS[name]
    x = data[0]
    fitted = make_pipeline(made("impute", "SimpleImputer"), made(module, name, **arguments)).fit(x, x @ np.arange(6))
    check(fitted, x, tmp_path, [fitted.predict])


@pytest.mark.parametrize("name", [*SCALERS, "PCA"])
def test_what_stands_in_front(name: str, data: tuple[Any, Any], tmp_path: Path) -> None:
    from sklearn.pipeline import make_pipeline

    scaler = made("decomposition", name, n_components=3) if name == "PCA" else made("preprocessing", name)
    fitted = make_pipeline(scaler, made("linear_model", "LogisticRegression")).fit(*data)
    check(fitted, data[0], tmp_path, [fitted.predict, fitted.predict_proba])


def test_two_classes(data: tuple[Any, Any], tmp_path: Path) -> None:
    fitted = made("linear_model", "LogisticRegression").fit(data[0], data[1] > 1)
    numbered = made("linear_model", "LogisticRegression").fit(data[0], (data[1] > 1).astype(int))
    check(numbered, data[0], tmp_path, [numbered.predict, numbered.predict_proba])
    assert np.array_equal(fitted.predict(data[0]), numbered.predict(data[0]).astype(bool))


@pytest.mark.parametrize(
    ("module", "name", "operator"),
    [
        ("ensemble", "RandomForestClassifier", "TreeEnsembleClassifier"),
        ("svm", "SVC", "SVMClassifier"),
    ],
)
def test_what_is_refused(module: str, name: str, operator: str, data: tuple[Any, Any], tmp_path: Path) -> None:
    with pytest.raises(TosaEngineError, match=rf"m.onnx: {operator} .*: this operator isn't supported"):
        graph_of(made(module, name).fit(*data), data[0], tmp_path)


def test_labels_that_are_strings_are_refused(data: tuple[Any, Any], tmp_path: Path) -> None:
    fitted = made("linear_model", "LogisticRegression").fit(data[0], data[1].astype(str))
    with pytest.raises(TosaEngineError, match="train with a number for each class"):
        graph_of(fitted, data[0], tmp_path)
