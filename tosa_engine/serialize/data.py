"""Values in files: little-endian bytes of each number format, to and from arrays of the format's storage.

int48 takes 6 bytes. Formats below 8 bits are packed: element 0 in the lowest bits of byte 0, and so on. bool takes one
byte, 0 or 1. Formats of microscaling stay the bits that they are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import types
from ..numerics.float_formats import FORMATS, round_to

if TYPE_CHECKING:
    from ..types import Array, DType, Shape


class ValueProblem(ValueError):
    """Bytes and format, or values and format, don't fit; the caller knows whose they are."""


def byte_size(dtype: DType, count: int) -> int:
    """Bytes that `count` elements take in a file."""
    bits = 8 if dtype is types.bool_ else dtype.bits
    return (count * bits + 7) // 8


def decode(raw: bytes | memoryview, dtype: DType, shape: Shape) -> Array:
    """The array of `shape` that `raw` holds, in storage of its own.

    Writers pad values to 8 bytes, and some write one zero point per channel where the shape says one element: bytes
    beyond the last element are ignored if they are zero.

    Raises:
        ValueProblem: too few bytes, other bytes than zero beyond the last element, a shape that no array can have, or
            a bool that is neither 0 nor 1.
    """
    if len(shape) > types.MAX_RANK or any(d < 0 for d in shape):
        raise ValueProblem(
            f"constant data needs a shape of at most {types.MAX_RANK} dimensions >= 0, got {list(shape)}"
        )
    count = types.count(shape)
    size = byte_size(dtype, count)
    if len(raw) < size:
        raise ValueProblem(f"shape {list(shape)} of {dtype} needs {size} bytes of data, got {len(raw)}")
    surplus = np.frombuffer(raw, np.uint8)[size:] if len(raw) > size else np.zeros(0, np.uint8)
    if surplus.any():
        found = f"{len(raw)}, and the rest isn't zero"
        raise ValueProblem(f"shape {list(shape)} of {dtype} needs {size} bytes of data, got {found}")
    if count == 0:
        problem = types.impossible(shape)
        if problem:
            raise ValueProblem(problem)
        return np.zeros(shape, dtype.storage)
    return _decode(np.frombuffer(raw, np.uint8, size), dtype, count).reshape(shape)


def _decode(raw: Array, dtype: DType, count: int) -> Array:
    if dtype is types.bool_:
        if raw.max() > 1:
            raise ValueProblem(f"a bool is 0 or 1, got {raw.max()} at element {int((raw > 1).argmax())}")
        return raw.astype(np.bool_)
    if dtype.bits == 48:
        wide = np.zeros((count, 8), np.uint8)
        wide[:, 2:] = raw.reshape(count, 6)
        return (wide.reshape(-1).view("<i8") >> 16).astype(dtype.storage)
    if dtype.bits < 8:
        codes = _unpack(raw, dtype.bits, count).astype(dtype.storage)
        if dtype.is_int:
            codes[codes > dtype.maximum] -= 16
        return codes
    return raw.view(dtype.storage.newbyteorder("<")).astype(dtype.storage)


def _unpack(raw: Array, bits: int, count: int) -> Array:
    if bits == 4:
        nibbles: Array = np.stack((raw & 15, raw >> 4), axis=1).reshape(-1)[:count]
        return nibbles
    spread = np.unpackbits(raw, bitorder="little")[: count * bits].reshape(count, bits)
    codes: Array = np.packbits(spread, axis=1, bitorder="little").reshape(-1)
    return codes


def encode(array: Array, dtype: DType) -> bytes:
    """The bytes of an array of `dtype`'s storage.

    Raises:
        ValueProblem: the array has another dtype, or values that the format can't hold.
    """
    if array.dtype != dtype.storage:
        raise ValueProblem(f"{dtype} is held in {dtype.storage}, got {array.dtype}")
    flat = np.ascontiguousarray(array).reshape(-1)
    if dtype.bits == 48 or dtype.bits < 8:
        _check_bits(flat, dtype)
    if dtype is types.bool_:
        return flat.astype(np.uint8).tobytes()
    if dtype.bits == 48:
        return np.ascontiguousarray(flat.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :6]).tobytes()
    if dtype.bits < 8:
        return _pack(flat.view(np.uint8) & ((1 << dtype.bits) - 1), dtype.bits)
    return flat.astype(dtype.storage.newbyteorder("<")).tobytes()


def _check_bits(flat: Array, dtype: DType) -> None:
    """Formats narrower than their storage: the values must fit. (int4 files can hold -8, which int4_t excludes.)"""
    if dtype is types.bool_ or not flat.size:
        return
    low, high = (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1) if dtype.is_int else (0, (1 << dtype.bits) - 1)
    wrong = (flat < low) | (flat > high)
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueProblem(f"{dtype} holds {low} to {high}, got {flat[at]} at element {at}")


def _pack(codes: Array, bits: int) -> bytes:
    if bits == 4:
        even = np.append(codes, np.uint8(0)) if codes.size % 2 else codes
        packed: Array = even[0::2] | (even[1::2] << 4)
        return packed.tobytes()
    spread = np.unpackbits(codes.reshape(-1, 1), axis=1, bitorder="little")[:, :bits]
    return np.packbits(spread.reshape(-1), bitorder="little").tobytes()


def decode_number(raw: bytes | memoryview, dtype: DType) -> int | float | bytes:
    """One value of `dtype`, as CLAMP's min_val and max_val are stored; of formats held as their bits the bytes."""
    value = decode(raw, dtype, ())
    if dtype.is_float and not types.holds_floats(value):
        return bytes(raw)
    number: int | float = value.item()
    return number


def encode_number(value: float | bytes, dtype: DType) -> bytes:
    """One value of `dtype`, padded with zeros to 8 bytes. A float that isn't of the format is rounded to nearest.

    Raises:
        ValueProblem: the format can't hold the value.
    """
    if isinstance(value, bytes):
        return value
    if dtype in FORMATS:
        array = _float(value, dtype)
    elif dtype.is_float or not isinstance(value, int):
        raise ValueProblem(f"{dtype} can't hold the number {value!r}")
    elif not -(1 << (dtype.bits - 1)) <= value < 1 << (dtype.bits - 1):
        raise ValueProblem(f"{dtype} can't hold {value}")
    else:
        array = np.asarray(value, dtype.storage)
    return encode(array, dtype).ljust(8, b"\0")


def _float(value: float, dtype: DType) -> Array:
    array = round_to(np.asarray(float(value)), dtype)
    if math.isfinite(value) and not math.isfinite(array):
        raise ValueProblem(f"{value} is beyond the largest {dtype}")
    return array
