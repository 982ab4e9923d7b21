"""Which range of an activation its integers shall cover: five methods, on the statistics of calibration.

Wider than needed costs resolution, narrower saturates. `minmax` saturates nothing that was seen; `average` takes the
means of the samples' own minima and maxima, which is a moving average that weighs all samples alike (one that
forgets would depend on their order); `percentile` leaves out a share of the values, half of it at each end where both
have values; `mse` minimises the mean square of rounding and saturation errors; `entropy` minimises the divergence of
the quantized from the real distribution. All but `minmax` and `average` read the histogram.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tosa_engine.types import Array

    from .statistics import TensorStatistics

    Range = tuple[float, float]

PERCENTILE: Final = 99.99  # in per cent, the default
CANDIDATES: Final = 100  # ends of a range that `mse` tries for each side
ENTROPY_BINS: Final = 2048
ENTROPY_STEP: Final = 16


@dataclass(frozen=True)
class Method:
    """`name` is one of `METHODS`; `percentile` is the share of values, in per cent, that `percentile` covers.

    `bits` and `symmetric` are those of the integers that the range is for.
    """

    name: str
    percentile: float = PERCENTILE
    bits: int = 8
    symmetric: bool = False

    def __post_init__(self) -> None:
        if self.name not in METHODS:
            raise UsageError(f"unknown calibration method '{self.name}'; choose from: {', '.join(METHODS)}")
        if not 50 < self.percentile <= 100:
            raise UsageError(f"a percentile is above 50 and at most 100, got {self.percentile!r}")
        if self.name != "percentile" and self.percentile != PERCENTILE:
            raise UsageError(f"a percentile is for the method 'percentile', not for '{self.name}'")
        if self.bits not in (8, 16):
            raise UsageError(f"activations have 8 or 16 bits, got {self.bits!r}")

    def range(self, seen: TensorStatistics) -> Range:
        """The range, within what was seen, that the integers shall cover."""
        low, high = METHODS[self.name](self, seen)
        return max(low, seen.low), min(high, seen.high)


def minmax(method: Method, seen: TensorStatistics) -> Range:
    del method
    return seen.low, seen.high


def average(method: Method, seen: TensorStatistics) -> Range:
    del method
    return seen.average


def percentile(method: Method, seen: TensorStatistics) -> Range:
    """The quantiles of the histogram, linear inside its bins."""
    middles, counts = seen.histogram()
    out = (100 - method.percentile) / 100
    share = out / 2 if seen.low < 0 < seen.high else out
    below = (np.cumsum(counts) - counts / 2) / seen.values
    low, high = np.interp([share, 1 - share], below, middles)
    return (seen.low if seen.low >= 0 else float(low)), (seen.high if seen.high <= 0 else float(high))


def mse(method: Method, seen: TensorStatistics) -> Range:
    """Ends for which rounding (a twelfth of a step squared for every value that isn't zero) and saturation (the
    squared distance from the end) are together least.

    Each side is tried in `CANDIDATES` places, all pairs of them where both sides have values.
    """
    middles, counts = seen.histogram()
    weights = counts / seen.values
    lows = _ends(min(seen.low, 0.0))
    highs = _ends(max(seen.high, 0.0))
    if method.symmetric:
        reach = np.maximum(-lows, highs) if lows.size > 1 and highs.size > 1 else np.maximum(-lows.min(), highs)
        reach = np.unique(np.concatenate([reach, -lows, highs]))
        lows, highs = -reach, reach
        cost = _beyond(middles, weights, highs) + _beyond(-middles[::-1], weights[::-1], -lows)
        widths = 2 * reach
    else:
        cost = _beyond(-middles[::-1], weights[::-1], -lows)[:, None] + _beyond(middles, weights, highs)[None, :]
        widths = highs[None, :] - lows[:, None]
    steps = widths / ((1 << method.bits) - (2 if method.symmetric else 1))
    cost = cost + weights[middles != 0].sum() * steps * steps / 12
    best = np.unravel_index(int(cost.argmin()), cost.shape)
    return float(lows[best[0]]), float(highs[best[-1]])


def _ends(end: float) -> Array:
    """Places for an end of the range, from where nothing is beyond it down to 2 % of that; 0 alone for 0."""
    if end == 0:
        return np.zeros(1)
    return end * np.geomspace(1.0, 0.02, CANDIDATES)


def _beyond(values: Array, weights: Array, ends: Array) -> Array:
    """Of each end the mean squared distance of the values above it; `values` ascend."""
    behind = [np.concatenate([np.cumsum((weights * values**n)[::-1])[::-1], [0.0]]) for n in range(3)]
    first = np.searchsorted(values, ends, side="right")
    found: Array = behind[2][first] - 2 * ends * behind[1][first] + ends * ends * behind[0][first]
    return np.maximum(found, 0.0)


def entropy(method: Method, seen: TensorStatistics) -> Range:
    """One threshold for both sides: the one whose quantized distribution of magnitudes diverges least (Kullback and
    Leibler) from the real one with its tail gathered at the threshold.
    """
    middles, counts = seen.histogram()
    most = max(-seen.low, seen.high)
    if most == 0:
        return seen.low, seen.high
    both = seen.low < 0 < seen.high
    levels = 1 << (method.bits - (1 if both or method.symmetric else 0))
    if levels >= ENTROPY_BINS:
        return seen.low, seen.high
    real = _spread(np.abs(middles), counts / seen.values, most)
    ends = range(levels, ENTROPY_BINS + 1, ENTROPY_STEP)
    best = min(ends, key=lambda end: _divergence(real, end, levels))
    threshold = most * best / ENTROPY_BINS
    return max(seen.low, -threshold), min(seen.high, threshold)


def _spread(magnitudes: Array, weights: Array, most: float) -> Array:
    """The histogram with `ENTROPY_BINS` bins of equal width up to `most`; what was one bin may fill several."""
    half = magnitudes * 2.0**-9 + most * 1e-12
    pieces = 16
    at = magnitudes[:, None] + half[:, None] * (np.arange(pieces) - (pieces - 1) / 2) / (pieces / 2)
    index = np.clip(at * (ENTROPY_BINS / most), 0, ENTROPY_BINS - 1).astype(np.int64)
    share = np.repeat(weights / pieces, pieces)
    spread: Array = np.bincount(index.reshape(-1), share, ENTROPY_BINS)
    return spread


def _divergence(real: Array, end: int, levels: int) -> float:
    """Of the distribution below bin `end`, the rest gathered in the last one, from its form in `levels` levels."""
    inside = real[:end].copy()
    level = np.arange(end) * levels // end
    filled = inside > 0
    total = np.bincount(level, inside, levels)
    count = np.bincount(level, filled, levels)
    coarse = np.where(filled, (total / np.maximum(count, 1))[level], 0.0)
    inside[-1] += real[end:].sum()
    wanted = inside > 0
    found = coarse[wanted] / max(float(coarse.sum()), 1e-300)
    least = 1e-12  # where the quantized one has nothing: no infinity, but dear
    return float((inside[wanted] * np.log(inside[wanted] / np.maximum(found, least))).sum())


METHODS: Final[Mapping[str, Callable[[Method, TensorStatistics], Range]]] = {
    "minmax": minmax, "average": average, "percentile": percentile, "mse": mse, "entropy": entropy,
}  # fmt: skip


def default_method(bits: int) -> str:
    """mse for 8 bits and fewer; with 16 there is resolution enough not to saturate anything."""
    return "mse" if bits <= 8 else "minmax"
