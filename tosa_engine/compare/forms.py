"""One array in the form of another: whole numbers in floats, signed for unsigned, other dimensions, channels first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..graph import QParams
    from ..types import Array


def in_form_of(array: Array, like: Array) -> tuple[Array, str]:
    """An array in another one's form, and a note that says how: signed for unsigned, with other dimensions of 1, with
    channels last for first. As it is, where nothing fits.
    """
    array, first = _signed(array, like)
    array, second = _shaped(array, like.shape)
    return array, "; ".join(filter(None, [first, second]))


def whole_numbers(floats: Array, stored: Array, quant: QParams | None) -> Array | None:
    """Floats that hold a device's integers, beside the integers of a model: as integers of that type, or of its
    unsigned twin. None where they aren't all whole numbers in that range, or where more of them agree with the model as
    the real numbers that its integers stand for.

    A float that is the model's integer as far as its format holds it (24 bits of float32) stands for that integer.
    """
    kind = stored.dtype if stored.dtype.kind != "b" else np.dtype(np.uint8)
    with np.errstate(invalid="ignore"):
        if floats.size == 0 or not np.array_equal(floats, np.trunc(floats)):
            return None
    types = [kind, np.dtype(f"u{kind.name}")] if kind.kind == "i" else [kind]
    low, high = float(np.min(floats)), float(np.max(floats))
    fits = [t for t in types if np.iinfo(t).min <= low and high <= np.iinfo(t).max]
    if not fits:
        return None
    found: Array = floats.astype(fits[0])
    like = stored.reshape(-1) if floats.shape == (stored.size,) else _shaped(stored, floats.shape)[0]
    if fits[0] == kind and like.shape == floats.shape and is_rounded(floats):
        found = np.where(like.astype(floats.dtype) == floats, like, found)
    if quant is None:
        return found
    whole, real = in_form_of(found, stored)[0], _shaped(floats, stored.shape)[0]
    if whole.shape != stored.shape:
        return found
    meant = (stored.astype(np.float64) - quant.zero_point[0]) * quant.scale[0]
    as_real = np.count_nonzero(np.abs(meant - real.astype(np.float64)) <= quant.scale[0] / 2)
    return found if np.count_nonzero(whole == stored) >= as_real else None


def is_rounded(floats: Array) -> bool:
    """Whether some whole numbers are beyond those that the format holds exactly."""
    return bool(floats.size) and float(np.abs(floats).max()) > 2.0 ** (np.finfo(floats.dtype).nmant + 1)


def _signed(array: Array, like: Array) -> tuple[Array, str]:
    """Unsigned integers beside signed ones of as many bits: the same bits if that makes both equal, else half the range
    less, as other programs store what is int8 here with its zero point moved.
    """
    if array.dtype.kind != "u" or like.dtype.kind != "i" or array.dtype.itemsize != like.dtype.itemsize:
        return array, ""
    bits = array.view(like.dtype)
    if np.array_equal(bits.reshape(-1), like.reshape(-1)):
        return bits, f"{array.dtype} there, the same bits"
    half = 1 << (8 * array.dtype.itemsize - 1)
    return (array.astype(np.int64) - half).astype(like.dtype), f"{array.dtype} there, read as {half} less"


def _shaped(array: Array, shape: tuple[int, ...]) -> tuple[Array, str]:
    if array.shape == shape:
        return array, ""
    if [d for d in array.shape if d != 1] == [d for d in shape if d != 1]:
        return array.reshape(shape), f"{list(array.shape)} read as {list(shape)}"
    if array.ndim == 1 and array.size == math.prod(shape):
        return array.reshape(shape), f"{array.size} elements read as {list(shape)}"
    if array.ndim == len(shape) > 2 and (array.shape[0], *array.shape[2:], array.shape[1]) == shape:
        return np.moveaxis(array, 1, -1), "channels first there"
    return array, ""
