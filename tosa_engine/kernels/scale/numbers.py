"""The numbers that `loops` scale by, and their places: see `scale_numbers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

Scale = tuple[int, int, int]  # multiplier, shift, and what DOUBLE_ROUND adds

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
PRODUCT: Final = OUT + 5  # 1: MUL
SPLIT: Final = OUT + 6  # which of the forms below `split_numbers` found, or 0
# both input scales need two products, or the second one alone; a product of inputs as they are
BOTH, ONE, EXACT = 1, 2, 3
FACTORS: Final = SPLIT + 1  # of each input: for the result, for what is shifted to the right, and what is added to that
NEGATIVE: Final = 3  # behind these, what is added where the input is less than its zero point
ALL_FACTORS: Final = 4
ADDED: Final = FACTORS + 2 * ALL_FACTORS  # to the sum
OUT_ROUND: Final = ADDED + 1  # to the high word of the result's product, if it decides: the zero point is in it
WORD: Final = 32


def scale_numbers(multiplier: int, shift: int, double: int, zero_in: int) -> list[int]:
    """Multiplier, shift, rounding term, input zero point, whether the high word of the product decides
    (numerics.scale.scale_in_high_words), and what DOUBLE_ROUND adds to the rounding term of a value >= 0, or 0.
    """
    return [multiplier, shift, 1 << (shift - 1), zero_in, int(shift > WORD and not double), double]


def whole(scale: Scale) -> bool:
    """Whether a scale is a multiplication by an integer."""
    return scale[0] & ((1 << scale[1]) - 1) == 0


def exact(scale: Scale) -> bool:
    """Whether a scale is 1; DOUBLE_ROUND changes nothing where the shift is 31 at most."""
    return scale[0] == 1 << scale[1]


def split_numbers(
    scales: Sequence[Scale], zeros: Sequence[int], signs: Sequence[int], span: int, *, product: bool,
    high_word: bool,
) -> list[int]:  # fmt: skip
    """SPLIT and what follows it, for a sum (with `signs`) or a product of two scaled inputs that is scaled.

    With F = multiplier >> shift and L the rest, apply_scale(x - zp) is x * F - zp * F + ((x * L + C) >> shift), where
    C = 2^(shift-1) - zp * L, and what rounding twice adds, whose sign is that of x - zp. The negative of it is x * -F +
    zp * F + ((x * -L - C + 2^shift - 1) >> shift). All of it is right in 32-bit lanes where what is shifted fits them;
    `span` bounds the magnitude of x - zp. Where L is 0, so is what is shifted. `scales` and `zeros` are those of the
    inputs, then of the result; `high_word`: that of the result's product decides. Products have such a form for inputs
    with a scale of 1.
    """
    right = scales[2][1] - WORD
    rounding = (zeros[2] << right) + (1 << (right - 1)) if high_word else 0
    room = not high_word or (abs(zeros[2]) << right) + (1 << (right - 1)) < 1 << (WORD - 2)
    rests = [multiplier & ((1 << shift) - 1) for multiplier, shift, _ in scales[:2]]
    if product:
        fits = exact(scales[0]) and exact(scales[1])
    else:
        fits = all(
            span * rest + (1 << (s - 1 if sign > 0 else s)) + double < 1 << (WORD - 1)
            for rest, (_, s, double), sign in zip(rests, scales, signs, strict=False)
        )
    if not (fits and room):
        return [0] * (OUT_ROUND + 1 - SPLIT)
    found, added = [], 0
    for (multiplier, shift, double), rest, zero, sign in zip(scales, rests, zeros, signs, strict=False):
        high, term = multiplier >> shift, (1 << (shift - 1)) - zero * rest
        terms = [term + double, term - double]
        found += [sign * high, sign * rest, *(t if sign > 0 else (1 << shift) - 1 - t for t in terms)]
        added -= sign * zero * high
    form = EXACT if product else ONE if whole(scales[0]) else BOTH
    return [form, *found, added, rounding]
