"""What the command refuses, Python refuses, too; samples come as Python has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant import LayerRule, Method, Options, Scheme, calibrate, quantize_from_samples, report
from tosa_engine.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph

RNG = np.random.default_rng(3)
XS = [RNG.normal(size=(1, 4, 4, 3)).astype(np.float32) for _ in range(3)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Method("mse", bits=12), "activations have 8 or 16 bits, got 12"),
        (lambda: Method("mse", 99.0), "a percentile is for the method 'percentile', not for 'mse'"),
        (lambda: Scheme("mse"), r"the method of a Scheme is a Method, such as Method\('mse'\), got 'mse'"),
        (lambda: Scheme(symmetric="no"), "symmetric is True or False, got 'no'"),
        (lambda: Scheme().with_bits(12), "activations have 8 or 16 bits, got 12"),
        (lambda: Options(scheme="mse"), r"a scheme is a Scheme, such as Scheme\(Method\('mse'\)\), got 'mse'"),
        (lambda: Options(rules=("conv=int16",)), r"rules are LayerRules, such as LayerRule\('conv1', 'int16'\)"),
        (lambda: Options(rounding_layers="conv1"), r"rounding_layers are several selectors, \('conv1',\), got a str"),
        (lambda: Options(smooth=2), "smooth is a number from 0 to 1, or None, got 2"),
        (lambda: Options(smooth=True), "smooth is a number from 0 to 1, or None, got True"),
        (lambda: Options(equalize="yes"), "equalize is True or False, got 'yes'"),
        (lambda: LayerRule("conv1", "int12"), "unknown precision 'int12'"),
    ],
)
def test_options_are_checked_when_they_are_made(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


def test_a_method_is_symmetric_as_its_scheme_is() -> None:
    """With the method left asymmetric, mse chose the range for other integers than those that were made."""
    assert Scheme(Method("mse"), symmetric=True).method.symmetric
    assert Scheme().with_bits(16) == Scheme(Method("minmax", bits=16, symmetric=True), symmetric=True)


def network() -> Graph:
    f = Floats()
    x = f.input((1, 4, 4, 3), name="x")
    return f.outputs(f.op("TANH", [f.conv(x, np.ones((3, 1, 1, 3), np.float32), np.zeros(3, np.float32))], name="y"))


class Pairs:
    """A data set as PyTorch has them: by index, of a sample and its target."""

    def __len__(self) -> int:
        return len(XS)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        return XS[index][0].astype(np.float64), 7


class Tensorish:
    """What gives an array when it is asked: a tensor of another library."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        del dtype, copy
        return self.array


FORMS = [[{"x": x} for x in XS], XS, [(x, 1) for x in XS], [[x, 1] for x in XS], [({"x": x}, 1) for x in XS],
         np.stack(XS), Pairs(), [Tensorish(x) for x in XS]]  # fmt: skip


@pytest.mark.parametrize("samples", FORMS[1:])
def test_samples_as_python_has_them(samples: Any) -> None:
    graph = network()
    wanted = calibrate(graph, FORMS[0]).qparams
    assert calibrate(graph, samples).qparams == wanted
    made = quantize_from_samples(graph, samples)
    found, same = (report.layer_errors(made.ready, made.graph, given) for given in (samples, FORMS[0]))
    assert found == same
    assert report.measure(made.ready, made.graph, samples).samples == 3


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (["x"], r"sample 0 is a str; samples are \{'x': array\}, arrays, or pairs of one and its target"),
        ([(1, 2, 3)], "sample 0 is a tuple of 3; samples are"),
        ({"x": XS[0]}, "samples are a list of samples, or have get_next"),
        (3, r"samples are an iterable or have get_next\(\), got int"),
        ([XS[0], XS[0][:, :2]], r"wanted float32\[1, 4, 4, 3\] for fp32, got float32\[1, 2, 4, 3\]"),
        ([XS[0].astype(np.uint8)], r"wanted float32\[1, 4, 4, 3\] for fp32, got uint8\[1, 4, 4, 3\]"),
    ],
)
def test_what_is_no_sample(samples: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        calibrate(network(), samples)


def test_an_array_alone_for_two_inputs() -> None:
    f = Floats()
    graph = f.outputs(f.op("ADD", [f.input((1, 3), name="a"), f.input((1, 3), name="b")], name="y"))
    with pytest.raises(DataError, match=r"is an array, and the network has 2 inputs: give \{.a.: array, .b.: array\}"):
        calibrate(graph, [np.ones((1, 3), np.float32)])
