"""The oracle's exact arithmetic: known corners, and agreement with the definition in Python's unbounded integers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosa_engine import types
from tosa_engine.errors import RequireViolation
from tosa_engine.oracle import arith
from tosa_engine.oracle.requires import Requires
from tosa_engine.spec import TABLE, bind_operator

LOW, HIGH = -(1 << 31), (1 << 31) - 1
LOW48, HIGH48 = -(1 << 47), (1 << 47) - 1
RULES = ("multiplier", "shift", "value")


def requires(shape: tuple[int, ...] = (1,)) -> Requires:
    case = TABLE["RESCALE"].example(TABLE["RESCALE"].rows[0])
    graph = case.reshape("input", *shape).reshape("output", *shape).graph()
    return Requires(bind_operator(graph.main.operators[-1], graph.main))


def scale_32(value: int, multiplier: int, shift: int, double_round: bool = False) -> int:
    arrays = [np.array([n], np.int64) for n in (value, multiplier, shift)]
    with requires() as require:
        result = arith.apply_scale_32(*arrays, double_round, require, RULES)
    return int(result[0])


def scale_16(value: int, multiplier: int, shift: int) -> int:
    arrays = [np.array([n], np.int64) for n in (value, multiplier, shift)]
    with requires() as require:
        result = arith.apply_scale_16(*arrays, require, ("multiplier", "shift", "result"))
    return int(result[0])


def rounded(value: Fraction) -> int:
    """The nearest integer; of two equally near the greater."""
    return math.floor(value + Fraction(1, 2))


ONE = 1 << 30


@pytest.mark.parametrize(
    ("value", "multiplier", "shift", "single", "double"),
    [
        (0, ONE, 30, 0, 0),
        (7, ONE, 30, 7, 7),
        (-7, ONE, 30, -7, -7),
        # ties go up: 1.5 -> 2, -1.5 -> -1, 0.5 -> 1, -0.5 -> 0
        (3, ONE, 31, 2, 2),
        (-3, ONE, 31, -1, -1),
        (1, ONE, 31, 1, 1),
        (-1, ONE, 31, 0, 0),
        # beyond shift 31 the first of two roundings can carry a value below one half over it, away from zero
        (3, ONE, 32, 1, 1),
        (2, ONE, 32, 1, 1),
        (1, ONE, 32, 0, 1),
        (-2, ONE, 32, 0, -1),
        (-1, ONE, 32, 0, 0),
        (-3, ONE, 32, -1, -1),
        (1, 1, 2, 0, 0),
        (1, 2, 2, 1, 1),
        (-2, 1, 2, 0, 0),
        (1, 3, 2, 1, 1),
        (HIGH, HIGH, 62, 1, 1),
        (LOW, HIGH, 62, -1, -1),
        (HIGH, HIGH, 33, 536870912, 536870912),
        (HIGH, HIGH, 32, 1073741823, 1073741823),
        (LOW, HIGH, 32, -1073741823, -1073741824),
        (LOW, 0, 62, 0, 0),
    ],
)
def test_scale_32_corners(value: int, multiplier: int, shift: int, single: int, double: int) -> None:
    assert (scale_32(value, multiplier, shift), scale_32(value, multiplier, shift, True)) == (single, double)


def scaled_32(double_round: bool, value: int, multiplier: int, shift: int) -> int:
    """The definition; double rounding beyond shift 31 first adds 2^30 away from zero."""
    exact = Fraction(value * multiplier, 1 << shift)
    if double_round and shift > 31:
        exact += Fraction(1 << 30 if value >= 0 else -(1 << 30), 1 << shift)
    return rounded(exact)


@given(st.integers(LOW, HIGH), st.integers(0, HIGH), st.integers(2, 62), st.booleans())
def test_scale_32_is_the_rounded_quotient(value: int, multiplier: int, shift: int, double_round: bool) -> None:
    limit = 1 << (shift - 1)
    value = max(-limit, min(limit - 1, value))
    assert scale_32(value, multiplier, shift, double_round) == scaled_32(double_round, value, multiplier, shift)


@pytest.mark.parametrize("shift", range(2, 63))
@pytest.mark.parametrize("double_round", [False, True])
def test_scale_32_at_the_ends_of_every_shift(shift: int, double_round: bool) -> None:
    limit = min(1 << (shift - 1), 1 << 31)
    for value in (-limit, -limit + 1, -1, 0, 1, limit - 2, limit - 1):
        for multiplier in (0, 1, ONE - 1, ONE, ONE + 1, HIGH):
            expected = scaled_32(double_round, value, multiplier, shift)
            assert scale_32(value, multiplier, shift, double_round) == expected
            assert LOW <= expected <= HIGH


@given(st.integers(LOW, HIGH), st.integers(0, HIGH), st.integers(2, 31))
def test_both_roundings_agree_up_to_shift_31(value: int, multiplier: int, shift: int) -> None:
    value %= 1 << (shift - 1)
    assert scale_32(value, multiplier, shift) == scale_32(value, multiplier, shift, True)
    assert scale_32(-value, multiplier, shift) == scale_32(-value, multiplier, shift, True)


@pytest.mark.parametrize(
    ("value", "multiplier", "shift", "rule"),
    [
        (0, -1, 30, "multiplier"),
        (0, 1, 1, "shift"),
        (0, 1, 63, "shift"),
        (0, 1, -1, "shift"),
        (2, 1, 2, "value"),
        (-3, 1, 2, "value"),
        (1 << 29, ONE, 30, "value"),
        (-(1 << 29) - 1, ONE, 30, "value"),
        (5, -1, 0, "multiplier"),  # the specification tests the multiplier before the shift
        (5, 1, 64, "shift"),  # and the shift before the value
    ],
)
def test_scale_32_requires(value: int, multiplier: int, shift: int, rule: str) -> None:
    with pytest.raises(RequireViolation) as caught:
        scale_32(value, multiplier, shift)
    assert caught.value.label == f"RESCALE.{rule}"


@pytest.mark.parametrize(
    ("value", "multiplier", "shift", "result"),
    [
        (7, 1 << 14, 14, 7),
        (3, 1 << 14, 15, 2),
        (-3, 1 << 14, 15, -1),
        (HIGH48, 32767, 62, 1),
        (LOW48, 32767, 62, -1),
        (HIGH48, 32767, 32, 1073709056),
        (LOW48, 32767, 31, -2147418112),
        (LOW48, 1 << 14, 30, LOW),
        (HIGH48, 0, 2, 0),
    ],
)
def test_scale_16_corners(value: int, multiplier: int, shift: int, result: int) -> None:
    assert scale_16(value, multiplier, shift) == result


@given(st.integers(LOW48, HIGH48), st.integers(0, 32767), st.integers(2, 62))
def test_scale_16_is_the_rounded_quotient_or_beyond_int32(value: int, multiplier: int, shift: int) -> None:
    expected = rounded(Fraction(value * multiplier, 1 << shift))
    if LOW <= expected <= HIGH:
        assert scale_16(value, multiplier, shift) == expected
    else:
        with pytest.raises(RequireViolation, match=rf"^RESCALE\.result: scaled value {expected} is beyond"):
            scale_16(value, multiplier, shift)


@pytest.mark.parametrize(
    ("value", "multiplier", "shift", "rule"),
    [(0, -1, 0, "multiplier"), (0, 1, 1, "shift"), (0, 1, 63, "shift"), (HIGH48, 1 << 14, 30, "result")],
)
def test_scale_16_requires(value: int, multiplier: int, shift: int, rule: str) -> None:
    with pytest.raises(RequireViolation) as caught:
        scale_16(value, multiplier, shift)
    assert caught.value.label == f"RESCALE.{rule}"


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 49, 64, 65, 127, 128, 65535, 65536, 65537, (1 << 31) - 1])
def test_reciprocal_scale_divides(count: int) -> None:
    """The multiplier is normalised; sums of int8 windows come out as the nearest mean, ties away from zero."""
    multiplier, shift = arith.reciprocal_scale(count)
    assert 1 << 30 <= multiplier < 1 << 31
    assert shift == 30 + math.ceil(math.log2(count))
    for total in {-128 * count, -count, -1, 0, 1, count, 127 * count}:
        if LOW <= total <= HIGH:
            sign = 1 if total >= 0 else -1
            assert scale_32(total, multiplier, shift) == sign * rounded(Fraction(abs(total), count))


def test_lookup_interpolates_between_neighbours() -> None:
    table = np.zeros(513, np.int64)
    table[:3] = [-100, 28, 20]
    table[511:] = [1000, 2000]
    value = np.array([-32768, -32767, -32641, -32640, -32639, 32640, 32767])
    with requires((7,)) as require:
        looked = arith.apply_lookup_s(table, value, require, "slope")
    assert looked.tolist() == [-12800, -12672, 3456, 3584, 3576, 128000, 128000 + 127 * 1000]


def test_lookup_requires_an_int16_slope_only_where_it_looks() -> None:
    table = np.zeros(513, np.int64)
    table[10:12] = [-16384, 16384]  # a slope of 32768
    with requires() as require:
        arith.apply_lookup_s(table, np.array([0]), require, "slope")
    message = r"^RESCALE\.slope: slope 32768 from table entry -16384 to 16384 is beyond int16 for input -31488 at \[1\]"
    with pytest.raises(RequireViolation, match=message), requires((2,)) as require:
        arith.apply_lookup_s(table, np.array([0, -32768 + (10 << 7)]), require, "slope")


def test_the_first_element_counts_and_for_it_the_first_test() -> None:
    def violation(*tests: tuple[str, list[bool]]) -> RequireViolation:
        require = requires((2, 2))
        for rule, good in tests:
            require.holds(rule, np.array(good).reshape(2, 2), "wrong {value}", value=np.arange(4).reshape(2, 2))
        with pytest.raises(RequireViolation) as caught:
            require.__exit__(None, None, None)
        return caught.value

    error = violation(("a", [True, True, True, False]), ("b", [True, False, True, False]), ("c", [True, False] * 2))
    assert (error.label, error.index, error.count) == ("RESCALE.b", (0, 1), 2)
    assert error.message == "wrong 1 at [0, 1]; 2 of 4 elements violate a REQUIRE"
    assert (error.node, error.tensor) == ("output", "output")
    with requires((2, 2)) as require:
        require.holds("a", np.array(True), "never")


def test_bits_read_as_unsigned() -> None:
    assert arith.wide_unsigned(np.array([-128, -1, 0, 127], np.int8)).tolist() == [128, 255, 0, 127]
    assert arith.wide_unsigned(np.array([-32768, -1, 32767], np.int16)).tolist() == [32768, 65535, 32767]


def test_narrow_keeps_the_low_bits() -> None:
    wide = np.array([255, 256, -129, 1 << 40])
    assert arith.narrow(wide, types.i8).tolist() == [-1, 0, 127, 0]


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("a", "b", "nan_mode", "greater", "lesser"),
    [
        (1.0, 2.0, "PROPAGATE", 2.0, 1.0),
        (NAN, 2.0, "PROPAGATE", NAN, NAN),
        (1.0, NAN, "PROPAGATE", NAN, NAN),
        (NAN, 2.0, "IGNORE", 2.0, 2.0),
        (1.0, NAN, "IGNORE", 1.0, 1.0),
        (NAN, NAN, "IGNORE", NAN, NAN),
        (-INF, INF, "PROPAGATE", INF, -INF),
    ],
)
def test_extrema_of_floats(a: float, b: float, nan_mode: str, greater: float, lesser: float) -> None:
    x, y = np.array([a], np.float32), np.array([b], np.float32)
    np.testing.assert_array_equal(arith.apply_max_s(x, y, nan_mode), np.array([greater], np.float32))
    np.testing.assert_array_equal(arith.apply_min_s(x, y, nan_mode), np.array([lesser], np.float32))
