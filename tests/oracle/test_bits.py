"""Shifts, bits, truth values, quotients, comparisons, choices: corners as literals; every i8 by definition."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle_tools import HIGH, INF, LOW, NAN, run, use

from tosa_engine.types import bool_, fp32, i8, i16, i32

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.types import DType

ALL_BYTES = np.arange(-128, 128).reshape(256, 1)
BITS = ((i8, 8), (i16, 16), (i32, 32))


def signed(bits: int, value: int) -> int:
    """The low bits of a value as a signed integer."""
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def rounded(value: int, shift: int) -> int:
    return math.floor(Fraction(value, 1 << shift) + Fraction(1, 2))


# Shifts


@pytest.mark.parametrize(("round_", "definition"), [(False, lambda v, s: v // (1 << s)), (True, rounded)])
def test_arithmetic_right_shift(round_: bool, definition: Callable[[int, int], int]) -> None:
    case = use("ARITHMETIC_RIGHT_SHIFT", [i8, i8], i8, round=round_)
    assert run(case, input1=ALL_BYTES, input2=[range(8)]) == [
        [definition(v, s) for s in range(8)] for v in range(-128, 128)
    ]


@pytest.mark.parametrize(
    ("dtype", "value", "shift", "plain", "rounding"),
    [
        (i8, -1, 1, -1, 0),
        (i8, -3, 1, -2, -1),
        (i8, 127, 1, 63, 64),
        (i8, -128, 7, -1, -1),
        (i16, -32768, 15, -1, -1),
        (i16, 32767, 15, 0, 1),
        (i32, LOW, 31, -1, -1),
        (i32, HIGH, 31, 0, 1),
        (i32, HIGH, 0, HIGH, HIGH),
        (i32, -1, 31, -1, 0),
        (i32, 1 << 30, 31, 0, 1),
    ],
)
def test_arithmetic_right_shift_at_the_ends(dtype: DType, value: int, shift: int, plain: int, rounding: int) -> None:
    for round_, result in ((False, plain), (True, rounding)):
        case = use("ARITHMETIC_RIGHT_SHIFT", [dtype, dtype], dtype, round=round_)
        assert run(case, input1=[value], input2=[shift]) == [result]


def test_logical_shifts_of_every_byte() -> None:
    """A right shift reads the 8 bits of a negative value, not its sign-extended 32: -1 >> 1 is 127."""
    shifts = {"LOGICAL_LEFT_SHIFT": lambda v, s: v << s, "LOGICAL_RIGHT_SHIFT": lambda v, s: v % 256 >> s}
    for op, definition in shifts.items():
        expected = [[signed(8, definition(v, s)) for s in range(8)] for v in range(-128, 128)]
        assert run(use(op, [i8, i8], i8), input1=ALL_BYTES, input2=[range(8)]) == expected


@pytest.mark.parametrize(("dtype", "bits"), BITS)
def test_logical_shifts_at_the_ends(dtype: DType, bits: int) -> None:
    low, high, last = -(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits - 1
    left, right = (use(f"LOGICAL_{side}_SHIFT", [dtype, dtype], dtype) for side in ("LEFT", "RIGHT"))
    values, shifts = [low, low, -1, -1, high, high, 1, 3], [1, 0, last, 1, 1, last, last, last]
    assert run(left, input1=values, input2=shifts) == [0, low, low, -2, -2, low, low, low]
    assert run(right, input1=values, input2=shifts) == [high // 2 + 1, low, 1, high, high // 2, 0, 0, 0]


# Bits and truth values


@pytest.mark.parametrize(("dtype", "bits"), BITS)
def test_bitwise(dtype: DType, bits: int) -> None:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    a, b = [12, -1, low, high, low, 0], [10, low, high, high, -1, -1]
    for op, result in (
        ("BITWISE_AND", [8, low, 0, high, low, 0]),
        ("BITWISE_OR", [14, -1, -1, high, -1, -1]),
        ("BITWISE_XOR", [6, high, -1, 0, high, -1]),
    ):
        assert run(use(op, [dtype, dtype], dtype), input1=a, input2=b) == result
    assert run(use("BITWISE_NOT", [dtype], dtype), input1=[0, -1, low, high, 12]) == [-1, 0, high, low, -13]


def test_logical() -> None:
    a, b = [[False], [True]], [[False, True]]
    for op, result in (
        ("LOGICAL_AND", [[False, False], [False, True]]),
        ("LOGICAL_OR", [[False, True], [True, True]]),
        ("LOGICAL_XOR", [[False, True], [True, False]]),
    ):
        assert run(use(op, [bool_, bool_], bool_), input1=a, input2=b) == result
    assert run(use("LOGICAL_NOT", [bool_], bool_), input1=[False, True]) == [True, False]


def test_clz() -> None:
    values = [0, 1, 2, 3, 65535, 65536, HIGH, LOW, -1, -HIGH]
    assert run(use("CLZ", [i32], i32), input1=values) == [32, 31, 30, 30, 16, 15, 1, 0, 0, 0]
    powers = [1 << bit for bit in range(31)]
    assert run(use("CLZ", [i32], i32), input1=powers) == [31 - bit for bit in range(31)]


# Quotients


def test_intdiv_rounds_towards_zero() -> None:
    a = [7, -7, 7, -7, LOW, HIGH, LOW, 0, 1, LOW, -1]
    b = [2, 2, -2, -2, 1, -1, LOW, -5, LOW, HIGH, HIGH]
    assert run(use("INTDIV", [i32, i32], i32), input1=a, input2=b) == [3, -3, -3, 3, LOW, -HIGH, 1, 0, 0, -1, 0]


@given(st.integers(LOW, HIGH), st.one_of(st.integers(LOW, HIGH), st.integers(-9, 9)).filter(lambda b: b not in (0, -1)))
def test_intdiv_is_the_truncated_fraction(a: int, b: int) -> None:
    assert run(use("INTDIV", [i32, i32], i32), input1=[a], input2=[b]) == [math.trunc(Fraction(a, b))]


# Comparisons and choices


@pytest.mark.parametrize(
    ("dtype", "a", "b", "equal", "greater"),
    [
        (i32, [LOW, HIGH, 3, LOW], [LOW, LOW, 4, HIGH], [1, 0, 0, 0], [0, 1, 0, 0]),
        (fp32, [0.0, INF, -INF, 1e-45, 1.0], [-0.0, INF, INF, 0.0, 1.5], [1, 1, 0, 0, 0], [0, 0, 0, 1, 0]),
        (fp32, [NAN, NAN, 1.0, NAN], [NAN, 1.0, NAN, -INF], [0, 0, 0, 0], [0, 0, 0, 0]),
    ],
)
def test_comparisons(dtype: DType, a: Any, b: Any, equal: list[int], greater: list[int]) -> None:
    either = [x | y for x, y in zip(equal, greater, strict=True)]
    for op, result in (("EQUAL", equal), ("GREATER", greater), ("GREATER_EQUAL", either)):
        assert run(use(op, [dtype, dtype], bool_), input1=a, input2=b) == [bool(x) for x in result]


def test_comparisons_broadcast() -> None:
    greater = run(use("GREATER", [i32, i32], bool_), input1=[[1], [2]], input2=[[0, 1, 2]])
    assert greater == [[True, False, False], [True, True, False]]


@pytest.mark.parametrize(
    ("dtype", "one", "other"), [(bool_, True, False), (i8, -128, 127), (i16, -1, 1), (i32, LOW, 5)]
)
def test_select(dtype: DType, one: int, other: int) -> None:
    case = use("SELECT", [bool_, dtype, dtype], dtype)
    assert run(case, input1=[[True, False]], input2=[[one]], input3=[[other], [one]]) == [[one, other], [one, one]]
    assert run(case, input1=False, input2=one, input3=other) == other


def test_select_of_floats_keeps_what_they_are() -> None:
    case = use("SELECT", [bool_, fp32, fp32], fp32)
    chosen = run(case, input1=[True, False, True], input2=[NAN, 1.0, -0.0], input3=[1.0, -INF, NAN])
    assert [str(v) for v in chosen] == ["nan", "-inf", "-0.0"]
