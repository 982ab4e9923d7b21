"""REDUCE_SUM between RESCALEs, as layer normalisation, softmax and means have it: sums of bytes, scaled.

The RESCALE in front widens int8 or int16 and takes a zero point away, with a scale of exactly 1; the one behind has one
scale for all channels, and a CLAMP may follow. The axis is the last one longer than 1. The caller has proved every
REQUIRE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import types
from ..forms import Form
from ..scale.behind import SCALED, one_scale_behind
from ..scale.rescale import rescale_numbers, zero_points
from .prepare import rescaled_sum

if TYPE_CHECKING:
    from ...spec.table import Call
    from ..forms import Match
    from ..work import Work

LONGEST = 1 << 23  # bytes whose sum fits int32 before the zero point is taken away


def between_scales(match: Match) -> Work | None:
    """The work of a REDUCE_SUM with the RESCALEs around it."""
    call, (first,), behind = match.call, match.before[0], one_scale_behind(match)
    alone = types.count(call.shape1[call.axis + 1 :]) == 1 and call.shape1[call.axis] <= LONGEST
    if behind is None or not (alone and takes_zero_away(first)):
        return None
    return rescaled_sum(call, zero_points(first)[0], *behind)


def takes_zero_away(call: Call) -> bool:
    """Whether a RESCALE makes int32 of int8 or int16, less their zero point and nothing else.

    (x * 2^shift + 2^(shift - 1)) >> shift is x; DOUBLE_ROUND changes nothing where the shift is 31 at most.
    """
    wide = call.in_t in (types.i8, types.i16) and call.out_t is types.i32 and zero_points(call)[1] == 0
    if not wide or call.per_channel or call.input_unsigned:
        return False
    multiplier, shift, _ = rescale_numbers(call)
    return int(multiplier[0]) == 1 << int(shift[0])


FORMS = {("REDUCE_SUM", "i32_acci32"): (Form(between_scales, before=(("RESCALE",),), behind=SCALED),)}
