"""What calibration remembers of a model's activations: the same bytes whatever the order of the samples.

Everything is a count, an extreme or an exact sum, so that statistics of parts can be merged in any order, by several
processes or after an interrupt, and memory doesn't grow with the number of samples. Of each tensor:

- the least and the greatest value, of all and of each channel (the last axis);
- the sums of the samples' own minima and maxima, exact as whole multiples of 2^-149, the least float32;
- a histogram whose bins are the upper 16 bits of a float32 (sign, exponent, 7 bits of the significand): bins are
  2^-7 wide relative to their values, from the smallest to the largest number, so that no range has to be known ahead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tosa_engine.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.types import Array

BINS: Final = 1 << 16
FEW: Final = 1 << 14  # values that are counted one by one sooner than all bins are looked through
LEAST_EXPONENT: Final = 149
FLOAT_MAX: Final = float(np.finfo(np.float32).max)
UNIT: Final = 2**LEAST_EXPONENT
FORMAT: Final = "tosa-engine calibration statistics"
VERSION: Final = 1


@dataclass
class TensorStatistics:
    """Of one activation. `bins[i]` counts the values whose float32 has the upper 16 bits i: int64 [65536].

    `samples` is how often the tensor was seen, `values` how many elements in all; `low_sum` and `high_sum` are in units
    of 2^-149. `channel_low` and `channel_high` are float32, one per index of the last axis.
    """

    samples: int = 0
    values: int = 0
    low: float = math.inf
    high: float = -math.inf
    low_sum: int = 0
    high_sum: int = 0
    channel_low: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    channel_high: Array = field(default_factory=lambda: np.zeros(0, np.float32))
    bins: Array = field(default_factory=lambda: np.zeros(BINS, np.int64))  # pages that nobody touches cost nothing

    def see(self, array: Array) -> None:
        """Count one sample's tensor: float32, without NaN and infinity, of any shape but an empty one."""
        values = np.ascontiguousarray(array, np.float32)
        channels = values.reshape(-1, values.shape[-1] if values.ndim else 1)
        low, high = channels.min(axis=0), channels.max(axis=0)
        self._widen(float(low.min()), float(high.max()), low, high)
        self.samples += 1
        self.values += values.size
        self.low_sum += exactly(float(low.min()))
        self.high_sum += exactly(float(high.max()))
        bins = values.reshape(-1).view(np.uint32) >> np.uint32(16)
        if bins.size < FEW:
            np.add.at(self.bins, bins, 1)
        else:
            self._count(np.bincount(bins, minlength=BINS))

    def add(self, other: TensorStatistics) -> None:
        """Count what another one counted. Raises DataError where the channels differ in number."""
        if self.samples and other.samples and len(self.channel_low) != len(other.channel_low):
            raise DataError(f"statistics of {len(self.channel_low)} and of {len(other.channel_low)} channels don't mix")
        if other.samples:
            self._widen(other.low, other.high, other.channel_low, other.channel_high)
        self.samples += other.samples
        self.values += other.values
        self.low_sum += other.low_sum
        self.high_sum += other.high_sum
        self._count(other.bins)

    @property
    def average(self) -> tuple[float, float]:
        """The means of the samples' minima and of their maxima."""
        unit = UNIT * max(self.samples, 1)
        return self.low_sum / unit, self.high_sum / unit  # Python divides integers of any size with one rounding

    def histogram(self) -> tuple[Array, Array]:
        """The middles of the bins that aren't empty, ascending, and their counts: float64 and int64, equally long.

        The ends of a bin are cut to `low` and `high`, so that no middle lies outside what was seen.
        """
        used = np.flatnonzero(self.bins).astype(np.uint32)
        # after the middle of the bins' bits: the halves of -0.0's and 0.0's own bins are zeros
        inner, outer = _float(used << np.uint32(16)), _float((used << np.uint32(16)) | np.uint32(0xFFFF))
        middles = (np.clip(inner, self.low, self.high) + np.clip(outer, self.low, self.high)) / 2
        middles[(used & np.uint32(0x7FFF)) == 0] = np.clip(0.0, self.low, self.high)  # denormals lie there, too
        order = np.argsort(middles, kind="stable")
        return middles[order], self.bins[used][order]

    def to_json(self) -> dict[str, Any]:
        """Plain data, the same for the same statistics."""
        used = np.flatnonzero(self.bins)
        return {
            "samples": self.samples,
            "values": self.values,
            "low": self.low,
            "high": self.high,
            "low_sum": str(self.low_sum),
            "high_sum": str(self.high_sum),
            "channel_low": [float(v) for v in self.channel_low],
            "channel_high": [float(v) for v in self.channel_high],
            "bins": used.tolist(),
            "counts": self.bins[used].tolist(),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], where: str) -> TensorStatistics:
        """Raises DataError, which begins with `where`, for anything that `to_json` can't have written."""
        try:
            made = cls(
                int(content["samples"]), int(content["values"]), float(content["low"]), float(content["high"]),
                int(content["low_sum"]), int(content["high_sum"]),
                *_bounds(content["channel_low"], content["channel_high"]),
            )  # fmt: skip
            used, counts = np.asarray(content["bins"], np.int64), np.asarray(content["counts"], np.int64)
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise DataError(f"{where}: not the statistics of a tensor: {problem}") from problem
        fits = used.ndim == 1 and used.shape == counts.shape and bool(((used >= 0) & (used < BINS)).all())
        if not fits or bool((counts < 0).any()) or int(counts.sum()) != made.values or made.samples < 1:
            raise DataError(f"{where}: the counts of the histogram don't fit its number of values")
        if not -FLOAT_MAX <= made.low <= made.high <= FLOAT_MAX:
            raise DataError(f"{where}: a range needs finite bounds in order, got {made.low!r} .. {made.high!r}")
        low, high = (exactly(bound) * made.samples for bound in (made.low, made.high))
        if not (low <= made.low_sum <= high and low <= made.high_sum <= high):
            raise DataError(f"{where}: the sums of minima and maxima don't fit the range")
        made.bins[used] = counts
        return made

    def _widen(self, low: float, high: float, channel_low: Array, channel_high: Array) -> None:
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.samples:
            channel_low = np.minimum(self.channel_low, channel_low)
            channel_high = np.maximum(self.channel_high, channel_high)
        # without negative zeros: which of two zeros an extreme is depends on the order
        self.channel_low, self.channel_high = channel_low + np.float32(0), channel_high + np.float32(0)
        self.low, self.high = self.low + 0.0, self.high + 0.0

    def _count(self, counts: Array) -> None:
        used = np.flatnonzero(counts)
        self.bins[used] += counts[used]


def exactly(value: float) -> int:
    """A float32 in units of 2^-149."""
    top, bottom = value.as_integer_ratio()
    return top * (UNIT // bottom)


def _bounds(lows: Any, highs: Any) -> tuple[Array, Array]:
    """The ranges of channels as they are kept. Raises ValueError for what no channel can have."""
    low, high = np.asarray(lows, np.float64), np.asarray(highs, np.float64)
    if low.ndim != 1 or low.shape != high.shape or not bool((np.abs([low, high]) <= FLOAT_MAX).all()):
        raise ValueError("channel_low and channel_high are lists of the same length of finite float32")
    if not bool((low <= high).all()):
        raise ValueError("a channel's maximum is below its minimum")
    return low.astype(np.float32), high.astype(np.float32)


def _float(bits: Array) -> Array:
    return bits.view(np.float32).astype(np.float64)
