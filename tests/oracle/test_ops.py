"""What each operator computes: corners as literals; 8 and 16 bit inputs exhaustively."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from oracle_tools import HIGH, HIGH48, INF, LOW, LOW48, NAN, rescale, run, use

from tosa_engine.spec.case import Case
from tosa_engine.types import bool_, fp32, i8, i16, i32, i48, shape

if TYPE_CHECKING:
    from tosa_engine.types import DType


# Elementwise


@pytest.mark.parametrize(
    ("op", "a", "b", "result"),
    [
        ("ADD", [HIGH, LOW, 5], [LOW, HIGH, -7], [-1, -1, -2]),
        ("ADD", [[1], [2]], [[10, 20]], [[11, 21], [12, 22]]),
        ("SUB", [HIGH, LOW, 0], [HIGH, LOW, HIGH], [0, 0, -HIGH]),
        ("MAXIMUM", [HIGH, LOW, -1], [LOW, HIGH, 0], [HIGH, HIGH, 0]),
        ("MINIMUM", [HIGH, LOW, -1], [LOW, HIGH, 0], [LOW, LOW, -1]),
    ],
)
def test_binary_integers(op: str, a: Any, b: Any, result: Any) -> None:
    assert run(use(op, [i32, i32], i32), input1=a, input2=b) == result


@pytest.mark.parametrize(("dtype", "low"), [(i8, -128), (i16, -32768), (i32, LOW)])
def test_mul_of_extremes(dtype: DType, low: int) -> None:
    case = use("MUL", [dtype, dtype], i32).const("shift", i8, [0])
    expected = low * low if dtype is not i32 else 0  # the low 32 bits
    assert run(case, input1=[low, low, 3], input2=[low, 1, -7]) == [expected, low, -21]


@pytest.mark.parametrize(
    ("shift", "a", "b", "result"),
    [
        (1, 3, 1, 2),
        (1, -3, 1, -1),
        (31, LOW, HIGH, -HIGH),
        (31, HIGH, HIGH, HIGH - 1),
        (32, HIGH, HIGH, 1073741823),
        (32, LOW, LOW, 1 << 30),
        (62, LOW, LOW, 1),
        (63, HIGH, LOW, 0),
        (63, HIGH, HIGH, 0),
    ],
)
def test_mul_with_shift(shift: int, a: int, b: int, result: int) -> None:
    case = use("MUL", [i32, i32], i32).const("shift", i8, [shift])
    assert run(case, input1=[a], input2=[b]) == [result] == [(a * b + (1 << (shift - 1))) >> shift]


def test_negate() -> None:
    case = use("NEGATE", [i8], i8).const("input1_zp", i8, [-128]).const("output_zp", i8, [127])
    assert run(case, input1=[-128, -127, 127, 0]) == [127, 126, -128, -1]
    case = use("NEGATE", [i8], i8).const("input1_zp", i8, [0]).const("output_zp", i8, [0])
    assert run(case, input1=[-128, 127]) == [127, -127]
    case = use("NEGATE", [i16], i16).const("input1_zp", i16, [0]).const("output_zp", i16, [0])
    assert run(case, input1=[-32768, 32767]) == [32767, -32767]


def test_floats_keep_zeros_and_infinities() -> None:
    zero_points = {"input1_zp": [0.0], "output_zp": [0.0]}
    case = use("NEGATE", [fp32], fp32)
    for name, value in zero_points.items():
        case.const(name, fp32, value)
    negated = run(case, input1=[0.0, -0.0, INF, -INF, 1.5])
    assert [str(v) for v in negated] == ["-0.0", "0.0", "-inf", "inf", "-1.5"]
    absolute = run(use("ABS", [fp32], fp32), input1=[0.0, -0.0, INF, -INF, -1.5, 0.25, -0.25])
    assert [str(v) for v in absolute] == ["0.0", "0.0", "inf", "inf", "1.5", "0.25", "0.25"]
    reciprocals = run(use("RECIPROCAL", [fp32], fp32), input1=[0.0, -0.0, INF, -INF, 4.0, 1e-40])
    assert [str(v) for v in reciprocals] == ["inf", "-inf", "0.0", "-0.0", "0.25", "inf"]
    exponentials = run(use("EXP", [fp32], fp32), input1=[0.0, -0.0, INF, -INF, 1000.0, -1000.0])
    assert exponentials == [1.0, 1.0, INF, 0.0, INF, 0.0]
    sums = run(use("ADD", [fp32, fp32], fp32), input1=[INF, 3e38, 1.0], input2=[-INF, 3e38, 2.0**-24])
    assert [str(v) for v in sums] == ["nan", "inf", "1.0"]


def test_clamp() -> None:
    case = use("CLAMP", [i8], i8, min_val=-128, max_val=127, nan_mode="PROPAGATE")
    assert run(case, input=[-128, 0, 127]) == [-128, 0, 127]
    case = use("CLAMP", [i16], i16, min_val=-5, max_val=-5, nan_mode="PROPAGATE")
    assert run(case, input=[-32768, 32767]) == [-5, -5]
    floats = [NAN, INF, -INF, 0.5]
    case = use("CLAMP", [fp32], fp32, min_val=-1.0, max_val=1.0, nan_mode="PROPAGATE")
    assert str(run(case, input=floats)) == "[nan, 1.0, -1.0, 0.5]"
    case = use("CLAMP", [fp32], fp32, min_val=-1.0, max_val=1.0, nan_mode="IGNORE")
    assert str(run(case, input=floats)) == "[-1.0, 1.0, -1.0, 0.5]"


def test_table_of_8_bits_for_every_input() -> None:
    entries = np.random.default_rng(1).integers(-128, 128, 256)
    case = use("TABLE", [i8], i8).const("table", i8, entries)
    assert run(case, input1=range(-128, 128)) == entries.tolist()


def test_table_of_16_bits_for_every_input() -> None:
    entries = np.random.default_rng(1).integers(-16384, 16384, 513).tolist()
    case = use("TABLE", [i16], i32).const("table", i16, entries)
    expected = []
    for value in range(-32768, 32768):
        index, fraction = divmod(value + 32768, 128)
        expected.append(entries[index] * 128 + (entries[index + 1] - entries[index]) * fraction)
    assert run(case, input1=range(-32768, 32768)) == expected


# Conversions


@pytest.mark.parametrize(
    ("a", "b", "values", "result"),
    [
        (i32, i8, [128, 255, 256, -129, LOW, HIGH], [-128, -1, 0, 127, 0, -1]),
        (i32, i16, [32768, -32769, 65536], [-32768, 32767, 0]),
        (i16, i8, [-32768, 32767, 200], [0, -1, -56]),
        (i8, i32, [-128, 127], [-128, 127]),
        (bool_, i16, [True, False], [1, 0]),
        (i32, bool_, [0, 256, LOW], [False, True, True]),
        (fp32, i8, [0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 1e10, -INF], [0, 2, 2, 0, -2, 127, 127, -128]),
        (fp32, i32, [2147483520.0, 2147483648.0, -2147483648.0, -3e9, INF], [2147483520, HIGH, LOW, LOW, HIGH]),
        (i32, fp32, [16777217, 16777219, HIGH, LOW], [16777216.0, 16777220.0, 2147483648.0, -2147483648.0]),
    ],
)
def test_cast(a: DType, b: DType, values: Any, result: Any) -> None:
    assert run(use("CAST", [a], b), input=values) == result


ONE = 1 << 30


@pytest.mark.parametrize(
    ("case", "values", "result"),
    [
        (rescale(i8, i8, [ONE], [30], (-128, 127)), [-128, -127, 127], [127, 127, 127]),
        (rescale(i8, i8, [ONE], [31], (127, -128)), [127, 126, 125, -128], [-128, -128, -128, -128]),
        (rescale(i8, i8, [ONE], [31], (0, 0)), [3, -3, 1, -1], [2, -1, 1, 0]),
        (rescale(i8, i8, [ONE], [32], (0, 0), rounding_mode="DOUBLE_ROUND"), [1, -2, -1, 6], [1, -1, 0, 2]),
        # bits of zero point 255 and of the values are -1 and so on
        (rescale(i8, i8, [ONE], [30], (-1, 0), input_unsigned=True), [-1, 0, 127, -128], [0, -128, -128, -127]),
        (rescale(i8, i8, [ONE], [30], (0, -1), output_unsigned=True), [0, 5, -5, -128], [-1, -1, -6, 127]),
        (rescale(i8, i8, [ONE], [30], (0, 0), output_unsigned=True), [-1, -128, 127], [0, 0, 127]),
        (rescale(i16, i8, [ONE], [30], (-32768, 0), input_unsigned=True), [-32768, -32767, 0, -1], [0, 1, -128, 127]),
        (rescale(i8, i16, [ONE], [30], (0, -32768), output_unsigned=True), [0, -128, 127], [-32768, 32640, -32641]),
        (rescale(i16, i16, [ONE, ONE >> 1], [30, 30], per_channel=True), [[3, 3], [-3, -3]], [[3, 2], [-3, -1]]),
        (rescale(i48, i32, [1 << 14], [30], scale32=False), [LOW48, HIGH48 >> 1, 32768, -32768], [LOW, 1 << 30, 1, 0]),
        (rescale(i48, i8, [1 << 14], [14], scale32=False), [7, -300, 300], [7, -128, 127]),
        (rescale(i32, i32, [ONE], [32]), [HIGH, LOW, 1, 2, -2], [1 << 29, -(1 << 29), 0, 1, 0]),
    ],
)
def test_rescale(case: Case, values: Any, result: Any) -> None:
    assert run(case, input=values) == result


@pytest.mark.parametrize("input_unsigned", [False, True])
@pytest.mark.parametrize(("zero_in", "zero_out"), [(-128, 127), (0, 0), (127, -128), (-1, 3)])
@pytest.mark.parametrize(("multiplier", "shift"), [(ONE, 30), (ONE, 33), (HIGH, 31), (1518500250, 38), (3, 10)])
def test_rescale_of_8_bits_for_every_input(
    multiplier: int, shift: int, zero_in: int, zero_out: int, input_unsigned: bool
) -> None:
    """Against the definition in Python integers."""
    case = rescale(i8, i8, [multiplier], [shift], (zero_in, zero_out), input_unsigned=input_unsigned)
    expected = []
    for value in range(-128, 128):
        difference = value % 256 - zero_in % 256 if input_unsigned else value - zero_in
        scaled = (difference * multiplier + (1 << (shift - 1))) // (1 << shift)
        expected.append(max(-128, min(127, scaled + zero_out)))
    assert run(case, input=range(-128, 128)) == expected


# Places


def test_pad_slice_concat_transpose_reshape() -> None:
    data = np.arange(6, dtype=np.int8).reshape(2, 3)
    padded = np.full((3, 6), 9, np.int8)
    padded[1:, 2:5] = data
    case = use("PAD", [i8], i8).const("padding", shape, [1, 0, 2, 1]).const("pad_const", i8, [9])
    assert run(case, input1=data) == padded.tolist()
    case = use("SLICE", [i8], i8).const("start", shape, [1, 1]).const("size", shape, [1, 2])
    assert run(case, input1=data) == [[4, 5]]
    case = use("RESHAPE", [i8], i8).const("shape", shape, [3, 1, 2])
    assert run(case, input1=data) == [[[0, 1]], [[2, 3]], [[4, 5]]]
    case = use("RESHAPE", [i8], i8).const("shape", shape, [])
    assert run(case, input1=[[7]]) == 7
    assert run(use("TRANSPOSE", [i8], i8, perms=(1, 0)), input1=data) == [[0, 3], [1, 4], [2, 5]]
    case = Case("CONCAT").list_input("input1", i8, (2, 3), (2, 1)).set(axis=1).output("output", i8, None)
    assert run(case, input1_0=data, input1_1=[[8], [9]]) == [[0, 1, 2, 8], [3, 4, 5, 9]]
