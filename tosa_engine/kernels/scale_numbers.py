"""The numbers that `scale_loops` scale by: multiplier, shift, rounding term, input zero point, and whether the high
word of the product decides (numerics.scale.scale_in_high_words). DOUBLE_ROUND, whose rounding depends on the sign, has
no such form.
"""

from __future__ import annotations

from typing import Final

MULTIPLIER: Final = 0
SHIFT: Final = 1
ROUND: Final = 2
ZERO_IN: Final = 3
HIGH_WORD: Final = 4
NUMBERS: Final = 5
WORD: Final = 32
BLOCK: Final = 4096  # elements of a unit


def scale_numbers(multiplier: int, shift: int, zero_in: int) -> list[int]:
    return [multiplier, shift, 1 << (shift - 1), zero_in, int(shift > WORD)]
