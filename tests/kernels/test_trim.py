"""Kernel positions that meet only padding are cut off: the results stay, the work goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tosa_engine import oracle
from tosa_engine.kernels.tile.trim import trim
from tosa_engine.kernels.tile.turn import turn
from tosa_engine.runtime.session import Session
from tosa_engine.spec import bind_operator
from tosa_engine.spec.case import Case
from tosa_engine.types import fp32, i4, i8, i16, i32, i48

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.spec.table import Call

ROWS = {"i8": (i8, i8, i32), "i8 i4": (i8, i4, i32), "i16": (i16, i8, i48), "fp32": (fp32, fp32, fp32)}
AXES = {"CONV2D": 2, "CONV3D": 3, "DEPTHWISE_CONV2D": 2}
IC = OC = 3


def convolution(
    op: str, row: str, sizes: list[int], kernel: list[int], pad: list[int], stride: list[int], dilation: list[int]
) -> Graph:
    in_t, weight_t, out_t = ROWS[row]
    shape = (*kernel, IC, 1) if op == "DEPTHWISE_CONV2D" else (OC, *kernel, IC)
    weight = np.random.default_rng(1).integers(-7, 8, shape)
    zero = 5 if in_t is i8 else 0
    case = Case(op).input("input", in_t, (2, *sizes, IC)).const("weight", weight_t, weight)
    case.const("bias", out_t, [1, -2, 3]).const("input_zp", in_t, [zero]).const("weight_zp", weight_t, [0])
    case.set(pad=tuple(pad), stride=tuple(stride), dilation=tuple(dilation), acc_type=out_t, local_bound=False)
    return case.output("output", out_t, None).graph()


def bound(graph: Graph) -> Call:
    session = Session(graph, threads=1)
    return bind_operator(session.graph.main.operators[-1], session.graph.main)


def check(graph: Graph) -> None:
    tensor = graph.inputs[0]
    assert tensor.shape is not None
    values = np.random.default_rng(2).integers(-99, 100, tensor.shape).astype(tensor.dtype.storage)
    (got,) = Session(graph, threads=1).run(None, {"input": values})
    np.testing.assert_array_equal(got, oracle.run(graph, {"input": values})["output"])


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("op", AXES)
def test_wide_padding_changes_nothing(op: str, row: str) -> None:
    @settings(max_examples=25)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        many = range(AXES[op])
        sizes = [data.draw(st.integers(1, 4)) for _ in many]
        kernel = [data.draw(st.integers(1, 6)) for _ in many]
        stride = [data.draw(st.integers(1, 9)) for _ in many]
        dilation = [data.draw(st.integers(1, 5)) for _ in many]
        pad = []
        for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
            before, after = data.draw(st.integers(0, 20)), data.draw(st.integers(0, 20))
            span = size - 1 + before + after - (k - 1) * d
            if span < 0:
                after, span = after - span, 0
            pad += [before, after + -span % s]
        check(convolution(op, row, sizes, kernel, pad, stride, dilation))

    run()


@pytest.mark.parametrize(
    ("size", "kernel", "pad", "stride", "dilation", "wanted", "left"),
    [
        (4, 3, (1, 1), 1, 1, 3, (1, 1)),  # every position meets an input
        (2, 5, (4, 4), 1, 1, 5, (4, 4)),
        (1, 3, (1, 1), 1, 1, 1, (0, 0)),  # one output, whose middle lies on the input
        (2, 5, (3, 0), 1, 1, 2, (0, 0)),
        (2, 5, (4, 2), 1, 1, 4, (3, 2)),
        (6, 2, (0, 3), 16, 8, 1, (0, -5)),  # the last position, beyond the end
        (2, 8192, (8190, 8192), 8192, 1, 2, (0, 8192)),
        (3, 2, (8189, 4097), 8192, 4096, 1, (8189, 1)),  # none meets an input: only the bias is left
        (4, 2, (3, 14), 8, 4, 2, (3, 14)),  # the first meets none, but without it packing would begin inside
    ],
)
def test_how_much_is_cut_off(
    size: int, kernel: int, pad: tuple[int, int], stride: int, dilation: int, wanted: int, left: tuple[int, int]
) -> None:
    graph = convolution("CONV2D", "i8", [size, 1], [kernel, 1], [*pad, 0, 0], [stride, 1], [dilation, 1])
    call = bound(graph)
    small = trim(call)
    assert (small.KH, small.KW, *small.pad) == (wanted, 1, *left, 0, 0)
    assert (small is call) == (wanted == kernel)
    assert call.KH == kernel
    check(graph)


def test_input_and_weight_may_be_the_same_tensor() -> None:
    """The smaller weight gets a name of its own."""
    case = Case("CONV2D").const("weight", i8, np.arange(3).reshape(1, 3, 1, 1)).const("bias", i32, [0])
    case.const("input_zp", i8, [0]).const("weight_zp", i8, [0]).output("output", i32, None)
    case.set(pad=(2, 0, 0, 0), stride=(1, 1), dilation=(2, 1), acc_type=i32, local_bound=False)
    graph = case.graph()
    graph.main.operators[-1].inputs.insert(0, "weight")
    small = trim(bound(graph))
    assert (small.KH, small.IH, small.pad) == (2, 3, (0, 0, 0, 0))
    (got,) = Session(graph, threads=1).run(None, {})
    np.testing.assert_array_equal(got, oracle.run(graph, {})["output"])


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("op", ["CONV2D", "DEPTHWISE_CONV2D"])
def test_one_column_is_convolved_as_one_row(op: str, row: str) -> None:
    """Also where trimming leaves one column of the kernel."""
    for kernel, pad, stride, dilation in (
        ([9, 1], [4, 4, 0, 0], [1, 1], [1, 1]),
        ([9, 1], [3, 4, 0, 0], [2, 2], [1, 3]),
        ([3, 3], [2, 2, 1, 1], [1, 1], [2, 1]),
        ([4, 1], [0, 0, 0, 0], [3, 5], [1, 1]),
    ):
        graph = convolution(op, row, [22, 1], kernel, pad, stride, dilation)
        call = turn(trim(bound(graph)))
        assert (call.IH, call.KH, call.OH) == (1, 1, 1)
        assert (call.IW, call.KW) == (22, kernel[0])
        assert (call.stride_x, call.dilation_x) == (stride[0], dilation[0])
        check(graph)


def test_other_images_stay_as_they_are() -> None:
    for sizes, kernel, pad in (
        ([5, 2], [3, 1], [1, 1, 0, 0]),
        ([1, 1], [1, 1], [0, 0, 0, 0]),
        ([5, 1], [1, 1], [0, 0, 1, 1]),
    ):
        call = trim(bound(convolution("CONV2D", "i8", sizes, kernel, pad, [1, 1], [1, 1])))
        assert turn(call) is call
