"""A second definition of CONV3D and TRANSPOSE_CONV2D: loops over Python integers, one output after the other."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from oracle_tools import Accumulator, conv, expected, outcome, run, values_of

from tosa_engine.compliance.cases import cases
from tosa_engine.spec import TABLE
from tosa_engine.types import fp32, i8, i32

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

INTEGER_ROWS = [row.key for row in TABLE["CONV3D"].rows if row.types["acc_t"].is_int]
ARGUMENTS = ("input", "weight", "bias", "input_zp", "weight_zp")


@pytest.mark.parametrize("row", INTEGER_ROWS)
def test_conv3d_is_its_loops(row: str) -> None:
    @given(cases("CONV3D", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        inputs, weights, bias, (zero_in,), (zero_w,) = (values_of(graph, feeds, name) for name in ARGUMENTS)
        _, *sizes, IC = graph.main.tensors["input"].shape or ()
        _, *kernel, _ = graph.main.tensors["weight"].shape or ()
        tensor, attributes = graph.main.tensors["output"], graph.main.operators[-1].attributes
        starts = attributes["pad"][::2]

        def element(index: tuple[int, ...]) -> Accumulator:
            n, *place, oc = index
            acc = Accumulator("CONV3D", tensor.dtype)
            for kd, ky, kx in itertools.product(*map(range, kernel)):
                d, y, x = (
                    o * stride - start + k * dilation
                    for o, stride, start, k, dilation in zip(
                        place, attributes["stride"], starts, (kd, ky, kx), attributes["dilation"], strict=True
                    )
                )
                if 0 <= d < sizes[0] and 0 <= y < sizes[1] and 0 <= x < sizes[2]:
                    for ic in range(IC):
                        acc.add((inputs[n][d][y][x][ic] - zero_in) * (weights[oc][kd][ky][kx][ic] - zero_w))
            acc.add(bias[0 if len(bias) == 1 else oc], "R2")
            return acc

        assert outcome(graph, feeds) == expected(graph, element)

    check()


@pytest.mark.parametrize("row", INTEGER_ROWS)
def test_transpose_conv2d_is_its_loops(row: str) -> None:
    @given(cases("TRANSPOSE_CONV2D", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        inputs, weights, bias, (zero_in,), (zero_w,) = (values_of(graph, feeds, name) for name in ARGUMENTS)
        _, IH, IW, IC = graph.main.tensors["input"].shape or ()
        _, KH, KW, _ = graph.main.tensors["weight"].shape or ()
        tensor, attributes = graph.main.tensors["output"], graph.main.operators[-1].attributes
        top, _, left, _ = attributes["out_pad"]
        stride_y, stride_x = attributes["stride"]

        def element(index: tuple[int, ...]) -> Accumulator:
            n, oy, ox, oc = index
            acc = Accumulator("TRANSPOSE_CONV2D", tensor.dtype)
            for ky, kx in itertools.product(range(KH), range(KW)):
                (y, rest_y), (x, rest_x) = divmod(oy - top - ky, stride_y), divmod(ox - left - kx, stride_x)
                if rest_y == rest_x == 0 and 0 <= y < IH and 0 <= x < IW:
                    for ic in range(IC):
                        acc.add((inputs[n][y][x][ic] - zero_in) * (weights[oc][ky][kx][ic] - zero_w))
            acc.add(bias[0 if len(bias) == 1 else oc], "R2")
            return acc

        assert outcome(graph, feeds) == expected(graph, element)

    check()


def test_transpose_conv2d_spreads_the_kernel() -> None:
    weight = np.array([[1, 2, 3]]).reshape(1, 1, 3, 1)
    data = np.array([10, -1]).reshape(1, 1, 2, 1)
    for out_pad, stride, result in (
        ((0, 0, 0, 0), (1, 1), [15, 24, 33, 2]),
        ((0, 0, 0, 0), (1, 2), [15, 25, 34, 3, 2]),
        ((0, 0, 1, 2), (1, 1), [5, 15, 24, 33, 2, 5, 5]),
        ((0, 0, -2, -1), (1, 2), [34, 3]),
        ((1, 0, 0, -2), (1, 1), [5, 5, 15, 24]),
    ):
        case = conv("TRANSPOSE_CONV2D", i8, i8, i32).set(out_pad=out_pad, stride=stride)
        assert np.ravel(run(case, input=data, weight=weight, bias=[5])).tolist() == result


def test_floats_are_rounded_once() -> None:
    """1 + 2^-24 + 2^-24 in fp32 steps would stay 1."""
    small = 2.0**-24
    weight = np.ones((1, 1, 1, 3))
    case = conv("TRANSPOSE_CONV2D", fp32, fp32, fp32)
    assert run(case, input=[[[[1.0, small, small]]]], weight=weight, bias=[0.0]) == [[[[1.0 + 2 * small]]]]
    case = conv("CONV3D", fp32, fp32, fp32)
    assert run(case, input=[[[[[1.0, small, small]]]]], weight=weight[None], bias=[0.0]) == [[[[[1.0 + 2 * small]]]]]
