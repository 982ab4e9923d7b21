"""Inputs made without looking at the graph: patterns of all sizes and contrasts, and changes of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..types import Array, DType, Shape


def pattern(rng: np.random.Generator, shape: Shape, dtype: DType) -> Array:
    """Random numbers, each for a block of elements, of some contrast around some value; some are flat, some have their
    ends only.
    """
    blocks = [1 << int(rng.integers(n.bit_length())) for n in shape]
    coarse = [-(-n // b) for n, b in zip(shape, blocks, strict=True)]
    numbers = rng.uniform(-1, 1, coarse) if rng.integers(2) else np.sign(rng.normal(0, 1, coarse))
    for axis, block in enumerate(blocks):
        numbers = numbers.repeat(block, axis)
    numbers = numbers[tuple(slice(n) for n in shape)]
    return rounded(_middle(rng, dtype) + _contrast(rng, dtype) * numbers, dtype)


def _middle(rng: np.random.Generator, dtype: DType) -> float:
    return float(rng.integers(dtype.minimum, dtype.maximum, endpoint=True)) if rng.integers(2) else 0.0


def _contrast(rng: np.random.Generator, dtype: DType) -> float:
    """From one step to twice as much as the format holds."""
    return float(2.0 ** rng.uniform(0, dtype.bits))


def rounded(values: Array, dtype: DType) -> Array:
    found: Array = np.clip(np.rint(values), dtype.minimum, dtype.maximum).astype(dtype.storage)
    return found


def with_contrast(rng: np.random.Generator, array: Array, dtype: DType) -> Array:
    return rounded((array - array.mean()) * 2.0 ** rng.uniform(-2, 4) + _middle(rng, dtype), dtype)


def with_noise(rng: np.random.Generator, array: Array, dtype: DType) -> Array:
    return rounded(array + rng.normal(0, 1, array.shape) * _contrast(rng, dtype) / 4, dtype)


def with_pattern(rng: np.random.Generator, array: Array, dtype: DType) -> Array:
    """Over it, or in a part of it."""
    other = pattern(rng, array.shape, dtype)
    if rng.integers(2):
        return rounded(array.astype(np.float64) + other, dtype)
    return _in_a_part(rng, array, other)


def with_steps(rng: np.random.Generator, array: Array, dtype: DType) -> Array:
    """Some elements, one or more, by a step or a few."""
    found, at = array.reshape(-1).astype(np.int64), _some(rng, array)
    found[at] = np.clip(found[at] + rng.integers(-3, 3, at.size, endpoint=True), dtype.minimum, dtype.maximum)
    return found.astype(array.dtype).reshape(array.shape)


def with_ends(rng: np.random.Generator, array: Array, dtype: DType) -> Array:
    """Some elements at the ends of the format."""
    found, at = array.copy(), _some(rng, array)
    found.reshape(-1)[at] = rng.choice([dtype.minimum, dtype.maximum], at.size)
    return found


def _some(rng: np.random.Generator, array: Array) -> Array:
    found: Array = rng.integers(array.size, size=1 << int(rng.integers(max(1, array.size.bit_length()))))
    return found


def moved(rng: np.random.Generator, array: Array, dtype: DType) -> Array:
    """Rolled and reversed."""
    del dtype
    axes = [axis for axis in range(array.ndim) if array.shape[axis] > 1]
    if not axes:
        return array
    axis = int(rng.choice(axes))
    return np.roll(array if rng.integers(2) else np.flip(array, axis), int(rng.integers(array.shape[axis])), axis)


def mixed(rng: np.random.Generator, array: Array, other: Array, dtype: DType) -> Array:
    """A part of another sample in this one, or both over each other."""
    if rng.integers(2):
        return _in_a_part(rng, array, other)
    share = rng.uniform(-1, 1)
    return rounded(array * share + other * (1.0 - abs(share)), dtype)


def _in_a_part(rng: np.random.Generator, array: Array, other: Array) -> Array:
    found, box = array.copy(), []
    for size in array.shape:
        ends = sorted(rng.integers(size, size=2, endpoint=True).tolist())
        box.append(slice(ends[0], max(ends[1], ends[0] + 1)) if rng.integers(4) else slice(None))
    found[tuple(box)] = other[tuple(box)]
    return found


CHANGES: Sequence[Callable[[np.random.Generator, Array, DType], Array]] = (
    with_contrast, with_noise, with_pattern, with_steps, with_ends, moved,
)  # fmt: skip
