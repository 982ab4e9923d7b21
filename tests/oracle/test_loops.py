"""A second definition of windows, sums and places: loops over Python integers, one output element after the other."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from oracle_tools import NAN, Accumulator, expected, outcome, values_of

from tosa_engine import oracle
from tosa_engine.compliance.cases import cases
from tosa_engine.spec import TABLE
from tosa_engine.types import i32

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array


@given(cases("TRANSPOSE"))
def test_transpose_moves_every_element(case: tuple[Graph, dict[str, Array]]) -> None:
    graph, feeds = case
    perms, given_ = graph.main.operators[-1].attributes["perms"], feeds["input1"]
    output = oracle.run(graph, feeds)["output"]
    for index in np.ndindex(output.shape):
        source = [0] * len(perms)
        for i, axis in enumerate(perms):
            source[axis] = index[i]
        assert output[index].tobytes() == given_[tuple(source)].tobytes()  # NaNs, too


def windows(
    graph: Graph, kernel: tuple[int, int], dilation: tuple[int, int], out_shape: tuple[int, ...], oy: int, ox: int
) -> Any:
    """(ky, kx, y, x) of the kernel positions of one output position that lie on the input."""
    call = graph.main.operators[-1].attributes
    _, IH, IW, _ = graph.main.tensors["input"].shape or (0, 0, 0, 0)
    for ky, kx in itertools.product(range(kernel[0]), range(kernel[1])):
        y = oy * call["stride"][0] - call["pad"][0] + ky * dilation[0]
        x = ox * call["stride"][1] - call["pad"][2] + kx * dilation[1]
        if 0 <= y < IH and 0 <= x < IW:
            yield ky, kx, y, x


INTEGER_ROWS = [row.key for row in TABLE["CONV2D"].rows if row.types["acc_t"].is_int]


@pytest.mark.parametrize("row", INTEGER_ROWS)
def test_conv2d_is_its_loops(row: str) -> None:
    @given(cases("CONV2D", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        inputs, weights, bias, (zero_in,), (zero_w,) = (
            values_of(graph, feeds, n) for n in ("input", "weight", "bias", "input_zp", "weight_zp")
        )
        _, KH, KW, IC = graph.main.tensors["weight"].shape or ()
        tensor = graph.main.tensors["output"]
        dilation = graph.main.operators[-1].attributes["dilation"]

        def element(index: tuple[int, ...]) -> Accumulator:
            n, oy, ox, oc = index
            acc = Accumulator("CONV2D", tensor.dtype)
            for ky, kx, y, x in windows(graph, (KH, KW), dilation, tensor.shape or (), oy, ox):
                for ic in range(IC):
                    acc.add((inputs[n][y][x][ic] - zero_in) * (weights[oc][ky][kx][ic] - zero_w))
            acc.add(bias[0 if len(bias) == 1 else oc], "R2")
            return acc

        assert outcome(graph, feeds) == expected(graph, element)

    check()


@pytest.mark.parametrize("row", INTEGER_ROWS)
def test_depthwise_conv2d_is_its_loops(row: str) -> None:
    @given(cases("DEPTHWISE_CONV2D", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        inputs, weights, bias, (zero_in,), (zero_w,) = (
            values_of(graph, feeds, n) for n in ("input", "weight", "bias", "input_zp", "weight_zp")
        )
        KH, KW, _, M = graph.main.tensors["weight"].shape or ()
        tensor = graph.main.tensors["output"]
        dilation = graph.main.operators[-1].attributes["dilation"]

        def element(index: tuple[int, ...]) -> Accumulator:
            n, oy, ox, oc = index
            c, m = divmod(oc, M)
            acc = Accumulator("DEPTHWISE_CONV2D", tensor.dtype)
            for ky, kx, y, x in windows(graph, (KH, KW), dilation, tensor.shape or (), oy, ox):
                acc.add((inputs[n][y][x][c] - zero_in) * (weights[ky][kx][c][m] - zero_w))
            acc.add(bias[0 if len(bias) == 1 else oc], "R2")
            return acc

        assert outcome(graph, feeds) == expected(graph, element)

    check()


@pytest.mark.parametrize("row", ["i8_i32", "i16_i48"])
def test_matmul_is_its_loops(row: str) -> None:
    @given(cases("MATMUL", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        a, b, (zero_a,), (zero_b,) = (values_of(graph, feeds, n) for n in ("A", "B", "A_zp", "B_zp"))

        def element(index: tuple[int, ...]) -> Accumulator:
            n, h, w = index
            acc = Accumulator("MATMUL", graph.main.tensors["output"].dtype)
            for c, value in enumerate(a[n][h]):
                acc.add((value - zero_a) * (b[n][c][w] - zero_b))
            return acc

        assert outcome(graph, feeds) == expected(graph, element)

    check()


@pytest.mark.parametrize("row", ["i8_acci32", "i16_acci32"])
def test_avg_pool2d_is_the_mean_without_padding(row: str) -> None:
    @given(cases("AVG_POOL2D", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        inputs, (zero_in,), (zero_out,) = (values_of(graph, feeds, n) for n in ("input", "input_zp", "output_zp"))
        tensor, kernel = graph.main.tensors["output"], graph.main.operators[-1].attributes["kernel"]

        def element(index: tuple[int, ...]) -> int:
            n, oy, ox, c = index
            places = list(windows(graph, kernel, (1, 1), tensor.shape or (), oy, ox))
            total, count = sum(inputs[n][y][x][c] - zero_in for _, _, y, x in places), len(places)
            k = (count - 1).bit_length()
            mean = (total * ((((1 << 30) + 1) << k) // count) + (1 << (29 + k))) >> (30 + k)
            assert abs(mean * count - total) * 2 <= count  # the nearest integer
            return max(tensor.dtype.minimum, min(tensor.dtype.maximum, mean + zero_out))

        assert outcome(graph, feeds) == expected(graph, element)

    check()


def max_of(values: list[float], nan_mode: str) -> float:
    numbers = [v for v in values if v == v]
    if len(numbers) < len(values) and (nan_mode == "PROPAGATE" or not numbers):
        return NAN
    return max(numbers)


@pytest.mark.parametrize("row", ["i8", "i16", "fp32"])
def test_max_pool2d_is_the_greatest_value_without_padding(row: str) -> None:
    @given(cases("MAX_POOL2D", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        inputs, attributes = feeds["input"].tolist(), graph.main.operators[-1].attributes

        def element(index: tuple[int, ...]) -> float:
            n, oy, ox, c = index
            places = windows(graph, attributes["kernel"], (1, 1), (), oy, ox)
            return max_of([inputs[n][y][x][c] for _, _, y, x in places], attributes["nan_mode"])

        np.testing.assert_array_equal(oracle.run(graph, feeds)["output"].tolist(), expected(graph, element))

    check()


@pytest.mark.parametrize(("op", "row"), [(n, r.key) for n in ("REDUCE_MAX", "ARGMAX") for r in TABLE[n].rows])
def test_maximum_along_an_axis(op: str, row: str) -> None:
    @given(cases(op, row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        attributes = graph.main.operators[-1].attributes
        axis, nan_mode = attributes["axis"], attributes["nan_mode"]
        output = oracle.run(graph, feeds)["output"]
        if op == "ARGMAX":
            output = np.expand_dims(output, axis)
        for index in np.ndindex(output.shape):
            line = feeds["input"].take(range(feeds["input"].shape[axis]), axis)
            values = line[tuple(slice(None) if i == axis else j for i, j in enumerate(index))].tolist()
            greatest = max_of(values, nan_mode)
            where = [i for i, v in enumerate(values) if v == greatest or (v != v and greatest != greatest)]
            if op == "ARGMAX":
                assert output[index] == where[0]
            else:
                np.testing.assert_array_equal(float(output[index]), greatest)

    check()


@given(cases("REDUCE_SUM", "i32_acci32"))
def test_reduce_sum_is_its_loop(case: tuple[Graph, dict[str, Array]]) -> None:
    graph, feeds = case
    axis = graph.main.operators[-1].attributes["axis"]

    def element(index: tuple[int, ...]) -> Accumulator:
        acc = Accumulator("REDUCE_SUM", i32)
        for i in range(feeds["input"].shape[axis]):
            acc.add(int(feeds["input"][(*index[:axis], i, *index[axis + 1 :])]))
        return acc

    assert outcome(graph, feeds) == expected(graph, element)
