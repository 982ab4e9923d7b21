"""DEPTHWISE_CONV2D of int8, alone and with what is fused behind it, against the oracle, on every vector unit."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import Net
from vector_units import BEST

from tosa_engine import oracle, types
from tosa_engine.kernels import work
from tosa_engine.kernels.depthwise import places
from tosa_engine.kernels.depthwise.one_row import geometry_of_row, is_row
from tosa_engine.kernels.depthwise.packing import groups_of
from tosa_engine.kernels.tile.turn import turn
from tosa_engine.plan import expand, make_plan

if TYPE_CHECKING:
    from tosa_engine.graph import Graph, Tensor
    from tosa_engine.plan import Step
    from tosa_engine.types import Array

ENDS = [-128, -127, -1, 0, 1, 126, 127]
BEHIND = ("nothing", "i8", "i16", "i32")


@dataclass(frozen=True)
class Axis:
    """A window along one axis, so that it fits exactly."""

    kernel: int
    stride: int
    dilation: int
    outputs: int
    before: int
    after: int

    @property
    def size(self) -> int:
        covered = (self.outputs - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
        return covered - self.before - self.after


@dataclass(frozen=True)
class Layer:
    """A layer with extreme values, and what follows it."""

    vertical: Axis
    horizontal: Axis
    channels: int
    repeat: int = 1
    batch: int = 1
    input_zp: int = 0
    weight_zp: int = 0
    behind: str = "i8"
    shift: int = 38
    double: bool = False
    clamp: tuple[int, int] | None = None
    table: bool = False
    output_zp: int = 0
    seed: int = 0

    def graph(self) -> Graph:
        net, v, h, out = Net(self.seed), self.vertical, self.horizontal, self.channels * self.repeat
        rng = net.rng
        x = net.input("x", types.i8, self.batch, v.size, h.size, self.channels)
        weight = net.const(types.i8, extremes(rng, (v.kernel, h.kernel, self.channels, self.repeat)))
        bias = net.const(types.i32, rng.integers(-(1 << 20), 1 << 20, out))
        zeros = net.const(types.i8, [self.input_zp]), net.const(types.i8, [self.weight_zp])
        net.op(
            "DEPTHWISE_CONV2D", "sums", types.i32, x, weight, bias, *zeros,
            pad=(v.before, v.after, h.before, h.after), stride=(v.stride, h.stride), dilation=(v.dilation, h.dilation),
            acc_type=types.i32, local_bound=False,
        )  # fmt: skip
        if self.behind == "nothing":
            return net.done("sums")
        target = {"i8": types.i8, "i16": types.i16, "i32": types.i32}[self.behind]
        shifts = np.minimum(self.shift + rng.integers(0, 3, out), 62)
        last = net.rescale(
            "scaled", "sums", types.i32, target, shifts, zero=(0, self.output_zp if target is types.i8 else 0),
            multiplier=rng.integers(1 << 30, 1 << 31, out),
            rounding_mode="DOUBLE_ROUND" if self.double else "SINGLE_ROUND",
        )  # fmt: skip
        if self.clamp is not None and target is not types.i32:
            low, high = self.clamp
            last = net.op("CLAMP", "clipped", target, last, min_val=low, max_val=high, nan_mode="PROPAGATE")
        if self.table and target is types.i8:
            last = net.op("TABLE", "looked_up", types.i8, last, net.const(types.i8, rng.integers(-128, 128, 256)))
        return net.done(last)


def extremes(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Random int8, many of them at the ends."""
    return np.where(rng.random(shape) < 0.4, rng.choice(ENDS, shape), rng.integers(-128, 128, shape)).astype(np.int8)


def do_step(step: Step, values: dict[str, Array], result: Tensor, threads: int) -> None:
    """Run a step, its units split among threads with scratch of their own."""
    assert step.work is not None
    assert result.shape is not None
    prepared = step.work
    out = np.full(result.shape, 77, result.dtype.storage)
    run = prepared.bind([values[n] for n in step.inputs], [out])
    statuses: list[int] = []

    def part(low: int, high: int) -> None:
        scratch = [work.aligned(count, dtype) for dtype, count in prepared.scratch]
        for memory in scratch:
            memory.view(np.uint8)[:] = 0x55  # a kernel must not depend on what it finds there
        statuses.append(run(low, high, scratch) if low < high else work.DONE)

    cuts = [prepared.units * i // threads for i in range(threads + 1)]
    workers = [threading.Thread(target=part, args=cut) for cut in pairwise(cuts)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert statuses == [work.DONE] * threads
    values[step.output] = out


def check(layer: Layer, threads: int = 1) -> list[Step]:
    """The plan's steps, after comparing what they give with the oracle."""
    graph = layer.graph()
    x = extremes(np.random.default_rng(layer.seed + 1), graph.inputs[0].shape or ())
    wanted = oracle.run(graph, {"x": x})
    plan = make_plan(expand(graph))
    values = {"x": x, **plan.constants}
    steps = [step for step in plan.steps if step.work is not None]
    for step in steps:
        do_step(step, values, plan.block.tensors[step.output], threads)
    name = graph.main.outputs[0]
    np.testing.assert_array_equal(values[name], wanted[name])
    return steps


@st.composite
def axes(draw: st.DrawFn) -> Axis:
    kernel, stride, dilation = draw(st.integers(1, 7)), draw(st.integers(1, 3)), draw(st.sampled_from([1, 1, 2, 3]))
    outputs = draw(st.integers(1, 9))
    reach = (kernel - 1) * dilation
    room = (outputs - 1) * stride + reach
    before = draw(st.integers(0, min(room, reach + 1)))
    return Axis(kernel, stride, dilation, outputs, before, draw(st.integers(0, min(room - before, reach + 1))))


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    repeat = draw(st.sampled_from([1, 1, 1, 2, 3]))
    low = draw(st.sampled_from([-128, -128, -100, 0]))
    return Layer(
        draw(axes()),
        draw(axes()),
        draw(st.one_of(st.integers(1, 130), st.sampled_from([16, 32, 48, 64, 96, 128]))),
        repeat,
        draw(st.integers(1, 2)),
        draw(st.sampled_from([-128, -5, 0, 127])),
        draw(st.sampled_from([0, 0, 0, -128, 3, 127])),
        draw(st.sampled_from((*BEHIND, "i8", "i8"))),
        draw(st.one_of(st.integers(33, 44), st.integers(26, 60))),
        draw(st.booleans()),
        draw(st.sampled_from([None, (low, 127), (low, 99)])),
        draw(st.booleans()),
        draw(st.sampled_from([-128, -3, 0, 127])),
        draw(st.integers(0, 1 << 16)),
    )


@pytest.mark.parametrize("examples", [12, pytest.param(300, marks=pytest.mark.slow("many layers are compiled"))])
@pytest.mark.parametrize("variant", BEST)
def test_every_layer_equals_the_oracle(variant: str, examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)

    @settings(max_examples=examples)
    @given(layers(), st.integers(1, 3))
    def run(layer: Layer, threads: int) -> None:
        check(layer, threads)

    run()


def square(kernel: int, stride: int, outputs: int) -> Axis:
    return Axis(kernel, stride, 1, outputs, (kernel - 1) // 2, kernel - 1 - (kernel - 1) // 2)


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("channels", [15, 16, 17, 31, 32, 40, 48, 63, 64, 65, 80, 96, 97, 144, 200])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (5, 1), (5, 2)])
def test_usual_layers(variant: str, channels: int, kernel: int, stride: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every way to cut channels into vectors, narrow and odd outputs, with all of the epilogue in one step."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    for outputs in (1, 2, 3, 4, 7):
        axis = square(kernel, stride, outputs)
        layer = Layer(axis, axis, channels, input_zp=-128, output_zp=-128, clamp=(-128, 101), table=outputs == 3)
        (step,) = check(layer, 3)
        assert step.operators.startswith("DEPTHWISE_CONV2D+RESCALE+CLAMP")


FEW = [(1, 1), (2, 1), (3, 1), (3, 4), (5, 1), (7, 2), (8, 1), (1, 8), (12, 1), (15, 1)]


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize(("channels", "repeat"), FEW)
def test_few_channels_are_those_of_several_pixels(
    variant: str, channels: int, repeat: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    kernels = [(3, 1, 33), (3, 2, 20), (5, 1, 70), (2, 3, 9), (1, 1, 1), (7, 1, 129)]
    for i, (kernel, stride, outputs) in enumerate(kernels):
        across = replace(square(kernel, stride, outputs), dilation=1 + i % 2)
        layer = Layer(
            square(kernel, stride, 3), across, channels, repeat, 2, -128, (0, 3)[i % 3 == 2], double=i % 2 == 1,
            table=i == 0, output_zp=127, seed=i,
        )  # fmt: skip
        (step,) = check(layer, 1 + i % 3)
        assert step.work is not None
        narrow = step.work.bind.__qualname__.startswith("depthwise_narrow.")
        assert narrow == (variant != "generic")


ROW_KERNELS = [(2, 1, 1, 9), (3, 2, 1, 8), (9, 1, 1, 13), (9, 2, 1, 7), (5, 3, 2, 6), (8, 1, 3, 5), (17, 1, 1, 1)]


@pytest.mark.parametrize("variant", BEST)
def test_a_row_takes_its_quads_along_itself(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so does a column, which is computed as one."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    alone = Axis(1, 1, 1, 1, 0, 0)
    for i, (kernel, stride, dilation, outputs) in enumerate(ROW_KERNELS):
        reach = (kernel - 1) * dilation
        for before, after in ((0, 0), (reach // 2, reach - reach // 2), (0, reach)):
            along = Axis(kernel, stride, dilation, outputs, before, after)
            if along.size < 1:
                continue
            across = (alone, along) if i % 2 else (along, alone)
            layer = Layer(
                *across, (16, 48, 96, 150)[i % 4], 1, 1 + i % 2, (-128, 7)[i % 2], (0, 3)[i % 3 == 2],
                behind=BEHIND[i % 3], double=i % 4 < 2, seed=i,
            )  # fmt: skip
            check(layer, 1 + i % 3)


def test_a_row_takes_a_quarter_of_the_products() -> None:
    """Its quads are full: 9 positions are three columns of four rows."""
    call = Layer(Axis(9, 2, 1, 30, 4, 4), Axis(1, 1, 1, 1, 0, 0), 96).graph()
    (step,) = make_plan(expand(call)).steps
    found = turn(step.calls[0])
    assert is_row(found)
    g, distances = geometry_of_row(found)
    assert g[places.TAPS] == len(distances) == 3
    assert g[places.COLUMNS] == 29 * 2 + 2 * 4 + 1


@pytest.mark.parametrize("shift", [33, 34, 45, 50, 52, 54, 56, 60, 62])
@pytest.mark.parametrize("zero", [-128, 127])
def test_zero_points_in_rounding_terms_fit_or_are_added_later(shift: int, zero: int) -> None:
    axis = square(3, 1, 5)
    for behind, seed in (("i8", 1), ("i8", 2), ("i16", 3)):
        check(Layer(axis, axis, 32, behind=behind, shift=shift, output_zp=zero, seed=seed))


@given(st.integers(1, 400), st.sampled_from([32, 64]))
def test_groups_cover_all_channels_and_only_the_last_one_overlaps(channels: int, widest: int) -> None:
    groups = groups_of(channels, widest)
    assert {width for _, width in groups} <= {16, 32, widest}
    assert set(range(channels)) <= {c for first, width in groups for c in range(first, first + width)}
    if channels >= 16:
        assert groups[-1][0] + groups[-1][1] == channels
    assert all(first + width == following for (first, width), (following, _) in pairwise(groups[:-1]))
