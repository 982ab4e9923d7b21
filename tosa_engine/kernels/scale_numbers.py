"""The numbers that `scale_loops` scale by, and their places: see `scale_numbers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MULTIPLIER: Final = 0
SHIFT: Final = 1
ROUND: Final = 2
ZERO_IN: Final = 3
HIGH_WORD: Final = 4
DOUBLE: Final = 5
NUMBERS: Final = 6
# behind the three scales of a binary operator: what the result gets, then the signs with which the values are added up
OUT: Final = 3 * NUMBERS
SIGN_FIRST: Final = OUT + 3
SIGN_SECOND: Final = OUT + 4
VECTORS: Final = OUT + 5  # 1: no scale rounds twice, and a high word decides the last one
PRODUCT: Final = OUT + 6  # 1: MUL
SPLIT: Final = OUT + 7  # which of the forms below `split_numbers` found, or 0
BOTH, ONE = 1, 2  # both input scales need two products, or the second one alone
FACTORS: Final = SPLIT + 1  # of each input: for the result, for what is shifted to the right, and what is added to that
ADDED: Final = FACTORS + 6  # to the sum
OUT_ROUND: Final = ADDED + 1  # to the high word of the result's product: the zero point is in it
WORD: Final = 32


def scale_numbers(multiplier: int, shift: int, double: int, zero_in: int) -> list[int]:
    """Multiplier, shift, rounding term, input zero point, whether the high word of the product decides
    (numerics.scale.scale_in_high_words), and what DOUBLE_ROUND adds to the rounding term of a value >= 0, or 0.
    """
    return [multiplier, shift, 1 << (shift - 1), zero_in, int(shift > WORD and not double), double]


def whole(scale: tuple[int, int, int]) -> bool:
    """Whether a scale is a multiplication by an integer."""
    return scale[0] & ((1 << scale[1]) - 1) == 0


def split_numbers(scales: Sequence[tuple[int, int, int]], zeros: Sequence[int], span: int) -> list[int]:
    """SPLIT and what follows it, for a sum of two scaled inputs that is scaled; without any rounding twice.

    With F = multiplier >> shift and L the rest, apply_scale(x - zp) is x * F - zp * F + ((x * L + C) >> shift), where
    C = 2^(shift-1) - zp * L. All of it is right in 32-bit lanes where (x - zp) * L + 2^(shift-1) fits them; `span`
    bounds the magnitude of x - zp. Where L is 0, so is what is shifted. `scales` and `zeros` are those of the inputs,
    then of the result, whose product's high word decides.
    """
    right = scales[2][1] - WORD
    half = 1 << (right - 1)
    fits = [span * ((1 << s) - 1) + (1 << (s - 1)) < 1 << (WORD - 1) for _, s, _ in scales[:2]]
    if not all(fits) or (abs(zeros[2]) << right) + half >= 1 << (WORD - 2):
        return [0] * (OUT_ROUND + 1 - SPLIT)
    found, added = [], 0
    for (multiplier, shift, _), zero in zip(scales[:2], zeros, strict=False):
        high, low = multiplier >> shift, multiplier & ((1 << shift) - 1)
        found += [high, low, (1 << (shift - 1)) - zero * low]
        added -= zero * high
    return [ONE if whole(scales[0]) else BOTH, *found, added, (zeros[2] << right) + half]
