"""How far is a table from its function? Measured on every input that can occur, in units of the last place (LSB)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .builders import FRACTION_BITS, INT16_MAX, INT16_MIN, lookup_16
from .truth import unclipped_8, unclipped_16

if TYPE_CHECKING:
    from collections.abc import Callable

    from .builders import Int8Array, Int16Array

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class TableError:
    """Errors over all inputs, in LSB of the entries; times `lsb` they are in real units.

    `largest` is the largest, `at` the input where it is, `mean` the mean of the magnitudes, `rms` the root of the mean
    square, `within_1` the share of inputs, 0 to 1, whose result is at most 1 LSB from the function.

    Where the function leaves the range of the entries, the end of the range is the right answer for all of these:
    `saturated` is how many inputs that are, of `inputs`, `beyond` how far the function goes there at most.
    """

    largest: float
    at: int
    mean: float
    rms: float
    within_1: float
    lsb: float
    saturated: int
    inputs: int
    beyond: float


def _summary(found: FloatArray, unclipped: FloatArray, half: int, lsb: float) -> TableError:
    wanted = np.clip(unclipped, -half, half - 1)
    errors, beyond = np.abs(found - wanted), np.abs(unclipped - wanted)
    first, saturated = -half, int(np.count_nonzero(beyond > 0.5))
    worst = int(errors.argmax())
    rms, within = float(np.sqrt((errors * errors).mean())), float((errors <= 1.0).mean())
    largest, most = float(errors[worst]), float(beyond.max()) if saturated else 0.0
    return TableError(largest, first + worst, float(errors.mean()), rms, within, lsb, saturated, len(errors), most)


def error_8(
    table: Int8Array,
    function: Callable[[float], float],
    in_scale: float,
    in_zero_point: int,
    out_scale: float,
    out_zero_point: int,
) -> TableError:
    """Over all 256 inputs.

    Raises TableRangeError when the function is NaN for one of them.
    """
    unclipped = unclipped_8(function, in_scale, in_zero_point, out_scale, out_zero_point)
    return _summary(table.astype(np.float64), unclipped, 128, out_scale)


def error_16(table: Int16Array, function: Callable[[float], float], in_scale: float, out_scale: float) -> TableError:
    """Over all 65,536 inputs, interpolation included.

    Raises TableRangeError when the function is NaN for one of them.
    """
    inputs = np.arange(INT16_MIN, INT16_MAX + 1).astype(np.int16)
    found = lookup_16(table, inputs) / float(1 << FRACTION_BITS)
    return _summary(found, unclipped_16(function, in_scale, out_scale), -INT16_MIN, out_scale)
