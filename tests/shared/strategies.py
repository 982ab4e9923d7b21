"""Hypothesis strategies of single-operator graphs, driven by the op table.

`cases()` draws a legal graph (`check.check` finds nothing) with arrays for its inputs: any operator and any of its
rows, ranks from 0, dimensions of 1, odd sizes, asymmetrical padding, and values that are often the corners of their
format, so that some of them violate a REQUIRE. One plan per family says how shapes, attributes and constants belong
together; everything else comes from the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from tosa_engine import check, types
from tosa_engine.infer import infer
from tosa_engine.numerics.float_formats import FORMATS, round_to
from tosa_engine.spec import TABLE
from tosa_engine.spec.case import Case
from tosa_engine.types import i8, i16, i32, i48

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph
    from tosa_engine.spec import OpSpec, Row
    from tosa_engine.types import Array, DType, Shape

    Draw = Callable[[st.SearchStrategy[Any]], Any]

FLAVOURS = ("zero", "small", "any", "corners", "mixed")
FLOAT_CORNERS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 127.5, -128.5, 1e-45, -1e-40, 1.1754944e-38, 3.4028235e38, -3.4028235e38,
    2147483648.0, -2147483904.0, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
ZERO_POINTS = {"input": "in_t", "weight": "weight_t"}


@dataclass
class Plan:
    """How one use of an operator looks. Inputs without constants have the formats of the row."""

    shapes: dict[str, Any] = field(default_factory=dict)  # a shape, or a list of them for tensor lists
    constants: dict[str, tuple[DType, Any]] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Array] = field(default_factory=dict)  # of inputs that need some of their own


@st.composite
def cases(draw: Draw, op: str | None = None, row: str | None = None) -> tuple[Graph, dict[str, Array]]:
    """A legal graph of one operator with its feeds. A case of CONST_SHAPE is one of RESHAPE, which reads it."""
    name = draw(st.sampled_from(sorted(TABLE))) if op is None else op
    spec = TABLE["RESHAPE" if name == "CONST_SHAPE" else name]
    chosen = draw(st.sampled_from(spec.rows)) if row is None or name == "CONST_SHAPE" else spec.row(row)
    plan = PLANS.get(spec.name, unary)(draw, spec, chosen) if spec.pure else Plan()
    graph = (_case(draw, spec, chosen, plan) if spec.pure else spec.example(chosen)).graph()
    infer(graph)
    problems = check.check(graph)
    assert problems == [], problems
    feeds = {t.name: _values(draw, plan, t.name, t.dtype, t.shape or ()) for t in graph.inputs}
    return graph, feeds


def _values(draw: Draw, plan: Plan, argument: str, dtype: DType, shape: Shape) -> Array:
    return plan.values[argument] if argument in plan.values else draw_values(draw, dtype, shape)


def _case(draw: Draw, spec: OpSpec, row: Row, plan: Plan) -> Case:
    case = Case(spec.name).set(**plan.attributes)
    for i, argument in enumerate(spec.inputs):
        if argument.name in plan.constants:
            case.const(argument.name, *plan.constants[argument.name])
            continue
        dtype, shape = dtype_of(argument.type, row), plan.shapes[argument.name]
        if argument.is_list:
            case.list_input(argument.name, dtype, *shape)
        elif i > 0 and draw(st.booleans()):  # weights and biases are mostly constants, but need not be
            case.const(argument.name, dtype, _values(draw, plan, argument.name, dtype, shape))
        else:
            case.input(argument.name, dtype, shape)
    for output in spec.outputs:
        dtype = dtype_of(output.type, row)
        if spec.inputs:
            case.output(output.name, dtype, None)  # inferred
        else:
            shape = draw_shape(draw)
            case.output(output.name, dtype, shape, draw_values(draw, dtype, shape))
    return case


def dtype_of(type_: str, row: Row) -> DType:
    name = type_.removesuffix("_t")
    return types.BY_NAME[name] if name in types.BY_NAME else row.types[type_]


# Values


def draw_values(draw: Draw, dtype: DType, shape: Shape, flavours: tuple[str, ...] = FLAVOURS) -> Array:
    """An array of values; `flavour` says which kind of values. Hypothesis draws the seed, not the elements."""
    flavour = draw(st.sampled_from(flavours))
    rng = np.random.default_rng(draw(st.integers(0, (1 << 32) - 1)))
    return values(rng, flavour, dtype, shape)


def values(rng: np.random.Generator, flavour: str, dtype: DType, shape: Shape) -> Array:
    if flavour == "mixed":
        pick = rng.integers(0, 3, shape)
        parts = [values(rng, f, dtype, shape) for f in ("small", "any", "corners")]
        return np.asarray(np.where(pick == 0, parts[0], np.where(pick == 1, parts[1], parts[2])), dtype.storage)
    if flavour == "zero":
        return np.zeros(shape, dtype.storage)
    if flavour == "corners":
        return np.asarray(rng.choice(corners(dtype), shape)).astype(dtype.storage)
    if dtype.is_float:
        scale = 1.0 if flavour == "small" else 2.0 ** rng.integers(-20, 20)
        return round_to(np.asarray(rng.standard_normal(shape) * scale), dtype)
    low, high = dtype.minimum, dtype.maximum
    if flavour == "small":
        low, high = max(low, -9), min(high, 9)
    return np.asarray(rng.integers(low, high, shape, endpoint=True)).astype(dtype.storage)


def corners(dtype: DType) -> Array:
    if dtype.is_float:
        form = FORMATS[dtype]
        own = (form.largest, form.least_normal, form.least_subnormal, form.least_normal - form.least_subnormal)
        return round_to(np.array([*FLOAT_CORNERS, *own, *(-v for v in own)]), dtype)
    powers = [sign * (1 << bit) for bit in range(dtype.bits - 1) for sign in (1, -1)]
    ends = [dtype.minimum, dtype.minimum + 1, dtype.maximum - 1, dtype.maximum]
    legal = [v for v in [0, *ends, *ends, *powers] if dtype.minimum <= v <= dtype.maximum]
    return np.array(legal, dtype.storage)


def zero_point(draw: Draw, dtype: DType) -> tuple[DType, list[int]]:
    """Only 8-bit formats have zero points other than 0."""
    some = st.one_of(st.just(0), st.sampled_from([-128, -1, 1, 127]), st.integers(-128, 127))
    return dtype, [draw(some) if dtype is i8 else 0]


def rarely(draw: Draw) -> bool:
    """True once in a while, and not in the simplest case."""
    return bool(draw(st.integers(0, 15)) == 7)


# Shapes


def draw_shape(draw: Draw, least: int = 0, most: int = 6) -> Shape:
    """Small dimensions, often 1; the last one sometimes long enough for vectors with a rest."""
    rank = draw(st.integers(least, most))
    sizes = [draw(st.integers(1, 4 if rank < 4 else 2)) for _ in range(rank)]
    if sizes and draw(st.integers(0, 3)) == 2:
        sizes[-1] = draw(st.sampled_from([5, 8, 15, 16, 17, 33, 67]))
    return tuple(sizes)


def draw_channels(draw: Draw) -> int:
    return int(draw(st.one_of(st.integers(1, 5), st.sampled_from([7, 8, 9, 16, 17, 33]))))


def window(draw: Draw, kernel: int, stride: int, dilation: int, most_padding: int) -> tuple[int, int, int]:
    """Input size and padding before and after, for which the kernel's steps end exactly at the padded end."""
    outputs = draw(st.integers(1, 4))
    padded = stride * (outputs - 1) + (kernel - 1) * dilation + 1
    before = draw(st.integers(0, min(most_padding, padded - 1)))
    after = draw(st.integers(0, min(most_padding, padded - 1 - before)))
    return padded - before - after, before, after


# Plans


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
    return str(draw(st.sampled_from(["PROPAGATE", "IGNORE"])))


def binary(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw)
    sides = [tuple(draw(st.sampled_from([n, n, 1])) for n in shape) for _ in range(2)]
    plan = Plan(dict(zip(("input1", "input2"), sides, strict=True)))
    if any(a.name == "nan_mode" for a in spec.attributes):
        plan.attributes["nan_mode"] = nan_mode(draw)
    if "SHIFT" in spec.name:
        plan.values["input2"] = _shifts(draw, row.types["in_out_t"], sides[1])
    if spec.name == "ARITHMETIC_RIGHT_SHIFT":
        plan.attributes["round"] = draw(st.booleans())
    if spec.name == "INTDIV":
        plan.values["input2"] = _divisors(draw, sides[1])
    if spec.name == "POW":
        plan.values |= _powers(draw, row.types["in_out_t"], *sides)
    if spec.name == "MUL":
        legal = [0, 0, 1, 2, 15, 30, 31, 32, 33, 62, 63] if row.types["in_t"] is i32 else [0]
        plan.constants["shift"] = (i8, [draw(st.sampled_from([-1, 1, 64] if rarely(draw) else legal))])
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
    shifts = _integers(draw, 0, dtype.bits - 1, shape).astype(dtype.storage)
    if rarely(draw):
        shifts.flat[-1] = draw(st.sampled_from([-1, dtype.bits, dtype.minimum, dtype.maximum]))
    return shifts


def _divisors(draw: Draw, shape: Shape) -> Array:
    """Without 0 and, as the dividend may be the least int32, without -1; once in a while with one of them."""
    divisors = draw_values(draw, i32, shape)
    divisors[(divisors == 0) | (divisors == -1)] = draw(st.sampled_from([1, -2, 3, -128]))
    if rarely(draw):
        divisors.flat[-1] = draw(st.sampled_from([0, -1]))
    return divisors


def _integers(draw: Draw, low: int, high: int, shape: Shape) -> Array:
    """Integers from low to high; Hypothesis draws the seed."""
    rng = np.random.default_rng(draw(st.integers(0, (1 << 32) - 1)))
    return np.asarray(rng.integers(low, high, shape, endpoint=True))


def select(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw)
    sides = [tuple(draw(st.sampled_from([n, n, 1])) for n in shape) for _ in range(3)]
    return Plan(dict(zip(("input1", "input2", "input3"), sides, strict=True)))


def table(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    dtype, size = row.types["table_t"], row.letters["TABLE_SIZE"]
    entries = draw_values(draw, dtype, (size,), ("any", "mixed"))
    if dtype is i16 and draw(st.integers(0, 3)) > 0:  # neighbours whose difference is an int16
        entries = entries // 2
    return Plan({"input1": draw_shape(draw)}, {"table": (dtype, entries)})


def convolution(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    axes, most = (3, 2) if spec.name == "CONV3D" else (2, 3)
    kernel, stride, dilation = (tuple(draw(st.integers(1, most)) for _ in range(axes)) for _ in range(3))
    windows = [window(draw, *sizes, 4) for sizes in zip(kernel, stride, dilation, strict=True)]
    N, IC, OC = draw(st.integers(1, 2)), draw_channels(draw), draw_channels(draw)
    weight: Shape = (OC, *kernel, IC)
    if spec.name == "DEPTHWISE_CONV2D":
        M = draw(st.integers(1, 3))
        weight, OC = (*kernel, IC, M), IC * M
    plan = _convolution(draw, row, (N, *(size for size, _, _ in windows), IC), weight, OC)
    plan.attributes["pad"] = tuple(side for _, before, after in windows for side in (before, after))
    plan.attributes |= {"stride": stride, "dilation": dilation}
    return plan


def transpose_convolution(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    out_pad: list[int] = []
    kernel, stride = ((draw(st.integers(1, 4)), draw(st.integers(1, 3))) for _ in range(2))
    sizes = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    for size, k, s in zip(sizes, kernel, stride, strict=True):
        before = draw(st.integers(1 - k, 2))
        least = max(1 - k, 1 - (size - 1) * s - k - before)  # one output or more
        out_pad += [before, draw(st.integers(least, max(least, 2)))]
    N, IC, OC = draw(st.integers(1, 2)), draw_channels(draw), draw_channels(draw)
    plan = _convolution(draw, row, (N, *sizes, IC), (OC, *kernel, IC), OC)
    plan.attributes |= {"out_pad": tuple(out_pad), "stride": stride}
    return plan


def _convolution(draw: Draw, row: Row, input: Shape, weight: Shape, OC: int) -> Plan:
    zero_points = {f"{name}_zp": zero_point(draw, row.types[type_]) for name, type_ in ZERO_POINTS.items()}
    shapes = {"input": input, "weight": weight, "bias": (draw(st.sampled_from([OC, 1])),)}
    return Plan(shapes, zero_points, {"acc_type": row.types["acc_t"], "local_bound": draw(st.booleans())})


def pool(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    kernel = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    stride = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    IH, top, bottom = window(draw, kernel[0], stride[0], 1, kernel[0] - 1)
    IW, left, right = window(draw, kernel[1], stride[1], 1, kernel[1] - 1)
    plan = Plan({"input": (draw(st.integers(1, 2)), IH, IW, draw_channels(draw))})
    plan.attributes = {"kernel": kernel, "stride": stride, "pad": (top, bottom, left, right)}
    if spec.name == "AVG_POOL2D":
        plan.attributes["acc_type"] = row.types["acc_t"]
        plan.constants = {name: zero_point(draw, row.types["in_out_t"]) for name in ("input_zp", "output_zp")}
    else:
        plan.attributes["nan_mode"] = nan_mode(draw)
    return plan


def matmul(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    N, H, C, W = draw(st.integers(1, 3)), draw_channels(draw), draw_channels(draw), draw_channels(draw)
    zero_points = {name: zero_point(draw, row.types["in_t"]) for name in ("A_zp", "B_zp")}
    return Plan({"A": (N, H, C), "B": (N, C, W)}, zero_points)


def transform(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = (draw(st.integers(1, 3)), *(draw(st.sampled_from([1, 2, 4, 8, 16])) for _ in range(2)))
    inverse = {"inverse": draw(st.booleans())} if spec.name == "FFT2D" else {}
    return Plan({a.name: shape for a in spec.inputs}, {}, {**inverse, "local_bound": draw(st.booleans())})


def along_axis(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    plan = Plan({spec.inputs[0].name: shape}, {}, {"axis": draw(st.integers(0, len(shape) - 1))})
    if any(a.name == "nan_mode" for a in spec.attributes):
        plan.attributes["nan_mode"] = nan_mode(draw)
    return plan


def rescale(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    in_t, out_t, shape = row.types["in_t"], row.types["out_t"], draw_shape(draw)
    signs = [(False, False)]
    if in_t in (i8, i16) and out_t is not i32:
        signs += [(True, False), (False, True)]
    input_unsigned, output_unsigned = draw(st.sampled_from(signs))
    scale32 = in_t is not i48 and draw(st.booleans())
    modes = ["SINGLE_ROUND", "DOUBLE_ROUND", "INEXACT_ROUND"] if scale32 else ["SINGLE_ROUND", "INEXACT_ROUND"]
    per_channel = bool(shape) and draw(st.booleans())
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
            "scale32": scale32, "rounding_mode": draw(st.sampled_from(modes)), "per_channel": per_channel,
            "input_unsigned": input_unsigned, "output_unsigned": output_unsigned,
        },
    )  # fmt: skip


def _rescale_zero_point(draw: Draw, dtype: DType, unsigned: bool) -> tuple[DType, list[int]]:
    if dtype is i16 and unsigned:
        return dtype, [draw(st.sampled_from([0, -32768]))]  # the bits of 32768
    return zero_point(draw, dtype)


def _scales(draw: Draw, in_t: DType, count: int, scale32: bool) -> tuple[list[int], list[int]]:
    """Shifts and multipliers, mostly legal: REQUIREs bound the shift, for scale32 the value, otherwise the result."""
    enough = min(in_t.bits + 2, 33) if scale32 else max(2, in_t.bits - 15)
    top = (1 << 31) - 1 if scale32 else (1 << 15) - 1
    usual, ends = st.integers(enough, 62), st.sampled_from([2, 3, 30, 31, 32, 33, 61, 62])
    shift = draw(st.sampled_from([usual, usual, usual, ends]))
    normal = st.integers(top // 2 + 1, top)
    multiplier = st.one_of(normal, normal, st.sampled_from([0, 1, top // 2 + 1, top]), st.integers(0, top))
    shifts, multipliers = [draw(shift) for _ in range(count)], [draw(multiplier) for _ in range(count)]
    if rarely(draw):
        shifts[-1] = draw(st.sampled_from([-1, 0, 1, 63]))
    if rarely(draw):
        multipliers[-1] = draw(st.sampled_from([-1, -top - 1]))
    return shifts, multipliers


def concat(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    axis = draw(st.integers(0, len(shape) - 1))
    sizes = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(1, 4)))]
    return Plan({"input1": [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]}, {}, {"axis": axis})


def pad(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape, dtype = draw_shape(draw, least=1), row.types["in_out_t"]
    padding = [draw(st.integers(0, 2 if len(shape) < 4 else 1)) for _ in range(2 * len(shape))]
    constants = {"padding": (types.shape, padding), "pad_const": (dtype, draw_values(draw, dtype, (1,)))}
    return Plan({"input1": shape}, constants)


def reshape(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    """Another order of the factors, with 1s in between, some neighbours multiplied."""
    shape = draw_shape(draw)
    sizes = draw(st.permutations([n for n in shape if n > 1]))
    while len(sizes) > 1 and draw(st.booleans()):
        at = draw(st.integers(0, len(sizes) - 2))
        sizes = [*sizes[:at], sizes[at] * sizes[at + 1], *sizes[at + 2 :]]
    while len(sizes) < 6 and draw(st.booleans()):
        sizes = draw(st.permutations([*sizes, 1]))
    return Plan({"input1": shape}, {"shape": (types.shape, np.array(sizes, np.int64))})


def slice_(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    start = [draw(st.integers(0, n - 1)) for n in shape]
    size = [draw(st.integers(1, n - a)) for n, a in zip(shape, start, strict=True)]
    return Plan({"input1": shape}, {"start": (types.shape, start), "size": (types.shape, size)})


def transpose(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    return Plan({"input1": shape}, {}, {"perms": tuple(draw(st.permutations(range(len(shape)))))})


def tile(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    shape = draw_shape(draw, least=1)
    multiples = [draw(st.integers(1, 3 if len(shape) < 4 else 2)) for _ in shape]
    return Plan({"input1": shape}, {"multiples": (types.shape, multiples)})


def gather(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    N, K, W, C = draw(st.integers(1, 3)), *(draw_channels(draw) for _ in range(3))
    indices = _integers(draw, 0, K - 1, (N, W)).astype(np.int32)
    if rarely(draw):
        indices.flat[-1] = draw(st.sampled_from([-1, K, i32.minimum, i32.maximum]))
    return Plan({"values": (N, K, C), "indices": (N, W)}, values={"indices": indices})


def scatter(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    N, K, C = draw(st.integers(1, 3)), draw_channels(draw), draw_channels(draw)
    W = draw(st.integers(1, K))
    rng = np.random.default_rng(draw(st.integers(0, (1 << 32) - 1)))
    indices = np.stack([rng.permutation(K)[:W] for _ in range(N)]).astype(np.int32)
    if rarely(draw):
        indices[-1, -1] = draw(st.sampled_from([-1, K, i32.maximum, *[int(indices[-1, 0])] * 3]))
    return Plan({"values_in": (N, K, C), "indices": (N, W), "input": (N, W, C)}, values={"indices": indices})


def resize(draw: Draw, spec: OpSpec, row: Row) -> Plan:
    (IH, *y), (IW, *x) = _sampling(draw), _sampling(draw)
    constants = {
        "scale": (types.shape, [y[0], y[1], x[0], x[1]]),
        "offset": (types.shape, [y[2], x[2]]),
        "border": (types.shape, [y[3], x[3]]),
    }
    mode = draw(st.sampled_from(["NEAREST", "BILINEAR"]))
    if row.types["in_t"].is_int:
        mode = "NEAREST" if row.types["in_t"] is row.types["out_t"] else "BILINEAR"
    return Plan({"input": (draw(st.integers(1, 2)), IH, IW, draw_channels(draw))}, constants, {"mode": mode})


def _sampling(draw: Draw) -> tuple[int, int, int, int, int]:
    """Input size, numerator, denominator, offset and border of an axis."""
    n = draw(st.one_of(st.integers(1, 8), st.sampled_from([16, 255, 256, 2047, 2048])))
    d = draw(st.one_of(st.integers(max(1, n // 8), 4 * n), st.sampled_from([-(-n // 256), n, 16 * n - 1])))
    reach = draw(st.integers(0, 5)) * d  # from the first output to the last
    shortest = max(1, 1 + -(-(reach - 2 * n + 1) // n))
    longest = 1 + (reach + 32 * n - 1) // n
    size = draw(st.integers(shortest, min(longest, shortest + 4)))
    difference = reach - (size - 1) * n  # of border and offset
    offset = draw(st.integers(max(-n, -16 * n - difference), min(16 * n - 1, n - 1 - difference)))
    return size, n, d, offset, offset + difference


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
