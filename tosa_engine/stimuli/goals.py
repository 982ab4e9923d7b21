"""What there is to reach: values that an operator reads at which implementations differ that are right elsewhere.

A goal is met by any value of a channel in one of its intervals. Intervals are cut to what `ranges` proves that the
channel can hold, so that a goal without any is none: no input reaches it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from ..types import i8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..spec.table import Call
    from ..types import Array

    Span = tuple[int, int]

THRESHOLDS: Final = 64  # between results, at each end, at which multipliers are told apart
TIES: Final = 8  # values that are looked for
WIDE: Final = 32  # bits of results that aren't clipped
FEW: Final = 1 << 16  # values of which each is tried


@dataclass(frozen=True)
class Goal:
    """`spans` are intervals of values, both ends included."""

    kind: str
    channel: int
    spans: tuple[Span, ...]


def within(kind: str, channel: int, spans: Iterable[Span], low: int, high: int) -> Iterator[Goal]:
    """The goal, unless none of its values is in low .. high."""
    found = tuple((max(a, low), min(b, high)) for a, b in spans if a <= high and b >= low and a <= b)
    if found:
        yield Goal(kind, channel, found)


@dataclass(frozen=True)
class Scale:
    """How one channel of a RESCALE rounds: `first(q)` is the least value that gives q or more, without zero point."""

    multiplier: int
    shift: int
    double: bool = field(kw_only=True)

    @property
    def half(self) -> int:
        return 1 << (self.shift - 1)

    @property
    def more(self) -> int:
        return 1 << 30 if self.double and self.shift > 31 else 0

    def first(self, q: int) -> int:
        wanted = (q << self.shift) - self.half
        below = -((-self.more - wanted) // self.multiplier)  # as values below 0 are rounded
        return below if below < 0 else max(0, -((self.more - wanted) // self.multiplier))

    def changed(self, other: Scale, thresholds: Iterable[int]) -> list[Span]:
        """Where another scale gives something else, near thresholds between results."""
        pairs = [sorted((self.first(q), other.first(q))) for q in thresholds]
        return [(low, high - 1) for low, high in pairs if low < high]


def of_rescale(call: Call, lows: Array, highs: Array, *, is_sum: bool) -> Iterator[Goal]:
    """Of each multiplier, whose values are low .. high: saturation, both results beside it, ties, values that tell it
    from the next ones, and of sums the ends that are proved.
    """
    multipliers, shifts, zero, output_zero = map(call.constant, ("multiplier", "shift", "input_zp", "output_zp"))
    if multipliers is None or shifts is None or zero is None or output_zero is None:
        return
    if call.input_unsigned or call.output_unsigned:
        return
    by, offset = int(zero[0]), int(output_zero[0])
    bottom, top = call.out_t.minimum - offset, call.out_t.maximum - offset
    ways = zip(multipliers.tolist(), shifts.tolist(), lows.tolist(), highs.tolist(), strict=True)
    for channel, (multiplier, shift, low, high) in enumerate(ways):
        if multiplier > 0 and low < high:
            scale = Scale(multiplier, shift, double=call.rounding_mode == "DOUBLE_ROUND")
            for kind, spans in _of_scale(scale, bottom, top, low - by, high - by, clips=call.out_t.bits < WIDE):
                yield from within(kind, channel, [(a + by, b + by) for a, b in spans], low, high)
        if is_sum and low < high:
            yield Goal("least sum", channel, ((low, low),))
            yield Goal("greatest sum", channel, ((high, high),))


def _of_scale(
    scale: Scale, bottom: int, top: int, low: int, high: int, *, clips: bool
) -> Iterator[tuple[str, list[Span]]]:
    first = scale.first
    if high - low < FEW:
        for by in (1, -1):
            if scale.multiplier + by > 0:
                yield f"multiplier {by:+}", _told_apart(scale, by, bottom, top, low, high)
    if clips:
        yield "saturates low", [(low, first(bottom) - 1)]
        yield "least result", [(first(bottom), first(bottom + 1) - 1)]
        yield "greatest result", [(first(top), first(top + 1) - 1)]
        yield "saturates high", [(first(top + 1), high)]
        bottom, top = max(bottom, _result(scale, low)), min(top, _result(scale, high))
        near = range(bottom + 1, top + 1)
        thresholds = {*near[:THRESHOLDS], *near[-THRESHOLDS:]}
        for by in (1, -1) if high - low >= FEW else ():
            if scale.multiplier + by > 0:
                other = Scale(scale.multiplier + by, scale.shift, double=scale.more > 0)
                yield f"multiplier {by:+}", scale.changed(other, thresholds)
    odd = scale.shift - 1 - ((scale.multiplier & -scale.multiplier).bit_length() - 1)
    if odd >= 0:
        values = [(2 * k + 1) << odd for k in range(TIES)]
        yield "tie above 0", [(v, v) for v in values]
        yield "tie below 0", [(-v, -v) for v in values]


@lru_cache(maxsize=256)
def _told_apart(scale: Scale, by: int, bottom: int, top: int, low: int, high: int) -> list[Span]:
    """The values low .. high, as spans, of which another multiplier gives another result."""
    values = np.arange(low, high + 1)
    half = scale.half + np.where(values >= 0, scale.more, -scale.more)
    ways = [np.clip((values * m + half) >> scale.shift, bottom, top) for m in (scale.multiplier, scale.multiplier + by)]
    at = np.flatnonzero(ways[0] != ways[1])
    starts, ends = np.diff(at, prepend=-2) > 1, np.diff(at, append=at[-1:] + 2) > 1
    return list(zip(values[at[starts]].tolist(), values[at[ends]].tolist(), strict=True))


def _result(scale: Scale, value: int) -> int:
    """Before the zero point, and before it is clipped."""
    more = scale.more if value >= 0 else -scale.more
    return (value * scale.multiplier + scale.half + more) >> scale.shift


def of_table(call: Call, low: int, high: int) -> Iterator[Goal]:
    """Each entry of a table of 256, each segment of one of 513."""
    width = 1 if call.in_t is i8 else 128
    for start in range(call.in_t.minimum, call.in_t.maximum + 1, width):
        yield from within("segments" if width > 1 else "entries", 0, [(start, start + width - 1)], low, high)
