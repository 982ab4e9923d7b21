"""The multiplier and shift of a RESCALE from a real scale.

This derivation decides bits of every result: it has a version, which changes when the derivation does.

Derivation, version 1: scale = f * 2^e with f in [1/2, 1) (`frexp`, exact); multiplier = f * 2^31 rounded half away
from zero; if that is 2^31, halve it and add 1 to e; shift = 31 - e. So 2^30 <= multiplier < 2^31, and
multiplier / 2^shift is the scale with a relative error of at most 2^-31. For int48 values, whose RESCALE has
multipliers of 16 bits, the same with 15 in place of 31: a relative error of at most 2^-15.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tosa_engine.errors import DataError

from .refusals import SCALE

if TYPE_CHECKING:
    from collections.abc import Sequence

MULTIPLIER_VERSION = 1
SHIFT_MIN, SHIFT_MAX = 2, 62
BITS_32, BITS_16 = 31, 15  # of a positive multiplier with and without scale32
INT32_MAX, INT48_MAX = (1 << 31) - 1, (1 << 47) - 1
ZERO_POINTS = 128  # the largest magnitude of an output's zero point
LARGEST_SCALE = 2.0 ** (BITS_32 - SHIFT_MIN)
LARGEST_16 = 2.0 ** (BITS_16 - SHIFT_MIN) * (1 - 2.0**-BITS_16)
SMALLEST_SCALE = 2.0 ** (BITS_32 - 1 - SHIFT_MAX)


class ScaleError(DataError):
    """A scale that RESCALE can't apply."""


@dataclass(frozen=True)
class Multiplier:
    """`multiplier` (int32; int16 without scale32) and `shift` (int8) of RESCALE: the scale is multiplier / 2^shift."""

    multiplier: int
    shift: int

    @property
    def scale(self) -> float:
        return math.ldexp(self.multiplier, -self.shift)

    def apply(self, value: int) -> int:
        """The scaled value with SINGLE_ROUND (specification 2.13.2), for bounds and tests."""
        return (value * self.multiplier + (1 << (self.shift - 1))) >> self.shift

    def most(self, bits: int = BITS_32) -> int:
        """The largest magnitude that RESCALE may apply it to: the result with a zero point fits int32, and an int32
        value stays below 2^(shift - 1). `bits` as in `multiplier_of`.
        """
        half = 1 << (self.shift - 1)
        fitting = (((INT32_MAX - ZERO_POINTS + 1) << self.shift) - half - 1) // self.multiplier
        return min(fitting, half - 1 if bits == BITS_32 else INT48_MAX)


def multiplier_of(scale: float, what: str, tensor: str = "", bits: int = BITS_32) -> Multiplier:
    """Derive the multiplier of `bits` bits and the shift of a real scale; `what` says in an error where it comes from.

    Raises ScaleError when the scale isn't a finite positive number whose shift is in 2 .. 62.
    """
    if not (math.isfinite(scale) and scale > 0):
        message = f"a RESCALE needs a finite scale greater than 0, got {scale!r} = {what}"
        raise ScaleError(message, label=SCALE, tensor=tensor)
    fraction, exponent = math.frexp(scale)
    multiplier = math.floor(math.ldexp(fraction, bits) + 0.5)  # exact: of the fraction's 53 bits, `bits` are integral
    if multiplier == 1 << bits:
        multiplier >>= 1
        exponent += 1
    shift = bits - exponent
    if not SHIFT_MIN <= shift <= SHIFT_MAX:
        raise ScaleError(
            f"the scale {scale!r} = {what} needs shift {shift}; RESCALE has {SHIFT_MIN} .. {SHIFT_MAX}, "
            f"scales of about 2^{bits - 1 - SHIFT_MAX} .. 2^{bits - SHIFT_MIN}",
            label=SCALE,
            tensor=tensor,
        )
    return Multiplier(multiplier, shift)


def raised(scales: Sequence[float], bits: int = BITS_32) -> list[float]:
    """Scales of channels, of which some are too small for a multiplier of `bits` bits and not all.

    Such a channel is 0 whatever its sum is: |sum| < 2^31 (2^47 with `BITS_16`) times the smallest scale is less than
    1/2. So it gets the smallest scale.
    """
    smallest = math.ldexp(1.0, bits - 1 - SHIFT_MAX)
    if not max(scales) >= smallest:
        return list(scales)
    return [smallest if 0 < scale < smallest else scale for scale in scales]
