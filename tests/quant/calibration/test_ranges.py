"""Ranges to QParams, and real values to stored integers and back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quant.ranges import activation_qparams, as_stored, weight_qparams
from tosa_engine.errors import DataError
from tosa_engine.graph import QParams
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

bounds = st.floats(-1e30, 1e30)


@given(bounds, bounds)
def test_zero_is_exact_and_the_range_is_covered(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    quant = activation_qparams(low, high)
    scale, zero_point = quant.scale[0], quant.zero_point[0]
    assert scale > 0
    assert -128 <= zero_point <= 127
    assert dequantize_array(quantize_array(np.zeros(1), quant), quant)[0] == 0.0
    for bound in (low, high):
        reached = dequantize_array(quantize_array(np.array([bound]), quant), quant)[0]
        assert abs(reached - bound) <= scale * (1 + 1e-9)  # nudging the zero point costs up to half a step more


def test_the_ends_of_a_relu() -> None:
    quant = activation_qparams(0.0, 6.0)
    assert quant == QParams((6.0 / 255,), (-128,))
    assert quantize_array(np.array([0.0, 6.0, 7.0, math.inf]), quant).tolist() == [-128, 127, 127, 127]


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (-0.0, 0.0), (0.0, 1e-30), (-5e-324, 5e-324)])
def test_a_range_of_zeros(low: float, high: float) -> None:
    assert activation_qparams(low, high) == QParams((1 / 128,), (0,))


def test_a_constant_has_a_range_from_zero() -> None:
    assert activation_qparams(5.1, 5.1) == QParams((5.1 / 255,), (-128,))
    assert activation_qparams(-5.1, -5.1) == QParams((5.1 / 255,), (127,))


def test_the_widest_range_of_float32() -> None:
    most = float(np.finfo(np.float32).max)
    quant = activation_qparams(-most, most)
    assert math.isfinite(quant.scale[0])


@pytest.mark.parametrize(("low", "high"), [(math.nan, 1.0), (0.0, math.inf), (1.0, 0.0)])
def test_a_range_that_is_none(low: float, high: float) -> None:
    with pytest.raises(DataError, match="finite bounds in order"):
        activation_qparams(low, high)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2]))
def test_weights_are_symmetric_and_within_half_a_step(seed: int, axis: int) -> None:
    rng = np.random.default_rng(seed)
    weight = (rng.normal(size=(3, 4, 5)) * 10 ** rng.uniform(-4, 4)).astype(np.float32)
    quant = weight_qparams(weight, axis)
    assert len(quant.scale) == weight.shape[axis]
    assert set(quant.zero_point) == {0}
    stored = quantize_array(weight, quant)
    assert stored.dtype == np.int8
    assert stored.min() >= -127
    assert np.abs(stored).max(axis=tuple(i for i in range(3) if i != axis)).tolist() == [127] * weight.shape[axis]
    step = np.asarray(quant.scale).reshape([-1 if i == axis else 1 for i in range(3)])
    assert (np.abs(dequantize_array(stored, quant) - weight) <= step * 0.5000001).all()


def test_a_channel_of_zeros_takes_the_largest_scale_of_the_others() -> None:
    weight = np.array([[0.0, 0.0], [1.27, 0.0], [0.0, -2.54]])
    assert weight_qparams(weight, 0).scale == pytest.approx((0.02, 0.01, 0.02))
    assert weight_qparams(np.zeros((2, 3)), 0).scale == (1 / 127, 1 / 127)


def test_weights_must_be_finite() -> None:
    with pytest.raises(DataError, match="weights must be finite"):
        weight_qparams(np.array([[1.0, np.nan]]), 0)


def test_stored_integers_round_half_away_from_zero() -> None:
    quant = QParams((2.0,), (3,))
    assert quantize_array(np.array([1.0, -1.0, 3.0, 0.9, 1e9, -1e9]), quant).tolist() == [4, 2, 5, 3, 127, -128]


def test_nan_is_not_stored() -> None:
    with pytest.raises(DataError, match="NaN can't be quantized"):
        quantize_array(np.array([np.nan]), QParams((1 / 128,), (0,)))


@given(st.floats(1e-3, 1e3), st.integers(0, 255))
def test_unsigned_becomes_signed_without_a_change_of_value(scale: float, zero_point: int) -> None:
    unsigned = QParams((scale,), (zero_point,), signed=False)
    signed = as_stored(unsigned)
    codes = np.arange(256)
    assert (dequantize_array(codes, unsigned) == dequantize_array(codes - 128, signed)).all()


@pytest.mark.parametrize("quant", [QParams((1.0,), (0,), bits=12), QParams((1.0, 2.0), (0, 0), axis=1)])
def test_activations_have_8_or_16_bits_and_one_scale(quant: QParams) -> None:
    with pytest.raises(DataError, match="activations need 8 or 16 bits with one scale, got"):
        as_stored(quant)


def test_weights_of_interpolation_are_exact() -> None:
    weights = np.array([[0.25, 0.75], [1 / 3, 2 / 3], [0.1, 0.777], [0.0, 0.0]], np.float32)
    quant = weight_qparams(weights, 0)
    stored = weights / np.array(quant.scale)[:, None]
    assert np.rint(stored[:2]).astype(int).tolist() == [[42, 126], [63, 126]]
    assert np.abs(stored[:2] - np.rint(stored[:2])).max() < 1e-4
    assert quant.scale[2] == float(weights[2, 1]) / 127
    assert quant.scale[3] == 1.0 * float(weights.max()) / 127
