"""Values in files: the bytes of each format, written out by hand."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosa_engine import types
from tosa_engine.serialize import data

BYTES: list[tuple[types.DType, list[Any], str]] = [
    (types.bool_, [False, True], "0001"),
    (types.i4, [1, -1, -8], "f108"),
    (types.i4, [7, -7], "97"),
    (types.i8, [1, -2], "01fe"),
    (types.i16, [0x1234, -2], "3412feff"),
    (types.i32, [-2], "feffffff"),
    (types.i48, [1, -2, (1 << 47) - 1, -(1 << 47)], "010000000000feffffffffffffffffffff7f000000000080"),
    (types.i64, [-2], "feffffffffffffff"),
    (types.shape, [258], "0201000000000000"),
    (types.fp32, [1.0, -0.0], "0000803f00000080"),
    (types.fp16, [1.0], "003c"),
    (types.bf16, [1.0, -0.0, 1e-40, math.inf], "803f00800100807f"),
    (types.fp8e4m3, [1.0, -448.0, 2.0**-9], "38fe01"),
    (types.fp8e5m2, [1.0, -math.inf, 2.0**-16], "3cfc01"),
    (types.fp6e2m3, [1, 2, 3, 63], "8130fc"),
    (types.fp6e2m3, [63], "3f"),
    (types.fp4e2m1, [1, 15, 2], "f102"),
]


@pytest.mark.parametrize(("dtype", "values", "written"), BYTES, ids=[f"{d}-{w}" for d, _, w in BYTES])
def test_bytes_by_hand(dtype: types.DType, values: list[Any], written: str) -> None:
    array = np.asarray(values, dtype.storage)
    assert data.encode(array, dtype).hex() == written
    assert data.byte_size(dtype, len(values)) == len(written) // 2
    again = data.decode(bytes.fromhex(written), dtype, array.shape)
    assert again.dtype == dtype.storage
    assert again.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", [types.i8, types.i4, types.i48, types.fp32])
def test_scalars_and_empty_arrays(dtype: types.DType) -> None:
    for shape in ((), (0,), (2, 0, 3), (1,) * 32):
        array = np.ones(shape, dtype.storage)
        again = data.decode(data.encode(array, dtype), dtype, shape)
        assert again.shape == shape
        assert (again == array).all()


@given(st.lists(st.integers(-(1 << 47), (1 << 47) - 1)))
def test_int48_is_six_bytes_little_endian(values: list[int]) -> None:
    written = data.encode(np.asarray(values, np.int64), types.i48)
    assert written == b"".join(v.to_bytes(6, "little", signed=True) for v in values)
    assert data.decode(written, types.i48, (len(values),)).tolist() == values


@pytest.mark.parametrize(("dtype", "bits"), [(types.i4, 4), (types.fp4e2m1, 4), (types.fp6e2m3, 6), (types.fp6e3m2, 6)])
@given(st.data())
def test_narrow_formats_fill_bytes_from_the_lowest_bit(dtype: types.DType, bits: int, d: st.DataObject) -> None:
    low, high = (-8, 7) if dtype is types.i4 else (0, (1 << bits) - 1)
    values = d.draw(st.lists(st.integers(low, high)))
    number = sum((v % (1 << bits)) << (bits * i) for i, v in enumerate(values))
    written = data.encode(np.asarray(values, dtype.storage), dtype)
    assert written == number.to_bytes((bits * len(values) + 7) // 8, "little")
    assert data.decode(written, dtype, (len(values),)).tolist() == values


NUMBERS: list[tuple[types.DType, Any, str]] = [
    (types.i8, -128, "80"),
    (types.i8, 127, "7f"),
    (types.i16, -2, "feff"),
    (types.i32, 1, "01000000"),
    (types.i48, -(1 << 47), "000000000080"),
    (types.fp32, 1.5, "0000c03f"),
    (types.fp32, -math.inf, "000080ff"),
    (types.fp16, 65504.0, "ff7b"),
    (types.bf16, -2.0, "00c0"),
    (types.bf16, math.inf, "807f"),
    (types.fp8e4m3, -448.0, "fe"),
    (types.fp8e5m2, -math.inf, "fc"),
]


@pytest.mark.parametrize(("dtype", "value", "written"), NUMBERS, ids=[f"{d}-{v}" for d, v, _ in NUMBERS])
def test_one_number_is_padded_to_eight_bytes(dtype: types.DType, value: Any, written: str) -> None:
    raw = bytes.fromhex(written)
    assert data.encode_number(value, dtype) == raw.ljust(8, b"\0")
    for stored in (raw, raw.ljust(8, b"\0")):
        found = data.decode_number(stored, dtype)
        assert found == value
        assert type(found) is type(value)


def test_numbers_that_are_rounded_and_numbers_that_stay_bytes() -> None:
    for value, written in ((1.00390625, "803f"), (1.01171875, "823f"), (3.3895e38, "7f7f"), (math.nan, "c07f")):
        assert data.encode_number(value, types.bf16)[:2].hex() == written  # ties to even
    assert math.isnan(data.decode_number(data.encode_number(math.nan, types.fp32), types.fp32))
    assert data.encode_number(0.1, types.fp32)[:4] == struct.pack("<f", 0.1)
    assert data.encode_number(1.01, types.fp8e4m3)[:1] == b"\x38"
    assert data.decode_number(b"\x38", types.fp6e2m3) == b"\x38"
    assert data.encode_number(b"\x38", types.fp6e2m3) == b"\x38"


@pytest.mark.parametrize(
    ("value", "dtype", "message"),
    [
        (128, types.i8, "i8 can't hold 128"),
        (-129, types.i8, "i8 can't hold -129"),
        (1.0, types.i8, "i8 can't hold the number 1.0"),
        (1.0, types.fp6e2m3, "fp6e2m3 can't hold the number 1.0"),
        (65520.0, types.fp16, "65520.0 is beyond the largest fp16"),
        (465.0, types.fp8e4m3, "465.0 is beyond the largest fp8e4m3"),
        (61440.0, types.fp8e5m2, "61440.0 is beyond the largest fp8e5m2"),
        (3.4e38, types.bf16, "3.4e+38 is beyond the largest bf16"),
    ],
)
def test_numbers_that_do_not_fit(value: Any, dtype: types.DType, message: str) -> None:
    with pytest.raises(data.ValueProblem) as caught:
        data.encode_number(value, dtype)
    assert str(caught.value) == message
