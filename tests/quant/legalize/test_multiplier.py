"""The derivation of RESCALE's multiplier and shift."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quant.legalize.multiplier import (
    LARGEST_SCALE,
    MULTIPLIER_VERSION,
    SHIFT_MAX,
    SMALLEST_SCALE,
    ScaleError,
    multiplier_of,
    raised,
)


@given(st.floats(SMALLEST_SCALE, LARGEST_SCALE, exclude_max=True).filter(lambda s: s < LARGEST_SCALE * (1 - 2**-32)))
def test_the_error_is_within_half_a_unit_of_31_bits(scale: float) -> None:
    found = multiplier_of(scale, "test")
    assert 1 << 30 <= found.multiplier < 1 << 31
    assert 2 <= found.shift <= 62
    error = abs(Fraction(found.multiplier, 1 << found.shift) - Fraction(scale)) / Fraction(scale)
    assert error <= Fraction(1, 1 << 31)


@pytest.mark.parametrize(
    ("scale", "multiplier", "shift"),
    [
        (1.0, 1 << 30, 30),
        (0.5, 1 << 30, 31),
        (2.0**19, 1 << 30, 11),
        (math.nextafter(1.0, 0.0), 1 << 30, 30),  # rounds up to the next power of two
        (0.75, 3 << 29, 31),
        (math.ldexp(2**31 + 1, -32), (1 << 30) + 1, 31),  # a tie goes away from zero
        (2.0**-32, 1 << 30, 62),
        (2.0**28, 1 << 30, 2),
    ],
)
def test_known_values_of_version_1(scale: float, multiplier: int, shift: int) -> None:
    """These decide bits of results: a change needs a new version."""
    assert MULTIPLIER_VERSION == 1
    found = multiplier_of(scale, "test")
    assert (found.multiplier, found.shift) == (multiplier, shift)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**-33, 2.0**29, 5e-324, 1e308])
def test_scales_that_no_rescale_applies_name_tensor_and_numbers(scale: float) -> None:
    with pytest.raises(ScaleError) as raised:
        multiplier_of(scale, "0.25 (input) / 4.0 (output)", "conv1")
    assert repr(scale) in str(raised.value)
    assert "0.25 (input) / 4.0 (output)" in str(raised.value)
    assert "(tensor 'conv1')" in str(raised.value)


@given(st.floats(2.0**-20, 1.0), st.integers(-(2**20), 2**20))
def test_applying_it_is_rounding_half_up(scale: float, value: int) -> None:
    found = multiplier_of(scale, "test")
    exact = Fraction(found.multiplier, 1 << found.shift) * value
    assert found.apply(value) == math.floor(exact + Fraction(1, 2))


@pytest.mark.parametrize(("bits", "most"), [(31, (1 << 31) - 1), (15, (1 << 47) - 1)])
def test_a_channel_with_too_small_a_scale_is_0_as_it_would_be(bits: int, most: int) -> None:
    """Weights of 1e-13 among others, as trained networks have them, don't make a network impossible."""
    tiny = 2.0 ** (bits - 1 - SHIFT_MAX) * 0.6
    found = raised([tiny, 0.5], bits)
    assert found[1] == 0.5
    assert tiny * most < 0.5
    assert [multiplier_of(found[0], "", bits=bits).apply(v) for v in (most, -most)] == [0, 0]
    assert raised([tiny, tiny], bits) == [tiny, tiny]  # where all are, the error says so
