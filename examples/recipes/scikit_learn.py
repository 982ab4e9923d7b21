"""Models of scikit-learn become int8: python examples/recipes/scikit_learn.py [--out FOLDER]

Pipelines with a scaler are fitted to data that scikit-learn ships, converted by skl2onnx, calibrated, quantized, and
run on real numbers. docs/scikit-learn.md explains the steps. Needs the extra `torch`, which has skl2onnx.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import steps
from skl2onnx import to_onnx
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from quant import Options, Scheme, quantize_from_samples
from tosa_engine import Session
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Callable

CALIBRATION = 200
COMMANDS = """
tosa-engine run classifier.onnx --shape X=1,64 -i x.npy --expect y.npz --atol 1e-5
tosa-engine calibrate classifier.onnx --shape X=1,64 --data calibration.npz --statistics c.json -o c.quant
tosa-engine quantize classifier.onnx --shape X=1,64 --statistics c.json -o classifier.int8.tosa
tosa-engine run classifier.int8.tosa -i x.npy --real --expect y.npz --atol 0.05
"""


def convert(model: Pipeline, x: np.ndarray, name: str) -> None:
    """ONNX for any number of rows."""
    with open(f"{name}.onnx", "wb") as file:
        file.write(to_onnx(model, x[:1]).SerializeToString())


def quantized(name: str, x: np.ndarray, bits: int) -> Session:
    model = load(f"{name}.onnx", shape={"X": (1, x.shape[1])})
    samples = [{"X": row[None]} for row in x[:CALIBRATION]]
    return Session(quantize_from_samples(model, samples, Options(scheme=Scheme().with_bits(bits))).graph)


def rows(session: Session, x: np.ndarray, output: str) -> np.ndarray:
    return np.concatenate([session.run_real([output], {"X": row[None]})[0] for row in x])


def compared(
    name: str, output: str, wanted: np.ndarray, x: np.ndarray, test: np.ndarray, metric: Callable[[np.ndarray], str]
) -> None:
    """A model in floats and in integers beside what scikit-learn gives for the test data."""
    found = {"scikit-learn": wanted}
    found["float"] = Session(load(f"{name}.onnx", shape={"X": test.shape})).run([output], {"X": test})[0]
    for bits in (8, 16):
        found[f"int{bits}"] = rows(quantized(name, x, bits), test, output)
    print(f"{name}:")
    steps.show({key: (metric(values), values) for key, values in found.items()})


def classifiers() -> None:
    digits = load_digits()
    x, test = np.split(digits.data.astype(np.float32), [1200])
    labels, right = np.split(digits.target, [1200])
    network = MLPClassifier(hidden_layer_sizes=(32,), max_iter=300, random_state=0)
    models = {"classifier": network, "logistic": LogisticRegression(max_iter=200)}
    for name, model in models.items():
        fitted = make_pipeline(StandardScaler(), model).fit(x, labels)
        convert(fitted, x, name)
        if name == "classifier":
            np.save("x.npy", test[:1])
            np.savez("y.npz", output_label=fitted.predict(test[:1]), output_probability=fitted.predict_proba(test[:1]))
            np.savez("calibration.npz", X=x[:CALIBRATION, None])
            steps.run(COMMANDS)
        wanted = fitted.predict_proba(test)
        compared(name, "output_probability", wanted, x, test, lambda y: steps.accuracy(y, right))


def regressor() -> None:
    diabetes = load_diabetes(scaled=False)
    x, test = np.split(diabetes.data.astype(np.float32), [342])
    values, right = np.split(diabetes.target, [342])
    network = MLPRegressor(hidden_layer_sizes=(32,), learning_rate_init=0.01, early_stopping=True, random_state=0)
    fitted = make_pipeline(StandardScaler(), network).fit(x, values)
    convert(fitted, x, "regressor")
    compared("regressor", "variable", fitted.predict(test), x, test, lambda y: steps.r2(y, right))


def main() -> None:
    steps.enter_folder(__doc__, "out/scikit_learn")
    classifiers()
    regressor()


if __name__ == "__main__":
    main()
