"""Are these arrays the expected ones? Bit by bit, or for floats within a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import types

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Array


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Floats may differ by `atol + rtol * |expected|`; integers never."""

    atol: float = 0.0
    rtol: float = 0.0

    def __bool__(self) -> bool:
        return self.atol > 0 or self.rtol > 0


EXACT = Tolerance()


@dataclass(frozen=True, slots=True)
class Difference:
    """How an array differs from the expected one. `count` of `size` elements differ, the first at `index`.

    `largest` is the largest absolute difference: in LSB for integers, in the values' own unit for floats.
    """

    name: str
    count: int
    size: int
    index: tuple[int, ...]
    got: object
    expected: object
    largest: float
    is_float: bool

    def __str__(self) -> str:
        most = f"{self.largest:g}" if self.is_float else f"{self.largest:.0f} LSB"
        return (
            f"'{self.name}' first differs at {list(self.index)}: got {self.got}, expected {self.expected}; "
            f"{self.count} of {self.size} elements differ, by at most {most}"
        )


@dataclass(frozen=True, slots=True)
class WrongForm:
    """The array has another shape or dtype than the expected one."""

    name: str
    got: str
    expected: str

    def __str__(self) -> str:
        return f"'{self.name}' is {self.got}, expected {self.expected}"


def compare(name: str, got: Array, expected: Array, tolerance: Tolerance = EXACT) -> Difference | WrongForm | None:
    """None where `got` equals `expected`. Without a tolerance floats are compared by bits; NaNs are equal."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return WrongForm(name, _form(got), _form(expected))
    different = ~equal(got, expected, tolerance)
    count = int(np.count_nonzero(different))
    if not count:
        return None
    index = tuple(int(i) for i in np.argwhere(different)[0])
    is_float = types.holds_floats(got)
    wide = np.float64 if is_float else np.longdouble
    with np.errstate(invalid="ignore"):
        distance = np.abs(got[different].astype(wide) - expected[different].astype(wide))
    largest = float(np.max(distance))
    return Difference(name, count, got.size, index, got[index].item(), expected[index].item(), largest, is_float)


def accepting(got: Array, expected: Array) -> Tolerance:
    """The least `atol` alone, and the least `rtol` alone, with which floats are equal; rounded up to two digits.

    Infinite where none is: other NaNs or infinities, for `rtol` a zero that was expected.
    """
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.where((got == expected) | (np.isnan(got) & np.isnan(expected)), 0.0, np.abs(got - expected))
        share = np.where(distance == 0, 0.0, distance / np.abs(expected))
    return Tolerance(*(_rounded_up(float(np.max(a, initial=0.0))) for a in (distance, share)))


def _rounded_up(value: float) -> float:
    if not 0 < value < math.inf:
        return math.inf if math.isnan(value) else value
    return float(f"{value * 1.05:.1e}")  # at most 1.05 times what the nearest number of two digits needs


def compare_all(
    got: Mapping[str, Array], expected: Mapping[str, Array], tolerance: Tolerance = EXACT
) -> Sequence[Difference | WrongForm]:
    """The differences of all arrays of `got`, in order; each must have a partner in `expected`."""
    found = (compare(name, array, expected[name], tolerance) for name, array in got.items())
    return [difference for difference in found if difference is not None]


def equal(got: Array, expected: Array, tolerance: Tolerance) -> Array:
    if not types.holds_floats(got):
        return np.asarray(got == expected)
    with np.errstate(invalid="ignore"):
        got, expected = got.astype(np.float64), expected.astype(np.float64)
    if tolerance:
        return np.isclose(got, expected, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True)
    same_bits = (got == expected) & (np.signbit(got) == np.signbit(expected))
    return np.asarray(same_bits | (np.isnan(got) & np.isnan(expected)))


def _form(array: Array) -> str:
    return f"{array.dtype}{list(array.shape)}"
