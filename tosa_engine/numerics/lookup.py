"""Table look-up with interpolation (specification 1.9.4): a 513-entry table of int16 over the int16 range."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..types import Array

FRACTION_BITS = 7


def apply_lookup_s(table: Array, value: int) -> int:
    """Entry plus slope: table[i] * 128 + (table[i+1] - table[i]) * f with i = (value + 32768) >> 7, f = value mod 128.

    The result is 23 bits wide: 16 of the table and 7 of the fraction. Legal when the slope is a value of int16.
    """
    index = (value + 32768) >> FRACTION_BITS
    base, following = int(table[index]), int(table[index + 1])
    return base * 128 + (following - base) * (value & 0x7F)


def slopes_fit(table: Array) -> bool:
    """Whether every slope of a table is a value of int16, so that no input can violate the REQUIRE."""
    wide = table.astype("int64")
    slopes = wide[1:] - wide[:-1]
    return bool(slopes.min() >= -32768 and slopes.max() <= 32767)
