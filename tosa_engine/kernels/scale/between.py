"""ADD, SUB or MUL of int32 between RESCALEs, all from and to int8, or int16: one step.

TensorFlow's conversion of LiteRT multiplies an input by a power of two before it scales it: by a RESCALE, or of int16
by CAST and LOGICAL_LEFT_SHIFT. These are a part of the step, too. The caller has proved every REQUIRE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import types
from .._jit.variants import variant
from ..elementwise.prepare import collapse
from ..forms import Form
from ..work import Loop, Work, blocks, flat
from .behind import SCALED, one_scale_behind
from .numbers import HIGH_WORD, OUT_ROUND, SPLIT, scale_numbers, split_numbers, whole
from .rescale import scale_of, zero_points
from .weighted import weighted_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array, DType
    from ..forms import Chain, Match
    from ..work import Run
    from .numbers import Scale

ARGUMENTS = ("input1", "input2")
NARROW = (types.i8, types.i16)
IDENTITY = (4, 2, 0)  # (4 * value + 2) >> 2


@dataclass(frozen=True)
class Side:
    """An input of an operator between RESCALEs: its type, which is None for a constant of int32, its scale and its zero
    point.
    """

    dtype: DType | None
    scale: Scale
    zero: int


def between_scales(match: Match) -> Work | None:
    """The work of an operator with the RESCALEs around it; one input may be a constant of int32."""
    call, behind = match.call, one_scale_behind(match)
    if call.spec.name == "MUL" and call["shift"] != 0:
        return None
    sides = [side(call, *one) for one in zip(ARGUMENTS, match.before, strict=False)]
    if behind is None or None in sides:
        return None
    found = [one for one in sides if one is not None]
    out_t = match.behind[0][0].out_t
    if out_t not in NARROW or {one.dtype for one in found if one.dtype is not None} != {out_t}:
        return None
    scale, zero, bounds = behind
    in_t = None if any(one.dtype is None for one in found) else out_t
    scales, zeros = [*(one.scale for one in found), scale], [*(one.zero for one in found), zero]
    weighted = weighted_sum(call, scales, zeros, bounds) if in_t is types.i8 else None
    return weighted or rescaled_binary(call, scales, zeros, bounds, in_t)


def side(call: Call, argument: str, chain: Chain) -> Side | None:
    """An input that a RESCALE makes of int8 or int16, or of their multiple; or a constant of int32."""
    if not chain:
        tensor = call.tensor(argument)
        return Side(None, IDENTITY, 0) if tensor.data is not None and tensor.dtype is types.i32 else None
    *first, last = chain
    if not first:
        return Side(last.in_t, scale_of(last), zero_points(last)[0]) if _widens(last) else None
    if not _of_numbers(last):
        return None
    before = _multiplied(first[0]) if len(first) == 1 else _shifted(*first)
    scale = None if before is None else scaled_before(scale_of(last), before.scale)
    return None if before is None or scale is None else Side(before.dtype, scale, before.zero)


def _multiplied(first: Call) -> Side | None:
    """int8 or int16 times a number, by a RESCALE."""
    return Side(first.in_t, scale_of(first), zero_points(first)[0]) if _widens(first) else None


def _shifted(cast: Call, shift: Call) -> Side | None:
    """int8 or int16 times a power of two that leaves it in int32, by CAST and LOGICAL_LEFT_SHIFT."""
    amount = shift.constant("input2")
    if amount is None or amount.size != 1 or cast.in_t not in NARROW or cast.out_t is not types.i32:
        return None
    power = int(amount.reshape(-1)[0])
    return None if power + cast.in_t.bits > types.i32.bits else Side(cast.in_t, (1 << power, 0, 0), 0)


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


def _of_numbers(call: Call) -> bool:
    """Whether a RESCALE is one of int32 to int32 by one scale, without zero points."""
    numbers = call.in_t is types.i32 and call.out_t is types.i32 and zero_points(call) == (0, 0)
    return numbers and not (call.per_channel or call.input_unsigned or call.output_unsigned)


def _widens(call: Call) -> bool:
    """Whether a RESCALE is one from int8 or int16 to int32, the same for all channels."""
    wide = call.in_t in NARROW and call.out_t is types.i32 and zero_points(call)[1] == 0
    return wide and not call.per_channel and not call.input_unsigned


def weighted_sum(call: Call, scales: Sequence[Scale], zeros: Sequence[int], bounds: tuple[int, int]) -> Work | None:
    """ADD or SUB of bytes as one weighted sum, where there is one that gives the same."""
    from . import weighted_loops

    dims, first, second = (np.array(v, np.int64) for v in collapse(call.shape_of("output"), call.shape1, call.shape2))
    if call.spec.name == "MUL" or not (first[-1] and second[-1]):
        return None
    x, y, result = scales
    found = weighted_numbers(
        (x, y, result), (zeros[0], zeros[1], zeros[2]), -1 if call.spec.name == "SUB" else 1, bounds
    )
    if found is None:
        return None
    p = np.array(found, np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        a, b = (flat(one) for one in inputs)
        return Loop(weighted_loops.weighted, variant(), a, b, dims, first, second, p, outputs[0].reshape(-1))

    count = types.count(call.shape_of("output"))
    return Work(blocks(count), 0.1 * count, bind, overwritable=overwritable(call))


def overwritable(call: Call) -> tuple[int, ...]:
    return tuple(i for i, shape in enumerate((call.shape1, call.shape2)) if shape == call.shape_of("output"))


def rescaled_binary(
    call: Call, scales: Sequence[Scale], zeros: Sequence[int], bounds: tuple[int, int], in_t: DType | None = None
) -> Work:
    """ADD, SUB or MUL (without a shift) of two tensors that are scaled to int32, the result scaled again.

    `scales` and `zeros` are those of both inputs and of the output; `bounds` those of the result. `in_t` is the type of
    both inputs, None where one is a constant of int32.
    """
    from . import loops as scale_loops

    dims, first, second = (np.array(v, np.int64) for v in collapse(call.shape_of("output"), call.shape1, call.shape2))
    # the first input repeats along the last axis: the second takes its place; as does one that is easier to scale
    swapped = first[-1] == 0 or bool(call.spec.name == "ADD" and second[-1] and whole(scales[1]))
    order = [1, 0] if swapped else [0, 1]
    zeros_in = [*(zeros[i] for i in order), 0]
    numbers = [scale_numbers(*s, z) for s, z in zip([*(scales[i] for i in order), scales[2]], zeros_in, strict=True)]
    minus, product = call.spec.name == "SUB", call.spec.name == "MUL"
    signs = [-1 if minus and swapped else 1, -1 if minus and not swapped else 1]
    simple = bool(numbers[2][HIGH_WORD]) and not any(double for _, _, double in scales)
    parts = [0] * (OUT_ROUND + 1 - SPLIT)
    if in_t is not None:
        span = max(max(in_t.maximum - z, z - in_t.minimum) for z in zeros_in[:2])
        ordered, zeros_of = [*(scales[i] for i in order), scales[2]], [*zeros_in[:2], zeros[2]]
        parts = split_numbers(ordered, zeros_of, signs, span, product=product, high_word=simple)
    p = np.array([*numbers[0], *numbers[1], *numbers[2], zeros[2], *bounds, *signs, product, *parts], np.int64)
    loop = scale_loops.rescaled if simple else scale_loops.rescaled_by_any_scale
    strides = [(first, second)[i] for i in order]
    count = types.count(call.shape_of("output"))

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        a, b = (flat(inputs[i]) for i in order)
        return Loop(loop, variant(), a, b, dims, *strides, p, outputs[0].reshape(-1))

    return Work(blocks(count), 0.5 * count, bind, overwritable=overwritable(call))


SCALING = (("RESCALE",), ("RESCALE", "RESCALE"), ("CAST", "LOGICAL_LEFT_SHIFT", "RESCALE"), ())
FORM = Form(between_scales, before=SCALING, behind=SCALED)
FORMS = dict.fromkeys((("ADD", "i32"), ("SUB", "i32"), ("MUL", "i32_i32")), (FORM,))
