"""Which parts of a step workers share, and that no border between two parts changes a byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from nets import Net

from tosa_engine.kernels import work
from tosa_engine.kernels._jit.variants import variant
from tosa_engine.kernels.tile.packing import in_channels
from tosa_engine.plan import expand, make_plan
from tosa_engine.types import i8, i32

if TYPE_CHECKING:
    from tosa_engine.plan.steps import Step
    from tosa_engine.types import Array


def step_of(op: str, side: int, depth: int, channels: int, images: int = 1) -> Step:
    """A convolution with its RESCALE: 1 x 1, or 3 x 3 and depthwise."""
    net = Net()
    x = net.input("x", i8, images, side, side, depth)
    weight = net.weights(3, 3, depth, 1) if op.startswith("DEPTH") else net.weights(channels, 1, 1, depth)
    net.conv("c", x, weight, channels, op=op, pad=(1, 1, 1, 1) if op.startswith("DEPTH") else (0, 0, 0, 0))
    net.rescale("y", "c", i32, i8, 38)
    (step,) = make_plan(expand(net.done("y"))).steps
    return step


def units_of(step: Step) -> int:
    assert step.work is not None
    return step.work.units


def test_pixels_are_shared_by_tiles_and_channels_where_there_are_few_pixels() -> None:
    rows, panels = variant().rows, variant().panels
    assert in_channels(49)
    assert units_of(step_of("CONV2D", 7, 32, 512)) == work.LEAST_UNITS  # all pixels, an eighth of the channels each
    assert units_of(step_of("CONV2D", 7, 32, 160)) == (4 if panels == 2 else 8)  # five pairs of panels: in halves
    assert not in_channels(28 * 28)
    assert units_of(step_of("CONV2D", 28, 32, 160)) == -(-28 * 28 // rows)
    assert units_of(step_of("CONV2D", 7, 32, 160, images=16)) == -(-16 * 49 // rows)


@pytest.mark.parametrize(
    ("op", "side", "depth", "channels", "images"),
    [
        ("CONV2D", 7, 36, 160, 1), ("CONV2D", 7, 36, 96, 1), ("CONV2D", 15, 20, 40, 1), ("CONV2D", 7, 16, 24, 9),
        ("DEPTHWISE_CONV2D", 7, 144, 144, 1), ("DEPTHWISE_CONV2D", 15, 80, 80, 2),
    ],
)  # fmt: skip
def test_borders_between_parts_change_no_byte(op: str, side: int, depth: int, channels: int, images: int) -> None:
    step = step_of(op, side, depth, channels, images)
    prepared = step.work
    assert prepared is not None
    x = np.random.default_rng(0).integers(-128, 128, (images, side, side, depth)).astype(np.int8)

    def outputs(borders: list[int]) -> Array:
        """By parts in reverse order, each with scratch of its own."""
        out = np.full((images, side, side, channels), 99, np.int8)
        parts = list(zip([0, *borders], [*borders, prepared.units], strict=True))
        for low, high in reversed(parts):
            scratch = [work.aligned(count, dtype) for dtype, count in prepared.scratch]
            assert prepared.bind([x], [out])(low, high, scratch) == work.DONE
        return out

    whole = outputs([])
    assert len(np.unique(whole)) > 20
    for unit in range(1, prepared.units):
        np.testing.assert_array_equal(outputs([unit]), whole)
    np.testing.assert_array_equal(outputs(list(range(1, prepared.units))), whole)
