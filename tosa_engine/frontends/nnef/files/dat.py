"""The tensor file format (section 5.2): a header of 128 bytes and the items in row-major order, little-endian."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from ....errors import DataError, Unsupported
from ....types import Array, Shape, count
from .packing import pack, unpack

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

    `range` holds the deprecated parameters min and max of a quantized item type, where the file has them. Codes with
    a range are unsigned, whatever the item type (see `dequantized`). `parameters`: the header has deprecated parameters
    of the item type.
    """

    array: Array
    item: Item
    bits: int
    range: tuple[float, float] | None = None
    parameters: bool = False


def read_dat(data: bytes, name: str) -> TensorFile:
    """Read a tensor file. `name` is what errors call it.

    Integers of a width that numpy lacks come as those of the next wider one. Raises DataError for a wrong magic
    number, version, rank, item type, width or size (with the size wanted and got), and Unsupported for item types of
    vendors.
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
    if 0 in shape:
        raise DataError(f"{name}: extents must be positive, got {list(shape)}")
    item = _item(code, bits, name)
    if item is Item.UINT and parameters[0]:  # deprecated: a signed integer
        item = Item.INT
    wanted = (count(shape) * bits + 7) // 8
    if length != wanted or len(data) != HEADER_BYTES + wanted:
        raise DataError(
            f"{name}: {list(shape)} items of {bits} bits need {HEADER_BYTES} + {wanted} bytes; "
            f"the header says {length}, the file has {len(data)}"
        )
    low, high = (float(bound) for bound in np.frombuffer(data, "<f4", 2, offset=52))
    bounds = None
    if item in (Item.QUANTIZED_UINT, Item.QUANTIZED_INT) and (low, high) != (0.0, 0.0):
        bounds = (low, high)
        if not low < high or not math.isfinite(high - low):
            raise DataError(f"{name}: the range of quantized items is from {low} to {high}")
        if item is Item.QUANTIZED_INT and (low not in (0.0, -high) or high <= 0 or bits < (2 if low else 1)):
            raise DataError(f"{name}: a logarithmic range starts at 0 or at minus its end, got {low} to {high}")
    return TensorFile(_items(data, shape, item, bits, bounds is not None), item, bits, bounds, any(parameters))


def dequantized(stored: TensorFile) -> Array:
    """The numbers that codes with the deprecated range stand for, in double precision.

    QUANTIZED_UINT is linear from min to max. QUANTIZED_INT was the logarithmic item type before 1.0.3: code q is
    2 ^ (q + ceil(log2(max)) - (2 ^ bits - 1)); with min = -max the highest bit is the sign and `bits` is one less.
    """
    assert stored.range is not None
    low, high = stored.range
    codes = stored.array.astype(np.float64)
    if stored.item is Item.QUANTIZED_UINT:
        return codes / (2.0**stored.bits - 1) * (high - low) + low
    bits = stored.bits - 1 if low < 0 else stored.bits
    magnitude = (stored.array & np.asarray((1 << bits) - 1, stored.array.dtype)).astype(np.float64)
    top = math.ceil(math.log2(high))
    values = np.exp2(magnitude + (top - (2.0**bits - 1)))
    return np.asarray(np.where(codes >= 2.0**bits, -values, values))


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
    return item


def _items(data: bytes, shape: Shape, item: Item, bits: int, unsigned: bool) -> Array:
    size = count(shape)
    if item is Item.BOOL and bits == 1:
        packed = np.frombuffer(data, np.uint8, offset=HEADER_BYTES)
        return np.unpackbits(packed, count=size).astype(np.bool_).reshape(shape)
    if item is Item.BOOL:
        return np.frombuffer(data, np.uint8, size, HEADER_BYTES).astype(np.bool_).reshape(shape)
    if item is Item.FLOAT:
        array: Array = np.frombuffer(data, _FLOATS[bits], size, HEADER_BYTES)
    else:
        signed = item in (Item.INT, Item.QUANTIZED_INT) and not unsigned
        array = unpack(memoryview(data)[HEADER_BYTES:], size, bits, signed=signed)
    return array.astype(array.dtype.newbyteorder("=")).reshape(shape)


def write_dat(array: Array, *, quantized: bool = False, bits: int | None = None) -> bytes:
    """A tensor file that holds `array`; its dtype gives item type and width (logical values: 1 bit each).

    `quantized` marks integers as codes of a quantization; `bits` stores integers with another width, from 1 to 64.
    Raises DataError for other dtypes, ranks above 8, and values that don't fit the width.
    """
    array = np.asarray(array)
    if array.ndim > MAX_RANK or max(array.shape, default=0) >= 1 << 32:
        raise DataError(f"a tensor file can't hold shape {list(array.shape)}")
    items = {"f": Item.FLOAT, "u": Item.UINT, "i": Item.INT, "b": Item.BOOL}
    kind = array.dtype.kind
    own = 1 if kind == "b" else array.dtype.itemsize * 8
    if bits is not None and (kind not in "ui" or not 1 <= bits <= 64):
        raise DataError(f"a tensor file can't hold items of type {array.dtype} in {bits} bits")
    if kind not in items or own > 64 or (quantized and kind not in "ui"):
        raise DataError(f"a tensor file can't hold {'quantized ' if quantized else ''}items of type {array.dtype}")
    item = {"u": Item.QUANTIZED_UINT, "i": Item.QUANTIZED_INT}[kind] if quantized else items[kind]
    if bits is not None and array.size:
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind == "i" else (0, (1 << bits) - 1)
        if int(array.min()) < low or int(array.max()) > high:
            raise DataError(f"values from {array.min()} to {array.max()} don't fit {bits} bits")
    bits = bits or own
    if kind == "b":
        data = np.packbits(array).tobytes()
    else:
        data = pack(array, bits) if kind in "ui" else array.astype(_FLOATS[bits]).tobytes()
    if len(data) >= 1 << 32:
        raise DataError(f"a tensor file can't hold {len(data)} bytes")
    extents = array.shape + (0,) * (MAX_RANK - array.ndim)
    return HEADER.pack(MAGIC, 1, 0, len(data), array.ndim, *extents, bits, int(item), *(0,) * 8) + data
