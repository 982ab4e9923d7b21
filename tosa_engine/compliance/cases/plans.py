"""One plan per family of operators: how shapes, attributes and constants of a use belong together.

Everything else of a case comes from the op table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...numerics.float_formats import FORMATS, round_to
from ...types import i8, i16, i32, i48
from . import choices
from .layout_plans import concat, gather, pad, reshape, resize, scatter, slice_, tile, transpose
from .values import Plan, draw_channels, draw_shape, draw_values, dtype_of, integers, rarely, window, zero_point

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...spec import OpSpec, Row
    from ...types import Array, DType, Shape
    from .values import Draw

ZERO_POINTS = {"input": "in_t", "weight": "weight_t"}


def unary(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    plan = Plan({spec.inputs[0].name: draw_shape(draw)} if spec.inputs else {})
    for argument in spec.inputs[1:]:  # NEGATE
        plan.constants[argument.name] = zero_point(draw, dtype_of(argument.type, row))
    return plan


def clamp(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    dtype = row.types["in_out_t"]
    drawn = draw_values(draw, dtype, (2,))
    if dtype.is_float:
        most = FORMATS[dtype].largest
        drawn = np.nan_to_num(drawn.astype(np.float64), posinf=most, neginf=-most)
    ends = np.sort(drawn).tolist()
    attributes = {"min_val": ends[0], "max_val": ends[1], "nan_mode": nan_mode(draw)}
    return Plan({"input": draw_shape(draw)}, {}, attributes)


def nan_mode(draw: Draw) -> str:
    return str(draw(choices.sampled_from(["PROPAGATE", "IGNORE"])))


def binary(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw)
    sides = [tuple(draw(choices.sampled_from([n, n, 1])) for n in shape) for _ in range(2)]
    plan = Plan(dict(zip(("input1", "input2"), sides, strict=True)))
    if any(a.name == "nan_mode" for a in spec.attributes):
        plan.attributes["nan_mode"] = nan_mode(draw)
    if "SHIFT" in spec.name:
        plan.values["input2"] = _shifts(draw, row.types["in_out_t"], sides[1])
    if spec.name == "ARITHMETIC_RIGHT_SHIFT":
        plan.attributes["round"] = draw(choices.booleans())
    if spec.name == "INTDIV":
        plan.values["input2"] = _divisors(draw, sides[1])
    if spec.name == "POW":
        plan.values |= _powers(draw, row.types["in_out_t"], *sides)
    if spec.name == "MUL":
        legal = [0, 0, 1, 2, 15, 30, 31, 32, 33, 62, 63] if row.types["in_t"] is i32 else [0]
        plan.constants["shift"] = (i8, [draw(choices.sampled_from([-1, 1, 64] if rarely(draw) else legal))])
    return plan


def _powers(draw: Draw, dtype: DType, *sides: Shape) -> dict[str, Array]:
    """Bases and exponents that POW is defined for; once in a while others."""
    base, exponent = (draw_values(draw, dtype, shape) for shape in sides)
    if not rarely(draw):
        wide = np.nan_to_num(np.abs(base.astype(np.float64)), nan=3.0, posinf=1.0)
        base = round_to(np.where(wide == 0, 2.0, wide), dtype)
        exponent = round_to(np.nan_to_num(exponent.astype(np.float64), posinf=2.0, neginf=0.5), dtype)
    return {"input1": base, "input2": exponent}


def _shifts(draw: Draw, dtype: DType, shape: Shape) -> Array:
    shifts = integers(draw, 0, dtype.bits - 1, shape).astype(dtype.storage)
    if rarely(draw):
        shifts.flat[-1] = draw(choices.sampled_from([-1, dtype.bits, dtype.minimum, dtype.maximum]))
    return shifts


def _divisors(draw: Draw, shape: Shape) -> Array:
    """Without 0 and, as the dividend may be the least int32, without -1; once in a while with one of them."""
    divisors = draw_values(draw, i32, shape)
    divisors[(divisors == 0) | (divisors == -1)] = draw(choices.sampled_from([1, -2, 3, -128]))
    if rarely(draw):
        divisors.flat[-1] = draw(choices.sampled_from([0, -1]))
    return divisors


def select(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw)
    sides = [tuple(draw(choices.sampled_from([n, n, 1])) for n in shape) for _ in range(3)]
    return Plan(dict(zip(("input1", "input2", "input3"), sides, strict=True)))


def table(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    dtype, size = row.types["table_t"], row.letters["TABLE_SIZE"]
    entries = draw_values(draw, dtype, (size,), ("any", "mixed"))
    if dtype is i16 and draw(choices.integers(0, 3)) > 0:  # neighbours whose difference is an int16
        entries = entries // 2
    return Plan({"input1": draw_shape(draw)}, {"table": (dtype, entries)})


def convolution(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    axes, most = (3, 2) if spec.name == "CONV3D" else (2, 3)
    kernel, stride, dilation = (tuple(draw(choices.integers(1, most)) for _ in range(axes)) for _ in range(3))
    windows = [window(draw, *sizes, 4) for sizes in zip(kernel, stride, dilation, strict=True)]
    N, IC, OC = draw(choices.integers(1, 2)), draw_channels(draw), draw_channels(draw)
    weight: Shape = (OC, *kernel, IC)
    if spec.name == "DEPTHWISE_CONV2D":
        M = draw(choices.integers(1, 3))
        weight, OC = (*kernel, IC, M), IC * M
    plan = _convolution(draw, row, (N, *(size for size, _, _ in windows), IC), weight, OC)
    plan.attributes["pad"] = tuple(side for _, before, after in windows for side in (before, after))
    plan.attributes |= {"stride": stride, "dilation": dilation}
    return plan


def transpose_convolution(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    out_pad: list[int] = []
    kernel, stride = ((draw(choices.integers(1, 4)), draw(choices.integers(1, 3))) for _ in range(2))
    sizes = (draw(choices.integers(1, 4)), draw(choices.integers(1, 4)))
    for size, k, s in zip(sizes, kernel, stride, strict=True):
        before = draw(choices.integers(1 - k, 2))
        least = max(1 - k, 1 - (size - 1) * s - k - before)  # one output or more
        out_pad += [before, draw(choices.integers(least, max(least, 2)))]
    N, IC, OC = draw(choices.integers(1, 2)), draw_channels(draw), draw_channels(draw)
    plan = _convolution(draw, row, (N, *sizes, IC), (OC, *kernel, IC), OC)
    plan.attributes |= {"out_pad": tuple(out_pad), "stride": stride}
    return plan


def _convolution(draw: Draw, row: Row, input: Shape, weight: Shape, OC: int) -> Plan:
    zero_points = {f"{name}_zp": zero_point(draw, row.types[type_]) for name, type_ in ZERO_POINTS.items()}
    shapes = {"input": input, "weight": weight, "bias": (draw(choices.sampled_from([OC, 1])),)}
    return Plan(shapes, zero_points, {"acc_type": row.types["acc_t"], "local_bound": draw(choices.booleans())})


def pool(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    kernel = (draw(choices.integers(1, 4)), draw(choices.integers(1, 4)))
    stride = (draw(choices.integers(1, 3)), draw(choices.integers(1, 3)))
    IH, top, bottom = window(draw, kernel[0], stride[0], 1, kernel[0] - 1)
    IW, left, right = window(draw, kernel[1], stride[1], 1, kernel[1] - 1)
    plan = Plan({"input": (draw(choices.integers(1, 2)), IH, IW, draw_channels(draw))})
    plan.attributes = {"kernel": kernel, "stride": stride, "pad": (top, bottom, left, right)}
    if spec.name == "AVG_POOL2D":
        plan.attributes["acc_type"] = row.types["acc_t"]
        plan.constants = {name: zero_point(draw, row.types["in_out_t"]) for name in ("input_zp", "output_zp")}
    else:
        plan.attributes["nan_mode"] = nan_mode(draw)
    return plan


def matmul(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    N, H, C, W = draw(choices.integers(1, 3)), draw_channels(draw), draw_channels(draw), draw_channels(draw)
    zero_points = {name: zero_point(draw, row.types["in_t"]) for name in ("A_zp", "B_zp")}
    return Plan({"A": (N, H, C), "B": (N, C, W)}, zero_points)


def transform(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = (draw(choices.integers(1, 3)), *(draw(choices.sampled_from([1, 2, 4, 8, 16])) for _ in range(2)))
    inverse = {"inverse": draw(choices.booleans())} if spec.name == "FFT2D" else {}
    return Plan({a.name: shape for a in spec.inputs}, {}, {**inverse, "local_bound": draw(choices.booleans())})


def along_axis(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    plan = Plan({spec.inputs[0].name: shape}, {}, {"axis": draw(choices.integers(0, len(shape) - 1))})
    if any(a.name == "nan_mode" for a in spec.attributes):
        plan.attributes["nan_mode"] = nan_mode(draw)
    return plan


def rescale(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    in_t, out_t, shape = row.types["in_t"], row.types["out_t"], draw_shape(draw)
    signs = [(False, False)]
    if in_t in (i8, i16) and out_t is not i32:
        signs += [(True, False), (False, True)]
    input_unsigned, output_unsigned = draw(choices.sampled_from(signs))
    scale32 = in_t is not i48 and draw(choices.booleans())
    modes = ["SINGLE_ROUND", "DOUBLE_ROUND", "INEXACT_ROUND"] if scale32 else ["SINGLE_ROUND", "INEXACT_ROUND"]
    per_channel = bool(shape) and draw(choices.booleans())
    count = shape[-1] if per_channel else 1
    shifts, multipliers = _scales(draw, in_t, count, scale32)
    return Plan(
        {"input": shape},
        {
            "multiplier": (i32 if scale32 else i16, multipliers),
            "shift": (i8, shifts),
            "input_zp": _rescale_zero_point(draw, in_t, input_unsigned),
            "output_zp": _rescale_zero_point(draw, out_t, output_unsigned),
        },
        {
            "scale32": scale32, "rounding_mode": draw(choices.sampled_from(modes)), "per_channel": per_channel,
            "input_unsigned": input_unsigned, "output_unsigned": output_unsigned,
        },
    )  # fmt: skip


def _rescale_zero_point(draw: Draw, dtype: DType, unsigned: bool) -> tuple[DType, list[int]]:
    if dtype is i16 and unsigned:
        return dtype, [draw(choices.sampled_from([0, -32768]))]  # the bits of 32768
    return zero_point(draw, dtype)


def _scales(draw: Draw, in_t: DType, count: int, scale32: bool) -> tuple[list[int], list[int]]:
    """Shifts and multipliers, mostly legal: REQUIREs bound the shift, for scale32 the value, otherwise the result."""
    enough = min(in_t.bits + 2, 33) if scale32 else max(2, in_t.bits - 15)
    top = (1 << 31) - 1 if scale32 else (1 << 15) - 1
    usual, ends = choices.integers(enough, 62), choices.sampled_from([2, 3, 30, 31, 32, 33, 61, 62])
    shift = draw(choices.sampled_from([usual, usual, usual, ends]))
    normal = choices.integers(top // 2 + 1, top)
    multiplier = choices.one_of(
        normal, normal, choices.sampled_from([0, 1, top // 2 + 1, top]), choices.integers(0, top)
    )
    shifts, multipliers = [draw(shift) for _ in range(count)], [draw(multiplier) for _ in range(count)]
    if rarely(draw):
        shifts[-1] = draw(choices.sampled_from([-1, 0, 1, 63]))
    if rarely(draw):
        multipliers[-1] = draw(choices.sampled_from([-1, -top - 1]))
    return shifts, multipliers


PLANS: dict[str, Callable[[Draw, OpSpec, Row], Plan]] = {
    **dict.fromkeys(("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "INTDIV", "EQUAL", "GREATER", "GREATER_EQUAL"), binary),
    **dict.fromkeys(("ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT", "LOGICAL_RIGHT_SHIFT"), binary),
    **dict.fromkeys(("BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR"), binary),
    **dict.fromkeys(("CONV2D", "CONV3D", "DEPTHWISE_CONV2D"), convolution),
    **dict.fromkeys(("REDUCE_ALL", "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM"), along_axis),
    "TRANSPOSE_CONV2D": transpose_convolution, "MATMUL": matmul, "MAX_POOL2D": pool, "AVG_POOL2D": pool,
    "REDUCE_PRODUCT": along_axis, "POW": binary,
    "SELECT": select, "TABLE": table, "CLAMP": clamp, "RESCALE": rescale, "ARGMAX": along_axis, "CONCAT": concat,
    "PAD": pad, "RESHAPE": reshape, "REVERSE": along_axis, "SLICE": slice_, "TILE": tile, "TRANSPOSE": transpose,
    "GATHER": gather, "SCATTER": scatter, "RESIZE": resize, "FFT2D": transform, "RFFT2D": transform,
}  # fmt: skip
