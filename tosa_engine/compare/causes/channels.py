"""RESCALE: other multipliers and shifts than those of the graph, of all channels or of some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..rounding import RULES
from .listed import hypothesis
from .scale import Scaling

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]

MOST_CHANNELS: Final = 64  # whose scale may be that of all
SEEN: Final = 4096  # elements of a channel that a multiplier is worked out from
SHOWN: Final = 3
MOST_TIMES: Final = 64  # that a multiplier is as large, or as small, as it should be


def _by(s: Scaling, multiplier: Array, shift: Array) -> Array:
    return s.stored(RULES[0].apply(s.value, multiplier, shift))


@hypothesis("channel scales", "RESCALE")
def mixed_up(trial: Trial, call: Call) -> Found:
    """Scales of other channels."""
    s = Scaling.of(trial, call)
    channels = s.multiplier.size
    if not call.per_channel or channels < 2:
        return
    for by in (1, -1):
        yield f"scales of channels rotated by {by:+}", _by(s, np.roll(s.multiplier, by), np.roll(s.shift, by))
        yield f"multipliers of channels rotated by {by:+}", _by(s, np.roll(s.multiplier, by), s.shift)
        yield f"shifts of channels rotated by {by:+}", _by(s, s.multiplier, np.roll(s.shift, by))
    yield "scales of channels in reverse order", _by(s, s.multiplier[::-1], s.shift[::-1])
    scales = list(zip(s.multiplier.tolist(), s.shift.tolist(), strict=True))
    for channel in (c for c in range(channels if channels <= MOST_CHANNELS else 1) if scales.index(scales[c]) == c):
        yield f"the scale of channel {channel} for all", _by(s, s.multiplier[channel], s.shift[channel])


@hypothesis("multiplier cut", "RESCALE")
def cut(trial: Trial, call: Call) -> Found:
    """A multiplier of 32 bits held in 16."""
    s = Scaling.of(trial, call)
    if not call.scale32:
        return
    yield "multiplier cut to its upper 16 bits", _by(s, s.multiplier >> 16 << 16, s.shift)
    nearest = np.minimum((s.multiplier + (1 << 15)) >> 16, 0x7FFF) << 16
    yield "multiplier rounded to 16 bits", _by(s, nearest, s.shift)


@hypothesis("another multiplier", "RESCALE", fitted=True)
def another(trial: Trial, call: Call) -> Found:
    """The multipliers that the other side's elements can come from: all channels by one factor, or of some channels.

    Where they are worked out from, the RESCALE itself wrote the target.
    """
    s = Scaling.of(trial, call)
    if call.operator.outputs[0] != trial.target:
        return
    channels = s.multiplier.size
    values, got = np.broadcast_to(s.value, trial.got.shape), _real(s, trial.got)
    possible: dict[int, tuple[int, int]] = {}
    for channel in range(channels):
        at = (..., channel) if channels > 1 else (...,)
        if trial.differs[at].any():
            low, high = _possible(s, values[at], got[at], int(s.shift[channel]))
            true = int(s.multiplier[channel])
            if low > high or low <= true <= high or not true <= MOST_TIMES * high <= MOST_TIMES**2 * true:
                return
            possible[channel] = low, high
    factor = _common(s, possible)
    if factor is not None:
        multiplier = s.multiplier.copy()
        for channel in possible:
            multiplier[channel] = round(int(multiplier[channel]) * factor)
        which = (
            ""
            if len(possible) == channels
            else f" in channel{'s' if len(possible) > 1 else ''} {_some(map(str, possible))}"
        )
        yield f"another multiplier, {factor} times as large{which}", _by(s, multiplier, s.shift)
        return
    multiplier = s.multiplier.copy()
    for channel, (low, high) in possible.items():
        multiplier[channel] = (low + high) // 2
    listed = _some(f"[{c}] is {multiplier[c]} instead of {s.multiplier[c]}" for c in possible)
    yield f"other multipliers: {listed}", _by(s, multiplier, s.shift)


def _common(s: Scaling, possible: dict[int, tuple[int, int]]) -> float | None:
    """The factor of the fewest digits that makes all these multipliers possible ones."""
    least = max(low / int(s.multiplier[c]) for c, (low, _) in possible.items())
    most = min(high / int(s.multiplier[c]) for c, (_, high) in possible.items())
    return next((f for digits in range(13) if least <= (f := round((least + most) / 2, digits)) <= most), None)


def _some(texts: Iterable[str]) -> str:
    shown = list(texts)
    more = f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return f"{', '.join(shown[:SHOWN])}{more}"


def _real(s: Scaling, got: Array) -> Array:
    """As int64, unsigned where the operator says so."""
    wide = got.view(np.dtype(f"uint{got.dtype.itemsize * 8}")) if s.low == 0 else got
    found: Array = wide.astype(np.int64)
    return found


def _possible(s: Scaling, values: Array, got: Array, shift: int) -> tuple[int, int]:
    """The least and the greatest multiplier with which single rounding gives what isn't saturated."""
    values, got = values.reshape(-1), got.reshape(-1)
    inside = np.flatnonzero((got > s.low) & (got < s.high) & (values != 0))
    chosen = inside[np.argsort(-np.abs(values[inside]), kind="stable")[:SEEN]]
    low, high = 0, (1 << 31) - 1
    half = 1 << (shift - 1)
    for value, result in zip(values[chosen].tolist(), (got[chosen] - s.output_zp).tolist(), strict=True):
        least, most = (result << shift) - half, ((result + 1) << shift) - half - 1
        if value < 0:
            value, least, most = -value, -most, -least
        low, high = max(low, -(-least // value)), min(high, most // value)
        if low > high:
            break
    return (low, high) if chosen.size else (1, 0)


@hypothesis("another zero point", "RESCALE", fitted=True)
def another_zero(trial: Trial, call: Call) -> Found:
    """All elements that aren't saturated are off by the same number."""
    s = Scaling.of(trial, call)
    if call.operator.outputs[0] != trial.target:
        return
    got, wanted = _real(s, trial.got), _real(s, trial.wanted)
    inside = trial.differs & (got > s.low) & (got < s.high) & (wanted > s.low) & (wanted < s.high)
    by = np.unique((got - wanted)[inside])
    if by.size == 1:
        zero = s.output_zp + int(by[0])
        yield f"output zero point {zero} instead of {s.output_zp}", s.wrapped(np.clip(s.scaled + zero, s.low, s.high))
