"""Data that tell implementations apart: ties of both signs, saturation, wrapping, both ends of accumulators.

An aim changes the plan of an operator (`cases.plans`): its constants, its attributes, or the values of its inputs.
`AIMS` lists those of an operator in the order in which tests take them; `FLAVOURS` are the aims of every operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...numerics.float_formats import round_to
from ...types import i8, i16, i32
from ..cases.values import corners, dtype_of, values

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...spec import OpSpec, Row
    from ...types import Array, DType
    from ..cases.values import Plan

    Aim = Callable[[Plan, OpSpec, Row, np.random.Generator], None]


def flavour(name: str) -> Aim:
    """Every input that the plan leaves open has values of one kind."""

    def aim(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
        for argument in spec.inputs:
            if argument.name in plan.shapes and argument.name not in plan.values and not argument.is_list:
                shape, dtype = plan.shapes[argument.name], dtype_of(argument.type, row)
                plan.values[argument.name] = values(rng, name, dtype, shape)

    return aim


def wrapped(value: Array, dtype: DType) -> Array:
    """The low bits, as the format stores them."""
    return np.asarray(value, np.int64).astype(dtype.storage)


# RESCALE


def _unit(plan: Plan) -> int:
    """The exponent of the multiplier that stands for a half of its format."""
    return 30 if plan.attributes["scale32"] else 14


def _scale(plan: Plan, multipliers: list[int], shifts: list[int]) -> None:
    plan.constants["multiplier"] = (plan.constants["multiplier"][0], multipliers)
    plan.constants["shift"] = (i8, shifts)


def _channels(plan: Plan) -> int:
    return len(plan.constants["multiplier"][1])


def _stored(plan: Plan, row: Row, value: Array, room: int) -> Array:
    """The input for values that are then scaled: with the zero point, within the format and `room`."""
    dtype = row.types["in_t"]
    zero = int(np.asarray(plan.constants["input_zp"][1]).reshape(-1)[0])
    low, high = dtype.minimum, dtype.maximum
    if plan.attributes["input_unsigned"]:
        low, high, zero = 0, (1 << dtype.bits) - 1, zero & ((1 << dtype.bits) - 1)
    within = np.clip(value.astype(np.int64), -room, room - 1)
    return wrapped(np.clip(within + zero, low, high), dtype)


def _room(plan: Plan, shift: int, unit: int) -> int:
    """Values of less than this magnitude violate no REQUIRE."""
    return 1 << min(shift - 1, 61) if plan.attributes["scale32"] else 1 << min(31 + shift - unit - 1, 46)


def rescale_ties(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Results halfway between two integers, of both signs; with DOUBLE_ROUND they differ from single rounding."""
    unit, step = _unit(plan), int(rng.integers(1, 4))
    shift = unit + 1 + step
    _scale(plan, [1 << unit] * _channels(plan), [shift] * _channels(plan))
    odd = rng.integers(-40, 40, plan.shapes["input"]) * 2 + 1
    plan.values["input"] = _stored(plan, row, odd << step, _room(plan, shift, unit))


def rescale_near_ties(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Products just above and below a tie: nearer than 2^30 steps, where DOUBLE_ROUND differs."""
    unit = _unit(plan)
    shift = unit + 1 + int(rng.integers(1, 8))
    near = [(1 << unit) + int(d) for d in rng.integers(0, 4, _channels(plan))]
    _scale(plan, near, [shift] * _channels(plan))
    tie = (rng.integers(-300, 300, plan.shapes["input"]) * 2 + 1) << (shift - unit - 1)
    value = tie + rng.integers(-1, 2, plan.shapes["input"])
    plan.values["input"] = _stored(plan, row, value, _room(plan, shift, unit))


def rescale_saturation(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Results around both ends of the output, and beyond them: clipped, not wrapped."""
    unit, out_t = _unit(plan), row.types["out_t"]
    shift = unit - (1 if out_t.bits >= row.types["in_t"].bits else 0)
    _scale(plan, [1 << unit] * _channels(plan), [shift] * _channels(plan))
    shape = plan.shapes["input"]
    edge = rng.choice([out_t.minimum, out_t.maximum, (1 << out_t.bits) - 1, 0], shape)
    value = (edge + rng.integers(-3, 4, shape) * rng.choice([1, 1, 40], shape)) >> (unit - shift)
    most = min(_room(plan, shift, unit), (1 << (30 - (unit - shift))) - (1 << 17))
    plan.values["input"] = _stored(plan, row, value, most)


def rescale_channels(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Another multiplier and shift for each channel, and values so large that a step of the multiplier shows."""
    unit, in_t = _unit(plan), row.types["in_t"]
    shape = plan.shapes["input"] or (8,)
    shape = (8, *shape[-1:])
    count = shape[-1]
    shift = unit + 1 if in_t.bits >= 32 else unit + 2
    plan.attributes["per_channel"] = True
    _scale(plan, rng.integers(1 << unit, 2 << unit, count).tolist(), [shift] * count)
    plan.shapes["input"] = shape
    room = min(_room(plan, shift, unit), 1 << (in_t.bits - 1), 1 << 30)
    value = rng.integers(room // 2, room, shape) * rng.choice([-1, 1], shape)
    plan.values["input"] = _stored(plan, row, value, room)


# integers


def _both(plan: Plan, names: tuple[str, str]) -> tuple[int, ...]:
    """Give both operands the shape that they broadcast to."""
    shape = tuple(np.broadcast_shapes(*(plan.shapes[name] for name in names)))
    plan.shapes |= dict.fromkeys(names, shape)
    return shape


def sum_ends(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Sums and differences that are the ends of int32."""
    dtype = row.types["in_out_t"]
    shape = _both(plan, ("input1", "input2"))
    if not dtype.is_int:
        return
    first = rng.integers(dtype.minimum, dtype.maximum, shape, endpoint=True)
    end = np.where(first >= 0, dtype.maximum, dtype.minimum)
    if spec.name == "SUB":
        end = np.where(first >= 0, dtype.maximum, dtype.minimum)
        plan.values |= {"input1": wrapped(first, dtype), "input2": wrapped(first - end, dtype)}
        return
    plan.values |= {"input1": wrapped(first, dtype), "input2": wrapped(end - first, dtype)}


def product_ties(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Products whose rounding is a tie, of both signs."""
    shape = _both(plan, ("input1", "input2"))
    if row.types["in_t"] is not i32:
        return flavour("corners")(plan, spec, row, rng)
    shift = int(rng.integers(1, 32))
    plan.constants["shift"] = (i8, [shift])
    first = (rng.integers(0, 99, shape) * 2 + 1) * rng.choice([-1, 1], shape)
    second = np.full(shape, 1 << (shift - 1)) if shift < 32 else np.ones(shape, np.int64)
    plan.values |= {"input1": wrapped(first, i32), "input2": wrapped(second, i32)}
    return None


def shift_ties(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """A last bit shifted out that rounds up, of both signs; shifts by 0 and by all bits but one."""
    dtype, shape = row.types["in_out_t"], _both(plan, ("input1", "input2"))
    shifts = rng.choice([0, 1, 2, 3, dtype.bits - 2, dtype.bits - 1], shape)
    tie = (rng.integers(-20, 20, shape) * 2 + 1) << np.maximum(np.minimum(shifts, 3) - 1, 0)
    plan.values |= {"input1": wrapped(tie, dtype), "input2": wrapped(shifts, dtype)}
    if spec.name == "ARITHMETIC_RIGHT_SHIFT":
        plan.attributes["round"] = True


def quotients(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Quotients that aren't whole, of all pairs of signs."""
    shape = _both(plan, ("input1", "input2"))
    first = rng.choice([-(1 << 31), -7, -8, -9, -1, 0, 1, 7, 8, 9, (1 << 31) - 1], shape)
    plan.values |= {"input1": wrapped(first, i32), "input2": wrapped(rng.choice([-8, -3, 2, 3, 8], shape), i32)}


def equal_values(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Operands that are equal, or one step apart."""
    dtype, shape = dtype_of(spec.inputs[0].type, row), _both(plan, ("input1", "input2"))
    first = values(rng, "corners", dtype, shape)
    other = first
    if dtype.is_int:
        low, high = dtype.minimum, dtype.maximum
        other = wrapped(np.clip(first.astype(np.int64) + rng.integers(-1, 2, shape), low, high), dtype)
    plan.values |= {"input1": first, "input2": other}


def bounds(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Values at the bounds of CLAMP, and one beyond them."""
    dtype, shape = row.types["in_out_t"], plan.shapes["input"]
    low, high = plan.attributes["min_val"], plan.attributes["max_val"]
    if dtype.is_float:
        near = rng.choice([low, high, 2 * high, 2 * low, 0.0, float("nan")], shape)
        plan.values["input"] = round_to(np.asarray(near), dtype)
        return
    near = rng.choice([low, high], shape) + rng.integers(-1, 2, shape)
    plan.values["input"] = wrapped(np.clip(near, dtype.minimum, dtype.maximum), dtype)


def segments(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Every entry of a table of 256; the start, the middle and the end of every segment of one of 513."""
    if row.types["in_t"] is i8:
        plan.shapes["input1"] = (256,)
        plan.values["input1"] = np.arange(-128, 128, dtype=np.int8)
        return
    starts = np.arange(-256, 256)[:, None] * 128
    plan.shapes["input1"] = (512, 4)
    plan.values["input1"] = (starts + np.array([0, 1, 64, 127])).astype(np.int16)
    table = np.asarray(plan.constants["table"][1], np.int64) // 2
    plan.constants["table"] = (i16, table)


def same_extremes(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """The greatest value several times."""
    argument = spec.inputs[0]
    dtype = dtype_of(argument.type, row)
    found = rng.choice([0, 1, 1], plan.shapes[argument.name])
    plan.values[argument.name] = round_to(found, dtype) if dtype.is_float else found.astype(dtype.storage)


def zero_points(*names: str) -> Aim:
    """Zero points other than 0 where the format has them, and small values: whoever leaves them out differs."""

    def aim(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
        for i, name in enumerate(names):
            dtype = plan.constants[name][0]
            if dtype is i8:
                plan.constants[name] = (dtype, [(7, -5)[i]])
        flavour("small")(plan, spec, row, rng)

    return aim


def halves(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Numbers halfway between integers, around the ends of integer formats, and the ends of the format itself."""
    dtype, shape = row.types["in_t"], plan.shapes["input"]
    if not dtype.is_float:
        return flavour("corners")(plan, spec, row, rng)
    some = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 127.5, 128.0, -128.5, -129.0, 32767.5, -32768.5, 2147483648.0, -0.0]
    plan.values["input"] = round_to(rng.choice(some, shape), dtype)
    return None


def sweep(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """Real numbers of all magnitudes that matter to functions, of both signs."""
    for argument in spec.inputs:
        dtype = dtype_of(argument.type, row)
        if argument.name in plan.shapes and argument.name not in plan.values and dtype.is_float:
            shape: Any = plan.shapes[argument.name]
            some = rng.choice([-1.0, 1.0], shape) * np.exp(rng.uniform(-8, 5, shape))
            plan.values[argument.name] = round_to(np.asarray(some), dtype)


def products_of_ends(plan: Plan, spec: OpSpec, row: Row, rng: np.random.Generator) -> None:
    """The ends of the factors' formats, so that sums are as large as they can be."""
    for argument in spec.inputs:
        dtype = dtype_of(argument.type, row)
        if argument.name in plan.shapes and argument.name not in plan.values and dtype.is_int and dtype.bits <= 16:
            ends = corners(dtype)
            plan.values[argument.name] = np.asarray(rng.choice([ends.min(), ends.max()], plan.shapes[argument.name]))


FLAVOURS: Final = (flavour("mixed"), flavour("corners"), flavour("any"), flavour("small"))
_CONVOLUTION = (zero_points("input_zp", "weight_zp"), products_of_ends)
AIMS: Final[dict[str, tuple[Aim, ...]]] = {
    "RESCALE": (rescale_ties, rescale_saturation, rescale_channels, rescale_near_ties),
    **dict.fromkeys(("ADD", "SUB"), (sum_ends,)),
    "MUL": (product_ties,),
    **dict.fromkeys(("ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT", "LOGICAL_RIGHT_SHIFT"), (shift_ties,)),
    "INTDIV": (quotients,),
    **dict.fromkeys(("EQUAL", "GREATER", "GREATER_EQUAL", "MAXIMUM", "MINIMUM"), (equal_values,)),
    "CLAMP": (bounds,),
    "TABLE": (segments,),
    **dict.fromkeys(("ARGMAX", "REDUCE_MAX", "REDUCE_MIN"), (same_extremes,)),
    "AVG_POOL2D": (zero_points("input_zp", "output_zp"),),
    "MATMUL": (zero_points("A_zp", "B_zp"), products_of_ends),
    "NEGATE": (zero_points("input1_zp", "output_zp"),),
    "CAST": (halves,),
    **dict.fromkeys(("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"), _CONVOLUTION),
    **dict.fromkeys(("ERF", "SIGMOID", "TANH", "COS", "SIN", "EXP", "LOG", "RECIPROCAL", "RSQRT", "CEIL"), (sweep,)),
    **dict.fromkeys(("FLOOR", "POW"), (sweep,)),
}
