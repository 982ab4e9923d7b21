"""Tensor files (NNEF section 5.2): every item type both ways, and each way in which a file can be wrong."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tosa_engine.errors import DataError, TosaEngineError, Unsupported
from tosa_engine.frontends.nnef.dat import Item, read_dat, write_dat

ARRAY = np.array([[1.5, -2.0, 3.25]], np.float32)
GOOD = write_dat(ARRAY)
TYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
]


def patched(offset: int, form: str, value: Any, data: bytes = GOOD) -> bytes:
    new = bytearray(data)
    struct.pack_into("<" + form, new, offset, value)
    return bytes(new)


@given(st.data())
def test_what_is_written_is_read(data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(TYPES)))
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=8, max_side=3))
    array = data.draw(hnp.arrays(dtype, shape))
    stored = read_dat(write_dat(array), "a.dat")
    assert stored.array.dtype == dtype
    assert stored.array.shape == shape
    assert stored.array.tobytes() == array.tobytes()
    assert stored.bits == (1 if dtype.kind == "b" else dtype.itemsize * 8)


def test_the_layout_of_the_header() -> None:
    assert len(GOOD) == 128 + 12
    assert GOOD[:4] == b"N\xef\x01\x00"
    assert struct.unpack_from("<12I", GOOD, 4) == (12, 2, 1, 3, 0, 0, 0, 0, 0, 0, 32, 0)
    assert not any(GOOD[52:128])
    assert GOOD[128:] == ARRAY.tobytes()


def test_logical_values_are_packed_from_the_highest_bit() -> None:
    array = np.array([1, 0, 1, 1, 0, 0, 0, 0, 1], np.bool_)
    data = write_dat(array)
    assert data[128:] == bytes([0b10110000, 0b10000000])
    assert read_dat(data, "b.dat").array.tolist() == array.tolist()
    bytewise = patched(44, "I", 8, patched(4, "I", 9, data[:128] + bytes([1, 0, 2, 255, 0, 0, 0, 0, 1])))
    assert read_dat(bytewise, "b.dat").array.tolist() == array.tolist()


def test_quantized_codes_and_deprecated_parameters() -> None:
    codes = read_dat(write_dat(np.array([-3, 4], np.int8), quantized=True), "q.dat")
    assert (codes.item, codes.array.tolist(), codes.range) == (Item.QUANTIZED_INT, [-3, 4], None)
    data = write_dat(np.array([0, 255], np.uint8), quantized=True)
    ranged = read_dat(data[:52] + struct.pack("<2f", -1.0, 3.0) + data[60:], "q.dat")
    assert (ranged.item, ranged.range) == (Item.QUANTIZED_UINT, (-1.0, 3.0))
    signed = patched(52, "I", 1, write_dat(np.array([255], np.uint8)))
    assert read_dat(signed, "i.dat").array.tolist() == [-1]


BAD = [
    (GOOD[:100], DataError, "the header needs 128 bytes, the file has 100"),
    (b"", DataError, "the header needs 128 bytes, the file has 0"),
    (b"PK" + GOOD[2:], DataError, "not an NNEF tensor file: the first two bytes are 50 4b, not 4e ef"),
    (patched(2, "B", 2), DataError, "version 2.0 of the tensor file format, only 1.0 is known"),
    (patched(8, "I", 9), DataError, "rank 9, at most 8 is allowed"),
    (patched(40, "I", 7), DataError, "extents beyond rank 2 must be 0, got [1, 3, 0, 0, 0, 0, 0, 7]"),
    (GOOD[:-1], DataError, "[1, 3] items of 32 bits need 128 + 12 bytes; the header says 12, the file has 139"),
    (GOOD + b"\0", DataError, "[1, 3] items of 32 bits need 128 + 12 bytes; the header says 12, the file has 141"),
    (patched(4, "I", 8), DataError, "[1, 3] items of 32 bits need 128 + 12 bytes; the header says 8, the file has 140"),
    (
        patched(12, "I", 0xFFFFFFFF),
        DataError,
        "[4294967295, 3] items of 32 bits need 128 + 51539607540 bytes; the header says 12, the file has 140",
    ),
    (patched(48, "I", 6), DataError, "unknown item type 6"),
    (patched(48, "I", 0x00010000), Unsupported, "item type 0 of vendor 1"),
    (patched(44, "I", 24), DataError, "FLOAT items of 24 bits"),
    (patched(44, "I", 65, patched(48, "I", 4)), DataError, "INT items of 65 bits"),
    (patched(44, "I", 4, patched(48, "I", 4)), Unsupported, "INT items of 4 bits; 8, 16, 32 and 64 are read"),
    (patched(44, "I", 2, patched(48, "I", 5)), DataError, "BOOL items of 2 bits"),
]


@pytest.mark.parametrize(("data", "kind", "message"), BAD, ids=[m[:40] for _, _, m in BAD])
def test_each_damage_has_its_message(data: bytes, kind: type[TosaEngineError], message: str) -> None:
    with pytest.raises(TosaEngineError) as caught:
        read_dat(data, "net/w.dat")
    assert type(caught.value) is kind
    assert str(caught.value) == f"net/w.dat: {message}"


DAMAGED = st.builds(lambda i, b: GOOD[:i] + b + GOOD[i + 1 :], st.integers(0, 139), st.binary(max_size=2))


@given(st.binary(max_size=200) | DAMAGED)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(DataError, Unsupported):
        read_dat(data, "x.dat")


@pytest.mark.parametrize(
    ("array", "quantized", "message"),
    [
        (np.ones(1, np.complex64), False, "a tensor file can't hold items of type complex64"),
        (np.ones(1, np.float32), True, "a tensor file can't hold quantized items of type float32"),
        (np.ones((1,) * 9), False, "a tensor file can't hold shape [1, 1, 1, 1, 1, 1, 1, 1, 1]"),
    ],
)
def test_what_cant_be_written(array: Any, quantized: bool, message: str) -> None:
    with pytest.raises(DataError) as caught:
        write_dat(array, quantized=quantized)
    assert str(caught.value) == message
