"""FFT2D and RFFT2D: literal values, the kernels beside the oracle, what isn't finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from tosa_engine import oracle
from tosa_engine.check import check
from tosa_engine.compliance.cases import cases
from tosa_engine.errors import ErrorIf, LevelError
from tosa_engine.infer import infer
from tosa_engine.runtime.session import Session
from tosa_engine.serialize import tosa_to_bytes
from tosa_engine.spec import TABLE
from tosa_engine.spec.case import Case
from tosa_engine.types import fp32

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array


def fft2d(shape: tuple[int, ...], *, inverse: bool = False, local_bound: bool = False) -> Graph:
    case = Case("FFT2D").input("input_real", fp32, shape).input("input_imag", fp32, shape)
    case.set(inverse=inverse, local_bound=local_bound)
    return case.output("output_real", fp32, None).output("output_imag", fp32, None).graph()


def rfft2d(shape: tuple[int, ...]) -> Graph:
    case = Case("RFFT2D").input("input_real", fp32, shape)
    return case.output("output_real", fp32, None).output("output_imag", fp32, None).graph()


def both(graph: Graph, *values: Any) -> list[tuple[Array, Array]]:
    """Real and imaginary parts from the oracle and from the kernels."""
    feeds = {t.name: np.asarray(v, np.float32) for t, v in zip(graph.inputs, values, strict=True)}
    real, imag = Session(graph, threads=1).run(None, feeds)
    wanted = oracle.run(graph, feeds)
    return [(wanted["output_real"], wanted["output_imag"]), (real, imag)]


def test_one_value() -> None:
    for real, imag in both(fft2d((1, 1, 1)), [[[3.0]]], [[[-5.0]]]):
        assert (real.tolist(), imag.tolist()) == ([[[3.0]]], [[[-5.0]]])


def test_forward_and_inverse() -> None:
    """Of [1, 2, 3, 4i]: at frequency 1 the angle of position n is n quarter turns, backwards unless inverse."""
    values = [[[1.0, 2.0, 3.0, 0.0]]], [[[0.0, 0.0, 0.0, 4.0]]]
    for real, imag in both(fft2d((1, 1, 4)), *values):
        np.testing.assert_allclose(real[0, 0], [6.0, -6.0, 2.0, 2.0], atol=1e-6)
        np.testing.assert_allclose(imag[0, 0], [4.0, -2.0, -4.0, 2.0], atol=1e-6)
    for real, imag in both(fft2d((1, 1, 4), inverse=True), *values):
        np.testing.assert_allclose(real[0, 0], [6.0, 2.0, 2.0, -6.0], atol=1e-6)
        np.testing.assert_allclose(imag[0, 0], [4.0, 2.0, -4.0, -2.0], atol=1e-6)


def test_real_input() -> None:
    for real, imag in both(rfft2d((1, 2, 4)), [[[1.0, 2.0, 3.0, 5.0], [-1.0, 0.5, 0.0, 7.0]]]):
        np.testing.assert_allclose(real[0], [[17.5, -3.0, -11.5], [4.5, -1.0, 5.5]], atol=1e-6)
        np.testing.assert_allclose(imag[0], [[0.0, 9.5, 0.0], [0.0, -3.5, 0.0]], atol=1e-6)
        assert (imag[0, :, [0, 2]] == 0.0).all()  # exactly: their angles are whole half turns


def test_of_zeros_nothing_but_zeros() -> None:
    for real, imag in both(fft2d((2, 4, 2)), np.zeros((2, 4, 2)), np.zeros((2, 4, 2))):
        assert not real.any()
        assert not imag.any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_image_with_a_value_that_is_not_finite(value: float) -> None:
    """Its outputs are NaN where the oracle's are; the other image isn't touched."""
    real, imag = np.ones((2, 4, 4)), np.zeros((2, 4, 4))
    real[0, 1, 2] = value
    for graph, values in ((fft2d((2, 4, 4)), (real, imag)), (rfft2d((2, 4, 4)), (real,))):
        (wanted, got) = both(graph, *values)
        for right, left in zip(wanted, got, strict=True):
            assert np.isnan(left[0]).all()
            assert not np.isfinite(right[0]).all()
            np.testing.assert_allclose(left[1], right[1], atol=1e-5)


def test_subnormal_values_and_signed_zeros() -> None:
    """Subnormal sums keep their bits; zeros of either sign add up to zeros."""
    for real, imag in both(fft2d((1, 1, 2)), [[[1e-40, -0.0]]], [[[-0.0, -0.0]]]):
        assert real.tolist() == [[[float(np.float32(1e-40))] * 2]]
        assert not imag.any()
    for real, imag in both(rfft2d((1, 2, 1)), [[[1e-45], [-1e-45]]]):
        assert real.tolist() == [[[0.0], [2 * float(np.float32(1e-45))]]]
        assert not imag.any()


def test_constant_input() -> None:
    """Both outputs are computed ahead."""
    values = np.array([[[1.0, 2.0, 3.0, 5.0]]], np.float32)
    case = Case("RFFT2D").const("input_real", fp32, values)
    for real, imag in both(case.output("output_real", fp32, None).output("output_imag", fp32, None).graph()):
        np.testing.assert_allclose(real[0, 0], [11.0, -2.0, -3.0], atol=1e-6)
        np.testing.assert_allclose(imag[0, 0], [0.0, 3.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("inverse", [False, True])
def test_an_impulse_is_zero_at_quarter_turns(inverse: bool) -> None:
    """Nothing else is within bounds that are relative to the terms, which are zero there."""
    impulse = np.zeros((1, 2, 8))
    impulse[0, 1, 3] = 3.0
    half = 3.0 * float(np.float32(np.sqrt(0.5)))
    cosines = np.array([3.0, -half, 0.0, half, -3.0, half, 0.0, -half])
    sines = np.array([0.0, -half, 3.0, -half, 0.0, half, -3.0, half]) * (-1 if inverse else 1)
    for real, imag in both(fft2d((1, 2, 8), inverse=inverse), impulse, np.zeros((1, 2, 8))):
        np.testing.assert_array_equal(real[0], np.float32([cosines, -cosines]))
        np.testing.assert_array_equal(imag[0], np.float32([sines, -sines]))
    if not inverse:
        for real, imag in both(rfft2d((1, 2, 8)), impulse):
            np.testing.assert_array_equal(real[0], np.float32([cosines[:5], -cosines[:5]]))
            np.testing.assert_array_equal(imag[0], np.float32([sines[:5], -sines[:5]]))


def test_overflow_is_infinite() -> None:
    for real, _ in both(rfft2d((1, 1, 2)), [[[3e38, 3e38]]]):
        assert real.tolist() == [[[np.inf, 0.0]]]


@pytest.mark.parametrize("op", ["FFT2D", "RFFT2D"])
def test_kernels_beside_the_oracle(op: str) -> None:
    """Within a few units of the largest magnitude that the sums can reach."""

    @settings(max_examples=25, deadline=None)
    @given(cases(op))
    def compare(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        (wanted, got) = both(graph, *(feeds[t.name] for t in graph.inputs))
        values = [*feeds.values(), *(t.data for t in graph.main.tensors.values() if t.data is not None)]
        room = sum(np.abs(v.astype(np.float64)).sum(axis=(1, 2)) for v in values)
        for right, left in zip(wanted, got, strict=True):
            for n, bound in enumerate(np.asarray(room)):
                if np.isfinite(bound) and bound < 1e38:
                    assert np.abs(left[n].astype(np.float64) - right[n]).max() <= 2.0**-23 * bound + 1e-45
                else:
                    assert np.isnan(left[n][np.isnan(right[n])]).all()

    compare()


@pytest.mark.parametrize("op", ["FFT2D", "RFFT2D"])
def test_rules(op: str) -> None:
    case = TABLE[op].example(TABLE[op].rows[0])
    for name in (*case.inputs, *case.outputs):
        case.reshape(name, 1, 16384, 3 if op == "RFFT2D" and name in case.outputs else 4)
    assert [str(p) for p in check(case.graph()) if not isinstance(p, LevelError)] == []
    assert {p.label for p in check(case.graph())} == {f"{op}.L1"}
    case.reshape("output_imag", 1, 16384, 7)
    (problem,) = [p for p in check(case.graph()) if isinstance(p, ErrorIf)]
    assert problem.label == f"{op}.shape.output_imag"


@pytest.mark.reference
@pytest.mark.parametrize("inverse", [False, True])
def test_beside_the_reference_model(inverse: bool) -> None:
    model = pytest.importorskip("tosa_reference_model")
    rng = np.random.default_rng(5)
    real, imag = rng.standard_normal((2, 2, 8, 16)).astype(np.float32)
    for graph, values in ((fft2d((2, 8, 16), inverse=inverse), [real, imag]), (rfft2d((2, 8, 16)), [real])):
        infer(graph)
        outputs, status = model.run(tosa_to_bytes(graph), values)
        assert str(status).endswith("TOSA_VALID")
        for found in both(graph, *values):
            for left, right in zip(found, outputs, strict=True):
                np.testing.assert_allclose(left, right, atol=1e-4)
