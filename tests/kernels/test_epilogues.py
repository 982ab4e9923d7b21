"""RESCALE, CLAMP and TABLE as epilogues of int8 products: every rounding, shift and zero point.

Outputs are signed: neither int32 nor int48 can become unsigned (RESCALE.E9, E10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nets import Net
from vector_units import BEST

from tosa_engine import oracle
from tosa_engine.errors import RequireViolation
from tosa_engine.runtime.session import Session
from tosa_engine.types import DType, i8, i16, i32

if TYPE_CHECKING:
    from collections.abc import Sequence

# producers, and the channels of their results
CASES = {"pointwise": 37, "windows": 20, "depthwise": 35, "product": 21}
MODES = ["SINGLE_ROUND", "DOUBLE_ROUND", "INEXACT_ROUND"]


def producer(net: Net, case: str) -> None:
    """acc: int32, at most 2^23."""
    if case == "product":
        x, y = net.input("x", i8, 2, 13, 20), net.input("z", i8, 2, 20, 21)
        net.op("MATMUL", "acc", i32, x, y, net.const(i8, [3]), net.const(i8, [-7]))
        return
    x, channels = net.input("x", i8, 1, 7, 5, 35 if case == "depthwise" else 12), CASES[case]
    if case == "pointwise":
        net.conv("acc", x, net.weights(channels, 1, 1, 12), channels, pad=(0, 0, 0, 0))
    elif case == "depthwise":
        net.conv("acc", x, net.weights(3, 3, 35, 1), channels, op="DEPTHWISE_CONV2D")
    else:
        net.conv("acc", x, net.weights(channels, 3, 3, 12), channels, stride=(2, 1), pad=(1, 1, 1, 1))


def rescale(net: Net, to: DType, multipliers: Sequence[int], shifts: Sequence[int], zero: int, mode: str) -> None:
    constants = net.const(i32, multipliers), net.const(i8, shifts), net.const(i32, [0]), net.const(to, [zero])
    net.op(
        "RESCALE", "y", to, "acc", *constants, scale32=True, rounding_mode=mode, per_channel=len(shifts) > 1,
        input_unsigned=False, output_unsigned=False,
    )  # fmt: skip


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize(
    "case", [pytest.param(one, marks=[pytest.mark.slow("a dozen epilogues")] * (one != "pointwise")) for one in CASES]
)
def test_scales_of_every_kind(case: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)

    @settings(max_examples=8)
    @given(
        st.sampled_from([i8, i16, i32]), st.sampled_from(MODES),
        st.integers(0, (1 << 31) - 1), st.integers(2, 62), st.booleans(), st.sampled_from([-128, -7, 0, 127]),
    )  # fmt: skip
    @example(i8, "DOUBLE_ROUND", 1 << 30, 39, True, -128)
    @example(i8, "DOUBLE_ROUND", (1 << 31) - 1, 31, True, 3)
    @example(i8, "DOUBLE_ROUND", (1 << 31) - 1, 32, False, -1)
    @example(i16, "DOUBLE_ROUND", 1518500250, 33, True, 0)
    @example(i16, "SINGLE_ROUND", 1 << 30, 31, False, 0)
    @example(i32, "SINGLE_ROUND", (1 << 31) - 1, 25, True, 0)
    @example(i8, "INEXACT_ROUND", 1 << 30, 62, True, 127)
    def run(to: DType, mode: str, multiplier: int, shift: int, per_channel: bool, zero: int) -> None:
        net = Net()
        producer(net, case)
        count = CASES[case] if per_channel else 1
        multipliers = [max(0, multiplier - 12345 * i) for i in range(count)]
        shifts = [min(62, shift + i % 4) for i in range(count)]
        zero = zero if to is i8 else 0
        rescale(net, to, multipliers, shifts, zero, mode)
        graph = net.done("y")
        rng = np.random.default_rng(shift)
        feeds = {t.name: rng.choice([-128, -127, -1, 0, 1, 5, 127], t.shape).astype(np.int8) for t in graph.inputs}
        session = Session(graph, 2)
        try:
            wanted = oracle.run(graph, feeds)["y"]
        except RequireViolation as violation:
            with pytest.raises(type(violation)):
                session.run(None, feeds)
            return
        np.testing.assert_array_equal(session.run(None, feeds)[0], wanted)
        if shift > 24:  # the sums are at most 2^23
            assert [step.operators.split("+")[1:] for step in session.plan().steps] == [["RESCALE"]]

    run()


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("case", ["pointwise", "windows", "depthwise", "winograd"])
@pytest.mark.parametrize("bias", [0, (1 << 29) - (1 << 23), 1 << 29, 1 << 30])
def test_sums_that_are_rounded_twice(bias: int, case: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values with two bits to spare are scaled another way than larger ones. Some are rounded differently."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    results = []
    for mode in ("SINGLE_ROUND", "DOUBLE_ROUND"):
        net = Net()
        if case == "winograd":
            net.conv("acc", net.input("x", i8, 1, 9, 10, 32), net.weights(64, 3, 3, 32), 64)
        else:
            producer(net, case)
        (acc,) = (op for op in net.block.operators if op.outputs == ["acc"])
        data = net.block.tensors[acc.inputs[2]].data
        assert data is not None
        data += np.where(np.arange(len(data)) % 2, bias, -bias).astype(data.dtype)
        rescale(net, i32, [(1 << 31) - 1 - 99 * i for i in range(len(data))], [34] * len(data), 0, mode)
        graph = net.done("y")
        feeds = {t.name: np.random.default_rng(3).integers(-128, 128, t.shape).astype(np.int8) for t in graph.inputs}
        session = Session(graph, 2)
        assert "+RESCALE" in session.plan().steps[0].operators
        results.append(session.run(None, feeds)[0])
        np.testing.assert_array_equal(results[-1], oracle.run(graph, feeds)["y"])
    assert 0.02 < np.mean(results[0] != results[1]) < 0.25
