"""The convolutions among the tensor operators (specification 2.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import bf16, fp8e4m3, fp8e5m2, fp16, fp32, i4, i8, i16, i32, i48
from .case import Case
from .floats import sum_row
from .spatial import (
    bias_check,
    conv_span,
    limits,
    longer,
    of_attribute,
    output_check,
    output_size,
    pad_check,
    positive_check,
    setter,
    spatial_sizes,
    zero_point_check,
)
from .table import Attribute, Call, Check, OpSpec, Require, Row, row, scalar, tensor
from .traits import Outside, Weight, Window, products, sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Shape
    from .table import Argument, Limit

ROWS = (
    row("signed 8x8 with int32 accumulate", "PRO-INT", in_t=i8, weight_t=i8, out_t=i32, acc_t=i32),
    row("signed 8x4 with int32 accumulate", "EXT-INT4", in_t=i8, weight_t=i4, out_t=i32, acc_t=i32),
    row("signed 16x8 with int48 accumulate", "EXT-INT16", in_t=i16, weight_t=i8, out_t=i48, acc_t=i48),
    *(
        sum_row(a, acc, in_t=a, weight_t=a, out_t=out, acc_t=acc)
        for a, out, acc in (
            (fp8e4m3, fp16, fp16), (fp8e5m2, fp16, fp16), (fp16, fp16, fp16), (fp16, fp16, fp32), (bf16, bf16, fp32),
            (fp32, fp32, fp32),
        )
    ),
)  # fmt: skip
ADD_BIAS = "adding the bias stays in out_t"


def _attributes(pad: str, lengths: tuple[int, int], *, dilated: bool = True) -> tuple[Attribute, ...]:
    names = ["stride", "dilation"] if dilated else ["stride"]
    spatial = [Attribute(name, f"i32[{lengths[1]}]", field) for field, name in enumerate(names, 1)]
    last = len(names) + 1
    return (
        Attribute(pad, f"i32[{lengths[0]}]", 0),
        *spatial,
        Attribute("acc_type", "acc_type", last + 1),
        Attribute("local_bound", "bool", last, optional=True, default=False),
    )


def _inputs(input_shape: str, weight_shape: str, rank: int) -> tuple[Argument, ...]:
    return (
        tensor("input", "in_t", input_shape, (rank, rank)),
        tensor("weight", "weight_t", weight_shape, (rank, rank)),
        tensor("bias", "out_t", "[BC]", (1, 1)),
        scalar("input_zp", "in_t"),
        scalar("weight_zp", "weight_t"),
    )


def _example(op: str, input: Shape, weight: Shape, output: Shape, **attributes: object) -> Callable[[Row], Case]:
    def example(r: Row) -> Case:
        t = r.types
        return (
            Case(op)
            .input("input", t["in_t"], input)
            .input("weight", t["weight_t"], weight)
            .input("bias", t["out_t"], (output[-1],))
            .const("input_zp", t["in_t"], [0])
            .const("weight_zp", t["weight_t"], [0])
            .set(**attributes, acc_type=t["acc_t"], local_bound=False)
            .output("output", t["out_t"], output)
        )

    return example


def _checks(op: str, axes: str, channels: Callable[[Call], int], text: str) -> tuple[Check, ...]:
    """The rules of CONV2D, DEPTHWISE_CONV2D and CONV3D, in the specification's order."""
    return (
        zero_point_check(f"{op}.E1", "input_zp", "in_t", "input"),
        zero_point_check(f"{op}.E2", "weight_zp", "weight_t", "weight"),
        pad_check(f"{op}.E3"),
        positive_check(f"{op}.E4", "stride"),
        positive_check(f"{op}.E5", "dilation"),
        *(output_check(f"{op}.E{6 + i}", axis, conv_span) for i, axis in enumerate(axes)),
        bias_check(f"{op}.E{6 + len(axes)}", channels, text),
    )


def _requires(op: str, order: str) -> tuple[Require, ...]:
    accumulate = f"adding the products in the order {order} stays in acc_t"
    return (Require(f"{op}.R1", accumulate), Require(f"{op}.R2", ADD_BIAS))


def _limits(axes: str) -> tuple[Limit, ...]:
    letters = {"d": "KD", "y": "KH", "x": "KW"}
    dilated = tuple((f"dilation_{axis} * {letters[axis]}", "max_kernel") for axis in axes)
    pads = of_attribute("pad", 2 * len(axes), "max_kernel")
    return limits(*dilated, *pads, *of_attribute("stride", len(axes), "max_stride"))


def _weight(rows: tuple[str, ...], channels: str, *places: str) -> Weight:
    return Weight("weight", rows, channels, "bias", ("N", *places))


def _window(*kernel: str) -> Window:
    return Window(kernel, "stride", "pad", "dilation", Outside.ZERO, transposed=False)


CONV2D = OpSpec(
    name="CONV2D",
    code=3,
    schema="Conv2d",
    section="2.3.3",
    inputs=_inputs("[N,IH,IW,IC]", "[OC,KH,KW,IC]", 4),
    attributes=_attributes("pad", (4, 2)),
    outputs=(tensor("output", "out_t", "[N,OH,OW,OC]", (4, 4)),),
    rows=ROWS,
    sizes=spatial_sizes,
    traits=products(
        "input", terms=sizes("KH", "KW", "IC"), weight=_weight(("OC",), "IC", "OH", "OW"), window=_window("KH", "KW")
    ),
    shapes=lambda c: [(c.N, output_size(c, "y", conv_span), output_size(c, "x", conv_span), c.OC)],
    limits=_limits("yx"),
    checks=_checks("CONV2D", "yx", lambda c: int(c.OC), "OC = {OC}"),
    requires=_requires("CONV2D", "ky, kx, ic"),
    example=_example(
        "CONV2D", (1, 5, 4, 2), (3, 2, 2, 2), (1, 5, 4, 3), pad=(1, 0, 0, 1), stride=(1, 1), dilation=(1, 1)
    ),
)

CONV3D = OpSpec(
    name="CONV3D",
    code=4,
    schema="Conv3d",
    section="2.3.4",
    inputs=_inputs("[N,ID,IH,IW,IC]", "[OC,KD,KH,KW,IC]", 5),
    attributes=_attributes("pad", (6, 3)),
    outputs=(tensor("output", "out_t", "[N,OD,OH,OW,OC]", (5, 5)),),
    rows=ROWS,
    sizes=spatial_sizes,
    traits=products(
        "input",
        terms=sizes("KD", "KH", "KW", "IC"),
        weight=_weight(("OC",), "IC", "OD", "OH", "OW"),
        window=_window("KD", "KH", "KW"),
    ),
    shapes=lambda c: [(c.N, *(output_size(c, axis, conv_span) for axis in "dyx"), c.OC)],
    limits=_limits("dyx"),
    checks=_checks("CONV3D", "dyx", lambda c: int(c.OC), "OC = {OC}"),
    requires=_requires("CONV3D", "kd, ky, kx, ic"),
    example=_example(
        "CONV3D", (1, 3, 5, 4, 2), (3, 2, 2, 2, 2), (1, 3, 5, 4, 3),
        pad=(0, 1, 1, 0, 0, 1), stride=(1, 1, 1), dilation=(1, 1, 1),
    ),
)  # fmt: skip

DEPTHWISE_CONV2D = OpSpec(
    name="DEPTHWISE_CONV2D",
    code=5,
    schema="DepthwiseConv2d",
    section="2.3.5",
    inputs=_inputs("[N,IH,IW,C]", "[KH,KW,C,M]", 4),
    attributes=_attributes("pad", (4, 2)),
    outputs=(tensor("output", "out_t", "[N,OH,OW,C*M]", (4, 4)),),
    rows=ROWS,
    sizes=spatial_sizes,
    traits=products(
        "input", terms=sizes("KH", "KW"), weight=_weight(("C", "M"), "C", "OH", "OW"), window=_window("KH", "KW")
    ),
    shapes=lambda c: [(c.N, output_size(c, "y", conv_span), output_size(c, "x", conv_span), c.C * c.M)],
    limits=_limits("yx"),
    checks=_checks("DEPTHWISE_CONV2D", "yx", lambda c: int(c.C * c.M), "C*M = {C} * {M}"),
    requires=_requires("DEPTHWISE_CONV2D", "ky, kx"),
    example=_example(
        "DEPTHWISE_CONV2D", (1, 5, 4, 2), (2, 2, 2, 2), (1, 5, 4, 4), pad=(1, 0, 0, 1), stride=(1, 1), dilation=(1, 1)
    ),
)


def _transposed_size(c: Call, axis: str) -> int:
    letter, before, after = {
        "y": ("H", "out_pad_top", "out_pad_bottom"),
        "x": ("W", "out_pad_left", "out_pad_right"),
    }[axis]
    return int((c["I" + letter] - 1) * c[f"stride_{axis}"] + c[before] + c[after] + c["K" + letter])


def _transposed_output_check(label: str, axis: str) -> Check:
    letter = {"y": "OH", "x": "OW"}[axis]
    message = f"output size {letter} must be (input size - 1) * stride_{axis} + padding + kernel size, and at least 1"
    return Check(
        label,
        lambda c: _transposed_size(c, axis) < 1 or (c.has(letter) and c[letter] != _transposed_size(c, axis)),
        message,
        longer(axis),
        "output",
    )


def _out_pad_check(label: str, sides: tuple[int, int], kernel: str, pad: tuple[int, int, int, int]) -> Check:
    return Check(
        label,
        lambda c: min(c.out_pad[sides[0]], c.out_pad[sides[1]]) <= -c[kernel],
        f"out_pad must be greater than -{kernel} = -{{{kernel}}}, got {{out_pad}}",
        setter(out_pad=pad),
        "input",
    )


TRANSPOSE_CONV2D = OpSpec(
    name="TRANSPOSE_CONV2D",
    code=10,
    schema="TransposeConv2d",
    section="2.3.10",
    inputs=_inputs("[N,IH,IW,IC]", "[OC,KH,KW,IC]", 4),
    attributes=_attributes("out_pad", (4, 2), dilated=False),
    outputs=(tensor("output", "out_t", "[N,OH,OW,OC]", (4, 4)),),
    rows=ROWS,
    sizes=spatial_sizes,
    traits=products(
        "input",
        terms=sizes("KH", "KW", "IC"),
        weight=_weight(("OC",), "IC", "IH", "IW"),
        window=Window(("KH", "KW"), "stride", "out_pad", "", Outside.NEVER, transposed=True),
    ),
    shapes=lambda c: [(c.N, _transposed_size(c, "y"), _transposed_size(c, "x"), c.OC)],
    limits=limits(
        ("KH", "max_kernel"),
        ("KW", "max_kernel"),
        *of_attribute("out_pad", 4, "max_kernel"),
        *of_attribute("stride", 2, "max_stride"),
    ),
    checks=(
        zero_point_check("TRANSPOSE_CONV2D.E1", "input_zp", "in_t", "input"),
        zero_point_check("TRANSPOSE_CONV2D.E2", "weight_zp", "weight_t", "weight"),
        _out_pad_check("TRANSPOSE_CONV2D.E3", (0, 1), "KH", (-2, 0, 0, 0)),
        _out_pad_check("TRANSPOSE_CONV2D.E4", (2, 3), "KW", (0, 0, 0, -2)),
        positive_check("TRANSPOSE_CONV2D.E5", "stride"),
        _transposed_output_check("TRANSPOSE_CONV2D.E6", "y"),
        _transposed_output_check("TRANSPOSE_CONV2D.E7", "x"),
        bias_check("TRANSPOSE_CONV2D.E8", lambda c: int(c.OC), "OC = {OC}"),
    ),
    requires=_requires("TRANSPOSE_CONV2D", "ky, kx, ic"),
    example=_example(
        "TRANSPOSE_CONV2D", (1, 3, 4, 2), (3, 2, 2, 2), (1, 7, 4, 3), out_pad=(1, 0, -1, 0), stride=(2, 1)
    ),
)
