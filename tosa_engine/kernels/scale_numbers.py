"""The numbers that `scale_loops` scale by, and their places: see `scale_numbers`."""

from __future__ import annotations

from typing import Final

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
WORD: Final = 32


def scale_numbers(multiplier: int, shift: int, double: int, zero_in: int) -> list[int]:
    """Multiplier, shift, rounding term, input zero point, whether the high word of the product decides
    (numerics.scale.scale_in_high_words), and what DOUBLE_ROUND adds to the rounding term of a value >= 0, or 0.
    """
    return [multiplier, shift, 1 << (shift - 1), zero_in, int(shift > WORD and not double), double]
