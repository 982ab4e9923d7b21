"""Methods that choose a range: what they leave out, what they gain, and scales for shifters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quant.calibration.methods import METHODS, Method, default_method
from quant.calibration.statistics import TensorStatistics
from quant.ranges import activation_qparams, up_to_power_of_two
from tosa_engine.errors import UsageError
from tosa_engine.qparams.arrays import dequantize_array, quantize_array


def seen(*arrays: np.ndarray) -> TensorStatistics:
    found = TensorStatistics()
    for array in arrays:
        found.see(np.asarray(array, np.float32))
    return found


def error(values: np.ndarray, ends: tuple[float, float], *, symmetric: bool = False) -> float:
    """The mean square error of int8 for a range."""
    quant = activation_qparams(*ends, symmetric=symmetric)
    values = np.asarray(values, np.float64)
    return float(((dequantize_array(quantize_array(values, quant), quant) - values) ** 2).mean())


NORMAL = np.random.default_rng(1).normal(size=20000).astype(np.float32)
TAILED = np.random.default_rng(2).standard_t(3, size=20000).astype(np.float32)
RELU = np.maximum(TAILED, 0)


def test_minmax_and_average() -> None:
    found = seen([-1.0, 2.0], [0.5, 4.0])
    assert Method("minmax").range(found) == (-1.0, 4.0)
    assert Method("average").range(found) == (-0.25, 3.0)


def test_percentile_leaves_out_that_share() -> None:
    low, high = Method("percentile", 99.0).range(seen(NORMAL))
    outside = float(((low > NORMAL) | (high < NORMAL)).mean())
    assert outside == pytest.approx(0.01, abs=0.002)
    assert Method("percentile", 100.0).range(seen(NORMAL)) == pytest.approx((NORMAL.min(), NORMAL.max()), rel=0.01)
    low, high = Method("percentile", 99.0).range(seen(RELU))
    assert low == 0.0
    assert float((high < RELU).mean()) == pytest.approx(0.01, abs=0.002)


@pytest.mark.parametrize("values", [NORMAL, TAILED, RELU, -RELU, np.append(NORMAL, 100.0)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_mse_is_as_good_as_any_clipping(values: np.ndarray, symmetric: bool) -> None:
    found = Method("mse", symmetric=symmetric).range(seen(values))
    mine = error(values, found, symmetric=symmetric)
    low, high = float(values.min()), float(values.max())
    shrunk = [(low * f, high * g) for f in np.linspace(0.1, 1, 10) for g in np.linspace(0.1, 1, 10)]
    best = min(error(values, ends, symmetric=symmetric) for ends in shrunk)
    assert mine <= best * 1.04
    assert mine <= error(values, (low, high), symmetric=symmetric) * 1.001


def test_mse_cuts_an_outlier_and_nothing_else() -> None:
    _low, high = Method("mse").range(seen(np.append(np.tile(NORMAL, 10), 1000.0)))
    assert high < 1000
    uniform = np.linspace(-1, 1, 10001)
    assert Method("mse").range(seen(uniform)) == pytest.approx((-1, 1), rel=0.05)


def test_entropy_keeps_a_bell_and_cuts_its_outlier() -> None:
    low, high = Method("entropy").range(seen(np.append(np.tile(NORMAL, 5), 50.0)))
    assert 2 < high < 25
    assert NORMAL.min() <= low < -2
    assert Method("entropy", bits=16).range(seen(NORMAL)) == (NORMAL.min(), NORMAL.max())


@given(st.sampled_from(sorted(METHODS)), st.lists(st.floats(-(2.0**60), 2.0**60, width=32), min_size=1, max_size=30))
def test_every_method_stays_inside_what_was_seen(name: str, values: list[float]) -> None:
    found = seen(np.array(values))
    low, high = Method(name).range(found)
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert found.low <= low
    assert high <= found.high
    activation_qparams(min(low, high), max(low, high))


def test_zeros_have_a_range_by_every_method() -> None:
    for name in METHODS:
        assert Method(name).range(seen(np.zeros(5))) == (0.0, 0.0)


def test_wrong_methods() -> None:
    with pytest.raises(UsageError, match="unknown calibration method 'kl'; choose from: minmax, average, percentile"):
        Method("kl")
    with pytest.raises(UsageError, match="above 50 and at most 100, got 50"):
        Method("percentile", 50)


def test_defaults() -> None:
    assert (default_method(8), default_method(16)) == ("mse", "minmax")


@given(st.floats(2.0**-100, 2.0**100))
def test_power_of_two(scale: float) -> None:
    found = up_to_power_of_two(scale)
    assert math.frexp(found)[0] == 0.5
    assert scale <= found < 2 * scale


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from([8, 16]), st.booleans(), st.booleans())
def test_every_scheme_covers_the_range(a: float, b: float, bits: int, symmetric: bool, power_of_two: bool) -> None:
    low, high = min(a, b), max(a, b)
    quant = activation_qparams(low, high, bits=bits, symmetric=symmetric, power_of_two=power_of_two)
    assert (quant.bits, quant.symmetric) == (bits, symmetric)
    scale, zero = quant.scale[0], quant.zero_point[0]
    assert (quant.low - zero - 0.500001) * scale <= min(low, 0.0)
    assert max(high, 0.0) <= (quant.high - zero + 0.500001) * scale
    assert zero == 0 or not symmetric
    assert math.frexp(scale)[0] == 0.5 or not power_of_two
