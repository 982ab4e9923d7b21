# ruff: noqa: E501
"""Integers are computed modulo their width, as XLA has them, whatever TOSA's own operators leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stablehlo_modules import graph, main, needs_jaxlib, run

from tosa_engine.errors import TosaEngineError, Unsupported, UsageError

pytestmark = needs_jaxlib
TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32}


def numbers(dtype: Any) -> tuple[Any, Any]:
    """Ends of the type, small numbers, and others."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    some = [low, high, 0, 1, 2, 3, 7, high // 2, high // 2 + 1, low + 1, 100, 37]
    x, y = np.meshgrid(np.asarray(some, dtype), np.asarray(some, dtype))
    return x.reshape(-1), y.reshape(-1)


def both(op: str, kind: str, x: Any, y: Any) -> Any:
    tensor = f"tensor<{x.size}x{kind}>"
    text = main(f"%x: {tensor}, %y: {tensor}", f"%out = stablehlo.{op} %x, %y : {tensor}", tensor)
    (found,) = run(text, x, y)
    return found.view(x.dtype)


@pytest.mark.parametrize("kind", sorted(TYPES))
@pytest.mark.parametrize("op", ["add", "subtract", "multiply", "maximum", "minimum", "xor"])
def test_arithmetic(op: str, kind: str) -> None:
    x, y = numbers(TYPES[kind])
    functions = {"maximum": np.maximum, "minimum": np.minimum, "xor": np.bitwise_xor}
    function = functions.get(op, getattr(np, op, None))
    assert function is not None
    np.testing.assert_array_equal(both(op, kind, x, y), function(x, y))


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_division_is_towards_zero_and_that_by_zero_sets_all_bits(kind: str) -> None:
    x, y = numbers(TYPES[kind])
    wide, by = x.astype(object), y.astype(object)
    high = np.iinfo(x.dtype).max if x.dtype.kind == "u" else -1
    wanted = [
        high if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(wide, by, strict=True)
    ]
    rest = [a if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1) for a, b in zip(wide, by, strict=True)]
    np.testing.assert_array_equal(
        both("divide", kind, x, y), np.asarray(wanted, object).astype(np.int64).astype(x.dtype)
    )
    np.testing.assert_array_equal(
        both("remainder", kind, x, y), np.asarray(rest, object).astype(np.int64).astype(x.dtype)
    )


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_shifts_by_the_width_and_more_leave_nothing_or_the_sign(kind: str) -> None:
    x, _ = numbers(TYPES[kind])
    bits = x.dtype.itemsize * 8
    y = np.resize(np.asarray([0, 1, 3, bits - 1, bits, 100]), x.size).astype(x.dtype)
    plain = [(int(a) % (1 << bits), int(n)) for a, n in zip(x, y, strict=True)]
    left = [a << n & ((1 << bits) - 1) if n < bits else 0 for a, n in plain]
    right = [a >> n if n < bits else 0 for a, n in plain]
    signed = [(a - (1 << bits) if a >> (bits - 1) else a) >> min(n, bits - 1) & ((1 << bits) - 1) for a, n in plain]
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    for op, wanted in (("shift_left", left), ("shift_right_logical", right), ("shift_right_arithmetic", signed)):
        np.testing.assert_array_equal(both(op, kind, x, y).view(unsigned), np.asarray(wanted, unsigned))


def test_a_sum_that_is_proved_to_fit_is_one_operator() -> None:
    text = main(
        "%x: tensor<4xi8>, %y: tensor<4xi8>",
        "%a = stablehlo.convert %x : (tensor<4xi8>) -> tensor<4xi32>\n%b = stablehlo.convert %y : (tensor<4xi8>) -> "
        "tensor<4xi32>\n%out = stablehlo.add %a, %b : tensor<4xi32>",
        "tensor<4xi32>",
    )
    assert [op.op for op in graph(text).main.operators] == ["CAST", "CAST", "ADD"]


def test_a_sum_of_64_bits_that_may_leave_int32_is_refused_with_its_range() -> None:
    text = main("%x: tensor<2xi64>", "%out = stablehlo.add %x, %x : tensor<2xi64>", "tensor<2xi64>")
    with pytest.raises(Unsupported) as refused:
        graph(text)
    assert str(refused.value) == (
        "model.mlir:2: stablehlo.add (tensor<2xi64>): the result is i64 from -4294967296 to 4294967294, int32 goes from "
        "-2147483648 to 2147483647: --within INPUT=LOW,HIGH tells the range of what it is made of"
    )
    (found,) = run(text, [-100, 100], within={"arg0": (-100, 100)})
    np.testing.assert_array_equal(found, [-200, 200])


def test_threefry_runs() -> None:
    """Two rounds of the mixing, beside Python's own integers."""
    kind = "tensor<2xui32>"
    text = main(
        f"%x: {kind}, %y: {kind}",
        f"%a = stablehlo.add %x, %y : {kind}\n%l = stablehlo.constant dense<13> : {kind}\n"
        f"%r = stablehlo.constant dense<19> : {kind}\n%u = stablehlo.shift_left %y, %l : {kind}\n"
        f"%d = stablehlo.shift_right_logical %y, %r : {kind}\n%o = stablehlo.or %u, %d : {kind}\n"
        f"%out = stablehlo.xor %a, %o : {kind}",
        kind,
    )
    x, y = np.asarray([0xDEADBEEF, 0xFFFFFFFF], np.uint32), np.asarray([0x80000001, 0xFFFFFFFE], np.uint32)
    (found,) = run(text, x, y)
    np.testing.assert_array_equal(found.view(np.uint32), (x + y) ^ ((y << np.uint32(13)) | (y >> np.uint32(19))))


def test_a_range_of_one_number_at_an_end_of_int32() -> None:
    """Failed with an OverflowError: the sum that tests it goes over all of int32, which took three parts."""
    text = main("%x: tensor<2xi64>", "%out = stablehlo.negate %x : tensor<2xi64>", "tensor<2xi64>")
    least, most = -(2**31), 2**31 - 1
    np.testing.assert_array_equal(run(text, [most, most], within={"arg0": (most, most)})[0], [-most, -most])
    with pytest.raises(Unsupported, match=r"from 2147483648 to 2147483648"):
        run(text, [least, least], within={"arg0": (least, least)})


@pytest.mark.parametrize("kind", ["i8", "i16", "ui8"])
def test_ranges_of_narrow_integers_are_told_too(kind: str) -> None:
    """A negative number is too large for ui64; --within was refused for all but 32 bits."""
    text = main(
        f"%x: tensor<3x{kind}>", f"%out = stablehlo.convert %x : (tensor<3x{kind}>) -> tensor<3xui64>", "tensor<3xui64>"
    )
    np.testing.assert_array_equal(run(text, [0, 5, 7], within={"arg0": (0, 7)})[0], [0, 5, 7])
    with pytest.raises(TosaEngineError, match=r"arg0/within"):
        run(text, [0, 5, 8], within={"arg0": (0, 7)})
    with pytest.raises(UsageError, match="which has none of these"):
        graph(text, within={"arg0": (1 << 20, 1 << 21)})


@pytest.mark.parametrize("direction", ["LT", "LE", "GT", "GE", "EQ", "NE"])
@pytest.mark.parametrize("limit", [-(2**63), -(2**31) - 1, 2**31, 2**63 - 1])
@pytest.mark.parametrize("first", [True, False])
def test_comparisons_with_numbers_beyond_int32_are_decided(direction: str, limit: int, first: bool) -> None:
    """Was refused: such constants don't fit int32."""
    operands = "%x, %c" if first else "%c, %x"
    text = main(
        "%x: tensor<2xi64>",
        f"%c = stablehlo.constant dense<{limit}> : tensor<2xi64>\n"
        f"%out = stablehlo.compare {direction}, {operands}, SIGNED : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>",
        "tensor<2xi1>",
    )
    x = np.asarray([-(2**31), 2**31 - 1])
    functions = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal}
    function = functions.get(direction, np.not_equal)
    np.testing.assert_array_equal(run(text, x)[0], function(x, limit) if first else function(limit, x))


def test_limits_beyond_int32_that_limit_nothing() -> None:
    text = main(
        "%x: tensor<3xi64>",
        f"%low = stablehlo.constant dense<[{-(2**40)}, 0, 1]> : tensor<3xi64>\n"
        f"%high = stablehlo.constant dense<[{2**40}, {2**63 - 1}, 4]> : tensor<3xi64>\n"
        "%a = stablehlo.clamp %low, %x, %high : tensor<3xi64>\n%b = stablehlo.maximum %a, %low : tensor<3xi64>\n"
        "%out = stablehlo.minimum %high, %b : tensor<3xi64>",
        "tensor<3xi64>",
    )
    np.testing.assert_array_equal(run(text, [-(2**31), 2**31 - 1, 9])[0], [-(2**31), 2**31 - 1, 4])


def test_bits_of_negative_numbers_of_64_bits() -> None:
    x = np.asarray([-(2**31), -1, -6, 0, 6, 2**31 - 1])
    for op, wanted in (("count_leading_zeros", [0, 0, 0, 64, 61, 33]), ("popcnt", [33, 64, 62, 0, 2, 31])):
        text = main("%x: tensor<6xi64>", f"%out = stablehlo.{op} %x : tensor<6xi64>", "tensor<6xi64>")
        np.testing.assert_array_equal(run(text, x)[0], wanted)


INDEX = (
    "%zero = stablehlo.constant dense<0> : tensor<4xi64>\n%n = stablehlo.constant dense<10> : tensor<4xi64>\n"
    "%test = stablehlo.compare LT, %x, {zero}, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>\n"
    "%sum = stablehlo.add %x, %n : tensor<4xi64>\n"
    "%out = stablehlo.select %test, %sum, {other} : tensor<4xi1>, tensor<4xi64>"
)


def test_an_index_that_counts_from_the_end() -> None:
    """x + n leaves int32 only where it isn't taken."""
    text = main("%x: tensor<4xi64>", INDEX.format(zero="%zero", other="%x"), "tensor<4xi64>")
    x = [-(2**31), -1, 0, 2**31 - 1]
    np.testing.assert_array_equal(run(text, x)[0], [-(2**31) + 10, 9, 0, 2**31 - 1])


@pytest.mark.parametrize(("zero", "other"), [("%n", "%x"), ("%zero", "%sum")])
def test_a_sum_that_is_taken_above_0_too_is_refused(zero: str, other: str) -> None:
    with pytest.raises(Unsupported, match="the result is i64"):
        graph(main("%x: tensor<4xi64>", INDEX.format(zero=zero, other=other), "tensor<4xi64>"))


LOOP = """
%start = stablehlo.constant dense<{start}> : tensor<{kind}>
%ends:2 = stablehlo.while(%i = %start, %s = %x) : tensor<{kind}>, tensor<f32>
cond {{
  %most = stablehlo.constant dense<7> : tensor<{kind}>
  %a = stablehlo.compare {test} : (tensor<{kind}>, tensor<{kind}>) -> tensor<i1>
  %half = stablehlo.constant dense<5.0> : tensor<f32>
  %b = stablehlo.compare LT, %s, %half : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %go = stablehlo.and %a, %b : tensor<i1>
  stablehlo.return %go : tensor<i1>
}} do {{
  %step = stablehlo.constant dense<2> : tensor<{kind}>
  %j = stablehlo.add %step, %i : tensor<{kind}>
  %one = stablehlo.convert %i : (tensor<{kind}>) -> tensor<f32>
  %t = stablehlo.add %s, %one : tensor<f32>
  stablehlo.return %j, %t : tensor<{kind}>, tensor<f32>
}}
%out = stablehlo.multiply %ends#0, %ends#0 : tensor<{kind}>
"""


@pytest.mark.parametrize("kind", ["i32", "i64"])
@pytest.mark.parametrize(("test", "start", "count"), [("LT, %i, %most", 1, 7), ("GE, %most, %i", 1, 9)])
def test_a_counter_of_a_loop_that_data_end_is_within_its_limits(kind: str, test: str, start: int, count: int) -> None:
    """An int64 counter was refused; an int32 one was added and squared by halves, for fear of the end of int32."""
    text = main("%x: tensor<f32>", LOOP.format(kind=kind, test=test, start=start), f"tensor<{kind}>")
    made = graph(text)
    assert {op.op for _, block in made.blocks() for op in block.operators} <= {
        "CONST", "WHILE_LOOP", "GREATER", "GREATER_EQUAL", "LOGICAL_AND", "ADD", "CAST", "MUL", "IDENTITY", "RESHAPE",
    }  # fmt: skip
    assert run(text, np.float32(-100))[0] == count**2
    assert run(text, np.float32(4.5))[0] == (start + 2) ** 2


@pytest.mark.parametrize("test", ["GT, %i, %most", "NE, %i, %most"])
def test_a_counter_without_a_limit_is_refused(test: str) -> None:
    with pytest.raises(Unsupported, match="the result is i64"):
        graph(main("%x: tensor<f32>", LOOP.format(kind="i64", test=test, start=9), "tensor<i64>"))
