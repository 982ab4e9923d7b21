"""Operators on float32 without compiled code, to the bit as kernels compute them.

Sums of kernels have an order: ky, kx, ic; every product is fused with its addition, and the bias comes last. Here the
same steps are done for all results together, in float64, whose product of two float32 is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..kernels.elementwise.elementary import sigmoid, tanh
from ..numerics.fma import fma32_of
from ..oracle.spatial import taps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..spec.table import Call
    from ..types import Array

PART: Final = 1 << 13  # results that are computed together: they stay in a processor's cache
BELOW: Final = (1 << 29) - 1  # the bits of a float64 that float32 lacks
TIE: Final = 1 << 28  # of these: halfway between two numbers of float32
LEAST: Final = 2.0**-126  # of the numbers that have all bits

# what the oracle computes as kernels do: it rounds once, or chooses
EXACT: Final = frozenset(
    {"ADD", "SUB", "MUL", "CLAMP", "MAX_POOL2D", "ABS", "NEGATE", "RESHAPE", "TRANSPOSE", "SLICE", "PAD", "CONCAT"}
    | {"CONST", "CONST_SHAPE", "IDENTITY", "REVERSE", "TILE", "GATHER", "CAST"}
)


def fused(a: Array, b: Array, c: Array) -> Array:
    """fma32 of arrays: float64 from float32, which the third one holds."""
    product = a * b
    exact = product + c
    bits = exact.view(np.int64) & BELOW
    unsure = (bits == TIE) | ((np.abs(exact) < LEAST) & (exact != 0.0))
    found: Array = exact.astype(np.float32).astype(np.float64)
    if unsure.any():
        found[unsure] = fma32_of(product[unsure], np.broadcast_to(c, exact.shape)[unsure])
    return found


@np.errstate(all="ignore")
def conv2d(call: Call, input: Array, weight: Array, bias: Array, input_zp: Array, weight_zp: Array) -> Array:
    shape = call.shape_of("output")
    places = list(taps(call, weight.shape[1:-1], call.dilation))
    columns = weight.reshape(len(weight), -1).T.astype(np.float64)
    out = np.empty(shape, np.float32)
    for image in range(shape[0]):
        rows = np.zeros((*shape[1:3], len(places), input.shape[-1]))
        for i, (_, to, read) in enumerate(places):
            rows[to[1], to[2], i] = input[image, read[1], read[2]]
        out[image] = _in_order(rows.reshape(-1, len(columns)), columns).reshape(shape[1:]) + bias
    return out


def _in_order(rows: Array, columns: Array) -> Array:
    """The product of two matrices of float64 from float32."""
    found = np.empty((len(rows), columns.shape[1]), np.float32)
    step = max(1, PART // columns.shape[1])
    for first in range(0, len(rows), step):
        part = np.ascontiguousarray(rows[first : first + step].T)
        sums = np.zeros((part.shape[1], columns.shape[1]))
        for k in range(len(columns)):
            sums = fused(part[k, :, None], columns[k], sums)
        found[first : first + step] = sums
    return found


@np.errstate(all="ignore")
def depthwise_conv2d(call: Call, input: Array, weight: Array, bias: Array, input_zp: Array, weight_zp: Array) -> Array:
    shape, values = call.shape_of("output"), input.astype(np.float64)
    sums = np.zeros(shape)
    for place, to, read in taps(call, weight.shape[:2], call.dilation):
        spread = np.repeat(values[read], weight.shape[3], axis=3)
        sums[to] = fused(spread, weight[place].reshape(-1).astype(np.float64), sums[to])
    found: Array = sums.astype(np.float32) + bias
    return found


@np.errstate(all="ignore")
def reduce_sum(call: Call, input: Array) -> Array:
    sums = np.zeros(np.delete(input.shape, call.axis), np.float32)
    for part in _along(input, call.axis):
        sums = sums + part
    return np.expand_dims(sums, call.axis)


def _along(array: Array, axis: int) -> Iterator[Array]:
    for i in range(array.shape[axis]):
        yield np.take(array, i, axis)


@np.errstate(all="ignore")
def elementary(call: Call, input: Array) -> Array:
    values: Any = input  # numpy's arrays take the place of operands
    found: Array = np.asarray((sigmoid if call.spec.name == "SIGMOID" else tanh)(values), np.float32)
    return found


FORMS: Final[dict[str, Callable[..., Array]]] = {
    "CONV2D": conv2d, "DEPTHWISE_CONV2D": depthwise_conv2d, "REDUCE_SUM": reduce_sum, "SIGMOID": elementary,
    "TANH": elementary,
}  # fmt: skip
