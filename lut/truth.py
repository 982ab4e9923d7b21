"""What a table should hold: the function in units of the entries' last place, within the entries' range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .builders import TableRangeError, values_16

if TYPE_CHECKING:
    from collections.abc import Callable

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]


def truth_8(
    function: Callable[[float], float], in_scale: float, in_zero_point: int, out_scale: float, out_zero_point: int
) -> FloatArray:
    """For the 256 inputs -128 .. 127: float64 [256], in LSB of the output, zero point included, clipped to int8.

    Raises TableRangeError when the function is NaN for one of them.
    """
    return np.clip(unclipped_8(function, in_scale, in_zero_point, out_scale, out_zero_point), -128.0, 127.0)


def unclipped_8(
    function: Callable[[float], float], in_scale: float, in_zero_point: int, out_scale: float, out_zero_point: int
) -> FloatArray:
    """The same beyond int8, too."""
    steps = _steps([function(in_scale * (q - in_zero_point)) for q in range(-128, 128)], out_scale, -128)
    return steps + out_zero_point


def truth_16(function: Callable[[float], float], in_scale: float, out_scale: float) -> FloatArray:
    """For the 65,536 inputs -32768 .. 32767: float64 [65536], in LSB of the entries, clipped to int16.

    Raises TableRangeError when the function is NaN for one of them.
    """
    return truth_of(values_16(function, in_scale), out_scale)


def unclipped_16(function: Callable[[float], float], in_scale: float, out_scale: float) -> FloatArray:
    """The same beyond int16, too."""
    return _steps(values_16(function, in_scale)[: 1 << 16], out_scale, -(1 << 15))


def truth_of(values: FloatArray, out_scale: float) -> FloatArray:
    """The same from the function's values at all inputs (`values_16`)."""
    return np.clip(_steps(values[: 1 << 16], out_scale, -(1 << 15)), -32768.0, 32767.0)


def _steps(values: list[float] | FloatArray, scale: float, first: int) -> FloatArray:
    array = np.asarray(values, np.float64)
    if np.isnan(array).any():
        raise TableRangeError(f"the function is NaN at the input {first + int(np.isnan(array).argmax())}")
    with np.errstate(over="ignore"):
        return array / scale
