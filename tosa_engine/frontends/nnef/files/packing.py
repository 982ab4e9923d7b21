"""Integers of any width in a row of bytes (section 5.2): item i is the bits from i * width on, the lowest bit first.

For widths of whole bytes that is little-endian order. Logical values of one bit are the exception: the public tools
write the first value into the highest bit of a byte (docs/errata.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from ....types import Array

_CHUNK: Final = 1 << 16  # items at once, a multiple of 8: each chunk starts with a whole byte


def container_width(bits: int) -> int:
    """The width of the numpy integers that hold items of 1 to 64 bits."""
    return next(width for width in (8, 16, 32, 64) if width >= bits)


def unpack(data: bytes | memoryview, size: int, bits: int, *, signed: bool) -> Array:
    """`size` integers of `bits` bits as integers of `container_width(bits)` bits."""
    width = container_width(bits)
    dtype = np.dtype(f"<{'i' if signed else 'u'}{width // 8}")
    if width == bits:
        return np.frombuffer(data, dtype, size)
    packed, result = np.frombuffer(data, np.uint8), np.empty(size, dtype)
    for start in range(0, size, _CHUNK):
        count = min(_CHUNK, size - start)
        chunk = packed[start * bits // 8 : ((start + count) * bits + 7) // 8]
        plain = np.unpackbits(chunk, count=count * bits, bitorder="little").reshape(count, bits)
        wide = np.zeros((count, width), np.uint8)
        wide[:, :bits] = plain
        if signed:
            wide[:, bits:] = plain[:, -1:]
        result[start : start + count] = np.packbits(wide, bitorder="little").view(dtype)
    return result


def pack(array: Array, bits: int) -> bytes:
    """Integers that fit `bits` bits, in row-major order; the last byte is filled up with zeros."""
    width = container_width(bits)
    flat = np.ascontiguousarray(array).reshape(-1).astype(_stored(array.dtype, width))
    if width == bits:
        return flat.tobytes()
    parts = []
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        plain = np.unpackbits(chunk.view(np.uint8), bitorder="little").reshape(chunk.size, width)
        parts.append(np.packbits(plain[:, :bits], bitorder="little").tobytes())
    return b"".join(parts)


def _stored(dtype: np.dtype[Any], width: int) -> np.dtype[Any]:
    return np.dtype(f"<{dtype.kind}{width // 8}")
