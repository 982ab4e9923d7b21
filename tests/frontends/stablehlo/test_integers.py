# ruff: noqa: E501
"""Integers are computed modulo their width, as XLA has them, whatever TOSA's own operators leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stablehlo_modules import graph, main, needs_jaxlib, run

from tosa_engine.errors import Unsupported

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
