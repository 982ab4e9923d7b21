"""How tensors lie in the memory of devices: the order of axes, channels in groups, the order of bytes.

A layout is that of tensors with four axes, which are N, H, W, C; all others lie as they are, the last axis fastest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .serialize import data
from .types import count

if TYPE_CHECKING:
    from .types import Array, DType, Shape

NHWC: Final = "NHWC"
NCHW: Final = "NCHW"
NHCWB16: Final = "NHCWB16"
LAYOUTS: Final = (NHWC, NCHW, NHCWB16)
LINEAR: Final = "linear"
LITTLE: Final = "little"
ENDIANS: Final = (LITTLE, "big")
BRICK: Final = 16
AXES: Final = 4


@dataclass(frozen=True)
class Form:
    """`channels`: tensors with four axes have a multiple of so many channels; what fills up is 0, and not read.

    NHCWB16 is N, H, C / 16, W, and 16 channels together.
    """

    layout: str = NHWC
    channels: int = 1
    endian: str = LITTLE

    def name(self, shape: Shape) -> str:
        """What the layout of a tensor of this shape is called."""
        return self.layout if len(shape) == AXES else LINEAR

    def stored(self, shape: Shape) -> Shape:
        """The axes of a tensor of this shape as they lie in memory, the last one fastest."""
        if len(shape) != AXES:
            return shape
        n, h, w, c = shape
        group = math.lcm(self.channels, BRICK if self.layout == NHCWB16 else 1)
        c = -(-c // group) * group
        if self.layout == NHCWB16:
            return n, h, c // BRICK, w, BRICK
        return (n, c, h, w) if self.layout == NCHW else (n, h, w, c)

    def size(self, dtype: DType, shape: Shape) -> int:
        """The bytes that a tensor takes."""
        return data.byte_size(dtype, count(self.stored(shape)))


def arrange(array: Array, form: Form) -> Array:
    """The elements in the order of a form: an array of `form.stored(array.shape)`."""
    stored = form.stored(array.shape)
    if len(array.shape) != AXES:
        return array
    channels = count(stored) // max(1, count(array.shape[:3]))
    filled = np.zeros((*array.shape[:3], channels), array.dtype)
    filled[..., : array.shape[3]] = array
    if form.layout == NHCWB16:
        n, h, w, c = filled.shape
        return np.ascontiguousarray(filled.reshape(n, h, w, c // BRICK, BRICK).transpose(0, 1, 3, 2, 4))
    return np.ascontiguousarray(filled.transpose(0, 3, 1, 2)) if form.layout == NCHW else filled


def restore(array: Array, shape: Shape, form: Form) -> Array:
    """What `arrange` was given: the tensor of `shape` whose elements `array` has, flat or in axes."""
    found = array.reshape(form.stored(shape))
    if len(shape) != AXES:
        return found
    if form.layout == NHCWB16:
        n, h, bricks, w, _ = found.shape
        found = found.transpose(0, 1, 3, 2, 4).reshape(n, h, w, bricks * BRICK)
    elif form.layout == NCHW:
        found = found.transpose(0, 2, 3, 1)
    return np.ascontiguousarray(found[..., : shape[3]])


def pack(array: Array, dtype: DType, form: Form) -> bytes:
    """The bytes of a tensor in a form. int48 takes 6 bytes; of formats below 8 bits the first element is lowest.

    Raises `serialize.data.ValueProblem` for values that the format can't hold.
    """
    return _turned(data.encode(arrange(array, form), dtype), dtype, form)


def unpack(raw: bytes, dtype: DType, shape: Shape, form: Form) -> Array:
    """The tensor that `pack` wrote. Raises `serialize.data.ValueProblem` for too few or too many bytes, and for bits
    that are no value of the format.
    """
    size = form.size(dtype, shape)
    if len(raw) != size:
        raise data.ValueProblem(wrong_size(dtype, shape, form, len(raw)))
    return restore(data.decode(_turned(raw, dtype, form), dtype, form.stored(shape)), shape, form)


def wrong_size(dtype: DType, shape: Shape, form: Form, found: int) -> str:
    """What is said of a file that has another number of bytes."""
    stored = form.stored(shape)
    lies = "" if stored == shape else f", which lies as {form.layout} {list(stored)},"
    return f"{dtype}{list(shape)}{lies} takes {form.size(dtype, shape)} bytes, the file has {found}"


def _turned(raw: bytes, dtype: DType, form: Form) -> bytes:
    """Bytes of elements with the other end first, where the form asks for it."""
    width = dtype.bits // 8
    if form.endian == LITTLE or width <= 1:
        return raw
    elements: Any = np.frombuffer(raw, np.uint8).reshape(-1, width)
    return bytes(elements[:, ::-1].tobytes())
