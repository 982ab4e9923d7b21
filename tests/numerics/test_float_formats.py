"""Floating-point formats: every bit pattern, and rounding at and beside every midpoint, against exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import types
from tosa_engine.numerics.float_formats import FORMATS, round_to
from tosa_engine.oracle.arith import narrow
from tosa_engine.types import bf16, fp8e4m3, fp8e5m2, fp16, fp32

if TYPE_CHECKING:
    from tosa_engine.types import Array, DType

# sign, exponent and fraction of each format: bits of the exponent and of the fraction
FIELDS = {fp16: (5, 10), bf16: (8, 7), fp8e4m3: (4, 3), fp8e5m2: (5, 2)}
pytestmark = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered in cast:RuntimeWarning")
NARROW = pytest.mark.parametrize("dtype", FIELDS, ids=str)


def value(bits: int, dtype: DType) -> Fraction | float:
    """What a bit pattern means, element by element: the formats' definitions, in fractions."""
    exponent_bits, fraction_bits = FIELDS[dtype]
    sign = -1 if bits >> (exponent_bits + fraction_bits) else 1
    exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << fraction_bits) - 1)
    if exponent == (1 << exponent_bits) - 1:
        if dtype is fp8e4m3:
            if fraction == 7:
                return math.nan
        else:
            return math.nan if fraction else sign * math.inf
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == 0:
        return sign * Fraction(fraction, 1 << fraction_bits) * Fraction(2) ** (1 - bias)
    return sign * (1 + Fraction(fraction, 1 << fraction_bits)) * Fraction(2) ** (exponent - bias)


@lru_cache
def finite(dtype: DType) -> tuple[list[Fraction], int]:
    """The finite values that aren't negative, in order, and the bits of what follows them."""
    found: list[Fraction] = []
    for bits in range(1 << (dtype.bits - 1)):
        one = value(bits, dtype)
        if not isinstance(one, Fraction):
            return found, bits
        found.append(one)
    raise AssertionError


def patterns(dtype: DType) -> Array:
    return np.arange(1 << dtype.bits).astype(f"u{dtype.storage.itemsize}").view(dtype.storage)


@NARROW
def test_every_bit_pattern_is_the_value_of_its_definition(dtype: DType) -> None:
    wanted = [float(value(bits, dtype)) for bits in range(1 << dtype.bits)]
    for wide in (np.float32, np.float64):
        got = patterns(dtype).astype(wide).astype(np.float64)
        np.testing.assert_array_equal(got, wanted)
        negative = np.arange(1 << dtype.bits) >= 1 << (dtype.bits - 1)
        np.testing.assert_array_equal(np.signbit(got)[~np.isnan(got)], negative[~np.isnan(got)])


@NARROW
def test_every_value_stays_itself_when_it_is_rounded(dtype: DType) -> None:
    given = patterns(dtype)
    for wide in (np.float32, np.float64):
        got = round_to(given.astype(wide), dtype)
        assert got.dtype == dtype.storage
        nan = np.isnan(given.astype(np.float32))
        np.testing.assert_array_equal(np.isnan(got), nan)
        np.testing.assert_array_equal(bits_of(got)[~nan], bits_of(given)[~nan])


def bits_of(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


def midpoints(dtype: DType) -> tuple[Array, Array]:
    """Midpoints of all neighbours (and of the largest value and what would follow it) and the bits below them."""
    steps, beyond = finite(dtype)
    steps = [*steps, 2 * steps[-1] - steps[-2]]
    found = [float((a + b) / 2) for a, b in itertools.pairwise(steps)]
    assert all(Fraction(f) == (a + b) / 2 for f, (a, b) in zip(found, itertools.pairwise(steps), strict=True))
    assert len(found) == beyond
    return np.array(found), np.arange(beyond)


@NARROW
@pytest.mark.parametrize("round_one", [round_to, narrow], ids=["kernels", "oracle"])
def test_rounding_at_and_beside_every_midpoint(dtype: DType, round_one: object) -> None:
    """To nearest, ties to the even pattern: from float64 by its last bit, and from float32 where it has the value."""
    assert callable(round_one)
    middle, below = midpoints(dtype)
    ties = below + below % 2
    for sign, top in ((1.0, 0), (-1.0, 1 << (dtype.bits - 1))):
        for given, bits in (
            (middle, ties),
            (np.nextafter(middle, 0), below),
            (np.nextafter(middle, np.inf), below + 1),
        ):
            np.testing.assert_array_equal(bits_of(round_one(sign * given, dtype)), bits + top)
        in_32 = middle.astype(np.float32)
        exact = in_32 == middle
        assert exact.sum() > 0.9 * exact.size
        np.testing.assert_array_equal(bits_of(round_one(np.float32(sign) * in_32[exact], dtype)), ties[exact] + top)


@NARROW
@pytest.mark.parametrize("round_one", [round_to, narrow], ids=["kernels", "oracle"])
def test_values_beyond_the_largest(dtype: DType, round_one: object) -> None:
    assert callable(round_one)
    given = np.array([1e300, np.inf, -np.inf, -1e300, np.nan, -np.nan])
    got = round_one(given, dtype).astype(np.float64)
    if dtype is fp8e4m3:
        assert np.isnan(got).all()
        return
    np.testing.assert_array_equal(got, [np.inf, np.inf, -np.inf, -np.inf, np.nan, np.nan])


@NARROW
def test_oracle_and_kernels_round_drawn_values_alike(dtype: DType) -> None:
    rng = np.random.default_rng(1)
    given = rng.standard_normal(200_000) * 2.0 ** rng.integers(-160, 140, 200_000)
    np.testing.assert_array_equal(bits_of(round_to(given, dtype)), bits_of(narrow(given, dtype)))
    in_32 = given.astype(np.float32)
    np.testing.assert_array_equal(bits_of(round_to(in_32, dtype)), bits_of(narrow(in_32, dtype)))


@pytest.mark.parametrize(
    ("given", "dtype", "wanted"),
    [
        (448.0, fp8e4m3, 448.0),
        (464.0, fp8e4m3, 448.0),  # a tie, to the even fraction
        (464.00000000000006, fp8e4m3, math.nan),
        (-1e9, fp8e4m3, math.nan),
        (2.0**-10, fp8e4m3, 0.0),
        (3 * 2.0**-11, fp8e4m3, 2.0**-9),
        (57344.0, fp8e5m2, 57344.0),
        (61439.999, fp8e5m2, 57344.0),
        (61440.0, fp8e5m2, math.inf),
        (-61440.0, fp8e5m2, -math.inf),
        (1.0 + 2.0**-8, bf16, 1.0),
        (1.0 + 3 * 2.0**-8, bf16, 1.0 + 2.0**-6),
        (1.0 + 2.0**-8 + 2.0**-40, bf16, 1.0 + 2.0**-7),  # float32 would make a tie of it
        (3.3895313892515355e38, bf16, 3.3895313892515355e38),
        (3.4e38, bf16, math.inf),
        (9.2e-41, bf16, 2.0**-133),
        (65519.99, fp16, 65504.0),
        (65520.0, fp16, math.inf),
        (2.0**-25, fp16, 0.0),
        (1e39, fp32, math.inf),
        (2.0**-149, fp32, 2.0**-149),
    ],
)  # fmt: skip
def test_rounding_literals(given: float, dtype: DType, wanted: float) -> None:
    for round_one in (round_to, narrow):
        got = round_one(np.array([given]), dtype).astype(np.float64)[0]
        assert got == wanted or (math.isnan(got) and math.isnan(wanted))
    assert math.copysign(1, float(round_to(np.array([-1e-300]), dtype)[0])) == -1


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_constants_of_the_formats(dtype: DType) -> None:
    """The specification's table of extremes, and what the bits say."""
    form = FORMATS[dtype]
    assert form.least_normal == {fp32: 2.0**-126, bf16: 2.0**-126, fp16: 2.0**-14, fp8e4m3: 2.0**-6}.get(
        dtype, 2.0**-14
    )
    if dtype in FIELDS:
        steps, _ = finite(dtype)
        assert form.largest == float(steps[-1])
        assert form.least_subnormal == float(steps[1])
        assert form.least_normal == float(steps[1 << FIELDS[dtype][1]])
        assert form.has_infinity == (dtype is not fp8e4m3)
    else:
        assert form.largest == float(np.finfo(np.float32).max)
        assert form.least_subnormal == 2.0**-149


def test_arrays_of_the_formats_are_known_by_their_dtype() -> None:
    for dtype in FORMATS:
        assert types.from_numpy(dtype.storage) is dtype
        assert types.holds_floats(np.zeros(1, dtype.storage))
    assert not types.holds_floats(np.zeros(1, np.uint8))
    assert not types.holds_floats(np.zeros(1, "V1"))


def test_bits_of_files_become_values() -> None:
    one = np.array([0x3F80], np.uint16)
    assert types.of_bits(one, bf16).astype(np.float32).tolist() == [1.0]
    assert types.of_bits(one.view("V2"), bf16).astype(np.float32).tolist() == [1.0]
    assert types.of_bits(np.array([0x38], np.uint8), fp8e4m3).astype(np.float32).tolist() == [1.0]
    assert types.of_bits(np.array([0x3C], np.uint8), fp8e5m2).astype(np.float32).tolist() == [1.0]
    for other, dtype in ((one, types.i16), (one, fp8e4m3), (np.zeros(1, np.int16), bf16), (one, fp16)):
        assert types.of_bits(other, dtype) is other
