"""ADD and SUB of int8 between scales as one weighted sum: (first * x + second * y + added) >> shift, then the clip.

The operator scales and rounds three times; the weighted sum does so once, in fewer bits. All pairs of bytes are tried:
every pair whose result isn't clipped bounds what may be added from both sides, one that is clipped from one side. Any
number between the bounds gives all results. Where there is none, the operator isn't computed this way.

The weights have LOW_BITS bits in a word of their own, so that one instruction multiplies the parts of both by x and y:
(high words' sum + (low words' sum >> LOW_BITS)) >> (shift - LOW_BITS) is the same number.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...types import Array
    from .numbers import Scale

# the numbers' places: the weighted sum and its bounds, then the same in two words, the weights of each in one int32
FIRST: Final = 0
SECOND: Final = 1
ADDED: Final = 2
SHIFT: Final = 3
LEAST: Final = 4
MOST: Final = 5
HIGH_WEIGHTS: Final = 6
LOW_WEIGHTS: Final = 7
HIGH_ADDED: Final = 8
LOW_ADDED: Final = 9
HIGH_SHIFT: Final = 10

LOW_BITS: Final = 15
LOW_MASK: Final = (1 << LOW_BITS) - 1
LARGEST: Final = 1 << 30  # weights stay below: their high words are int16
LONGEST: Final = 36  # shift: what is added, and sums of pairs, fit 32 bits in the high words
FARTHEST: Final = 1 << (LONGEST + 8)  # what is added to any sum
VALUES: Final = np.arange(-128, 128, dtype=np.int64)


@lru_cache(maxsize=256)
def weighted_numbers(
    scales: tuple[Scale, ...], zeros: tuple[int, ...], sign: int, bounds: tuple[int, int]
) -> tuple[int, ...] | None:
    """The numbers of scaled(scaled(x - zero) + sign * scaled(y - zero)) + zero within bounds, for all int8 x and y;
    None where no weighted sum is that. `scales` and `zeros` are those of x, y and of the result.
    """
    shift = longest(scales)
    if shift < LOW_BITS:
        return None
    first, second = (weight(scale, scales[2], shift) for scale in scales[:2])
    second *= sign
    x, y = (scaled(VALUES - zero, scale) for zero, scale in zip(zeros[:2], scales[:2], strict=True))
    results = scaled(x[:, None] + sign * y[None, :], scales[2]) + zeros[2]
    sums = first * VALUES[:, None] + second * VALUES[None, :]
    least, most = bounds
    results = np.clip(results, least, most)
    above = (results << shift) - sums
    needed = int(np.where(results > least, above, -FARTHEST).max())
    allowed = int(np.where(results < most, above, FARTHEST).min()) + (1 << shift) - 1
    if needed > allowed:
        return None
    added = (needed + allowed) // 2
    weights = [in_words(first >> LOW_BITS, second >> LOW_BITS), in_words(*(w & LOW_MASK for w in (first, second)))]
    parts = (added >> LOW_BITS, added & LOW_MASK, shift - LOW_BITS)
    return (first, second, added, shift, least, most, *weights, *parts)


def longest(scales: Sequence[Scale]) -> int:
    """The longest shift with which no weight leaves its bits."""
    found = LONGEST
    while found and any(weight(scale, scales[2], found) >= LARGEST for scale in scales[:2]):
        found -= 1
    return found


def weight(scale: Scale, last: Scale, shift: int) -> int:
    """The product of two scales times 2^shift, rounded."""
    product, power = scale[0] * last[0], scale[1] + last[1] - shift
    return (product + (1 << (power - 1))) >> power if power > 0 else product << -power


def scaled(values: Array, scale: Scale) -> Array:
    """numerics.scale.apply_scale of each."""
    multiplier, shift, double = scale
    rounding = np.where(values >= 0, double, -double) + (1 << (shift - 1))
    return np.asarray((values * multiplier + rounding) >> shift)


def in_words(first: int, second: int) -> int:
    """Two numbers of int16 as one of int32, the first in its lower word."""
    word = (second & 0xFFFF) << 16 | first & 0xFFFF
    return word - (1 << 32) if word >> 31 else word
