"""Tensor operators (specification 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import fp32, i4, i8, i16, i32, i48
from .case import Case
from .table import Argument, Attribute, Call, Check, Limit, OpSpec, Require, Row, row, scalar, tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..types import Shape

PAD = Attribute("pad", "i32[4]", 0)
SPATIAL_NAMES = {
    "pad": ("pad_top", "pad_bottom", "pad_left", "pad_right"),
    "stride": ("stride_y", "stride_x"),
    "dilation": ("dilation_y", "dilation_x"),
    "kernel": ("kernel_y", "kernel_x"),
}


def spatial_sizes(call: Call) -> Mapping[str, int]:
    """pad_top, stride_y, ... by the names that the specification gives to the elements of pad, stride, ..."""
    sizes: dict[str, int] = {}
    for attribute, names in SPATIAL_NAMES.items():
        if call.has(attribute):
            sizes.update(zip(names, call[attribute], strict=True))
    return sizes


def _limits(*values: tuple[str, str]) -> tuple[Limit, ...]:
    def getter(text: str) -> Callable[[Call], int]:
        factors = text.split(" * ")
        return lambda c: int(c[factors[0]]) * (int(c[factors[1]]) if len(factors) > 1 else 1)

    return tuple(Limit(value, limit, getter(value)) for value, limit in values)


PAD_LIMITS = tuple((name, "max_kernel") for name in SPATIAL_NAMES["pad"])
STRIDE_LIMITS = tuple((name, "max_stride") for name in SPATIAL_NAMES["stride"])
KERNEL_LIMITS = tuple((name, "max_kernel") for name in SPATIAL_NAMES["kernel"])
DILATION_LIMITS = (("dilation_y * KH", "max_kernel"), ("dilation_x * KW", "max_kernel"))


def zero_point_check(label: str, zero_point: str, type_: str, about: str) -> Check:
    """Only 8-bit formats have zero points other than 0."""
    return Check(
        label,
        lambda c: c[type_] is not i8 and c[zero_point] not in (0, None),
        f"{about} of type {{{type_}}} needs zero point 0, got {{{zero_point}}}",
        lambda case: case.const(zero_point, case.tensor(zero_point).dtype, [1]),
        zero_point,
    )


def pad_check(label: str) -> Check:
    return Check(
        label, lambda c: min(c.pad) < 0, "padding must not be negative, got {pad}", _setter(pad=(-1, 1, 0, 0)), "input"
    )


def positive_check(label: str, attribute: str) -> Check:
    return Check(
        label,
        lambda c: min(c[attribute]) < 1,
        f"{attribute} must be at least 1, got {{{attribute}}}",
        _setter(**{attribute: (0, 1)}),
        "input",
    )


def _setter(**attributes: object) -> Callable[[Case], object]:
    return lambda case: case.set(**attributes)


def conv_span(c: Call, axis: str) -> int:
    """Distance between the first and the last kernel position along y or x, before division by the stride."""
    if axis == "y":
        return int(c.IH - 1 + c.pad_top + c.pad_bottom - (c.KH - 1) * c.dilation_y)
    return int(c.IW - 1 + c.pad_left + c.pad_right - (c.KW - 1) * c.dilation_x)


def pool_span(c: Call, axis: str) -> int:
    if axis == "y":
        return int(c.IH + c.pad_top + c.pad_bottom - c.kernel_y)
    return int(c.IW + c.pad_left + c.pad_right - c.kernel_x)


def _output_check(label: str, axis: str, span: Callable[[Call, str], int]) -> Check:
    """OH (or OW) is the span divided by the stride without remainder, plus 1."""
    letter, stride = ("OH", "stride_y") if axis == "y" else ("OW", "stride_x")

    def violated(c: Call) -> bool:
        if c[stride] < 1:
            return False  # another rule says so
        distance = span(c, axis)
        if distance < 0 or distance % c[stride] != 0:
            return True
        return bool(c.has(letter) and c[letter] != distance // c[stride] + 1)

    def mutate(case: Case) -> None:
        shape = list(case.tensor("output").shape or ())
        shape[1 if axis == "y" else 2] += 1
        case.reshape("output", *shape)

    what = "height" if axis == "y" else "width"
    message = f"output {what} must be the padded input's span over {stride} = {{{stride}}} plus 1, without remainder"
    return Check(label, violated, message, mutate, "output")


def _output_size(c: Call, axis: str, span: Callable[[Call, str], int]) -> int:
    return span(c, axis) // int(c.stride_y if axis == "y" else c.stride_x) + 1


def _bias_check(label: str, wanted: Callable[[Call], int], text: str) -> Check:
    return Check(
        label,
        lambda c: c.BC not in (1, wanted(c)),
        f"bias needs 1 element or {text}, got {{BC}}",
        lambda case: case.reshape("bias", 2),
        "bias",
    )


def _conv_example(op: str, weight: Shape, output: Shape) -> Callable[[Row], Case]:
    def example(r: Row) -> Case:
        t = r.types
        return (
            Case(op)
            .input("input", t["in_t"], (1, 5, 4, 2))
            .input("weight", t["weight_t"], weight)
            .input("bias", t["out_t"], (output[3],))
            .const("input_zp", t["in_t"], [0])
            .const("weight_zp", t["weight_t"], [0])
            .set(pad=(1, 0, 0, 1), stride=(1, 1), dilation=(1, 1), acc_type=t["acc_t"], local_bound=False)
            .output("output", t["out_t"], output)
        )

    return example


CONV_ROWS = (
    row("signed 8x8 with int32 accumulate", "PRO-INT", in_t=i8, weight_t=i8, out_t=i32, acc_t=i32),
    row("signed 8x4 with int32 accumulate", "EXT-INT4", in_t=i8, weight_t=i4, out_t=i32, acc_t=i32),
    row("signed 16x8 with int48 accumulate", "EXT-INT16", in_t=i16, weight_t=i8, out_t=i48, acc_t=i48),
    row("fp32 with fp32 accumulate", "PRO-FP", in_t=fp32, weight_t=fp32, out_t=fp32, acc_t=fp32),
)
CONV_ATTRIBUTES = (
    PAD,
    Attribute("stride", "i32[2]", 1),
    Attribute("dilation", "i32[2]", 2),
    Attribute("acc_type", "acc_type", 4),
    Attribute("local_bound", "bool", 3, optional=True, default=False),
)
ACCUMULATE = "adding the products in the order ky, kx, ic stays in acc_t"
ADD_BIAS = "adding the bias stays in out_t"

CONV2D = OpSpec(
    name="CONV2D",
    code=3,
    schema="Conv2d",
    section="2.3.3",
    inputs=(
        tensor("input", "in_t", "[N,IH,IW,IC]", (4, 4)),
        tensor("weight", "weight_t", "[OC,KH,KW,IC]", (4, 4)),
        tensor("bias", "out_t", "[BC]", (1, 1)),
        scalar("input_zp", "in_t"),
        scalar("weight_zp", "weight_t"),
    ),
    attributes=CONV_ATTRIBUTES,
    outputs=(tensor("output", "out_t", "[N,OH,OW,OC]", (4, 4)),),
    rows=CONV_ROWS,
    sizes=spatial_sizes,
    shapes=lambda c: [(c.N, _output_size(c, "y", conv_span), _output_size(c, "x", conv_span), c.OC)],
    limits=_limits(*DILATION_LIMITS, *PAD_LIMITS, *STRIDE_LIMITS),
    checks=(
        zero_point_check("CONV2D.E1", "input_zp", "in_t", "input"),
        zero_point_check("CONV2D.E2", "weight_zp", "weight_t", "weight"),
        pad_check("CONV2D.E3"),
        positive_check("CONV2D.E4", "stride"),
        positive_check("CONV2D.E5", "dilation"),
        _output_check("CONV2D.E6", "y", conv_span),
        _output_check("CONV2D.E7", "x", conv_span),
        _bias_check("CONV2D.E8", lambda c: int(c.OC), "OC = {OC}"),
    ),
    requires=(Require("CONV2D.R1", ACCUMULATE), Require("CONV2D.R2", ADD_BIAS)),
    example=_conv_example("CONV2D", (3, 2, 2, 2), (1, 5, 4, 3)),
)

DEPTHWISE_CONV2D = OpSpec(
    name="DEPTHWISE_CONV2D",
    code=5,
    schema="DepthwiseConv2d",
    section="2.3.5",
    inputs=(
        tensor("input", "in_t", "[N,IH,IW,C]", (4, 4)),
        tensor("weight", "weight_t", "[KH,KW,C,M]", (4, 4)),
        tensor("bias", "out_t", "[BC]", (1, 1)),
        scalar("input_zp", "in_t"),
        scalar("weight_zp", "weight_t"),
    ),
    attributes=CONV_ATTRIBUTES,
    outputs=(tensor("output", "out_t", "[N,OH,OW,C*M]", (4, 4)),),
    rows=CONV_ROWS,
    sizes=spatial_sizes,
    shapes=lambda c: [(c.N, _output_size(c, "y", conv_span), _output_size(c, "x", conv_span), c.C * c.M)],
    limits=_limits(*DILATION_LIMITS, *PAD_LIMITS, *STRIDE_LIMITS),
    checks=(
        zero_point_check("DEPTHWISE_CONV2D.E1", "input_zp", "in_t", "input"),
        zero_point_check("DEPTHWISE_CONV2D.E2", "weight_zp", "weight_t", "weight"),
        pad_check("DEPTHWISE_CONV2D.E3"),
        positive_check("DEPTHWISE_CONV2D.E4", "stride"),
        positive_check("DEPTHWISE_CONV2D.E5", "dilation"),
        _output_check("DEPTHWISE_CONV2D.E6", "y", conv_span),
        _output_check("DEPTHWISE_CONV2D.E7", "x", conv_span),
        _bias_check("DEPTHWISE_CONV2D.E8", lambda c: int(c.C * c.M), "C*M = {C} * {M}"),
    ),
    requires=(Require("DEPTHWISE_CONV2D.R1", ACCUMULATE), Require("DEPTHWISE_CONV2D.R2", ADD_BIAS)),
    example=_conv_example("DEPTHWISE_CONV2D", (2, 2, 2, 2), (1, 5, 4, 4)),
)


def _matmul_example(r: Row) -> Case:
    t = r.types
    return (
        Case("MATMUL")
        .input("A", t["in_t"], (2, 3, 4))
        .input("B", t["in_t"], (2, 4, 5))
        .const("A_zp", t["in_t"], [0])
        .const("B_zp", t["in_t"], [0])
        .output("output", t["out_t"], (2, 3, 5))
    )


MATMUL = OpSpec(
    name="MATMUL",
    code=7,
    schema="MatMul",
    section="2.3.7",
    inputs=(
        tensor("A", "in_t", "[N,H,C]", (3, 3)),
        tensor("B", "in_t", "[N,C,W]", (3, 3)),
        scalar("A_zp", "in_t"),
        scalar("B_zp", "in_t"),
    ),
    attributes=(),
    outputs=(tensor("output", "out_t", "[N,H,W]", (3, 3)),),
    rows=(
        row("signed 8x8 with int32 accumulate", "PRO-INT", in_t=i8, out_t=i32),
        row("signed 16x16 with int48 accumulate", "EXT-INT16", in_t=i16, out_t=i48),
        row("fp32 with fp32 accumulate", "PRO-FP", in_t=fp32, out_t=fp32),
    ),
    shapes=lambda c: [(c.N, c.H, c.W)],
    checks=(
        zero_point_check("MATMUL.E1", "A_zp", "in_t", "A"),
        zero_point_check("MATMUL.E2", "B_zp", "in_t", "B"),
    ),
    requires=(Require("MATMUL.R1", "adding the products in the order of c stays in out_t"),),
    example=_matmul_example,
)


def _pool_checks(op: str, first: int) -> tuple[Check, ...]:
    """The rules that both pooling operators share, numbered from `first`."""

    def beyond(label: str, sides: tuple[int, int], kernel: str, pad: tuple[int, int, int, int]) -> Check:
        message = f"padding must be smaller than {kernel} = {{{kernel}}}, got pad {{pad}}"
        return Check(
            label,
            lambda c: max(c.pad[sides[0]], c.pad[sides[1]]) >= c[kernel],
            message,
            _setter(pad=pad),
            "input",
        )

    return (
        positive_check(f"{op}.E{first}", "kernel"),
        positive_check(f"{op}.E{first + 1}", "stride"),
        pad_check(f"{op}.E{first + 2}"),
        beyond(f"{op}.E{first + 3}", (2, 3), "kernel_x", (0, 1, 2, 0)),
        beyond(f"{op}.E{first + 4}", (0, 1), "kernel_y", (2, 0, 0, 0)),
        _output_check(f"{op}.E{first + 5}", "y", pool_span),
        _output_check(f"{op}.E{first + 6}", "x", pool_span),
    )


def _max_pool_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("MAX_POOL2D").input("input", t, (1, 5, 4, 2)).output("output", t, (1, 3, 3, 2))
    return case.set(kernel=(2, 2), stride=(2, 1), pad=(0, 1, 0, 0), nan_mode="PROPAGATE")


MAX_POOL2D = OpSpec(
    name="MAX_POOL2D",
    code=8,
    schema="MaxPool2d",
    section="2.3.8",
    inputs=(tensor("input", "in_out_t", "[N,IH,IW,C]", (4, 4)),),
    attributes=(
        Attribute("kernel", "i32[2]", 0),
        Attribute("stride", "i32[2]", 1),
        Attribute("pad", "i32[4]", 2),
        Attribute("nan_mode", "nan_mode", 3, optional=True, default="PROPAGATE"),
    ),
    outputs=(tensor("output", "in_out_t", "[N,OH,OW,C]", (4, 4)),),
    rows=(
        row("signed 8", "PRO-INT", in_out_t=i8),
        row("signed 16", "EXT-INT16", in_out_t=i16),
        row("fp32", "PRO-FP", in_out_t=fp32),
    ),
    sizes=spatial_sizes,
    shapes=lambda c: [(c.N, _output_size(c, "y", pool_span), _output_size(c, "x", pool_span), c.C)],
    limits=_limits(*KERNEL_LIMITS, *STRIDE_LIMITS, *PAD_LIMITS),
    checks=_pool_checks("MAX_POOL2D", 1),
    example=_max_pool_example,
)


def _avg_pool_example(r: Row) -> Case:
    t, acc = r.types["in_out_t"], r.types["acc_t"]
    case = Case("AVG_POOL2D").input("input", t, (1, 5, 4, 2)).const("input_zp", t, [0]).const("output_zp", t, [0])
    case.set(kernel=(2, 2), stride=(2, 1), pad=(0, 1, 0, 0), acc_type=acc)
    return case.output("output", t, (1, 3, 3, 2))


AVG_POOL2D = OpSpec(
    name="AVG_POOL2D",
    code=2,
    schema="AvgPool2d",
    section="2.3.2",
    inputs=(
        tensor("input", "in_out_t", "[N,IH,IW,C]", (4, 4)),
        scalar("input_zp", "in_out_t"),
        scalar("output_zp", "in_out_t"),
    ),
    attributes=(
        Attribute("kernel", "i32[2]", 0),
        Attribute("stride", "i32[2]", 1),
        Attribute("pad", "i32[4]", 2),
        Attribute("acc_type", "acc_type", 3),
    ),
    outputs=(tensor("output", "in_out_t", "[N,OH,OW,C]", (4, 4)),),
    rows=(
        row("signed 8 with int32 accumulate", "PRO-INT", in_out_t=i8, acc_t=i32),
        row("signed 16 with int32 accumulate", "EXT-INT16", in_out_t=i16, acc_t=i32),
        row("fp32 with fp32 accumulate", "PRO-FP", in_out_t=fp32, acc_t=fp32),
    ),
    sizes=spatial_sizes,
    shapes=lambda c: [(c.N, _output_size(c, "y", pool_span), _output_size(c, "x", pool_span), c.C)],
    limits=_limits(*KERNEL_LIMITS, *STRIDE_LIMITS, *PAD_LIMITS),
    checks=(
        zero_point_check("AVG_POOL2D.E1", "input_zp", "in_out_t", "input"),
        zero_point_check("AVG_POOL2D.E2", "output_zp", "in_out_t", "output"),
        *_pool_checks("AVG_POOL2D", 3),
    ),
    requires=(
        Require("AVG_POOL2D.R1", "adding the values of a window in the order ky, kx stays in acc_t"),
        Require("AVG_POOL2D.R2", "the sum is in the range that apply_scale_32 takes"),
    ),
    example=_avg_pool_example,
)


def _argmax_example(r: Row) -> Case:
    case = Case("ARGMAX").input("input", r.types["in_t"], (2, 3, 4)).set(axis=1, nan_mode="PROPAGATE")
    return case.output("output", r.types["out_t"], (2, 4))


def _without_axis(c: Call) -> Shape:
    return (*c.shape1[: c.axis], *c.shape1[c.axis + 1 :])


def _wrong_argmax_shape(case: Case) -> None:
    case.reshape("output", 2, 5)


ARGMAX = OpSpec(
    name="ARGMAX",
    code=1,
    schema="ArgMax",
    section="2.3.1",
    inputs=(tensor("input", "in_t", "shape1", (1, None)),),
    attributes=(
        Attribute("axis", "i32", 0),
        Attribute("nan_mode", "nan_mode", 1, optional=True, default="PROPAGATE"),
    ),
    outputs=(Argument("output", "out_t", "shape", (0, None)),),
    rows=(
        row("signed 8", "PRO-INT", in_t=i8, out_t=i32),
        row("signed 16", "EXT-INT16", in_t=i16, out_t=i32),
        row("fp32", "PRO-FP", in_t=fp32, out_t=i32),
    ),
    shapes=lambda c: [_without_axis(c)],
    checks=(
        Check(
            "ARGMAX.E1",
            lambda c: not 0 <= c.axis < len(c.shape1),
            "axis must be one of the input's axes, got axis {axis} for shape {shape1}",
            _setter(axis=3),
            "input",
        ),
        Check(
            "ARGMAX.E2",
            lambda c: c.has("shape") and 0 <= c.axis < len(c.shape1) and _without_axis(c) != c["shape"],
            "output must have the input's shape {shape1} without axis {axis}, got {shape}",
            _wrong_argmax_shape,
            "output",
        ),
    ),
    requires=(Require("ARGMAX.R1", "the index of the maximum fits out_t"),),
    example=_argmax_example,
)

OPERATORS = (ARGMAX, AVG_POOL2D, CONV2D, DEPTHWISE_CONV2D, MATMUL, MAX_POOL2D)
