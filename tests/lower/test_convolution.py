"""Convolutions and transposed convolutions with one to three spatial axes, beside sums in plain numpy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from lower_tools import Array, bordered, graph_of, normal, operators, run, taps

from tosa_engine.lower.borders import FILLED
from tosa_engine.lower.convolution import check_groups, check_ranks, convolution, transposed_convolution
from tosa_engine.lower.problems import Misfit, Unlowered
from tosa_engine.lower.windows import Window, transposed_windows, windows

EXTENTS = (6, 5, 4)
NUMBERS: list[dict[str, Any]] = [  # stride, dilation and padding of every axis
    {"stride": 1, "dilation": 1, "padding": (1, 1)},
    {"stride": 2, "dilation": 1, "padding": (0, 1)},
    {"stride": 1, "dilation": 2, "padding": (2, 1)},
    {"stride": 2, "dilation": 2, "padding": (1, -1)},
    {"stride": 2, "dilation": 1, "padding": None},
]


def convolved(x: Array, weight: Array, bias: Array, over: list[Window], groups: int, border: str) -> Array:
    """The sum over all taps, group by group."""
    padding = [(0, 0), (0, 0), *((w.before, w.after) for w in over)]
    wide = bordered(x.astype(np.float64), padding, border)
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    found = np.zeros((x.shape[0], weight.shape[0], *(w.output for w in over)))
    for place, values in taps(wide, over, 2):
        for g in range(groups):
            part, rows = values[:, g * inputs : (g + 1) * inputs], slice(g * outputs, (g + 1) * outputs)
            found[:, rows] += np.einsum("nc...,oc->no...", part, weight[(rows, slice(None), *place)])
    return found + bias.reshape(1, -1, *(1,) * len(over))


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_convolution(axes: int, numbers: dict[str, Any], groups: int) -> None:
    extents = EXTENTS[:axes]
    x, weight, bias = normal(2, 4, *extents), normal(8, 4 // groups, *(2, 3, 2)[:axes], seed=1), normal(8, seed=2)
    over = windows(extents, weight.shape[2:], *([numbers[n]] * axes for n in ("stride", "dilation", "padding")))
    got = run(lambda g, *tensors: convolution(g, *tensors, over, groups), x, constants=[weight, bias])
    np.testing.assert_allclose(got, convolved(x, weight, bias, over, groups, "constant"), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("border", FILLED)
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_borders_of_convolution(axes: int, border: str) -> None:
    extents = EXTENTS[:axes]
    x, weight, bias = normal(1, 2, *extents), normal(3, 2, *(3,) * axes, seed=1), normal(3, seed=2)
    over = windows(extents, weight.shape[2:], [2] * axes, [1] * axes, [(2, 1)] * axes)
    got = run(lambda g, *tensors: convolution(g, *tensors, over, 1, border), x, weight, bias)
    np.testing.assert_allclose(got, convolved(x, weight, bias, over, 1, border), rtol=1e-5, atol=1e-5)


def transposed(x: Array, weight: Array, bias: Array, over: list[Window], groups: int, border: str) -> Array:
    """Every value times the filter to its place; of the border as much as an output can meet."""
    shift = 4 if border != "constant" else 0
    wide = bordered(x.astype(np.float64), [(0, 0)] * 2 + [(shift, shift)] * len(over), border)
    inputs, outputs = weight.shape[0] // groups, weight.shape[1]
    found = np.zeros((x.shape[0], outputs * groups, *(w.output for w in over)))
    for at in itertools.product(*(range(n) for n in wide.shape[2:])):
        for place in itertools.product(*(range(w.size) for w in over)):
            to = [(i - shift) * w.stride + j * w.dilation - w.before for i, j, w in zip(at, place, over, strict=True)]
            if all(0 <= t < w.output for t, w in zip(to, over, strict=True)):
                for g in range(groups):
                    part = wide[(slice(None), slice(g * inputs, (g + 1) * inputs), *at)]
                    taken = weight[(slice(g * inputs, (g + 1) * inputs), slice(None), *place)]
                    found[(slice(None), slice(g * outputs, (g + 1) * outputs), *to)] += part @ taken
    return found + bias.reshape(1, -1, *(1,) * len(over))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("numbers", [n for n in NUMBERS if n["padding"] != (1, -1)])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_transposed_convolution(axes: int, numbers: dict[str, Any], groups: int) -> None:
    extents = (3, 4, 3)[:axes]
    x, weight = normal(1, 4, *extents), normal(4, 3, *(3, 2, 2)[:axes], seed=1)
    bias = normal(3 * groups, seed=2)
    how = ([numbers[n]] * axes for n in ("stride", "dilation", "padding"))
    over = transposed_windows(extents, weight.shape[2:], *how)
    got = run(lambda g, *tensors: transposed_convolution(g, *tensors, over, groups), x, constants=[weight, bias])
    np.testing.assert_allclose(got, transposed(x, weight, bias, over, groups, "constant"), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("border", FILLED)
@pytest.mark.parametrize("axes", [1, 2])
def test_borders_of_transposed_convolution(axes: int, border: str) -> None:
    extents = (4, 5)[:axes]
    x, weight, bias = normal(1, 2, *extents), normal(2, 3, *(3,) * axes, seed=1), normal(3, seed=2)
    over = transposed_windows(extents, weight.shape[2:], [2] * axes, [1] * axes, [(1, 1)] * axes)
    got = run(lambda g, *tensors: transposed_convolution(g, *tensors, over, 1, border), x, weight, bias)
    np.testing.assert_allclose(got, transposed(x, weight, bias, over, 1, border), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("extents", "groups", "op"),
    [
        ((6, 5), 1, "CONV2D"),
        ((6,), 1, "CONV2D"),
        ((6, 5), 4, "DEPTHWISE_CONV2D"),
        ((6, 5), 2, "CONCAT"),
        ((6, 5, 4), 1, "CONV3D"),
    ],
)
def test_operators_of_convolutions(extents: tuple[int, ...], groups: int, op: str) -> None:
    x, weight, bias = normal(1, 4, *extents), normal(4, 4 // groups, *(3,) * len(extents)), normal(4)
    ones = [1] * len(extents)
    over = windows(extents, weight.shape[2:], ones, ones, [(1, 1)] * len(extents))
    assert op in operators(graph_of(lambda g, *t: convolution(g, *t, over, groups), x, constants=[weight, bias]))


def test_a_transposed_convolution_over_two_axes_is_one_operator() -> None:
    x, weight, bias = normal(1, 2, 3, 4), normal(2, 3, 2, 2), normal(3)
    over = transposed_windows((3, 4), (2, 2), (2, 2), (1, 1), [(0, 0)] * 2)
    graph = graph_of(lambda g, *t: transposed_convolution(g, *t, over), x, constants=[weight, bias])
    assert operators(graph) == {"TRANSPOSE", "TRANSPOSE_CONV2D"}


def test_what_does_not_fit_is_said() -> None:
    def checked(groups: int, transposed: bool = False) -> Any:
        return lambda g, x, weight: check_groups(x, weight, groups, transposed=transposed) or x

    x, weight = normal(1, 4, 5), normal(6, 2, 3)
    with pytest.raises(Misfit, match=r"filter of shape \[6, 2, 3\] doesn't fit 4 channels in 3 groups"):
        run(checked(3), x, weight)
    with pytest.raises(Misfit, match="doesn't fit 4 channels in 2 groups"):
        run(checked(2, transposed=True), x, weight)
    with pytest.raises(Misfit, match=r"input of shape \[1, 4, 5\] and filter of shape \[6, 2\]"):
        run(lambda g, x, weight: check_ranks(x, weight) or x, x, normal(6, 2))
    with pytest.raises(Unlowered, match="one to three spatial axes are supported"):
        run(lambda g, x, weight: check_ranks(x, weight) or x, normal(1, 2, 2, 2, 2, 2), normal(1, 2, 2, 2, 2, 2))
