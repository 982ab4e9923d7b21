"""Channels that are no whole vectors, short runs, how weights are packed: what tiles and copies do with the rest."""

from __future__ import annotations

import numpy as np
import pytest
from nets import Net
from replay_tools import replay
from vector_units import UNITS

from tosa_engine import Session, oracle, types
from tosa_engine.builder import Builder
from tosa_engine.kernels.winograd import places as at
from tosa_engine.kernels.winograd.matrices import G
from tosa_engine.kernels.winograd.prepare import for_few, pack_weights
from tosa_engine.types import fp32, i8, i32

CHANNELS = (1, 4, 7, 8, 12, 20, 24, 31, 40)


def layer(channels: int, kernel: int, clip: bool) -> Net:
    net = Net(channels)
    x = net.input("x", i8, 2, 9, 7, 10)
    weight = net.const(i8, net.rng.integers(-128, 128, (channels, kernel, kernel, 10)))
    bias = net.const(i32, net.rng.integers(-999, 999, channels))
    net.op(
        "CONV2D", "sums", i32, x, weight, bias, net.const(i8, [-5]), net.const(i8, [3]), pad=(kernel // 2,) * 4,
        stride=(1, 1), dilation=(1, 1), acc_type=i32, local_bound=False,
    )  # fmt: skip
    net.rescale("r", "sums", i32, i8, np.full(channels, 38), zero=(0, 3))
    if clip:
        net.op("CLAMP", "y", i8, "r", min_val=-90, max_val=77, nan_mode="PROPAGATE")
    return net


@pytest.mark.parametrize("unit", UNITS)
def test_bytes_of_channels_that_are_no_whole_vectors(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are stored from registers on units without masks, too, and 1 x 1 layers read a copy of many pixels."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", unit)
    for channels in CHANNELS:
        for kernel, clip in ((1, False), (1, True), (3, False)):
            graph = layer(channels, kernel, clip).done("y" if clip else "r")
            feeds = {"x": np.random.default_rng(0).integers(-128, 128, (2, 9, 7, 10)).astype(np.int8)}
            (wanted,) = oracle.run(graph, feeds).values()
            for threads in (1, 3):
                np.testing.assert_array_equal(Session(graph, threads).run(None, feeds)[0], wanted)
    replay(graph, feeds, 3)


@pytest.mark.parametrize("kernel", [1, 3])
def test_floats_of_channels_that_are_no_whole_panels(kernel: int) -> None:
    """A half of a panel is a tile of its own. Sums of small integers are exact in any order."""
    for channels in (*CHANNELS, 55, 56):
        b, rng = Builder(), np.random.default_rng(channels)
        x = b.input(fp32, (1, 9, 7, 10), "x")
        weight = b.const(rng.integers(-9, 10, (channels, kernel, kernel, 10)).astype(np.float32))
        zero, bias = b.const(np.zeros(1, np.float32)), b.const(rng.integers(-9, 10, channels).astype(np.float32))
        b.output(
            b.op(
                "CONV2D", x, weight, bias, zero, zero, pad=(kernel // 2,) * 4, stride=(1, 1), dilation=(1, 1),
                local_bound=False,
            )
        )  # fmt: skip
        graph, feeds = b.graph(), {"x": rng.integers(-9, 10, (1, 9, 7, 10)).astype(np.float32)}
        (wanted,) = oracle.run(graph, feeds).values()
        for threads in (1, 3):
            np.testing.assert_array_equal(Session(graph, threads).run(None, feeds)[0], wanted)


@pytest.mark.parametrize("dtype", [i8, types.i16, i32], ids=str)
def test_transpositions_and_short_runs(dtype: types.DType) -> None:
    """Heads, pixels of four channels as planes, and runs of a few lines, which have loops of their own."""
    rng = np.random.default_rng(0)

    def run(b: Builder, wanted: np.ndarray, feeds: dict[str, np.ndarray]) -> None:
        for threads in (1, 3):
            np.testing.assert_array_equal(Session(b.graph(), threads).run(None, feeds)[0], wanted)

    for shape, perms in (
        ((1, 64, 4, 32), (0, 2, 3, 1)), ((2, 33, 3, 19), (0, 2, 3, 1)), ((1, 5, 2, 8), (0, 2, 3, 1)),
        ((1, 64, 80, 4), (0, 3, 1, 2)), ((70, 4), (1, 0)), ((4, 90), (1, 0)), ((90, 12), (1, 0)),
    ):  # fmt: skip
        b, x = Builder(), rng.integers(-99, 99, shape).astype(dtype.storage)
        b.output(b.op("TRANSPOSE", b.input(dtype, shape, "x"), perms=perms))
        run(b, x.transpose(perms), {"x": x})
    for widths in ((8, 24), (64, 72), (7, 9), (16, 520)):
        b = Builder()
        parts = {f"x{width}": rng.integers(-99, 99, (1, 9, 11, width)).astype(dtype.storage) for width in widths}
        b.output(b.op("CONCAT", [b.input(dtype, part.shape, name) for name, part in parts.items()], axis=3))
        run(b, np.concatenate([*parts.values()], axis=3), parts)


@pytest.mark.parametrize("lanes", [8, 16])
def test_weights_are_packed_by_their_formula(lanes: int) -> None:
    rng, columns = np.random.default_rng(0), at.columns_of(lanes)
    for channels, depth in ((columns, 32), (33, 40), (5, 70)):
        weight = rng.integers(-227, 228, (channels, 3, 3, depth)).astype(np.int16)
        found = pack_weights(weight, columns, lanes, late=False, few=False)
        found = found.reshape(-1, at.POINTS, -(-depth // at.CHUNK) * at.PAIRS, columns, 2)
        points = np.einsum("ik,oklc,jl->oijc", G, weight, G).reshape(channels, at.POINTS, depth)
        of_channel = found.transpose(0, 3, 1, 2, 4).reshape(-1, at.POINTS, 2 * found.shape[2])
        np.testing.assert_array_equal(of_channel[:channels, :, :depth], points)
        assert not of_channel[channels:].any()
        assert not of_channel[:, :, depth:].any()
        weight = rng.integers(-128, 128, weight.shape).astype(np.int8)
        late = pack_weights(weight, columns, lanes, late=True, few=False)
        late = late.reshape(-1, found.shape[2], at.TAPS, lanes, 2)
        taps = late.transpose(0, 3, 2, 1, 4).reshape(-1, at.TAPS, 2 * found.shape[2])
        np.testing.assert_array_equal(taps[:channels, :, :depth], weight.reshape(channels, at.TAPS, depth))
        few = pack_weights(weight, columns, lanes, late=True, few=True)
        np.testing.assert_array_equal(few, for_few(late).reshape(-1))
