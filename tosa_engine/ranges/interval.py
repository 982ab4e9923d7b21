"""Intervals of integers: what a tensor's elements can be, for each index of its last axis or for all together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..graph import Tensor
    from ..types import Array, DType, Shape


@dataclass(frozen=True, slots=True)
class Interval:
    """Every element x of a tensor has low <= x <= high.

    Both ends are int64 arrays of shape [C], one entry for each index of the tensor's last axis, or of shape [] where
    one pair stands for all elements. bool is 0 and 1.
    """

    low: Array
    high: Array

    @property
    def exact(self) -> bool:
        """Whether every channel has a single value."""
        return bool((self.low == self.high).all())

    def hull(self, other: Interval) -> Interval:
        return Interval(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def clip(self, least: Array | int, most: Array | int) -> Interval:
        """Both ends moved into least .. most: what is left where these are the values that go on."""
        low, high = (np.minimum(np.maximum(end, least), most) for end in (self.low, self.high))
        return Interval(low, high)

    def flat(self) -> Interval:
        """One pair for all channels."""
        return Interval(np.asarray(self.low.min()), np.asarray(self.high.max()))

    def spread(self, shape: Shape) -> Interval:
        """One pair for each index of the last axis of a tensor of this shape."""
        size = shape[-1:]
        return Interval(np.broadcast_to(self.low, size), np.broadcast_to(self.high, size))

    def fit(self, shape: Shape) -> Interval:
        """The same for a tensor of this shape: the single pair of an input that broadcasts holds for all channels."""
        if self.low.shape == self.high.shape and self.low.shape in ((), shape[-1:]):
            return self
        low, high = np.broadcast_arrays(self.low, self.high)
        if low.shape not in ((), shape[-1:]):
            assert low.size == 1, f"intervals of shape {low.shape} for a tensor of shape {shape}"
            low, high = low.reshape(()), high.reshape(())
        return Interval(low, high)


@cache
def of_type(dtype: DType) -> Interval:
    """All values that a tensor of this format can hold; of int4 that includes -8."""
    low = dtype.stored_minimum if dtype.is_int else dtype.minimum
    return Interval(np.asarray(low, np.int64), np.asarray(dtype.maximum, np.int64))


def of_values(values: Array) -> Interval:
    """The least and the greatest of known values, for each index of the last axis."""
    axes = tuple(range(values.ndim - 1))
    low, high = (values.min(axes), values.max(axes)) if axes else (values, values)
    return Interval(np.asarray(low, np.int64), np.asarray(high, np.int64))


def of_tensor(tensor: Tensor) -> Interval | None:
    """What a tensor can hold as far as itself tells; None for floats and shapes."""
    if not (tensor.dtype.is_int or tensor.dtype.kind == "bool"):
        return None
    if tensor.data is None or tensor.data.size == 0 or tensor.variable:
        return of_type(tensor.dtype)
    return of_values(tensor.data)


def between(low: Array | int, high: Array | int) -> Interval:
    return Interval(np.asarray(low, np.int64), np.asarray(high, np.int64))


def corners(*values: Array) -> Interval:
    """The least interval that holds all of these, elementwise."""
    low = high = values[0]
    for value in values[1:]:
        low, high = np.minimum(low, value), np.maximum(high, value)
    return between(low, high)


def add(a: Interval, b: Interval) -> Interval:
    return Interval(a.low + b.low, a.high + b.high)


def sub(a: Interval, b: Interval) -> Interval:
    return Interval(a.low - b.high, a.high - b.low)


def mul(a: Interval, b: Interval) -> Interval:
    return corners(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high)


def unless(good: Array, value: Interval, otherwise: Interval) -> Interval:
    """`value` in the channels that are `good`, `otherwise` in the others."""
    return Interval(np.where(good, value.low, otherwise.low), np.where(good, value.high, otherwise.high))
