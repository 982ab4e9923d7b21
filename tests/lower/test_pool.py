"""Windows that average, sum and find the largest, over any axes and with every border, beside plain numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from lower_tools import Array, bordered, graph_of, normal, operators, run, taps

from tosa_engine.lower import pool, positions
from tosa_engine.lower.borders import BORDERS
from tosa_engine.lower.problems import Unlowered
from tosa_engine.lower.windows import Window, transposed_windows, windows

SHAPE = (2, 3, 6, 5, 4)
OVER: list[tuple[tuple[int, ...], int, int, int, tuple[int, int] | None]] = [  # axes, size, stride, dilation, padding
    ((2,), 3, 1, 1, (1, 1)),
    ((2, 3), 2, 2, 1, (0, 1)),
    ((2, 3), 2, 1, 2, (1, 1)),
    ((2, 3), 2, 1, 1, (2, -1)),
    ((2, 3), 2, 2, 1, None),
    ((2, 3, 4), 2, 2, 1, (1, 0)),
    ((1,), 3, 1, 1, (1, 1)),
    ((2, 3), 1, 2, 1, (0, 0)),
]


def over(axes: tuple[int, ...], size: int, stride: int, dilation: int, padding: Any) -> tuple[Array, list[Window]]:
    """An input with as many axes as are needed, and windows over `axes`."""
    rank = max(3, max(axes) + 1)
    every = [(size, stride, dilation, padding) if axis in axes else (1, 1, 1, (0, 0)) for axis in range(rank)]
    numbers = zip(*every, strict=True)
    return normal(*SHAPE[:rank]), windows(SHAPE[:rank], *numbers)


def values(x: Array, spans: list[Window], border: str, value: float) -> Array:
    """[positions in the window, outputs ...]."""
    wide = bordered(x, [(w.before, w.after) for w in spans], border, value)
    return np.stack([found for _, found in taps(wide, spans)])


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("how", OVER)
def test_pools(how: Any, border: str) -> None:
    x, spans = over(*how)
    most = values(x, spans, border, -math.inf if border == "ignore" else 0.0).max(0)
    there = values(x, spans, border, 0.0)
    total = there.astype(np.float64).sum(0)
    inside = values(np.ones_like(x), spans, "constant" if border == "ignore" else "replicate", 0.0)
    number = np.maximum(inside.sum(0), 1)
    np.testing.assert_array_equal(run(lambda g, t: pool.max_pool(g, t, spans, border), x), most)
    for lowering, wanted in ((pool.average_pool, total / number), (pool.sum_pool, total)):
        got = run(lambda g, t, lowering=lowering: lowering(g, t, spans, border), x)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_pools_over_two_axes_are_one_operator() -> None:
    x, spans = over((2, 3), 2, 2, 1, (0, 1))
    assert operators(graph_of(lambda g, t: pool.max_pool(g, t, spans, "ignore"), x)) == {"TRANSPOSE", "MAX_POOL2D"}
    assert operators(graph_of(lambda g, t: pool.average_pool(g, t, spans, "ignore"), x)) == {"TRANSPOSE", "AVG_POOL2D"}


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("how", OVER)
def test_places_of_maxima_and_the_values_there(how: Any, border: str) -> None:
    x, spans = over(*how)
    there = values(x, spans, border, -math.inf if border == "ignore" else 0.0)
    places = run(lambda g, t: positions.places_of_maxima(g, t, spans, border), x)
    np.testing.assert_array_equal(places, there.argmax(0))
    filled = values(x, spans, border, 0.0)
    got = run(lambda g, t, index: positions.sampled(g, t, index, spans, border), x, places)
    np.testing.assert_array_equal(got, np.take_along_axis(filled, places[None], 0)[0])


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_values_go_back_to_their_place(axes: int, stride: int) -> None:
    extents = (1, 2, *(3, 2, 2)[:axes])
    both, spatial = [1, 1], [2] * axes
    spans = transposed_windows(
        extents, both + spatial, both + [stride] * axes, [1] * len(extents), [(0, 0)] * len(extents)
    )
    x, index = normal(*extents), np.random.default_rng(0).integers(0, 2**axes, extents).astype(np.int32)
    wanted = np.zeros([w.output for w in spans])
    for at in np.ndindex(*extents):
        place = np.unravel_index(index[at], [w.size for w in spans])
        wanted[tuple(i * w.stride + int(j) for i, j, w in zip(at, place, spans, strict=True))] += x[at]
    got = run(lambda g, t, places: positions.put_back(g, t, places, spans), x, index)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(("size", "stride", "padding"), [(2, 2, (0, 0)), (3, 2, (1, 0)), (2, 3, (0, 0))])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_transposed_sums(axes: int, size: int, stride: int, padding: tuple[int, int], normalize: bool) -> None:
    extents = (1, 2, *(3, 2, 2)[:axes])
    both = [1, 1]
    spans = transposed_windows(
        extents, both + [size] * axes, both + [stride] * axes, [1] * len(extents), [(0, 0)] * 2 + [padding] * axes
    )
    x = normal(*extents)
    wanted = np.zeros([w.output for w in spans])
    for at in np.ndindex(*extents):
        low = [i * w.stride - w.before for i, w in zip(at, spans, strict=True)]
        wanted[tuple(slice(max(n, 0), n + w.size) for n, w in zip(low, spans, strict=True))] += x[at]
    if normalize:
        wanted /= size**axes
    got = run(lambda g, t: pool.transposed_sum_pool(g, t, spans, "constant", normalize=normalize), x)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_windows_with_too_many_positions_are_refused() -> None:
    spans = windows((1, 1, 2000), (1, 1, 1025), (1, 1, 1), (1, 1, 1), [(0, 0)] * 3)
    with pytest.raises(Unlowered, match="a window of 1025 elements; at most 1024"):
        run(lambda g, t: positions.places_of_maxima(g, t, spans, "constant"), normal(1, 1, 2000))
