"""Parameter arrays of the epilogue: numerics.scale.scale_in_words per channel, padded to whole vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...numerics.scale import UNIT_ROUND, scale_in_words
from ..work import Epilogue, aligned
from .places import ANY, DOUBLES, FORMS, HIGH_WORD, HIGH_WORDS, ROUNDED, SPARE

if TYPE_CHECKING:
    from ...types import Array

WORD = 32
I8_MIN, I8_MAX = -128, 127
# multiplying by 2^30 / 2^30 in 64 bits returns any int32 unchanged
IDENTITY = Epilogue(
    np.array([1 << 30], np.int32),
    np.array([30], np.int8),
    double_round=False,
    output_zp=0,
    low=-(1 << 31),
    high=(1 << 31) - 1,
)


class Parameters(NamedTuple):
    """What `accumulators.scale_rows` reads, in the order in which loops take it: arrays in one dimension."""

    e32: Array  # int32 [5, pitch]: BIAS, MULTIPLIER, RIGHT, LEFT, HALF of each channel, padded to `pitch`
    e64: Array  # int64 [2, pitch]: ROUND, DOUBLE
    limits: Array  # int64 [6]: ZERO_POINT, LOW, HIGH, HIGH_WORDS, SATURATES, DOUBLES


def room(right: int, zero: int) -> bool:
    """Whether rounding and the zero point, shifted to the left, can be added to a high word, which is 2^30 at most."""
    return (abs(zero) << int(right)) + ((1 << int(right)) >> 1) < 1 << 30


def in_more_bits(multiplier: Array, shift: Array) -> tuple[Array, Array]:
    """The same scales, with as many factors of two more in multiplier and shift as make the shift 33, where the
    multiplier has room for them in int32: what a multiplier of int16 needs for the high words of products.
    """
    multiplier, shift = multiplier.astype(np.int64), shift.astype(np.int64)
    free = 31 - np.frexp(multiplier.astype(np.float64))[1].astype(np.int64)  # 31 less its bits
    more = np.clip(WORD + 1 - shift, 0, free)
    return multiplier << more, shift + more


def parameters(epilogue: Epilogue | None, bias: Array, channels: int, pitch: int, bound: int = 1 << 31) -> Parameters:
    """For `channels` padded to `pitch`; `bound` is the largest magnitude of an accumulator with its bias.

    A bias beyond int32 is a part of the rounding term, scaled: the caller has proved that the sums without it fit.
    """
    e = epilogue or IDENTITY
    e32, e64 = aligned(5 * pitch, np.int32), aligned(2 * pitch, np.int64)
    rows32, rows64 = e32.reshape(5, pitch), e64.reshape(2, pitch)
    multiplier, shift = in_more_bits(e.multiplier, e.shift)
    apart = bias.dtype == np.int64
    spare = SPARE if e.double_round else 0
    large = not apart and (not spare or bound << spare < 1 << 31)
    large = large and all(
        s >= WORD + (not spare) and room(s - WORD + spare, e.output_zp)
        for s in {*(e.shift if spare else shift).tolist()}  # np.unique would import numpy.ma, 20 ms
    )
    high_words = large and not e.double_round
    if not high_words:
        multiplier, shift = e.multiplier.astype(np.int64), e.shift
    rows32[0, :channels] = 0 if apart else bias
    rows32[1, :channels] = multiplier
    kinds, which = np.unique(shift, return_inverse=True)  # few of many channels
    words = np.array([scale_in_words(1, int(s)) for s in kinds], np.int64)[which.reshape(-1)]
    rows32[2, :channels], rows32[3, :channels] = words[:, 2], words[:, 1]
    if large:
        right = words[:, 2] + spare
        rows32[4, :channels] = (1 << right >> 1) + (e.output_zp << right) + (spare > 0)
    rows64[0, :channels] = words[:, 0]
    if apart:
        rows64[0, :channels] += bias * multiplier
    if e.double_round:
        rows64[1, :channels] = np.where(e.shift > 31, UNIT_ROUND, 0)
    saturates = (e.low, e.high) == (I8_MIN, I8_MAX)
    limits = np.array([e.output_zp, e.low, e.high, high_words, saturates, large and e.double_round], np.int64)
    return Parameters(e32, e64, limits)


def form_of(epilogue: Epilogue | None, parameters: Parameters) -> int:
    """Which of FORMS the parameters of an epilogue are for; without one, tiles leave the scaling to others."""
    limits = parameters.limits
    if epilogue is None or limits[HIGH_WORDS]:
        return FORMS.index(HIGH_WORD)
    return FORMS.index(ROUNDED if limits[DOUBLES] else ANY)
