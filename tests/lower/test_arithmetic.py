"""Functions, reductions, normalizations, products, interpolation and regions, beside plain numpy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from lower_tools import Array, graph_of, normal, operators, run

from tosa_engine import types
from tosa_engine.lower import elementary, linear, normalization, reductions, regions, resize
from tosa_engine.lower.borders import FILLED
from tosa_engine.lower.problems import Misfit

if TYPE_CHECKING:
    from collections.abc import Callable

# the whole domain, and the largest error there in units of the last place
ACCURACY: dict[str, tuple[Callable[..., Any], Callable[[Array], Any], Array]] = {
    "asin": (elementary.asin, np.arcsin, np.linspace(-1, 1, 999)),
    "acos": (elementary.acos, np.arccos, np.linspace(-1, 1, 999)),
    "atan": (elementary.atan, np.arctan, np.concatenate([np.linspace(-9, 9, 999), np.logspace(-30, 38, 99)])),
    "asinh": (elementary.asinh, np.arcsinh, np.concatenate([np.linspace(-9, 9, 999), np.logspace(-30, 38, 99)])),
    "acosh": (elementary.acosh, np.arccosh, np.concatenate([np.linspace(1, 9, 999), np.logspace(0, 38.5, 99)])),
    "atanh": (elementary.atanh, np.arctanh, np.linspace(-0.9999, 0.9999, 999)),
}
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Array], Any], float, float]] = {
    "tan": (elementary.tan, np.tan, -1.2, 1.2),
    "sinh": (elementary.sinh, np.sinh, -3, 3),
    "cosh": (elementary.cosh, np.cosh, -3, 3),
    "asin": (elementary.asin, np.arcsin, -0.95, 0.95),
    "acos": (elementary.acos, np.arccos, -0.95, 0.95),
    "atan": (elementary.atan, np.arctan, -9, 9),
    "asinh": (elementary.asinh, np.arcsinh, -9, 9),
    "acosh": (elementary.acosh, np.arccosh, 1, 9),
    "atanh": (elementary.atanh, np.arctanh, -0.95, 0.95),
    "sign": (elementary.sign, np.sign, -1, 1),
    "round": (elementary.round_, lambda x: np.floor(x + 0.5), -9, 9),
    "root": (elementary.root, np.sqrt, 0, 9),
    "relu": (elementary.relu, lambda x: np.maximum(x, 0), -2, 2),
}


@pytest.mark.parametrize("name", ACCURACY)
def test_inverse_functions_are_accurate_to_float32(name: str) -> None:
    lowering, meaning, values = ACCURACY[name]
    x = values.astype(np.float32).reshape(1, -1)
    wanted = meaning(x.astype(np.float64))
    unit = np.spacing(np.maximum(np.abs(wanted), 1e-30).astype(np.float32)).astype(np.float64)
    assert (np.abs(run(lowering, x) - wanted) / unit).max() <= 4


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    lowering, meaning, low, high = FUNCTIONS[name]
    x = np.linspace(low, high, 101, dtype=np.float32).reshape(1, 101)
    np.testing.assert_allclose(run(lowering, x), meaning(x.astype(np.float64)), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("exponent", [-2.0, -0.5, 0.5, 1.0, 2.0, 1.7])
def test_powers(exponent: float) -> None:
    x = np.linspace(0.5, 4, 20, dtype=np.float32)
    constant = np.array([exponent], np.float32)
    got = run(elementary.powers, x, constants=[constant])
    np.testing.assert_allclose(got, x.astype(np.float64) ** np.float64(constant[0]), rtol=1e-5)


@pytest.mark.parametrize(("op", "meaning"), [("MINIMUM", np.minimum), ("MAXIMUM", np.maximum)])
def test_a_limit_that_is_one_constant_is_a_clamp(op: str, meaning: Callable[..., Any]) -> None:
    x, limit = normal(3, 4), np.array([[0.25]], np.float32)
    graph = graph_of(lambda g, x, y: elementary.limited(g, op, x, y), x, constants=[limit])
    assert operators(graph) == {"CLAMP"}
    assert operators(graph_of(lambda g, x, y: elementary.limited(g, op, x, y), x, normal(3, 4))) == {op}
    got = run(lambda g, x, y: elementary.limited(g, op, y, x), x, constants=[limit])
    np.testing.assert_array_equal(got, meaning(x, limit))


@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.5), (0.5, -0.5)])
def test_limits_on_both_sides(low: float, high: float) -> None:
    x, limits = normal(3, 4), [np.array([[value]], np.float32) for value in (low, high)]
    got = run(elementary.clamped, x, constants=limits)
    np.testing.assert_array_equal(got, np.maximum(np.minimum(x, limits[1]), limits[0]))


def test_conversions() -> None:
    x = np.array([-1.5, -0.0, 0.5, 2.0], np.float32)
    np.testing.assert_array_equal(run(lambda g, t: elementary.converted(g, t, types.i32), x), [-2, 0, 0, 2])
    np.testing.assert_array_equal(
        run(lambda g, t: elementary.converted(g, t, types.bool_), x), [True, False, True, True]
    )
    truths = np.array([True, False])
    np.testing.assert_array_equal(run(lambda g, t: elementary.converted(g, t, types.fp32), truths), [1.0, 0.0])


@pytest.mark.parametrize("axes", [(0,), (1, 2), (2, 0)])
def test_reductions(axes: tuple[int, ...]) -> None:
    x = normal(2, 3, 4)
    for op, meaning in (("REDUCE_SUM", np.sum), ("REDUCE_MAX", np.max), ("REDUCE_MIN", np.min)):
        got = run(lambda g, t, op=op: reductions.reduced(g, op, t, axes), x)
        np.testing.assert_allclose(got, meaning(x, axes, keepdims=True), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        run(lambda g, t: reductions.mean(g, t, axes), x), x.mean(axes, keepdims=True), rtol=1e-5, atol=1e-6
    )
    exponentials = np.exp(x.astype(np.float64))
    wanted = exponentials / exponentials.sum(axes, keepdims=True)
    np.testing.assert_allclose(run(lambda g, t: normalization.softmax(g, t, axes), x), wanted, rtol=1e-5)


@pytest.mark.parametrize("least", [False, True])
def test_places_of_extremes(least: bool) -> None:
    x = normal(2, 3, 4)
    flat = x.transpose(1, 0, 2).reshape(3, 8)
    wanted = (flat.argmin(1) if least else flat.argmax(1)).reshape(1, 3, 1)
    got = run(lambda g, t: reductions.place_of_extreme(g, t, (2, 0), least=least), x)
    np.testing.assert_array_equal(got, wanted)


def test_normalizations() -> None:
    x, parameters = normal(2, 3, 4), [np.abs(normal(1, 3, 1, seed=i)) + 0.5 for i in range(4)]
    mean, variance, offset, scale = (p.astype(np.float64) for p in parameters)
    wanted = offset + scale * (x - mean) / np.sqrt(variance + 0.25)
    computed = run(lambda g, *t: normalization.normalized(g, *t, epsilon=0.25), x, *parameters)
    constant = run(lambda g, *t: normalization.normalized_by_constants(g, *t, epsilon=0.25), x, constants=parameters)
    for got in (computed, constant):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(Misfit, match="variance \\+ epsilon isn't positive everywhere"):
        run(lambda g, *t: normalization.normalized_by_constants(g, *t, epsilon=-9.0), x, constants=parameters)


@pytest.mark.parametrize(
    ("left", "right"), [((3, 4), (4, 5)), ((2, 3, 4), (1, 4, 5)), ((1, 3, 4), (6, 4, 5)), ((2, 1, 3, 4), (1, 3, 4, 2))]
)
def test_matrix_products(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = normal(*left), normal(*right, seed=1)
    np.testing.assert_allclose(run(linear.matmul, x, y), x @ y, rtol=1e-5, atol=1e-5)
    turned = np.ascontiguousarray(y.swapaxes(-1, -2))
    got = run(lambda g, x, y: linear.matmul(g, x, linear.turned(g, y)), x, turned)
    np.testing.assert_allclose(got, x @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("entries", [1, 5])
def test_a_constant_filter_is_a_convolution_with_one_bias_per_output(entries: int) -> None:
    x, weight, bias = normal(2, 3, 4), normal(1, 5, 4, seed=1), normal(1, 1, entries, seed=2)

    def lowering(g: Any, x: Any, weight: Any, bias: Any) -> Any:
        return linear.fully_connected(g, x, weight, linear.bias_vector(g, bias, 5, spread=True))

    graph = graph_of(lowering, x, constants=[weight, bias])
    (product,) = (op for op in graph.main.operators if op.op == "CONV2D")
    assert graph.main.tensors[product.inputs[2]].shape == (5,)
    wanted = x @ weight[0].T + bias
    np.testing.assert_allclose(run(lowering, x, constants=[weight, bias]), wanted, rtol=1e-5, atol=1e-5)


def interpolated(x: Array, axis: int, at: Array, border: str) -> Array:
    """Linear interpolation along one axis of what the border makes of it."""
    more = 4
    mode = {"constant": "constant", "replicate": "edge", "reflect": "reflect", "reflect-even": "symmetric"}[border]
    wide = np.pad(x.astype(np.float64), [(more, more) if i == axis else (0, 0) for i in range(x.ndim)], mode=mode)  # type: ignore[call-overload]
    low = np.floor(at).astype(int)
    share = (at - low).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    found: Array = wide.take(low + more, axis) * (1 - share) + wide.take(low + more + 1, axis) * share
    return found


@pytest.mark.parametrize("border", FILLED)
@pytest.mark.parametrize("method", resize.METHODS)
@pytest.mark.parametrize("factors", [(3,), (2, 3), (2, 1, 2)])
def test_upsampling(factors: tuple[int, ...], method: str, border: str) -> None:
    x = wanted = normal(1, 2, *(5, 6, 7)[: len(factors)])
    for axis, factor in enumerate(factors, 2):
        extent, outputs = x.shape[axis], np.arange(x.shape[axis] * factor)
        middle = (factor - 1) / 2 if method == "symmetric" else 0
        aligned = outputs * (extent - 1) / (extent * factor - 1)
        wanted = interpolated(wanted, axis, aligned if method == "aligned" else (outputs - middle) / factor, border)
    got = run(lambda g, t: resize.upsampled(g, t, factors, method, border), x)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("coordinates", resize.COORDINATES)
def test_resizing_to_any_extent(coordinates: str) -> None:
    x, outputs, scale = normal(1, 2, 5), np.arange(8), 8 / 5
    half = (outputs + 0.5) / scale - 0.5
    places = {"align_corners": outputs * 4 / 7, "asymmetric": outputs / scale}.get(coordinates, half)
    wanted = interpolated(x, 2, places, "replicate")
    how: tuple[Any, ...] = ([1, 2, 8], [1.0, 1.0, scale], coordinates)
    got = run(lambda g, t: resize.resized(g, t, *how, "linear", "floor"), x)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    nearest = run(lambda g, t: resize.resized(g, t, *how, "nearest", "floor"), x)
    np.testing.assert_array_equal(nearest, x[..., np.clip(np.floor(places).astype(int), 0, 4)])


def test_regions() -> None:
    x, items = normal(2, 3, 6, 5), np.array([[1], [0]], np.int32)
    ends = np.array([[1, 0, 5, 4], [0, 1, 4, 5]], np.float32)

    def of(lowering: Callable[..., Any], *how: Any) -> Array:
        return run(
            lambda g, x, ends, items: lowering(g, regions.maps_of(g, x, items), ends, (2, 2), *how), x, ends, items
        )

    for lowering, meaning in ((regions.averages, np.mean), (regions.maxima, np.max)):
        wanted = np.zeros((2, 3, 2, 2))
        for n, (top, left, _, _) in enumerate(ends.astype(int)):
            for i, j in np.ndindex(2, 2):
                cell = x[items[n, 0], :, top + 2 * i : top + 2 * i + 2, left + 2 * j : left + 2 * j + 2]
                wanted[n, :, i, j] = meaning(cell, (1, 2))
        np.testing.assert_allclose(of(lowering), wanted, rtol=1e-5, atol=1e-6)
    corners = [
        x[i][:, [t, b - 1]][:, :, [j, r - 1]] for (i,), (t, j, b, r) in zip(items, ends.astype(int), strict=True)
    ]
    np.testing.assert_allclose(of(regions.resampled, "aligned"), np.stack(corners), rtol=1e-5, atol=1e-6)
    assert not math.isnan(float(of(regions.resampled, "symmetric").sum()))
