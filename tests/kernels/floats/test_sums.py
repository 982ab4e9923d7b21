"""Sums of products of floats against the specification's dot-product rule, and their corners with literal values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import types
from tosa_engine.builder import Builder
from tosa_engine.compliance.accuracy import check_operator, data_set
from tosa_engine.runtime.session import Session
from tosa_engine.spec import bind_operator

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType

OPERATORS = ("CONV2D", "pointwise", "DEPTHWISE_CONV2D", "MATMUL", "few rows")
SIZE = (1, 9, 10, 35)


def graph_of(op: str, dtype: DType) -> Graph:
    """One operator with zeros as constants, of more dot products than the rule asks for."""
    b = Builder()
    if op in ("MATMUL", "few rows"):
        rows, columns = (60, 37) if op == "MATMUL" else (2, 1031)
        x, y = b.input(dtype, (1, rows, 35), "x"), b.input(dtype, (1, 35, columns), "y")
        b.output(b.op("MATMUL", x, y, b.const([0], dtype), b.const([0], dtype), output="z", dtype=types.fp32))
        return b.graph()
    depthwise, kernel = op == "DEPTHWISE_CONV2D", 1 if op == "pointwise" else 3
    shape = (3, 3, 35, 1) if depthwise else (37, kernel, kernel, 35)
    weight, bias = b.const(np.zeros(shape, dtype.storage)), b.const(np.zeros(35 if depthwise else 37, dtype.storage))
    y = b.op(
        op if depthwise else "CONV2D", b.input(dtype, SIZE, "x"), weight, bias, b.const([0], dtype),
        b.const([0], dtype), pad=(kernel // 2,) * 4, stride=(1, 1), dilation=(1, 1), local_bound=False,
        acc_type=types.fp32, output="z",
    )  # fmt: skip
    b.output(y)
    return b.graph()


@pytest.mark.parametrize("dtype", [types.fp32, types.fp16, types.bf16], ids=str)
@pytest.mark.parametrize("op", OPERATORS)
def test_all_data_sets_meet_the_dot_product_rule(op: str, dtype: DType) -> None:
    graph = graph_of(op, dtype)
    call = bind_operator(graph.main.operators[-1], graph.main)
    for S in range(6):
        inputs = data_set(call, S)
        feeds = {}
        for argument in call.spec.inputs:
            tensor = call.tensor(argument.name)
            if tensor.name in graph.main.inputs:
                feeds[tensor.name] = inputs[argument.name]
            else:
                graph.main.tensors[tensor.name].data = inputs[argument.name]
        outputs = Session(graph, 1).run(None, feeds)
        (found,) = check_operator(call, inputs, outputs, S)
        assert found.good, f"S{S}: {found}"


def convolved(values: Array, weight: Array, bias: Array) -> Array:
    """A 3 x 3 convolution of one channel in 16, padded by 1."""
    b = Builder()
    x = b.input(types.fp32, (1, *values.shape, 16), "x")
    b.output(
        b.op(
            "DEPTHWISE_CONV2D", x, b.const(np.broadcast_to(weight[..., None, None], (3, 3, 16, 1)).copy()),
            b.const(np.broadcast_to(bias, 16).copy()), 0, 0, pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1),
            local_bound=False,
        )
    )  # fmt: skip
    feed = np.broadcast_to(values[None, ..., None], (1, *values.shape, 16)).copy()
    (found,) = Session(b.graph(), 1).run(None, {"x": feed})
    assert (found.view(np.uint32) == found[..., :1].view(np.uint32)).all(), "all channels are the same"
    plane: Array = found[0, ..., 0]
    return plane


def test_nan_and_infinity_reach_their_windows_only() -> None:
    values, weight = np.ones((6, 7), np.float32), np.ones((3, 3), np.float32)
    values[1, 1], values[4, 5] = np.nan, np.inf
    found = convolved(values, weight, np.float32([0.5]))
    assert np.isnan(found[:3, :3]).all()
    assert np.isnan(found).sum() == 9
    assert (found[3:6, 4:7] == np.inf).all()
    assert np.isinf(found).sum() == 9
    assert found[3, 3] == 9.5
    assert found[0, 6] == 4.5  # a corner: the padding counts for nothing


def test_infinity_less_infinity_and_zero_times_infinity_are_nan() -> None:
    values, weight = np.zeros((3, 3), np.float32), np.ones((3, 3), np.float32)
    values[0, 0], values[2, 2] = np.inf, -np.inf
    assert np.isnan(convolved(values, weight, np.float32([0.0]))[1, 1])
    weight[1, 1] = np.inf
    assert np.isnan(convolved(np.zeros((3, 3), np.float32), weight, np.float32([0.0]))[1, 1])


def test_subnormal_values_are_kept() -> None:
    values, weight = np.zeros((3, 3), np.float32), np.zeros((3, 3), np.float32)
    values[1, 1], weight[1, 1] = 2.0**-140, 0.5
    assert convolved(values, weight, np.float32([0.0]))[1, 1] == np.float32(2.0**-141)
    assert convolved(values, weight, np.float32([2.0**-149]))[1, 1] == np.float32(2.0**-141 + 2.0**-149)


def test_products_are_not_rounded_before_they_are_added() -> None:
    values, weight = np.zeros((3, 3), np.float32), np.zeros((3, 3), np.float32)
    values[1, 0], weight[1, 0] = -(1 + 2.0**-11), 1.0  # comes first
    values[1, 1] = weight[1, 1] = 1 + 2.0**-12  # the product 1 + 2^-11 + 2^-24 is a tie, which would be rounded down
    assert convolved(values, weight, np.float32([0.0]))[1, 1] == np.float32(2.0**-24)
