"""Values and shapes that cases are made of: often the corners of a format, dimensions of 1 and lengths with a rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import types
from ...numerics.float_formats import FORMATS, round_to
from ...types import i8
from . import choices

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...spec import Row
    from ...types import Array, DType, Shape

    Draw = Callable[[choices.Choice], Any]

FLAVOURS = ("zero", "small", "any", "corners", "mixed")
FLOAT_CORNERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 127.5, -128.5, 1e-45, -1e-40, 1.1754944e-38, 3.4028235e38, -3.4028235e38,
    2147483648.0, -2147483904.0, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip


@dataclass
class Plan:
    """How one use of an operator looks. Inputs without constants have the formats of the row."""

    shapes: dict[str, Any] = field(default_factory=dict)  # a shape, or a list of them for tensor lists
    constants: dict[str, tuple[DType, Any]] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Array] = field(default_factory=dict)  # of inputs that need some of their own


def dtype_of(type_: str, row: Row) -> DType:
    name = type_.removesuffix("_t")
    return types.BY_NAME[name] if name in types.BY_NAME else row.types[type_]


def draw_values(draw: Draw, dtype: DType, shape: Shape, flavours: tuple[str, ...] = FLAVOURS) -> Array:
    """An array of values; `flavour` says which kind of values. Hypothesis draws the seed, not the elements."""
    flavour = draw(choices.sampled_from(flavours))
    rng = np.random.default_rng(draw(choices.integers(0, (1 << 32) - 1)))
    return values(rng, flavour, dtype, shape)


def values(rng: np.random.Generator, flavour: str, dtype: DType, shape: Shape) -> Array:
    if flavour == "mixed":
        pick = rng.integers(0, 3, shape)
        parts = [values(rng, f, dtype, shape) for f in ("small", "any", "corners")]
        return np.asarray(np.where(pick == 0, parts[0], np.where(pick == 1, parts[1], parts[2])), dtype.storage)
    if flavour == "zero":
        return np.zeros(shape, dtype.storage)
    if flavour == "corners":
        return np.asarray(rng.choice(corners(dtype), shape)).astype(dtype.storage)
    if dtype.is_float:
        scale = 1.0 if flavour == "small" else 2.0 ** rng.integers(-20, 20)
        return round_to(np.asarray(rng.standard_normal(shape) * scale), dtype)
    low, high = dtype.minimum, dtype.maximum
    if flavour == "small":
        low, high = max(low, -9), min(high, 9)
    return np.asarray(rng.integers(low, high, shape, endpoint=True)).astype(dtype.storage)


def corners(dtype: DType) -> Array:
    if dtype.is_float:
        form = FORMATS[dtype]
        own = (form.largest, form.least_normal, form.least_subnormal, form.least_normal - form.least_subnormal)
        return round_to(np.array([*FLOAT_CORNERS, *own, *(-v for v in own)]), dtype)
    powers = [sign * (1 << bit) for bit in range(dtype.bits - 1) for sign in (1, -1)]
    ends = [dtype.minimum, dtype.minimum + 1, dtype.maximum - 1, dtype.maximum]
    legal = [v for v in [0, *ends, *ends, *powers] if dtype.minimum <= v <= dtype.maximum]
    return np.array(legal, dtype.storage)


def integers(draw: Draw, low: int, high: int, shape: Shape) -> Array:
    """Integers from low to high; Hypothesis draws the seed."""
    rng = np.random.default_rng(draw(choices.integers(0, (1 << 32) - 1)))
    return np.asarray(rng.integers(low, high, shape, endpoint=True))


def zero_point(draw: Draw, dtype: DType) -> tuple[DType, list[int]]:
    """Only 8-bit formats have zero points other than 0."""
    some = choices.one_of(choices.just(0), choices.sampled_from([-128, -1, 1, 127]), choices.integers(-128, 127))
    return dtype, [draw(some) if dtype is i8 else 0]


def rarely(draw: Draw) -> bool:
    """True once in a while, and not in the simplest case."""
    return bool(draw(choices.integers(0, 15)) == 7)


def draw_shape(draw: Draw, least: int = 0, most: int = 6) -> Shape:
    """Small dimensions, often 1; the last one sometimes long enough for vectors with a rest."""
    rank = draw(choices.integers(least, most))
    sizes = [draw(choices.integers(1, 4 if rank < 4 else 2)) for _ in range(rank)]
    if sizes and draw(choices.integers(0, 3)) == 2:
        sizes[-1] = draw(choices.sampled_from([5, 8, 15, 16, 17, 33, 67]))
    return tuple(sizes)


def draw_channels(draw: Draw) -> int:
    return int(draw(choices.one_of(choices.integers(1, 5), choices.sampled_from([7, 8, 9, 16, 17, 33]))))


def window(draw: Draw, kernel: int, stride: int, dilation: int, most_padding: int) -> tuple[int, int, int]:
    """Input size and padding before and after, for which the kernel's steps end exactly at the padded end."""
    outputs = draw(choices.integers(1, 4))
    padded = stride * (outputs - 1) + (kernel - 1) * dilation + 1
    before = draw(choices.integers(0, min(most_padding, padded - 1)))
    after = draw(choices.integers(0, min(most_padding, padded - 1 - before)))
    return padded - before - after, before, after
