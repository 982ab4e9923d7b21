"""Steps, repetition, borders, products along an axis, of inputs and of constants, beside plain numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from lower_tools import Array, bordered, graph_of, normal, operators, run

from tosa_engine.lower import axes, borders, layout
from tosa_engine.lower.problems import Misfit

if TYPE_CHECKING:
    from collections.abc import Callable

    Lowering = Callable[..., Any]

X = normal(2, 7, 3)


def spread(x: Array, step: int) -> Array:
    found = np.zeros((x.shape[0], (x.shape[1] - 1) * step + 1, *x.shape[2:]))
    found[:, ::step] = x
    return found


CASES: dict[str, tuple[Lowering, Array]] = {
    "part": (lambda g, x: axes.part(g, x, 1, 2, 3), X[:, 2:5]),
    "every second": (lambda g, x: axes.every(g, x, 1, 0, 2, 4), X[:, ::2]),
    "every third": (lambda g, x: axes.every(g, x, 1, 1, 3, 2), X[:, 1::3]),
    "reversed": (lambda g, x: axes.reversed_(g, x, 1), X[:, ::-1]),
    "repeated": (lambda g, x: axes.repeated(g, x, 1, 3), np.tile(X, (1, 3, 1))),
    "each repeated": (lambda g, x: axes.each_repeated(g, x, 1, 3), np.repeat(X, 3, 1)),
    "spread": (lambda g, x: axes.spread(g, x, 1, 3), spread(X, 3)),
    "backwards": (lambda g, x: layout.stepped(g, x, 1, 5, -2, 3), X[:, 5:0:-2]),
    "tiled": (lambda g, x: layout.tiled(g, x, (2, 1, 3)), np.tile(X, (2, 1, 3))),
    "stacked": (lambda g, x: layout.stacked(g, [x, x], 1), np.stack([X, X], 1)),
    "split": (lambda g, x: g.concat(layout.split(g, x, 1, [2, 5])[::-1], 1), np.concatenate([X[:, 2:], X[:, :2]], 1)),
    "unstacked": (lambda g, x: layout.unstacked(g, x, 1)[4], X[:, 4]),
}


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_what_moves_values(name: str, constant: bool) -> None:
    lowering, wanted = CASES[name]
    got = run(lambda g, x: g.unary("IDENTITY", lowering(g, x)), *([] if constant else [X]), constants=[X] * constant)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("padding", [(2, 1), (0, 3), (-2, 1), (1, -3), (-1, -1)])
@pytest.mark.parametrize("border", borders.BORDERS)
def test_borders(border: str, padding: tuple[int, int], constant: bool) -> None:
    wanted = bordered(X, [(0, 0), padding, (0, 0)], border, 1.5)
    feeds: dict[str, Any] = {"constants": [X]} if constant else {}

    def one(g: Any, x: Any) -> Any:
        return g.unary("IDENTITY", borders.extended(g, x, 1, *padding, border, 1.5))

    def all_(g: Any, x: Any) -> Any:
        return g.unary("IDENTITY", borders.padded(g, x, [(0, 0), padding, (0, 0)], border, 1.5))

    for lowering in (one, all_):
        np.testing.assert_array_equal(run(lowering, *([] if constant else [X]), **feeds), wanted)


def test_borders_that_do_not_fit_are_refused() -> None:
    with pytest.raises(Misfit, match=r"padding \(7, 0\) is more than 'reflect' has to show of an extent of 7"):
        run(lambda g, x: borders.extended(g, x, 1, 7, 0, "reflect"), X)
    with pytest.raises(Misfit, match=r"padding \(-4, -3\) leaves nothing of the extent 7"):
        run(lambda g, x: borders.extended(g, x, 1, -4, -3, "constant"), X)
    with pytest.raises(Misfit, match=r"padding \[\[0, 0\], \[-4, -3\], \[0, 0\]\] leaves nothing of shape \[2, 7, 3\]"):
        run(lambda g, x: borders.padded(g, x, [(0, 0), (-4, -3), (0, 0)], "constant"), X)


def test_a_constant_border_of_all_axes_is_one_pad() -> None:
    graph = graph_of(lambda g, x: borders.padded(g, x, [(1, 0), (2, 1), (0, 3)], "constant", 2.0), X)
    assert operators(graph) == {"PAD"}


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_products_with_a_matrix(axis: int) -> None:
    weights = normal(5, X.shape[axis], seed=1)
    wanted = np.moveaxis(np.tensordot(weights.astype(np.float64), X, (1, axis)), 0, axis)
    np.testing.assert_allclose(run(lambda g, x: axes.matrix(g, x, axis, weights), X), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [np.float32, np.bool_])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather(axis: int, kind: type) -> None:
    x, indices = (X > 0 if kind is np.bool_ else X), np.array([[1, 0], [0, 1]], np.int32)
    got = run(lambda g, values, at: layout.gather(g, values, at, axis), x, indices)
    np.testing.assert_array_equal(got, np.take(x, indices, axis))


def test_concatenations_of_many_parts_stay_at_most_64_each() -> None:
    graph = graph_of(lambda g, x: axes.joined(g, [x] * 130, 1), X)
    parts = [len(op.inputs) for op in graph.main.operators if op.op == "CONCAT"]
    assert parts == [64, 64, 2, 3]
