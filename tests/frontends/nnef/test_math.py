"""Elementwise functions, reductions, shapes and compounds of NNEF against their formulas."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nnef_formulas as formulas
import numpy as np
import pytest
from nnef_tools import Run, random

if TYPE_CHECKING:
    from collections.abc import Callable

X = random((2, 3, 4, 5))
UNIT = (np.tanh(X) * 0.999).astype(np.float32)
ABOVE = (np.abs(X) + 1.0).astype(np.float32)
EDGES = np.array([-1e30, -100.0, -2.5, -1.5, -1.0, -0.5, -1e-6, -0.0, 0.0, 1e-6, 0.3, 0.5, 1.0, 1.5, 2.5, 77.0, 1e30])
EDGES = EDGES.astype(np.float32)


def run(body: str, inputs: dict[str, Any], tensors: dict[str, Any] | None = None, results: str = "y") -> Run:
    with tempfile.TemporaryDirectory() as folder:
        return Run(Path(folder) / "m.nnef", body, inputs, tensors, results)


UNARY: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "log": (np.log, ABOVE), "sin": (np.sin, X), "cos": (np.cos, X), "tan": (np.tan, UNIT), "sinh": (np.sinh, X),
    "cosh": (np.cosh, X), "asin": (np.arcsin, UNIT), "acos": (np.arccos, UNIT), "atan": (np.arctan, X * 3),
    "asinh": (np.arcsinh, X * 3), "acosh": (np.arccosh, ABOVE), "atanh": (np.arctanh, UNIT),
    "sqrt": (np.sqrt, ABOVE), "rsqrt": (lambda x: 1 / np.sqrt(x), ABOVE), "rsqr": (lambda x: 1 / x**2, ABOVE),
    "log2": (np.log2, ABOVE), "sign": (np.sign, X), "floor": (np.floor, X * 3), "ceil": (np.ceil, X * 3),
    "round": (lambda x: np.floor(x + 0.5), X * 3),
    "softplus": (lambda x: np.log1p(np.exp(x)), X), "elu": (lambda x: np.where(x < 0, np.expm1(x), x), X),
    "selu": (lambda x: 1.05070102 * np.where(x < 0, 1.67326319 * np.expm1(x), x), X),
    "gelu": (lambda x: x / (1 + np.exp(-1.702 * x)), X), "silu": (lambda x: x / (1 + np.exp(-x)), X),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(name: str) -> None:
    function, x = UNARY[name]
    run(f"y = {name}(x);", {"x": x}).agrees("y", function(x.astype(np.float64)), 2e-6)


@pytest.mark.parametrize(
    ("name", "function"),
    [("atan", np.arctan), ("sinh", np.sinh), ("asinh", np.arcsinh), ("sign", np.sign), ("floor", np.floor),
     ("round", lambda x: np.floor(x + 0.5))],
)  # fmt: skip
def test_edges(name: str, function: Callable[[Any], Any]) -> None:
    """Near 0 relative to the value, and far away without NaN."""
    found = run(f"y = {name}(x);", {"x": EDGES})
    with np.errstate(over="ignore"):
        wanted = function(EDGES.astype(np.float64)).astype(np.float32)
    for got in (found.before["y"], found.after["y"]):
        np.testing.assert_allclose(got, wanted, rtol=3e-6)


def test_ends_of_the_domains() -> None:
    x = np.array([-1.0, 0.0, 1.0], np.float32)
    found = run(
        "a = asin(x); c = acos(x); z = sqrt(n); t = atanh(x);", {"x": x, "n": np.zeros(1)}, results="a, c, z, t"
    )
    found.agrees("a", np.arcsin(x), 1e-6)
    found.agrees("c", np.arccos(x), 1e-6)
    found.agrees("z", np.zeros(1))
    found.agrees("t", np.array([-np.inf, 0.0, np.inf]))


@pytest.mark.parametrize("exponent", ["2.0", "-2.0", "0.5", "-0.5", "1.0", "-1.0", "1.7", "e"])
def test_powers(exponent: str) -> None:
    e = random((1, 3), 2)
    found = run(f"y = pow(x, {exponent});", {"x": ABOVE}, {"e": e} if exponent == "e" else None)
    power = e.reshape(1, 3, 1, 1).astype(np.float64) if exponent == "e" else float(exponent)
    found.agrees("y", ABOVE.astype(np.float64) ** power, 5e-6)


@pytest.mark.parametrize(
    ("name", "function"),
    [("lt", np.less), ("gt", np.greater), ("le", np.less_equal), ("ge", np.greater_equal), ("eq", np.equal),
     ("ne", np.not_equal)],
)  # fmt: skip
def test_comparisons_and_selection(name: str, function: Callable[[Any, Any], Any]) -> None:
    x, y = np.round(X), np.round(random((2, 3), 1))
    found = run(f"c = {name}(x, w); z = select(c, x, 7.0);", {"x": x}, {"w": y.astype(np.float32)}, results="c, z")
    wanted = function(x, y.reshape(2, 3, 1, 1))
    assert found.after["c"].dtype == np.bool_
    found.agrees("c", wanted)
    found.agrees("z", np.where(wanted, x, 7.0))


def test_logic() -> None:
    body = """a = x > 0.0; b = x < 0.5; y = and(a, b); z = or(a, b); n = not(a);
    l = all_reduce(a, axes = [1, 2]); m = any_reduce(a, axes = [3]);"""
    body = body.replace("x > 0.0", "gt(x, 0.0)").replace("x < 0.5", "lt(x, 0.5)")
    found = run(body, {"x": X}, results="y, z, n, l, m")
    a, b = X > 0, X < 0.5
    for name, wanted in {"y": a & b, "z": a | b, "n": ~a, "l": a.all((1, 2), keepdims=True),
                         "m": a.any(3, keepdims=True)}.items():  # fmt: skip
        found.agrees(name, wanted)


def test_casts() -> None:
    x = np.array([-1.5, -1.0, -0.25, 0.0, 0.75, 2.0], np.float32)
    body = """i = cast<integer>(x); l = cast<logical>(x); s = cast<scalar>(l); b = cast<scalar>(i);
    n = cast<integer>(l); m = cast<logical>(i); t = cast<scalar>(x);"""
    found = run(body, {"x": x}, results="i, l, s, b, n, m, t")
    whole = np.floor(x).astype(np.int32)
    for name, wanted in {"i": whole, "l": x != 0, "s": (x != 0) * 1.0, "b": whole * 1.0, "n": (x != 0) * 1,
                         "m": whole != 0, "t": x}.items():  # fmt: skip
        found.agrees(name, np.asarray(wanted))
        assert found.after[name].dtype == {"i": np.int32, "n": np.int32, "l": np.bool_, "m": np.bool_}.get(
            name, np.float32
        )


@pytest.mark.parametrize("axes", [[1], [0, 2], [3, 1], [0, 1, 2, 3]])
def test_positions_and_minima(axes: list[int]) -> None:
    x = np.round(X * 2)
    body = (
        f"y = argmax_reduce(x, axes = {axes}); z = argmin_reduce(x, axes = {axes}); m = min_reduce(x, axes = {axes});"
    )
    found = run(body, {"x": x}, results="y, z, m")
    order = sorted(axes)
    kept = [a for a in range(4) if a not in order]
    rows = x.transpose(*kept, *order).reshape(*(x.shape[a] for a in kept), -1)
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    found.agrees("y", rows.argmax(-1).reshape(shape))
    found.agrees("z", rows.argmin(-1).reshape(shape))
    found.agrees("m", x.min(tuple(axes), keepdims=True))


@pytest.mark.parametrize("axes", [[1, 2], [0, 1, 3]])
def test_softmax_over_several_axes(axes: list[int]) -> None:
    e = np.exp(X.astype(np.float64))
    run(f"y = softmax(x, axes = {axes});", {"x": X}).agrees("y", e / e.sum(tuple(axes), keepdims=True))


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("axes = [3], begin = [0], end = [5], stride = [2]", X[..., ::2]),
        ("axes = [3, 2], begin = [1, 0], end = [4, 3], stride = [3, 2]", X[:, :, 0:3:2, 1:4:3]),
        ("axes = [3], begin = [4], end = [0], stride = [-1]", X[..., 4:0:-1]),
        ("axes = [3], begin = [-1], end = [-6], stride = [-1]", X[..., ::-1]),
        ("axes = [3], begin = [4], end = [-7], stride = [-2]", X[..., 4::-2]),
        ("axes = [2], begin = [1], end = [0]", X[:, :, 1:]),
        ("axes = [2], begin = [-3], end = [-1]", X[:, :, -3:-1]),
        ("axes = [2], begin = [1], end = [99]", X[:, :, 1:]),
    ],
)
def test_slices(arguments: str, wanted: np.ndarray) -> None:
    run(f"y = slice(x, {arguments});", {"x": X}).agrees("y", wanted)


def test_tile_and_gather() -> None:
    i = np.array([[2, 0], [1, 1]], np.int32)
    body = "y = tile(x, repeats = [1, 2, 1, 3]); z = gather(x, i, axis = 1); c = gather(x, j);"
    body += "p = gt(x, 0.0); l = gather(p, j);"
    found = run(body, {"x": X}, {"i": i, "j": np.array([1], np.int32)}, results="y, z, c, l")
    found.agrees("y", np.tile(X, (1, 2, 1, 3)))
    found.agrees("z", np.take(X, i, 1))
    found.agrees("c", X[[1]])
    found.agrees("l", X[[1]] > 0)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def test_normalizations() -> None:
    x = wide(X)
    body = """a = local_response_normalization(x, size = [1, 3, 1, 1], alpha = 0.5, beta = 0.75, bias = 2.0);
    b = local_mean_normalization(x, size = [1, 1, 3, 3]);
    c = local_variance_normalization(x, size = [1, 1, 3, 3], bias = 0.1, epsilon = 0.01);
    d = local_contrast_normalization(x, size = [1, 1, 3, 1], bias = 0.2, epsilon = 0.01);
    e = l1_normalization(x, axes = [1], bias = 0.5); f = l2_normalization(x, axes = [2, 3], epsilon = 0.001);
    (g, h) = moments(x, axes = [0, 2]);"""
    found = run(body, {"x": X}, results="a, b, c, d, e, f, g, h")

    def mean(values: np.ndarray, size: list[int]) -> np.ndarray:
        return formulas.box(values, size, "constant", [], [], [], normalize=True)

    square = [1, 1, 3, 3]
    centred = x - mean(x, [1, 1, 3, 1])
    wanted = {
        "a": x / (2.0 + 0.5 * mean(x * x, [1, 3, 1, 1])) ** 0.75,
        "b": x - mean(x, square),
        "c": x / np.maximum(np.sqrt(mean(x * x, square)) + 0.1, 0.01),
        "d": centred / np.maximum(np.sqrt(mean(centred * centred, [1, 1, 3, 1])) + 0.2, 0.01),
        "e": x / np.maximum(np.abs(x).sum(1, keepdims=True) + 0.5, 0),
        "f": x / np.maximum(np.sqrt((x * x).sum((2, 3), keepdims=True)), 0.001),
        "g": x.mean((0, 2), keepdims=True),
        "h": ((x - x.mean((0, 2), keepdims=True)) ** 2).mean((0, 2), keepdims=True),
    }
    for name, values in wanted.items():
        found.agrees(name, values, 1e-4)


def test_batch_normalization_with_parameters_that_are_computed() -> None:
    body = "(m, v) = moments(x, axes = [0, 2, 3]); y = batch_normalization(x, m, v, 0.5, s, epsilon = 0.001);"
    s = random((1, 3), 3)
    m, v = wide(X).mean((0, 2, 3), keepdims=True), wide(X).var((0, 2, 3), keepdims=True)
    found = run(body, {"x": X}, {"s": s})
    found.agrees("y", 0.5 + s.reshape(1, 3, 1, 1) * (X - m) / np.sqrt(v + 0.001), 1e-4)


def test_quantize_operations() -> None:
    x = wide(X)
    body = """a = min_max_linear_quantize(x, -1.0, 1.5, bits = 4, signed = false, symmetric = false);
    b = min_max_linear_quantize(x, -1.5, 1.5, bits = 4, signed = true, symmetric = true);
    c = zero_point_linear_quantize(x, zero_point = 3, scale = 0.125, bits = 5, signed = true, symmetric = false);
    d = linear_quantize(x, -1.0, 1.5, bits = 8);
    e = logarithmic_quantize(x, 1.5, bits = 3);"""
    found = run(body, {"x": X}, results="a, b, c, d, e")

    def linear(low: float, high: float, steps: int) -> np.ndarray:
        level = np.floor((np.clip(x, low, high) - low) / (high - low) * steps + 0.5)
        return level / steps * (high - low) + low

    highest = math.ceil(math.log2(1.5))
    level = np.floor(np.clip(np.log2(np.abs(x)), highest - 7, highest) + 0.5)
    wanted = {
        "a": linear(-1.0, 1.5, 15), "b": linear(-1.5, 1.5, 14), "d": linear(-1.0, 1.5, 255),
        "c": (np.clip(np.floor(x / 0.125 + 0.5) + 3, -16, 15) - 3) * 0.125, "e": np.sign(x) * 2.0**level,
    }  # fmt: skip
    for name, values in wanted.items():
        found.agrees(name, values, 1e-5)


def test_separable_convolutions() -> None:
    x, plane, point, bias = X, random((3, 1, 3, 3), 4), random((4, 3, 1, 1), 5), random((1, 4), 6)
    body = "y = separable_conv(x, p, q, v, stride = [2, 1]);"
    found = run(body, {"x": x}, {"p": plane, "q": point, "v": bias})
    none = np.zeros(1)
    planes = formulas.conv(x, plane, none, "constant", [], [2, 1], [], 0)
    found.agrees("y", formulas.conv(planes, point, bias, "constant", [], [], [], 1), 1e-4)
    down, wide_filter = random((3, 4, 1, 1), 7), random((4, 1, 2, 3), 8)
    body = "y = separable_deconv(x, w, q, v, stride = [2, 1]);"
    found = run(body, {"x": x}, {"w": wide_filter, "q": down, "v": bias})
    points = formulas.deconv(x, down, none, "constant", [], [], [], [], 1)
    found.agrees("y", formulas.deconv(points, wide_filter, bias, "constant", [], [2, 1], [], [], 0), 1e-4)


def test_prelu_leaky_relu_add_n_and_copy_n() -> None:
    slope = random((1, 3), 9)
    body = """a = prelu(x, s); b = leaky_relu(x, alpha = 0.1); c = add_n([x, a, b]); [d, e] = copy_n(x, times = 2);"""
    found = run(body, {"x": X}, {"s": slope}, results="a, b, c, d, e")
    a, b = np.where(X < 0, slope.reshape(1, 3, 1, 1) * X, X), np.where(X < 0, np.float32(0.1) * X, X)
    for name, wanted in {"a": a, "b": b, "c": X + a + b, "d": X, "e": X}.items():
        found.agrees(name, wanted)
