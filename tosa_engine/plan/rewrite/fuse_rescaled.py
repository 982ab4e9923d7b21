"""ADD, SUB or MUL of int32 between RESCALEs, all from and to int8, or int16: one step.

TensorFlow's conversion of LiteRT multiplies an input by a power of two before it scales it: by a RESCALE, or of int16
by CAST and LOGICAL_LEFT_SHIFT. These are a part of the step, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ... import types
from ...kernels.scale.fused import rescaled_binary
from ...kernels.type_conversion import rescale_numbers, zero_points
from ..steps import Step

if TYPE_CHECKING:
    from ...spec.table import Call
    from .fuse import Fusion

    Scale = tuple[int, int, int]  # multiplier, shift, and what DOUBLE_ROUND adds

ARGUMENTS = ("input1", "input2")
IDENTITY = (4, 2, 0)  # (4 * value + 2) >> 2


@dataclass(frozen=True)
class Side:
    """An input of an operator between RESCALEs: who scales it, the tensor that is read, its scale and zero point."""

    calls: tuple[Call, ...]
    tensor: str
    scale: Scale
    zero: int


def between_scales(fusion: Fusion, call: Call) -> Step | None:
    """The step of the operator, where no REQUIRE of it can fail; one input may be a constant of int32."""
    if not _of_int32(call):
        return None
    names = zip(call.operator.inputs[:2], ARGUMENTS, strict=True)
    sides = [side(fusion, call, name, argument) for name, argument in names]
    last = fusion.next(call.operator.outputs[0], "RESCALE")
    if last is None or last.per_channel or last.output_unsigned or last.out_t not in (types.i8, types.i16):
        return None
    found = [side for side in sides if side is not None]
    if len(found) != len(sides) or {side.calls[0].in_t for side in found if side.calls} != {last.out_t}:
        return None
    if not (fusion.analysis.proved(call) and fusion.proved_rescale(last)):
        return None
    after, behind = fusion.finish(last)
    scales = [*(side.scale for side in found), scale_of(last)]
    zeros = [*(side.zero for side in found), after.output_zp]
    in_t = last.out_t if all(side.calls for side in found) else None
    work = rescaled_binary(call, scales, zeros, (after.low, after.high), in_t)
    before = {id(one): one for side in found for one in side.calls}
    inputs = tuple(side.tensor for side in found)
    return Step((*before.values(), call, *behind), inputs, (behind[-1].operator.outputs[0],), work)


def side(fusion: Fusion, call: Call, name: str, argument: str) -> Side | None:
    """An input of `call` that a RESCALE makes of int8 or int16, or of their multiple; or a constant of int32."""
    if call.constant(argument) is not None:
        return Side((), name, IDENTITY, 0) if call.tensor(argument).dtype is types.i32 else None
    last = fusion.before(name, "RESCALE")
    if last is None or not fusion.analysis.proved(last):
        return None
    source = last.operator.inputs[0]
    if _widens(last):
        return Side((last,), source, scale_of(last), zero_points(last)[0])
    first = (multiplied(fusion, source) or shifted(fusion, source)) if _of_numbers(last) else None
    scale = None if first is None else scaled_before(scale_of(last), first.scale)
    if first is None or scale is None:
        return None
    return Side((*first.calls, last), first.tensor, scale, first.zero)


def multiplied(fusion: Fusion, name: str) -> Side | None:
    """int8 or int16 times a number, by a RESCALE."""
    first = fusion.before(name, "RESCALE")
    if first is None or not (_widens(first) and fusion.analysis.proved(first)):
        return None
    return Side((first,), first.operator.inputs[0], scale_of(first), zero_points(first)[0])


def shifted(fusion: Fusion, name: str) -> Side | None:
    """int8 or int16 times a power of two that leaves it in int32, by CAST and LOGICAL_LEFT_SHIFT."""
    shift = fusion.before(name, "LOGICAL_LEFT_SHIFT")
    amount = None if shift is None else shift.constant("input2")
    cast = None if shift is None else fusion.before(shift.operator.inputs[0], "CAST")
    if shift is None or cast is None or amount is None or amount.size != 1 or not fusion.analysis.proved(shift):
        return None
    power = int(amount.reshape(-1)[0])
    if cast.in_t not in (types.i8, types.i16) or cast.out_t is not types.i32 or power + cast.in_t.bits > types.i32.bits:
        return None
    return Side((cast, shift), cast.operator.inputs[0], (1 << power, 0, 0), 0)


def scaled_before(scale: Scale, first: Scale) -> Scale | None:
    """The scale of a value that another scale has multiplied by a power of two before, without rounding.

    ((x << k) * multiplier + r) >> shift is (x * multiplier + (r >> k)) >> (shift - k), where 2^k divides r, which is
    2^(shift-1) and, with DOUBLE_ROUND, 2^30 more or less.
    """
    power = first[0].bit_length() - 1 - first[1]
    multiplier, shift, double = scale
    if first[0].bit_count() != 1 or not 0 <= power <= min(30, shift - 2):
        return None
    return multiplier, shift - power, double >> power


def scale_of(rescale: Call) -> Scale:
    """The scale of a RESCALE by one."""
    multiplier, shift, double = rescale_numbers(rescale)
    return int(multiplier[0]), int(shift[0]), int(double[0])


def _of_int32(call: Call) -> bool:
    """Whether an ADD, SUB or MUL is of int32, without a shift."""
    if call.spec.name == "MUL":
        return call.in_t is types.i32 and call.constant("shift") is not None and call["shift"] == 0
    return call.in_out_t is types.i32


def _of_numbers(call: Call) -> bool:
    """Whether a RESCALE is one of int32 to int32 by one scale, without zero points."""
    numbers = call.in_t is types.i32 and call.out_t is types.i32 and zero_points(call) == (0, 0)
    return numbers and not (call.per_channel or call.input_unsigned or call.output_unsigned)


def _widens(call: Call) -> bool:
    """Whether a RESCALE is one from int8 or int16 to int32, the same for all channels."""
    wide = call.in_t in (types.i8, types.i16) and call.out_t is types.i32 and zero_points(call)[1] == 0
    return wide and not call.per_channel and not call.input_unsigned
