"""Tensor operators (specification 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import bf16, fp8e4m3, fp8e5m2, fp16, fp32, i8, i16, i32, i48
from .case import Case
from .convolution import CONV2D, CONV3D, DEPTHWISE_CONV2D, TRANSPOSE_CONV2D
from .fft import FFT2D, RFFT2D
from .floats import ALL, float_rows, sum_row
from .spatial import (
    limits,
    of_attribute,
    output_check,
    output_size,
    pad_check,
    pool_span,
    positive_check,
    setter,
    spatial_sizes,
    zero_point_check,
)
from .table import Argument, Attribute, Call, Check, OpSpec, Require, Row, row, scalar, tensor
from .traits import How, Outside, Weight, along_axis, pool, products, sizes

if TYPE_CHECKING:
    from ..types import Shape


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
        *(
            sum_row(a, out, in_t=a, out_t=out)
            for a, out in ((fp8e4m3, fp16), (fp8e5m2, fp16), (fp16, fp16), (fp16, fp32), (bf16, fp32), (fp32, fp32))
        ),
    ),
    traits=products("A", "B", terms=sizes("C"), weight=Weight("B", ("W",), "C", "", ("H",))),
    shapes=lambda c: [(c.N, c.H, c.W)],
    checks=(
        zero_point_check("MATMUL.E1", "A_zp", "in_t", "A"),
        zero_point_check("MATMUL.E2", "B_zp", "in_t", "B"),
    ),
    requires=(Require("MATMUL.R1", "adding the products in the order of c stays in out_t"),),
    example=_matmul_example,
)


POOL_LIMITS = limits(
    *of_attribute("kernel", 2, "max_kernel"),
    *of_attribute("stride", 2, "max_stride"),
    *of_attribute("pad", 4, "max_kernel"),
)


def _pool_checks(op: str, first: int) -> tuple[Check, ...]:
    """The rules that both pooling operators share, numbered from `first`."""

    def beyond(label: str, sides: tuple[int, int], kernel: str, pad: tuple[int, int, int, int]) -> Check:
        message = f"padding must be smaller than {kernel} = {{{kernel}}}, got pad {{pad}}"
        return Check(
            label,
            lambda c: max(c.pad[sides[0]], c.pad[sides[1]]) >= c[kernel],
            message,
            setter(pad=pad),
            "input",
        )

    return (
        positive_check(f"{op}.E{first}", "kernel"),
        positive_check(f"{op}.E{first + 1}", "stride"),
        pad_check(f"{op}.E{first + 2}"),
        beyond(f"{op}.E{first + 3}", (2, 3), "kernel_x", (0, 1, 2, 0)),
        beyond(f"{op}.E{first + 4}", (0, 1), "kernel_y", (2, 0, 0, 0)),
        output_check(f"{op}.E{first + 5}", "y", pool_span),
        output_check(f"{op}.E{first + 6}", "x", pool_span),
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
        *float_rows(ALL, "in_out_t"),
    ),
    sizes=spatial_sizes,
    traits=pool(How.CHOSEN, Outside.LEAST, None),
    shapes=lambda c: [(c.N, output_size(c, "y", pool_span), output_size(c, "x", pool_span), c.C)],
    limits=POOL_LIMITS,
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
        *(
            sum_row(t, acc, in_out_t=t, acc_t=acc)
            for t, acc in ((fp8e4m3, fp16), (fp8e5m2, fp16), (fp16, fp16), (fp16, fp32), (bf16, fp32), (fp32, fp32))
        ),
    ),
    sizes=spatial_sizes,
    traits=pool(How.MEAN, Outside.UNCOUNTED, sizes("kernel_y", "kernel_x")),
    shapes=lambda c: [(c.N, output_size(c, "y", pool_span), output_size(c, "x", pool_span), c.C)],
    limits=POOL_LIMITS,
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
        *float_rows(ALL, "in_t", out_t=i32),
    ),
    traits=along_axis(None, keeps_rank=False),
    shapes=lambda c: [_without_axis(c)],
    checks=(
        Check(
            "ARGMAX.E1",
            lambda c: not 0 <= c.axis < len(c.shape1),
            "axis must be one of the input's axes, got axis {axis} for shape {shape1}",
            setter(axis=3),
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

OPERATORS = (
    ARGMAX, AVG_POOL2D, CONV2D, CONV3D, DEPTHWISE_CONV2D, FFT2D, MATMUL, MAX_POOL2D, RFFT2D, TRANSPOSE_CONV2D,
)  # fmt: skip
