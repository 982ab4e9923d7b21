"""Convolutions with one output pixel, whose window is the whole input, against the oracle and the unfused plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from nets import Net
from replay_tools import replay

from tosa_engine import Session, oracle, types
from tosa_engine.kernels._jit import variants
from tosa_engine.runtime import workspace
from tosa_engine.types import i8, i32

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

MODES = ("SINGLE_ROUND", "DOUBLE_ROUND")
WINDOWS = ((1, 1, 4), (1, 1, 64), (5, 1, 40), (3, 2, 6), (1, 7, 12))  # height, width, channels
CHANNELS = (1, 8, 16, 33, 63, 64, 65, 130, 200)


def scaled(net: Net, channels: int, to: types.DType, mode: str, shift: int) -> Graph:
    shifts = [shift + i % 3 for i in range(channels)]
    net.rescale("y", "sums", i32, to, shifts, zero=(0, -7 if to is i8 else 0), rounding_mode=mode)
    return net.done("y")


def dense(window: tuple[int, int, int], channels: int, mode: str, to: types.DType = i8, shift: int = 38) -> Graph:
    net, (height, width, depth) = Net(channels), window
    x = net.input("x", i8, 1, height, width, depth)
    net.conv("sums", x, net.weights(channels, height, width, depth), channels, pad=(0, 0, 0, 0))
    return scaled(net, channels, to, mode, shift)


def depthwise(taps: tuple[int, int], channels: int, mode: str, to: types.DType = i8, shift: int = 38) -> Graph:
    net = Net(channels)
    x = net.input("x", i8, 1, *taps, channels)
    weight = net.weights(*taps, channels, 1, low=-128)
    net.conv("sums", x, weight, channels, op="DEPTHWISE_CONV2D", pad=(0, 0, 0, 0))
    return scaled(net, channels, to, mode, shift)


def check(graph: Graph, kernel: str | None) -> None:
    session = Session(graph, 1)
    if kernel is not None:
        (step,) = session.plan().steps
        assert step.work is not None
        assert step.work.bind.__qualname__.partition(".")[0] == kernel
    rng = np.random.default_rng(1)
    shape = graph.inputs[0].shape
    for values in (rng.choice([-128, -127, 0, 127], shape), np.full(shape, -128), np.full(shape, 127)):
        feeds = {"x": values.astype(np.int8)}
        np.testing.assert_array_equal(session.run(None, feeds)[0], oracle.run(graph, feeds)["y"])


def tiles_in_rows() -> str | None:
    """The kernel of dense layers where the processor has what it needs."""
    simd = variants.variant()
    return "conv2d_pixel" if simd.quads and simd.masks else None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("channels", CHANNELS)
def test_dense(channels: int, mode: str) -> None:
    for window in WINDOWS:
        check(dense(window, channels, mode), tiles_in_rows())
    check(dense((1, 1, 64), channels, mode, types.i16), tiles_in_rows())
    check(dense((1, 1, 64), channels, mode, i32, 31), tiles_in_rows() if mode == "DOUBLE_ROUND" else None)
    check(dense((1, 1, 63), channels, mode), "conv2d_tiled")  # no whole quads


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("channels", CHANNELS)
def test_depthwise(channels: int, mode: str) -> None:
    for taps in ((1, 1), (3, 1), (17, 1), (2, 3)):
        check(depthwise(taps, channels, mode), "depthwise_pixel")
    check(depthwise((3, 1), channels, mode, types.i16), "depthwise_pixel")
    check(depthwise((3, 1), channels, mode, i32, 31), "depthwise_pixel")


def test_depthwise_in_plain_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", "generic")
    for mode in MODES:
        check(depthwise((5, 1), 33, mode), "depthwise_pixel")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("graph", [dense((1, 1, 64), 200, "DOUBLE_ROUND"), depthwise((9, 1), 200, "SINGLE_ROUND")])
def test_workers_share_channels(graph: Graph, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "WORTH_SHARING", 0.0)
    monkeypatch.setattr(workspace, "WORTH_WAKING", 0.0)
    (step,) = Session(graph, 1).plan().steps
    assert step.work is not None
    assert step.work.units > 1 or tiles_in_rows() is None
    shape = graph.inputs[0].shape
    replay(graph, {"x": np.random.default_rng(0).integers(-128, 127, shape).astype(np.int8)}, threads)


def sliced(start: tuple[int, int, int], size: tuple[int, int, int], twice: bool) -> Graph:
    """A window over a part of [1, 9, 4, 70]: places and sizes of rows, columns and channels."""
    net = Net(3)
    x = net.input("x", i8, 1, 9, 4, 70)
    rows = (0, *((0, 0, start[2]) if twice else start)), (1, *((9, 4, size[2]) if twice else size))
    y = net.op("SLICE", "part", i8, x, *(net.const(types.shape, list(one)) for one in rows))
    if twice:
        rows = (0, *start[:2], 0), (1, *size)
        y = net.op("SLICE", "smaller", i8, y, *(net.const(types.shape, list(one)) for one in rows))
    net.conv("sums", y, net.weights(*size, 1), size[2], op="DEPTHWISE_CONV2D", pad=(0, 0, 0, 0))
    return scaled(net, size[2], i8, "DOUBLE_ROUND", 38)


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("start", [(0, 0, 0), (4, 0, 32), (8, 1, 5)])
def test_channels_of_a_part_are_read_in_place(start: tuple[int, int, int], twice: bool) -> None:
    for channels in (1, 32, 70 - start[2]):
        lines, columns = (1, 2) if start[1] else (9 - start[0], 4)
        graph = sliced(start, (lines, columns, channels), twice)
        check(graph, "depthwise_pixel")
        (step,) = Session(graph, 1).plan().steps
        assert step.operators == "SLICE+" * (1 + twice) + "DEPTHWISE_CONV2D+RESCALE"


def test_columns_apart_are_copied() -> None:
    graph = sliced((2, 1, 3), (5, 2, 40), twice=False)
    assert [step.operators for step in Session(graph, 1).plan().steps] == ["SLICE", "DEPTHWISE_CONV2D+RESCALE"]
    check(graph, None)


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_are_replayed(threads: int) -> None:
    x = np.random.default_rng(0).integers(-128, 127, (1, 9, 4, 70)).astype(np.int8)
    replay(sliced((3, 0, 7), (6, 4, 33), twice=True), {"x": x}, threads)
