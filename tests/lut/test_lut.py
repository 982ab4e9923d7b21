"""Tables: every entry, every input."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lut import FUNCTIONS, TableRangeError, error_8, error_16, lookup_16, table_8, table_16
from lut.builders import round_half_away

scales = st.floats(2.0**-20, 2.0**10)
zero_points = st.integers(-128, 127)


@given(st.floats(-1e15, 1e15))
def test_rounding_goes_to_the_nearest_and_ties_away_from_zero(x: float) -> None:
    got, exact = round_half_away(x), Fraction(x)
    assert abs(got - exact) <= Fraction(1, 2)
    if abs(got - exact) == Fraction(1, 2):
        assert abs(got) > abs(exact)


def test_just_below_a_half_is_not_a_half() -> None:
    assert round_half_away(0.49999999999999994) == 0
    assert round_half_away(-0.49999999999999994) == 0


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@given(in_scale=st.floats(1e-3, 0.5), in_zp=zero_points, out_scale=st.floats(1e-3, 1.0), out_zp=zero_points)
def test_no_int8_entry_is_farther_than_half_a_step(
    name: str, in_scale: float, in_zp: int, out_scale: float, out_zp: int
) -> None:
    table = table_8(FUNCTIONS[name], in_scale, in_zp, out_scale, out_zp)
    assert table.shape == (256,)
    assert table.dtype == np.int8
    assert error_8(table, FUNCTIONS[name], in_scale, in_zp, out_scale, out_zp).largest <= 0.5 + 1e-9


@given(scales, zero_points)
def test_the_identity_is_the_identity(scale: float, zero_point: int) -> None:
    table = table_8(lambda x: x, scale, zero_point, scale, zero_point)
    assert table.tolist() == list(range(-128, 128))


def test_infinities_are_the_ends_of_the_range() -> None:
    table = table_8(FUNCTIONS["reciprocal"], 1.0, 0, 1.0, 0)
    assert table[128] == 127
    assert table_8(FUNCTIONS["log"], 1.0, 0, 1e-3, 0)[100] == -128
    assert table_8(lambda _: 1e300, 1.0, 0, 1e-300, 0).tolist() == [127] * 256


def test_nan_and_bad_scales_are_errors() -> None:
    with pytest.raises(TableRangeError, match="NaN"):
        table_8(lambda _: math.nan, 1.0, 0, 1.0, 0)
    for scale in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(TableRangeError, match="scale"):
            table_8(lambda x: x, scale, 0, 1.0, 0)
        with pytest.raises(TableRangeError, match="scale"):
            table_16(lambda x: x, 1.0, scale)


@pytest.mark.parametrize(("name", "in_scale"), [("sigmoid", 8 / 32768), ("tanh", 8 / 32768), ("gelu", 8 / 32768)])
def test_int16_tables_over_all_65536_inputs(name: str, in_scale: float) -> None:
    """Half a step from rounding at the nodes, and what a straight line misses between them."""
    out_scale = 9 / 32768 if name == "gelu" else 1 / 32767
    table = table_16(FUNCTIONS[name], in_scale, out_scale)
    found = error_16(table, FUNCTIONS[name], in_scale, out_scale)
    bend = {"sigmoid": 0.1, "tanh": 0.77, "gelu": 0.8}[name]  # largest second derivative
    between = bend * (128 * in_scale) ** 2 / 8 / out_scale
    assert found.largest <= 0.5 + between + 1e-6
    assert found.mean < found.largest
    assert -32768 <= found.at <= 32767


def test_the_ends_of_the_int16_table() -> None:
    table = table_16(lambda x: x, 1.0, 1.0)
    assert table.shape == (513,)
    assert (table[0], table[256], table[511], table[512]) == (-32768, 0, 32640, 32767)  # the last one saturates
    values = np.array([-32768, -1, 0, 1, 32639], np.int16)
    assert lookup_16(table, values).tolist() == [int(v) << 7 for v in values]


def test_neighbours_too_far_apart_are_an_error_that_names_them() -> None:
    with pytest.raises(TableRangeError, match=r"entries 255 and 256 are -32768 and 32767: .*TABLE\.R1"):
        table_16(lambda x: -1e9 if x < 0 else 1e9, 1.0, 1.0)
