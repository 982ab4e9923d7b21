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
from tosa_engine.frontends.nnef.files.dat import Item, dequantized, read_dat, write_dat

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


def bit_stream(values: list[int], bits: int) -> bytes:
    """All items as one large number whose lowest bits are the first item."""
    number = sum((value % (1 << bits)) << (i * bits) for i, value in enumerate(values))
    return number.to_bytes((len(values) * bits + 7) // 8, "little")


@given(st.integers(1, 64), st.booleans(), st.data())
def test_integers_of_every_width_are_packed(bits: int, signed: bool, data: st.DataObject) -> None:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    values = data.draw(st.lists(st.integers(low, high) | st.sampled_from([low, high]), min_size=1, max_size=20))
    array = np.array(values, np.int64 if signed else np.uint64)
    for quantized in (False, True):
        written = write_dat(array, bits=bits, quantized=quantized)
        assert written[128:] == bit_stream(values, bits)
        stored = read_dat(written, "p.dat")
        assert stored.array.tolist() == values
        assert stored.bits == bits
        kinds = ((Item.UINT, Item.QUANTIZED_UINT), (Item.INT, Item.QUANTIZED_INT))
        assert stored.item == kinds[signed][quantized]


@pytest.mark.parametrize("bits", [1, 3, 12, 40])
def test_long_rows_of_bits(bits: int) -> None:
    values = np.random.default_rng(bits).integers(0, 1 << bits, 200_003, np.uint64)
    written = write_dat(values.reshape(1, -1), bits=bits)
    assert written[128:] == bit_stream(values.tolist(), bits) if bits == 3 else True
    assert read_dat(written, "p.dat").array.tolist() == [values.tolist()]


def ranged(codes: list[int], bits: int, kind: Item, low: float, high: float) -> Any:
    data = write_dat(np.array(codes, np.uint64), bits=bits, quantized=True)
    return read_dat(patched(48, "I", int(kind), data[:52] + struct.pack("<2f", low, high) + data[60:]), "q.dat")


def test_deprecated_linear_codes() -> None:
    stored = ranged([0, 255, 51], 8, Item.QUANTIZED_UINT, -1.0, 3.0)
    np.testing.assert_array_equal(dequantized(stored), [-1.0, 3.0, 51 / 255 * 4 - 1])
    np.testing.assert_array_equal(dequantized(ranged([0, 1], 1, Item.QUANTIZED_UINT, 2.0, 4.0)), [2.0, 4.0])


@pytest.mark.parametrize("bits", [2, 4, 5, 8])
def test_deprecated_logarithmic_codes(bits: int) -> None:
    """The formulas of section 5.2 with Python's numbers."""
    codes = list(range(1 << bits))
    unsigned = ranged(codes, bits, Item.QUANTIZED_INT, 0.0, 5.0)
    top = 3  # ceil(log2(5))
    assert dequantized(unsigned).tolist() == [2.0 ** (q + top - (2**bits - 1)) for q in codes]
    signed = ranged(codes, bits, Item.QUANTIZED_INT, -5.0, 5.0)
    half = 1 << (bits - 1)
    values = [2.0 ** (q % half + top - (half - 1)) * (-1 if q >= half else 1) for q in codes]
    assert dequantized(signed).tolist() == values


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
    (patched(12, "I", 0), DataError, "extents must be positive, got [0, 3]"),
    (patched(48, "I", 6), DataError, "unknown item type 6"),
    (patched(48, "I", 0x00010000), Unsupported, "item type 0 of vendor 1"),
    (patched(44, "I", 24), DataError, "FLOAT items of 24 bits"),
    (patched(44, "I", 65, patched(48, "I", 4)), DataError, "INT items of 65 bits"),
    (
        patched(44, "I", 4, patched(48, "I", 4)),
        DataError,
        "[1, 3] items of 4 bits need 128 + 2 bytes; the header says 12, the file has 140",
    ),
    (patched(44, "I", 0, patched(48, "I", 4)), DataError, "INT items of 0 bits"),
    (
        patched(56, "f", -1.0, patched(48, "I", 2)),
        DataError,
        "the range of quantized items is from 0.0 to -1.0",
    ),
    (
        patched(56, "f", float("inf"), patched(48, "I", 2)),
        DataError,
        "the range of quantized items is from 0.0 to inf",
    ),
    (
        patched(52, "f", -2.0, patched(48, "I", 3)),
        DataError,
        "a logarithmic range starts at 0 or at minus its end, got -2.0 to 0.0",
    ),
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


def test_values_must_fit_the_width() -> None:
    with pytest.raises(DataError, match=r"^values from -9 to 7 don't fit 4 bits$"):
        write_dat(np.array([-9, 7]), bits=4)
    with pytest.raises(DataError, match="can't hold items of type float32 in 4 bits"):
        write_dat(ARRAY, bits=4)
