"""A convolution of int16 that two RESCALEs read is one step: the same bytes as unfused, and only where it is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nets import Net
from replay_tools import replay
from vector_units import VECTOR_CODE

from tosa_engine.plan import expand, make_plan
from tosa_engine.runtime import workspace
from tosa_engine.types import DType, i8, i16, i32

from ..kernels.test_int48 import BIAS, SHAPES, channels_of, convolution, scaled, some

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.plan import Plan

CASES = ("pointwise", "odd depth")
TWICE = "CONV2D+RESCALE+RESCALE"


def operators(plan: Plan) -> list[str]:
    return [step.operators for step in plan.steps]


def check(graph: Graph, case: str, threads: int = 2) -> list[str]:
    """The operators of the plan that keeps nothing, which computes what the unfused one does, as do all the others."""
    feeds = {"x": some(i16, SHAPES[case][1], 7)}
    return operators(replay(graph, feeds, threads)[0])


@pytest.mark.parametrize("variant", VECTOR_CODE)
@pytest.mark.parametrize("case", CASES)
def test_scales_of_every_kind(case: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two formats and sets of scales at a time; small shifts aren't proved, and not fused."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    monkeypatch.setattr(workspace, "WORTH_SHARING", 0.0)
    monkeypatch.setattr(workspace, "WORTH_WAKING", 0.0)
    channels = channels_of(case)
    scales = st.tuples(st.integers(0, 32767), st.integers(2, 62))

    @settings(max_examples=6)
    @given(scales, scales, BIAS, st.booleans(), st.integers(1, 3))
    @example((32767, 38), (32767, 30), 0, True, 3)
    @example((16384, 47), (32767, 30), 1 << 31, False, 1)
    @example((20000, 46), (1, 2), -(1 << 31), True, 2)
    def run(scale: tuple[int, int], second: tuple[int, int], bias: int, per_channel: bool, threads: int) -> None:
        net = Net()
        convolution(net, case, np.resize([bias, -bias // 3, 0], channels))
        count = channels if per_channel else 1
        for name, to, (multiplier, shift) in (("y", i16, scale), ("z", i32, second)):
            shifts = [min(62, shift + i % 3) for i in range(count)]
            scaled(net, name, "acc", to, [multiplier] * count, shifts)
        found = check(net.done("y", "z"), case, threads)
        if min(scale[1], second[1]) >= 47:
            assert found == [TWICE]

    run()


@pytest.mark.parametrize("other", [i8, i16])
def test_other_formats(other: DType) -> None:
    net = Net()
    convolution(net, "odd depth", np.zeros(33))
    scaled(net, "y", "acc", i8, [20000], [46], 5)
    scaled(net, "z", "acc", other, [30000], [40])
    assert check(net.done("y", "z"), "odd depth") == [TWICE]


def two_readers(weight: int = 3) -> Net:
    """acc, of which y (int16) and z (int32) are made; a CLAMP is behind y."""
    net = Net()
    _, _, size, _ = SHAPES["pointwise"]
    convolution(net, "pointwise", np.arange(18), np.full(size, weight))
    scaled(net, "y", "acc", i16, [30000], [37])
    net.op("CLAMP", "clipped", i16, "y", min_val=-100, max_val=3000, nan_mode="PROPAGATE")
    scaled(net, "z", "acc", i32, [30000] * 18, [33] * 18)
    return net


@pytest.mark.parametrize("weight", [-128, -1, 127])
def test_extremes(weight: int) -> None:
    net = two_readers(weight)
    graph = net.done("clipped", "z")
    for value in (-32768, 32767):
        feeds = {"x": np.full(SHAPES["pointwise"][1], value, np.int16)}
        assert operators(replay(graph, feeds)[0]) == ["CONV2D+RESCALE+CLAMP+RESCALE"]


def test_readers_of_one_output_before_the_other_is_made() -> None:
    net = two_readers()
    net.op("ABS", "made", i32, net.rescale("wide", "clipped", i16, i32, 31))
    net.op("ADD", "sum", i32, "made", "z")
    order = net.block.operators
    order.append(order.pop(next(i for i, op in enumerate(order) if op.outputs == ["z"])))
    order.append(order.pop(next(i for i, op in enumerate(order) if op.outputs == ["sum"])))
    found = check(net.done("sum"), "pointwise")
    assert found[0] == "CONV2D+RESCALE+CLAMP+RESCALE"
    assert found[1:] == ["RESCALE", "ABS", "ADD"]


def test_what_is_kept_or_read_by_others_is_stored() -> None:
    net = two_readers()
    graph = net.done("clipped", "z", "acc")
    assert "CONV2D" in check(graph, "pointwise")
    third = two_readers()
    scaled(third, "third", "acc", i8, [30000], [45])
    assert "CONV2D" in check(third.done("clipped", "z", "third"), "pointwise")
    graph = two_readers().done("clipped", "z")
    kept = operators(make_plan(expand(graph), frozenset({"y"})))
    assert kept == ["CONV2D+RESCALE+RESCALE", "CLAMP"]
    assert operators(make_plan(expand(graph), frozenset({"acc"})))[0] == "CONV2D"


def test_sums_beyond_int32_are_steps_of_their_own() -> None:
    net = Net()
    convolution(net, "deep", np.zeros(17), np.full(SHAPES["deep"][2], 127))
    scaled(net, "y", "acc", i16, [30000], [47])
    scaled(net, "z", "acc", i32, [30000], [40])
    assert check(net.done("y", "z"), "deep") == ["CONV2D", "RESCALE", "RESCALE"]
