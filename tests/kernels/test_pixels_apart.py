"""CONV2D of 1 x 1 with a stride, whose pixels are read where they lie in the input, against the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from nets import Net
from vector_units import UNITS

from tosa_engine import Session, oracle, types

# batch, height, width, channels, outputs, stride
LAYERS = [
    (1, 9, 13, 16, 32, (2, 2)), (2, 7, 5, 4, 5, (3, 2)), (1, 30, 1, 8, 40, (2, 1)), (3, 8, 8, 20, 17, (1, 3)),
    (1, 33, 40, 12, 16, (2, 2)), (2, 6, 9, 6, 8, (2, 2)), (1, 4, 4, 64, 8, (4, 4)),
]  # fmt: skip


@pytest.mark.parametrize("variant", UNITS)
def test_pixels_apart(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and columns behind the last window are cut off by a SLICE, or padded."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    for i, (batch, height, width, channels, outputs, stride) in enumerate(LAYERS):
        net = Net(i)
        pads = [-(size - 1) % step for size, step in zip((height, width), stride, strict=True)]
        x = net.input("x", types.i8, batch, height, width, channels)
        if i % 2:  # the last rows and columns that no window sees
            sizes = [size - (size - 1) % step for size, step in zip((height, width), stride, strict=True)]
            start, size = net.const(types.shape, [0] * 4), net.const(types.shape, [batch, *sizes, channels])
            x, pads = net.op("SLICE", "part", types.i8, x, start, size), [0, 0]
        weight = net.const(types.i8, net.rng.integers(-128, 128, (outputs, 1, 1, channels)))
        bias = net.const(types.i32, net.rng.integers(-999, 999, outputs))
        net.op(
            "CONV2D", "sums", types.i32, x, weight, bias, net.const(types.i8, [-5]), net.const(types.i8, [0]),
            pad=(0, pads[0], 0, pads[1]), stride=stride, dilation=(1, 1), acc_type=types.i32, local_bound=False,
        )  # fmt: skip
        graph = net.done(net.rescale("y", "sums", types.i32, types.i8, np.full(outputs, 38), zero=(0, 3)))
        feeds = {"x": net.rng.integers(-128, 128, (batch, height, width, channels)).astype(np.int8)}
        wanted = oracle.run(graph, feeds)["y"]
        for threads in (1, 3):
            np.testing.assert_array_equal(Session(graph, threads).run(None, feeds)[0], wanted)
