"""REDUCE_SUM between RESCALEs, as layer normalisation, softmax and means have it: sums of bytes, scaled.

The RESCALE in front widens int8 or int16 and takes a zero point away, with a scale of exactly 1; the one behind has one
scale for all channels, and a CLAMP may follow. No REQUIRE of them can fail, and the axis is the last one longer than 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import types
from ...kernels.reductions.prepare import rescaled_sum
from ...kernels.type_conversion import rescale_numbers, zero_points
from ..steps import Step

if TYPE_CHECKING:
    from ...spec.table import Call
    from .fuse import Fusion


LONGEST = 1 << 23  # bytes whose sum fits int32 before the zero point is taken away


def fused_sum(fusion: Fusion, call: Call) -> Step | None:
    """The step of a REDUCE_SUM with the RESCALEs around it."""
    first = fusion.before(call.operator.inputs[0], "RESCALE")
    last = fusion.next(call.operator.outputs[0], "RESCALE")
    size = call.shape1[call.axis]
    if first is None or last is None or size > LONGEST or types.count(call.shape1[call.axis + 1 :]) != 1:
        return None
    plain = not (last.per_channel or last.output_unsigned) and last.out_t in (types.i8, types.i16, types.i32)
    if not (plain and _takes_zero_away(first)):
        return None
    if not (fusion.analysis.proved(first) and fusion.analysis.proved(call) and fusion.proved_rescale(last)):
        return None
    after, behind = fusion.finish(last)
    multiplier, shift, double = (int(values[0]) for values in rescale_numbers(last))
    work = rescaled_sum(
        call, zero_points(first)[0], (multiplier, shift, double), after.output_zp, (after.low, after.high)
    )
    return Step((first, call, *behind), (first.operator.inputs[0],), (behind[-1].operator.outputs[0],), work)


def _takes_zero_away(call: Call) -> bool:
    """Whether a RESCALE makes int32 of int8 or int16, less their zero point and nothing else.

    (x * 2^shift + 2^(shift - 1)) >> shift is x; DOUBLE_ROUND changes nothing where the shift is 31 at most.
    """
    wide = call.in_t in (types.i8, types.i16) and call.out_t is types.i32 and zero_points(call)[1] == 0
    if not wide or call.per_channel or call.input_unsigned:
        return False
    multiplier, shift, _ = rescale_numbers(call)
    return int(multiplier[0]) == 1 << int(shift[0])
