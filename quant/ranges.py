"""From the range of real values to scale and zero point.

Activations: asymmetric int8. The range is widened to contain 0, its width is 255 steps, and the zero point is the
integer nearest to where 0 falls, so that 0 is exactly representable. Weights: symmetric int8 per output channel,
-127 .. 127, zero point 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine.errors import DataError
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from tosa_engine.types import Array

# a narrower range than this counts as a range of zeros: its scale would be beyond what any RESCALE can apply
NARROWEST_RANGE: Final = 2.0**-60

FEW_VALUES: Final = 16
LEVELS: Final = np.arange(127, 0, -1)
FLOAT_ROUNDING: Final = 2e-5  # of up to 127 steps in float32

# results whose range the operator knows: no calibration sees more than the whole of it
FIXED: Final = {
    "softmax": QParams((1.0 / 256,), (-128,)),
    "sigmoid": QParams((1.0 / 256,), (-128,)),
    "tanh": QParams((1.0 / 128,), (0,)),
}


def fixed_qparams(function: str, bits: int = 8) -> QParams | None:
    """The QParams of a result whose range its function knows: with 16 bits symmetric, 32768 steps to 1."""
    if function not in FIXED or bits not in (8, 16):
        return None
    return FIXED[function] if bits == 8 else QParams((1.0 / 32768,), (0,), 16, symmetric=True)


def activation_qparams(
    low: float, high: float, *, bits: int = 8, symmetric: bool = False, power_of_two: bool = False
) -> QParams:
    """The signed QParams of an activation whose values are in low .. high.

    Asymmetric: the range is widened to contain 0, its width is 2^bits - 1 steps, and the zero point is the integer
    nearest to where 0 falls. `symmetric`: zero point 0, the larger magnitude is 2^(bits - 1) - 1 steps. With
    `power_of_two` the scale is the next power of two that is no smaller. A range of zeros (or one narrower than 2^-60)
    gets zero point 0 and a scale of 2^(1 - bits): any scale represents it exactly.

    Raises DataError when a bound isn't finite or the bounds are the wrong way round.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise DataError(f"a range needs finite bounds in order, got {low!r} .. {high!r}")
    low, high = min(low, 0.0), max(high, 0.0)
    most = (1 << (bits - 1)) - 1
    if high - low < NARROWEST_RANGE:
        return QParams((2.0 ** (1 - bits),), (0,), bits, symmetric=symmetric)
    if symmetric:
        scale, zero_point = max(-low, high) / most, 0
    else:
        # halves first: the width of a range of large floats may be more than a float holds
        scale, zero_point = (high / 2 - low / 2) / (most + 0.5), -1
    if power_of_two:
        scale = up_to_power_of_two(scale)
    if not symmetric:
        zero_point = min(max(round(-most - 1 - low / scale), -most - 1), most)
    return QParams((scale,), (zero_point,), bits, symmetric=symmetric)


def weight_qparams(weight: Array, axis: int | None, *, power_of_two: bool = False) -> QParams:
    """Symmetric int8 QParams of a constant: one scale per index along `axis`, or one in all when axis is None.

    The largest weight is 127 steps, or fewer where that makes all weights whole numbers of steps.
    A channel of zeros takes the largest scale of the others (1/127 when all are zeros). With `power_of_two` each scale
    is the next power of two that is no smaller.

    Raises DataError when a value isn't finite.
    """
    values = np.abs(np.asarray(weight, np.float64))
    if not np.isfinite(values).all():
        raise DataError("weights must be finite")
    rows = values.reshape(1, -1) if axis is None else np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
    peaks = rows.max(axis=1, initial=0.0)
    most = float(peaks.max(initial=0.0))
    filled = np.where(peaks < NARROWEST_RANGE, most if most >= NARROWEST_RANGE else 1.0, peaks)
    if power_of_two:
        scales = tuple(up_to_power_of_two(float(p) / 127) for p in filled)
    else:
        scales = tuple(float(p) / _levels(row, float(p)) for p, row in zip(filled, rows, strict=True))
    return QParams(scales, (0,) * len(scales), symmetric=True, axis=axis)


def _levels(row: Array, peak: float) -> int:
    """How many steps the largest weight has: 127, or the most that make all of a few magnitudes whole numbers of steps.

    So weights of interpolation (1/4 and 3/4) and of means are exact.
    """
    few = np.unique(row[: FEW_VALUES + 1])
    if len(few) > FEW_VALUES or len(few := np.unique(row)) > FEW_VALUES:
        return 127
    steps = few[:, None] * (LEVELS / peak)
    exact = (np.abs(steps - np.rint(steps)) <= FLOAT_ROUNDING).all(axis=0)
    return int(LEVELS[exact.argmax()])  # the first, 127, where none is


def up_to_power_of_two(scale: float) -> float:
    """The least power of two that isn't less than a positive scale."""
    fraction, exponent = math.frexp(scale)
    return math.ldexp(1.0, exponent - 1 if fraction == 0.5 else exponent)


def is_moved_16(quant: QParams) -> bool:
    """Whether QParams have 16 bits and a zero point that TOSA's int16 can't have: not 0 (unsigned: 32768)."""
    return quant.bits == 16 and quant.zero_point[0] != (0 if quant.signed else 32768)


def as_stored(quant: QParams) -> QParams:
    """Per-tensor QParams for signed storage: unsigned ones move down by half their range.

    8 bits have any zero point; 16 bits have none (an unsigned zero point of 32768 becomes 0).

    Raises DataError for other widths, for per-channel QParams, and for 16 bits with another zero point.
    """
    if quant.bits not in (8, 16) or len(quant.scale) != 1 or quant.axis is not None:
        kind = "per-channel " if len(quant.scale) != 1 or quant.axis is not None else ""
        raise DataError(f"activations need 8 or 16 bits with one scale, got {kind}{quant.bits} bits")
    moved = quant.zero_point[0] if quant.signed else quant.zero_point[0] - (1 << (quant.bits - 1))
    if is_moved_16(quant):
        raise DataError(f"16-bit activations have no zero point in TOSA, got {moved}")
    return QParams(quant.scale, (moved,), quant.bits, symmetric=quant.bits == 16)
