"""What data layout operators give (specification 2.10): the same values at other places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def concat(call: Call, input1: list[Array]) -> Array:
    """The inputs one after the other along the axis."""
    output = np.empty(call.shape_of("output"), input1[0].dtype)
    places = np.moveaxis(output, call.axis, 0)
    start = 0
    for part in input1:
        size = part.shape[call.axis]
        places[start : start + size] = np.moveaxis(part, call.axis, 0)
        start += size
    return output


def pad(call: Call, input1: Array, padding: Array, pad_const: Array) -> Array:
    """pad_const everywhere, and the input at its place; `padding` is before, after for each axis."""
    output = np.full(call.shape_of("output"), pad_const[0], input1.dtype)
    output[tuple(slice(int(p), int(p) + size) for p, size in zip(padding[::2], input1.shape, strict=True))] = input1
    return output


def reshape(call: Call, input1: Array, shape: Array) -> Array:
    """The values in row-major order under another shape."""
    return input1.reshape(tuple(int(size) for size in shape)).copy()


def reverse(call: Call, input1: Array) -> Array:
    """The values in the opposite order along the axis."""
    return np.flip(input1, call.axis).copy()


def slice_(call: Call, input1: Array, start: Array, size: Array) -> Array:
    """`size` values along each axis, from `start` on."""
    return input1[tuple(slice(int(a), int(a) + int(n)) for a, n in zip(start, size, strict=True))].copy()


def tile(call: Call, input1: Array, multiples: Array) -> Array:
    """`multiples` copies of the input along each axis, one after the other."""
    sizes = [size * int(times) for size, times in zip(input1.shape, multiples, strict=True)]
    index = [np.arange(size) % n for size, n in zip(sizes, input1.shape, strict=True)]
    return input1[np.ix_(*index)]


def transpose(call: Call, input1: Array) -> Array:
    """Axis i of the output is axis perms[i] of the input."""
    return input1.transpose(call.perms).copy()


ORACLES = {
    "CONCAT": concat,
    "PAD": pad,
    "RESHAPE": reshape,
    "REVERSE": reverse,
    "SLICE": slice_,
    "TILE": tile,
    "TRANSPOSE": transpose,
}
