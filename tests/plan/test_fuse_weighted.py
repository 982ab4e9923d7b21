"""ADD and SUB of int8 between scales as one weighted sum, where all pairs of bytes agree; else as three scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net
from vector_units import UNITS

from tosa_engine import oracle
from tosa_engine.kernels.scale.weighted import LARGEST, weighted_numbers
from tosa_engine.runtime.session import Session
from tosa_engine.types import DType, i8, i32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.types import Shape

# of data__image_classification, which rounds twice, and of MobileNetV2, which doesn't
TWICE = ((1623821475, 13, True), (1 << 30, 11, False), (1098017566, 48, True))
ONCE = ((1 << 30, 11, False), (1858019080, 12, False), (1665295967, 50, False))
COARSE = ((1431655765, 32, False), (1 << 30, 31, False), (1 << 30, 29, False))  # thirds and halves of integers, doubled
ALL = np.arange(-128, 128, dtype=np.int8)


def scale(net: Net, name: str, source: str, types: Sequence[DType], numbers: Any, zeros: tuple[int, int]) -> str:
    multiplier, shift, double = numbers
    rounding = "DOUBLE_ROUND" if double else "SINGLE_ROUND"
    return net.rescale(
        name, source, *types, np.array([shift]), zero=zeros, multiplier=np.array([multiplier]), rounding_mode=rounding
    )


def added(op: str, shapes: Sequence[Shape], scales: Any, zeros: Sequence[int], clamp: tuple[int, int]) -> Net:
    net = Net()
    sides = [
        scale(net, f"{x}_scaled", net.input(x, i8, *shapes[i]), (i8, i32), scales[i], (zeros[i], 0))
        for i, x in enumerate("ab")
    ]
    net.op(op, "total", i32, *sides)
    scale(net, "sum", "total", (i32, i8), scales[2], (0, zeros[2]))
    net.op("CLAMP", "y", i8, "sum", min_val=clamp[0], max_val=clamp[1], nan_mode="PROPAGATE")
    return net


@pytest.mark.parametrize("variant", UNITS)
@pytest.mark.parametrize("op", ["ADD", "SUB"])
@pytest.mark.parametrize("scales", [TWICE, ONCE, COARSE])
def test_all_pairs_of_bytes(op: str, scales: Any, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    a, b = (x.reshape(1, -1) for x in np.meshgrid(ALL, ALL))
    for zeros, clamp, threads in (
        ((0, 0, 0), (-128, 127), 1),
        ((-128, 5, -128), (-128, 127), 3),
        ((9, 0, 3), (3, 90), 1),
    ):
        graph = added(op, (a.shape, b.shape), scales, zeros, clamp).done("y")
        session = Session(graph, threads)
        (step,) = [step for step in session.plan().steps if step.work is not None]
        assert step.operators == f"RESCALE+RESCALE+{op}+RESCALE+CLAMP"
        assert step.work is not None
        assert step.work.bind.__qualname__.startswith("weighted_sum.") == (scales is not COARSE)
        feeds = {"a": a, "b": b}
        np.testing.assert_array_equal(session.run(None, feeds)[0], oracle.run(graph, feeds)["y"])


@pytest.mark.parametrize(
    "shapes", [((2, 3, 37), (1, 1, 37)), ((1, 3, 5), (4, 1, 5)), ((2, 70), (2, 1)), ((1, 1), (1, 9))]
)
def test_rows_that_repeat(shapes: tuple[Shape, Shape]) -> None:
    rng = np.random.default_rng(1)
    graph = added("SUB", shapes, TWICE, (1, -2, 3), (-128, 127)).done("y")
    feeds = {x: rng.integers(-128, 128, shape).astype(np.int8) for x, shape in zip("ab", shapes, strict=True)}
    np.testing.assert_array_equal(Session(graph, 1).run(None, feeds)[0], oracle.run(graph, feeds)["y"])


def test_numbers_of_extreme_scales_fit_their_words() -> None:
    """Results that don't depend on one input or on both, and zero points at the ends."""
    least = ((1 << 30, 62, 0), (1 << 30, 11, 0), (1 << 30, 50, 0))
    for scales in (
        least,
        (least[0], least[0], (1 << 30, 62, 0)),
        ((1 << 30, 30, 0), (1 << 30, 30, 0), (1 << 30, 30, 0)),
    ):
        for zero in (-128, 127):
            found = weighted_numbers(scales, (zero, zero, zero), 1, (-128, 127))
            assert found is not None
            first, second, _, _, _, _, _, _, high, low, _ = found
            assert max(abs(first), abs(second)) < LARGEST
            assert abs(high) < 1 << 30
            assert 0 <= low < 1 << 15
