"""Scaling by a multiplier and a shift (specification 1.9, "Integer scaling"): the numbers that RESCALE is made of."""

from __future__ import annotations

from typing import Final

UNIT_ROUND: Final = 1 << 30


def apply_scale_32(value: int, multiplier: int, shift: int, double_round: bool) -> int:
    """value * multiplier / 2^shift as an integer, ties towards plus infinity.

    Formula: (value * multiplier + 2^(shift-1)) >> shift, the shift towards minus infinity.
    Meaning: a scale is multiplier / 2^shift with multiplier near 2^30 .. 2^31, so it carries 31 significant bits.
    double_round adds 2^30 with the sign of the value first when shift > 31: the effect of rounding the product to its
    high word before the rest of the shift, which older integer runtimes do.
    Legal for multiplier >= 0, 2 <= shift <= 62 and -2^(shift-1) <= value < 2^(shift-1); the result then fits int32.
    """
    rounding = 1 << (shift - 1)
    if double_round and shift > 31:
        rounding += UNIT_ROUND if value >= 0 else -UNIT_ROUND
    return (value * multiplier + rounding) >> shift


def apply_scale_16(value: int, multiplier: int, shift: int) -> int:
    """value * multiplier / 2^shift for int48 values and int16 multipliers, ties towards plus infinity.

    The product has 63 bits at most, so 64-bit arithmetic is exact. Legal when the result is a value of int32.
    """
    return (value * multiplier + (1 << (shift - 1))) >> shift


def reciprocal_scale(value: int) -> tuple[int, int]:
    """The multiplier and shift of 1 / value, for averages over `value` > 0 elements.

    With 2^k the power of two not below value: multiplier = floor((2^30 + 1) * 2^k / value), shift = 30 + k. The
    multiplier is in 2^30 .. 2^31 - 1; the "+ 1" makes exact multiples of `value` come out exact.
    """
    k = (value - 1).bit_length()
    return (((1 << 30) + 1) << k) // value, 30 + k


def scale_in_words(multiplier: int, shift: int) -> tuple[int, int, int]:
    """(round, left, right) such that a scale needs only a 64-bit sum and a 32-bit shift.

    Formula: ((value * multiplier + round) << left) >> 32 >> right, both shifts arithmetic.
    Reason: the high word of a 64-bit lane costs nothing in vector code, and its remaining shift by shift - 32 works on
    32-bit lanes, twice as many at a time. For shift < 32 the sum is moved left by 32 - shift first; that can't
    overflow, because a legal result fits 32 bits, so the sum fits 32 + shift bits.
    """
    return 1 << (shift - 1), max(0, 32 - shift), max(0, shift - 32)


def scale_in_high_words(value: int, multiplier: int, shift: int) -> int:
    """apply_scale_32 without double rounding for shift >= 33, from the high word of the product alone.

    Formula: ((value * multiplier >> 32) + 2^(shift-33)) >> (shift - 32).
    Reason: 2^(shift-1) is then a multiple of 2^32, so the low word of the product can't change the floor. In vectors
    this is two widening multiplies for eight values, and everything else happens in 32-bit lanes: the high word is at
    most 2^30 and the rounding term at most 2^29 in magnitude, so their sum can't overflow.
    """
    return ((value * multiplier >> 32) + (1 << (shift - 33))) >> (shift - 32)
