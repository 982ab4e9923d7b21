"""How far is a table from its function? Measured on every input that can occur, in units of the last place (LSB)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .builders import FRACTION_BITS, INT16_MAX, INT16_MIN, lookup_16

if TYPE_CHECKING:
    from collections.abc import Callable

    from .builders import Int8Array, Int16Array


@dataclass(frozen=True)
class TableError:
    """Errors over all inputs, in LSB of the entries: the largest, the input where it is, and the mean."""

    largest: float
    at: int
    mean: float


def _summary(errors: list[float], first: int) -> TableError:
    array = np.asarray(errors)
    worst = int(array.argmax())
    return TableError(float(array[worst]), first + worst, float(array.mean()))


def error_8(
    table: Int8Array,
    function: Callable[[float], float],
    in_scale: float,
    in_zero_point: int,
    out_scale: float,
    out_zero_point: int,
) -> TableError:
    """Over all 256 inputs. Where the function leaves the range of int8, the end of the range is the right answer."""
    errors = []
    for q in range(-128, 128):
        exact = function(in_scale * (q - in_zero_point)) / out_scale + out_zero_point
        errors.append(abs(int(table[q + 128]) - min(max(exact, -128.0), 127.0)))
    return _summary(errors, -128)


def error_16(table: Int16Array, function: Callable[[float], float], in_scale: float, out_scale: float) -> TableError:
    """Over all 65,536 inputs, interpolation included. Where the function leaves int16, the end is the right answer."""
    inputs = np.arange(INT16_MIN, INT16_MAX + 1).astype(np.int16)
    found = lookup_16(table, inputs) / float(1 << FRACTION_BITS)
    errors = []
    for q, got in zip(range(INT16_MIN, INT16_MAX + 1), found.tolist(), strict=True):
        exact = function(in_scale * q) / out_scale
        errors.append(abs(got - min(max(exact, float(INT16_MIN)), float(INT16_MAX))))
    return _summary(errors, INT16_MIN)
