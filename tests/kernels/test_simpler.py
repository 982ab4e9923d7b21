"""Channels whose scales only wide arithmetic could apply get other numbers with the same results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nets import Net
from replay_tools import replay

from tosa_engine import Session, oracle
from tosa_engine.kernels.scale.simpler import Channel, simplified
from tosa_engine.kernels.work import Epilogue
from tosa_engine.types import i8, i32

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

BIASES = {"dead": 1 << 30, "negative": -(1 << 30), "small": 9_000_000}


def epilogue(zero: int, low: int, high: int) -> Epilogue:
    return Epilogue(np.zeros(1, np.int32), np.zeros(1, np.int8), double_round=True, output_zp=zero, low=low, high=high)


@given(
    st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 1 << 12), st.integers(0, (1 << 31) - 1), st.integers(32, 62),
    st.sampled_from([-128, -5, 0, 127]),
)  # fmt: skip
def test_results_stay(middle: int, spread: int, multiplier: int, shift: int, zero: int) -> None:
    low, high = max(middle - spread, -(1 << 31)), min(middle + spread, (1 << 31) - 1)
    before, scale = Channel(low, high, middle, multiplier, shift), epilogue(zero, -128, 127)
    after = simplified(before, scale)
    if after is None:
        return
    assert after.fits(scale)
    for value in {low, high, *range(low, high, max(1, (high - low) // 64))}:
        assert after.result(value - middle + after.bias, scale) == before.result(value, scale)


def test_a_shift_that_is_too_large_becomes_smaller() -> None:
    scale = epilogue(-128, -128, 127)
    before = Channel(-3_000_000, 17_000_000, 9_000_000, 1_500_000_001, 54)
    assert not before.fits(scale)
    after = simplified(before, scale)
    assert after is not None
    assert after.fits(scale)
    assert after.shift < before.shift
    every = np.linspace(before.low, before.high, 4001).astype(int).tolist()
    assert {before.result(v, scale) for v in every} == {-128, -127}
    assert [after.result(v, scale) for v in every] == [before.result(v, scale) for v in every]


def test_what_does_not_fit_stays() -> None:
    assert simplified(Channel(-(1 << 30), 1 << 30, 0, 1 << 30, 54), epilogue(0, -128, 127)) is None


def layer(case: str, bias: int, shift: int) -> Graph:
    """Three channels of 20 have a bias and a shift of their own; two of these have no weights."""
    net = Net()
    x = net.input("x", i8, 1, 9, 10, 20)
    shape = (3, 3, 20, 1) if case == "depthwise" else (20, 1, 1, 20) if case == "pointwise" else (20, 3, 3, 20)
    weights = net.weights(*shape)
    data = net.block.tensors[weights].data
    assert data is not None
    data[(slice(None), slice(None), [3, 7]) if case == "depthwise" else [3, 7]] = 0
    settings = {"pad": (0, 0, 0, 0)} if case == "pointwise" else {}
    net.conv("acc", x, weights, 20, op="DEPTHWISE_CONV2D" if case == "depthwise" else "CONV2D", **settings)
    biases = net.block.tensors[net.block.operators[-1].inputs[2]].data
    assert biases is not None
    biases[[3, 7, 8]] = bias
    shifts = np.full(20, 38)
    shifts[[3, 7, 8]] = shift
    net.rescale("y", "acc", i32, i8, shifts, zero=(0, -11), rounding_mode="DOUBLE_ROUND")
    return net.done("y")


@pytest.mark.parametrize("case", ["pointwise", "windows", "depthwise"])
@pytest.mark.parametrize("bias", BIASES)
def test_layers(case: str, bias: str) -> None:
    graph = layer(case, BIASES[bias], 54 if bias == "small" else 61)
    rng = np.random.default_rng(2)
    values = [rng.integers(-128, 128, (1, 9, 10, 20)), np.full((1, 9, 10, 20), -128), np.full((1, 9, 10, 20), 127)]
    session = Session(graph, 1)
    for x in values:
        feeds = {"x": x.astype(np.int8)}
        np.testing.assert_array_equal(session.run(None, feeds)[0], oracle.run(graph, feeds)["y"])


@pytest.mark.parametrize("threads", [1, 3])
def test_replay(threads: int) -> None:
    x = np.random.default_rng(5).integers(-128, 128, (1, 9, 10, 20)).astype(np.int8)
    replay(layer("windows", BIASES["dead"], 61), {"x": x}, threads)


@pytest.mark.parametrize("case", ["pointwise", "windows", "depthwise"])
def test_a_shift_of_32(case: str) -> None:
    """It was applied in 64 bits."""
    graph = layer(case, 0, 32)
    feeds = {"x": np.random.default_rng(3).integers(-128, 128, (1, 9, 10, 20)).astype(np.int8)}
    np.testing.assert_array_equal(Session(graph, 1).run(None, feeds)[0], oracle.run(graph, feeds)["y"])
