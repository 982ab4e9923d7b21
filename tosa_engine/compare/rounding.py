"""How others round value * multiplier / 2^shift, beside TOSA's two ways: which of them gives which result?

A rule is a function of int64 arrays (value, multiplier, shift) of one broadcast shape; its result is what comes before
the zero point and the clip.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Array

    Rounding = Callable[[Array, Array, Array], Array]

ONE: Final = np.int64(1)


@dataclass(frozen=True)
class Rule:
    """`name` is what people call it; `narrow` is False where it has no form for multipliers of 16 bits."""

    name: str
    apply: Rounding
    narrow: bool = True


def single(value: Array, multiplier: Array, shift: Array) -> Array:
    """Half a unit is added before the shift: ties go up."""
    found: Array = (value * multiplier + (ONE << (shift - 1))) >> shift
    return found


def double(value: Array, multiplier: Array, shift: Array) -> Array:
    """Two roundings in one: 2^30 away from zero first, then half a unit (for shifts over 31 only). The same numbers as
    a doubling high multiplication, then a rounding shift with ties away from zero.
    """
    first = np.where(shift > 31, np.where(value >= 0, ONE << 30, -(ONE << 30)), 0)
    found: Array = (value * multiplier + (ONE << (shift - 1)) + first) >> shift
    return found


def down(value: Array, multiplier: Array, shift: Array) -> Array:
    """Bits shifted out are lost: towards minus infinity."""
    found: Array = (value * multiplier) >> shift
    return found


def to_zero(value: Array, multiplier: Array, shift: Array) -> Array:
    product = value * multiplier
    found: Array = np.sign(product) * (np.abs(product) >> shift)
    return found


def half_away(value: Array, multiplier: Array, shift: Array) -> Array:
    product = value * multiplier
    found: Array = np.sign(product) * ((np.abs(product) + (ONE << (shift - 1))) >> shift)
    return found


def half_even(value: Array, multiplier: Array, shift: Array) -> Array:
    product = value * multiplier
    whole, half = product >> shift, ONE << (shift - 1)
    rest = product - (whole << shift)
    found: Array = whole + ((rest > half) | ((rest == half) & (whole & 1 == 1)))
    return found


def two_shifts(value: Array, multiplier: Array, shift: Array) -> Array:
    """A rounding doubling high multiplication, then a rounding shift, ties up in both: what SIMD instructions give
    (SQRDMULH, SRSHR). Scales of 1 and more shift the value left first.
    """
    left, right = np.maximum(31 - shift, 0), np.maximum(shift - 31, 0)
    high = ((value << left) * multiplier + (ONE << 30)) >> 31
    found: Array = (high + ((ONE << right) >> 1)) >> right
    return found


def float32(value: Array, multiplier: Array, shift: Array) -> Array:
    """The scale as a float32, one product, the nearest integer (ties to even)."""
    scale = np.ldexp(multiplier.astype(np.float64), -shift).astype(np.float32)
    found: Array = np.rint(value.astype(np.float32) * scale).astype(np.int64)
    return found


# TFLite's reference, a saturating doubling high multiplication and a rounding shift away from zero, is DOUBLE_ROUND
RULES: Final = (
    Rule("SINGLE_ROUND (TFLite with single rounding)", single),
    Rule("DOUBLE_ROUND (TFLite's reference)", double, narrow=False),
    Rule("two rounding shifts, ties up", two_shifts, narrow=False),
    Rule("ties away from zero", half_away),
    Rule("ties to even", half_even),
    Rule("truncation towards minus infinity", down),
    Rule("truncation towards zero", to_zero),
    Rule("float32 product, ties to even", float32),
)


def exact_value(value: int, multiplier: int, shift: int, zero_point: int) -> Fraction:
    """What all rules approximate."""
    return Fraction(value * multiplier, 1 << shift) + zero_point


def inexact_interval(value: int, multiplier: int, shift: int, zero_point: int) -> tuple[int, int]:
    """The least and the greatest result that INEXACT_ROUND allows, before the clip (specification 2.13.2)."""
    reference = float(Fraction(value * multiplier, 1 << shift))
    error = 0.5 + (3 * abs(reference) + abs(reference + zero_point)) * 2.0**-24
    return int(np.ceil(reference - error + zero_point)), int(np.floor(reference + error + zero_point))
