"""The tensor file format (section 5.2): a header of 128 bytes and the items in row-major order, little-endian."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import DataError, Unsupported
from ...types import Array, Shape, count

if TYPE_CHECKING:
    from collections.abc import Container

MAGIC: Final = b"N\xef"
HEADER: Final = struct.Struct("<2s2B2I8I2I8I44x")
HEADER_BYTES: Final = 128
MAX_RANK: Final = 8
_FLOATS: Final = {16: "<f2", 32: "<f4", 64: "<f8"}


class Item(IntEnum):
    """Item-type codes of the Khronos Group (vendor 0)."""

    FLOAT = 0
    UINT = 1
    QUANTIZED_UINT = 2
    QUANTIZED_INT = 3
    INT = 4
    BOOL = 5


@dataclass(frozen=True, slots=True)
class TensorFile:
    """A tensor as stored: its values and how they were stored. For quantized items the values are the stored codes.

    `range` holds the deprecated parameters min and max of a quantized item type, where the file has them.
    """

    array: Array
    item: Item
    bits: int
    range: tuple[float, float] | None = None


def read_dat(data: bytes, name: str) -> TensorFile:
    """Read a tensor file. `name` is what errors call it.

    Raises DataError for a wrong magic number, version, rank, item type or size (with the size wanted and got), and
    Unsupported for item types of vendors and for widths that aren't 1 (logical), 8, 16, 32 or 64 bits.
    """
    if len(data) < HEADER_BYTES:
        raise DataError(f"{name}: the header needs {HEADER_BYTES} bytes, the file has {len(data)}")
    magic, major, minor, length, rank, *rest = HEADER.unpack_from(data)
    extents, (bits, code), parameters = rest[:8], rest[8:10], rest[10:]
    if magic != MAGIC:
        raise DataError(f"{name}: not an NNEF tensor file: the first two bytes are {magic.hex(' ')}, not 4e ef")
    if (major, minor) != (1, 0):
        raise DataError(f"{name}: version {major}.{minor} of the tensor file format, only 1.0 is known")
    if rank > MAX_RANK:
        raise DataError(f"{name}: rank {rank}, at most {MAX_RANK} is allowed")
    if any(extents[rank:]):
        raise DataError(f"{name}: extents beyond rank {rank} must be 0, got {extents}")
    shape = tuple(extents[:rank])
    item = _item(code, bits, name)
    if item is Item.UINT and parameters[0]:  # deprecated: a signed integer
        item = Item.INT
    wanted = (count(shape) * bits + 7) // 8
    if length != wanted or len(data) != HEADER_BYTES + wanted:
        raise DataError(
            f"{name}: {list(shape)} items of {bits} bits need {HEADER_BYTES} + {wanted} bytes; "
            f"the header says {length}, the file has {len(data)}"
        )
    low, high = np.frombuffer(data, "<f4", 2, offset=52)
    bounds = (float(low), float(high)) if item in (Item.QUANTIZED_UINT, Item.QUANTIZED_INT) and low < high else None
    return TensorFile(_items(data, shape, item, bits), item, bits, bounds)


def _item(code: int, bits: int, name: str) -> Item:
    vendor, kind = code >> 16, code & 0xFFFF
    if vendor:
        raise Unsupported(f"{name}: item type {kind} of vendor {vendor}")
    if kind not in Item.__members__.values():
        raise DataError(f"{name}: unknown item type {kind}")
    item = Item(kind)
    widths: Container[int] = {Item.FLOAT: tuple(_FLOATS), Item.BOOL: (1, 8)}.get(item, range(1, 65))
    if bits not in widths:
        raise DataError(f"{name}: {item.name} items of {bits} bits")
    if item is not Item.BOOL and bits not in (8, 16, 32, 64):
        raise Unsupported(f"{name}: {item.name} items of {bits} bits; 8, 16, 32 and 64 are read")
    return item


def _items(data: bytes, shape: Shape, item: Item, bits: int) -> Array:
    size = count(shape)
    if item is Item.BOOL and bits == 1:
        packed = np.frombuffer(data, np.uint8, offset=HEADER_BYTES)
        return np.unpackbits(packed, count=size).astype(np.bool_).reshape(shape)
    if item is Item.BOOL:
        return np.frombuffer(data, np.uint8, size, HEADER_BYTES).astype(np.bool_).reshape(shape)
    array = np.frombuffer(data, _stored(item, bits), size, HEADER_BYTES)
    return array.astype(array.dtype.newbyteorder("=")).reshape(shape)


def _stored(item: Item, bits: int) -> np.dtype[Any]:
    if item is Item.FLOAT:
        return np.dtype(_FLOATS[bits])
    kind = "u" if item in (Item.UINT, Item.QUANTIZED_UINT) else "i"
    return np.dtype(f"<{kind}{bits // 8}")


def write_dat(array: Array, *, quantized: bool = False) -> bytes:
    """A tensor file that holds `array`; its dtype gives item type and width (logical values: 1 bit each).

    `quantized` marks integers as codes of a quantization. Raises DataError for other dtypes and ranks above 8.
    """
    array = np.asarray(array)
    if array.ndim > MAX_RANK or max(array.shape, default=0) >= 1 << 32:
        raise DataError(f"a tensor file can't hold shape {list(array.shape)}")
    items = {"f": Item.FLOAT, "u": Item.UINT, "i": Item.INT, "b": Item.BOOL}
    kind = array.dtype.kind
    bits = 1 if kind == "b" else array.dtype.itemsize * 8
    if kind not in items or bits > 64 or (quantized and kind not in "ui"):
        raise DataError(f"a tensor file can't hold {'quantized ' if quantized else ''}items of type {array.dtype}")
    item = {"u": Item.QUANTIZED_UINT, "i": Item.QUANTIZED_INT}[kind] if quantized else items[kind]
    body = np.packbits(array) if kind == "b" else array.astype(_stored(item, bits))
    data = body.tobytes()
    if len(data) >= 1 << 32:
        raise DataError(f"a tensor file can't hold {len(data)} bytes")
    extents = array.shape + (0,) * (MAX_RANK - array.ndim)
    return HEADER.pack(MAGIC, 1, 0, len(data), array.ndim, *extents, bits, int(item), *(0,) * 8) + data
