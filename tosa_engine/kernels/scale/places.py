"""What the parameters of a scale are, and their places: `epilogue` makes them, loops and emitted code read them."""

from __future__ import annotations

from typing import Final

NR: Final = 16  # channels of a panel
# rows of the parameter arrays: one column per channel, padded to a multiple of NR
BIAS: Final = 0
MULTIPLIER: Final = 1
RIGHT: Final = 2
LEFT: Final = 3
HALF: Final = 4
ROUND: Final = 0
DOUBLE: Final = 1
# places in `limits`
ZERO_POINT: Final = 0
LOW: Final = 1
HIGH: Final = 2
HIGH_WORDS: Final = 3  # 1: numerics.scale.scale_in_high_words applies, and HALF includes the zero point
SATURATES: Final = 4  # 1: the bounds are those of int8
DOUBLES: Final = 5  # 1: products are rounded first (DOUBLE_ROUND); it applies then, with HALF for SPARE more bits
# how tiles scale: by the high words of products, of products that are rounded first, or in 64 bits by any scale
HIGH_WORD: Final = "high words"
ROUNDED: Final = "high words of rounded products"
ANY: Final = "words"
FORMS: Final = (HIGH_WORD, ROUNDED, ANY)
SPARE: Final = 2  # bits that values have to spare for ROUNDED
