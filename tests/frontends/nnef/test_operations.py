"""Every NNEF operation means what the standard says: documents run by the oracle, before and after the passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nnef_tools import Run, automatic, conv, pool, random

from tosa_engine.frontends.nnef.language.library import standard_library
from tosa_engine.frontends.nnef.language.vendor import vendor_library
from tosa_engine.frontends.nnef.mapping import MAPPERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

X = random((2, 3, 4, 5))
POSITIVE = np.abs(random((2, 3, 4, 5), 1)) + 0.5


def test_every_declared_operation_has_a_mapping_and_no_other() -> None:
    assert set(MAPPERS) - set(vendor_library()) <= set(standard_library())


UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x,
    "rcp": lambda x: 1 / x,
    "exp": np.exp,
    "abs": np.abs,
    "sqr": lambda x: x * x,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "copy": lambda x: x,
}


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(tmp_path: Path, name: str) -> None:
    x = POSITIVE if name == "rcp" else X
    Run(tmp_path, f"y = {name}(x);", {"x": x}).agrees("y", UNARY[name](x.astype(np.float64)))


@pytest.mark.parametrize("value", [-1000.0, -88.0, 0.0, 88.0, 1000.0])
def test_sigmoid_and_tanh_reach_their_limits(tmp_path: Path, value: float) -> None:
    x = np.full((1, 2), value, np.float32)
    run = Run(tmp_path, "y = sigmoid(x); z = tanh(x);", {"x": x}, results="y, z")
    with np.errstate(over="ignore"):
        run.agrees("y", 1 / (1 + np.exp(-x.astype(np.float64))))
    run.agrees("z", np.tanh(x.astype(np.float64)))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BINARY))
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3), (2,), (2, 3, 1, 5), ()])
def test_binary_broadcasts_from_the_left(tmp_path: Path, name: str, shape: tuple[int, ...]) -> None:
    y = np.abs(random(shape, 3)) + 0.5
    wide = y.reshape(shape + (1,) * (4 - len(shape)))
    run = Run(tmp_path, f"z = {name}(x, w); t = {name}(w, x);", {"x": POSITIVE}, {"w": y}, results="z, t")
    run.agrees("z", BINARY[name](POSITIVE.astype(np.float64), wide))
    run.agrees("t", BINARY[name](wide, POSITIVE.astype(np.float64)))


@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary_with_literals_and_two_inputs(tmp_path: Path, name: str) -> None:
    y = np.abs(random((1, 3), 3)) + 0.5
    run = Run(
        tmp_path,
        f"z = {name}(x, 0.75); t = {name}(1.5, x); u = {name}(x, y);",
        {"x": POSITIVE, "y": y},
        results="z, t, u",
    )
    run.agrees("z", BINARY[name](POSITIVE.astype(np.float64), 0.75))
    run.agrees("t", BINARY[name](1.5, POSITIVE.astype(np.float64)))
    run.agrees("u", BINARY[name](POSITIVE.astype(np.float64), y.reshape(1, 3, 1, 1)))


def test_clamp(tmp_path: Path) -> None:
    low, high = -np.abs(random((1, 3), 5)), np.abs(random((1, 3), 6))
    body = """c = constant(shape = [], value = [-0.5]);
    y = clamp(x, c, 0.5);
    z = clamp(x, low, high);
    t = clamp(x, 0.5, -0.5);"""
    run = Run(tmp_path, body, {"x": X}, {"low": low, "high": high}, results="y, z, t")
    run.agrees("y", np.clip(X, -0.5, 0.5))
    run.agrees("z", np.clip(X, low.reshape(1, 3, 1, 1), high.reshape(1, 3, 1, 1)))
    run.agrees("t", np.full_like(X, 0.5))  # max(min(x, b), a)


def test_relu_of_6_in_its_three_spellings_is_clamp(tmp_path: Path) -> None:
    body = "y = clamp(x, 0.0, 6.0); r = relu(x); z = min(r, 6.0); m = max(x, 0.0); t = min(m, 6.0);"
    run = Run(tmp_path, body, {"x": X * 5}, results="y, z, t")
    assert set(run.operators) == {"CLAMP"}
    for name in ("y", "z", "t"):
        run.agrees(name, np.clip(X * 5, 0, 6))


@pytest.mark.parametrize("axis", range(4))
def test_softmax(tmp_path: Path, axis: int) -> None:
    e = np.exp(X.astype(np.float64) - X.max(axis, keepdims=True))
    Run(tmp_path, f"y = softmax(x, axes = [{axis}]);", {"x": X}).agrees("y", e / e.sum(axis, keepdims=True))


def test_softmax_is_along_channels_unless_said_otherwise(tmp_path: Path) -> None:
    e = np.exp(X.astype(np.float64))
    Run(tmp_path, "y = softmax(x);", {"x": X}).agrees("y", e / e.sum(1, keepdims=True))


@pytest.mark.parametrize("shape", [(1, 3), (1, 3, 1, 1), (1, 1), (1,)])
def test_batch_normalization(tmp_path: Path, shape: tuple[int, ...]) -> None:
    mean, offset, scale = (random(shape, seed) for seed in (1, 2, 3))
    variance = np.abs(random(shape, 4))
    tensors = {"m": mean, "v": variance, "o": offset, "s": scale}
    run = Run(tmp_path, "y = batch_normalization(x, m, v, o, s, epsilon = 1e-3);", {"x": X}, tensors)
    m, v, o, s = (t.astype(np.float64).reshape(shape + (1,) * (4 - len(shape))) for t in tensors.values())
    run.agrees("y", o + s * (X - m) / np.sqrt(v + 1e-3))


@pytest.mark.parametrize("axes", [[0], [1], [2, 3], [3, 1], [0, 1, 2, 3], []])
def test_reductions(tmp_path: Path, axes: list[int]) -> None:
    body = f"""s = sum_reduce(x, axes = {axes}); n = sum_reduce(x, axes = {axes}, normalize = true);
    m = mean_reduce(x, axes = {axes}); t = max_reduce(x, axes = {axes});"""
    run = Run(tmp_path, body, {"x": X}, results="s, n, m, t")
    wide, over = X.astype(np.float64), tuple(axes)
    run.agrees("s", wide.sum(over, keepdims=True))
    for name in ("n", "m"):
        run.agrees(name, wide.mean(over, keepdims=True) if axes else wide)
    run.agrees("t", wide.max(over, keepdims=True))


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ("shape = [6, 20]", (6, 20)),
        ("shape = [0, -1]", (2, 60)),
        ("shape = [0, 0, -1]", (2, 3, 20)),
        ("shape = [-1]", (120,)),
        ("shape = [-1], axis_start = 1", (2, 60)),
        ("shape = [-1], axis_start = 1, axis_count = 2", (2, 12, 5)),
        ("shape = [1, 1], axis_start = 2, axis_count = 0", (2, 3, 1, 1, 4, 5)),
        ("shape = [2, 0], axis_start = 2, axis_count = 2", None),
    ],
)
def test_reshape(tmp_path: Path, arguments: str, shape: tuple[int, ...] | None) -> None:
    if shape is None:
        x = random((2, 3, 2, 5))
        Run(tmp_path, f"y = reshape(x, {arguments});", {"x": x}).agrees("y", x)
    else:
        Run(tmp_path, f"y = reshape<scalar>(x, {arguments});", {"x": X}).agrees("y", X.reshape(shape))


def test_squeeze_unsqueeze_transpose_stack(tmp_path: Path) -> None:
    x = random((2, 1, 3, 1))
    body = """s = squeeze(x, axes = [1, 3]); u = unsqueeze(s, axes = [0, 3]);
    t = transpose(x, axes = [2, 0, 1]); k = stack([s, s], axis = 1); [a, b] = unstack(s, axis = 0);"""
    run = Run(tmp_path, body, {"x": x}, results="s, u, t, k, a, b")
    s = x.reshape(2, 3)
    run.agrees("s", s)
    run.agrees("u", s.reshape(1, 2, 3, 1))
    run.agrees("t", x.transpose(2, 0, 1, 3))
    run.agrees("k", np.stack([s, s], 1))
    run.agrees("a", s[0])
    run.agrees("b", s[1])


def test_split_and_concat(tmp_path: Path) -> None:
    x = random((2, 6, 3))
    body = """[a, b, c] = split(x, axis = 1, ratios = [1, 3, 2]);
    y = concat([c, a, a], axis = 1); z = concat([b], axis = 0);"""
    run = Run(tmp_path, body, {"x": x}, results="a, b, c, y, z")
    for name, part in (("a", x[:, :1]), ("b", x[:, 1:4]), ("c", x[:, 4:]), ("z", x[:, 1:4])):
        run.agrees(name, part)
    run.agrees("y", np.concatenate([x[:, 4:], x[:, :1], x[:, :1]], 1))


def test_concat_of_more_tensors_than_tosa_takes(tmp_path: Path) -> None:
    x = random((1, 2))
    run = Run(tmp_path, f"y = concat([{', '.join(['x'] * 130)}], axis = 1);", {"x": x})
    run.agrees("y", np.tile(x, (1, 130)))


@pytest.mark.parametrize(
    ("arguments", "index"),
    [
        ("axes = [1], begin = [1], end = [3]", np.s_[:, 1:3]),
        ("axes = [3], begin = [-3], end = [-1]", np.s_[:, :, :, -3:-1]),
        ("axes = [2, 0], begin = [1, 0], end = [0, 1]", np.s_[:1, :, 1:]),
        ("axes = [2], begin = [-99], end = [99], stride = [1]", np.s_[:]),
    ],
)
def test_slice(tmp_path: Path, arguments: str, index: Any) -> None:
    Run(tmp_path, f"y = slice(x, {arguments});", {"x": X}).agrees("y", X[index])


def test_pad(tmp_path: Path) -> None:
    body = """y = pad(x, padding = [(0,0), (1,2), (0,0), (3,0)], value = 2.5);
    z = pad(x, padding = [(0,0), (-1,0), (2,-1), (0,0)]);"""
    run = Run(tmp_path, body, {"x": X}, results="y, z")
    run.agrees("y", np.pad(X, [(0, 0), (1, 2), (0, 0), (3, 0)], constant_values=2.5))
    run.agrees("z", np.pad(X[:, 1:, :-1], [(0, 0), (0, 0), (2, 0), (0, 0)]))


@pytest.mark.parametrize("turn_a", [False, True])
@pytest.mark.parametrize("turn_b", [False, True])
@pytest.mark.parametrize(("left", "right"), [((), ()), ((2,), (2,)), ((2, 3), (1, 1)), ((1, 3), (2, 3)), ((4,), (1,))])
def test_matmul(tmp_path: Path, turn_a: bool, turn_b: bool, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = random((*left, 3, 4)), random((*right, 4, 5), 1)
    wanted = a.astype(np.float64) @ b
    a, b = (np.swapaxes(a, -1, -2) if turn_a else a), (np.swapaxes(b, -1, -2) if turn_b else b)
    flags = f"transposeA = {str(turn_a).lower()}, transposeB = {str(turn_b).lower()}"
    run = Run(tmp_path / "inputs", f"y = matmul(a, b, {flags});", {"a": a, "b": b})
    run.agrees("y", wanted)
    # one matrix on the right multiplies all rows at once; other broadcasts are repeated by MUL
    assert ("MUL" in run.operators) is (left != right and right.count(1) < len(right))
    Run(tmp_path / "constant", f"y = matmul(a, b, {flags});", {"a": a}, {"b": b}).agrees("y", wanted)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("bias", ["", ", 0.5", ", b"])
def test_linear(tmp_path: Path, constant: bool, bias: str) -> None:
    x, w, b = random((4, 6)), random((5, 6), 1), random((1, 5), 2)
    wanted = x.astype(np.float64) @ w.T + {"": 0.0, ", 0.5": 0.5, ", b": b}[bias]
    inputs, tensors = ({"x": x}, {"w": w, "b": b}) if constant else ({"x": x, "w": w, "b": b}, {})
    run = Run(tmp_path, f"y = linear(x, w{bias});", inputs, tensors)
    run.agrees("y", wanted)
    assert ("CONV2D" in run.operators) is constant


def test_linear_over_leading_axes(tmp_path: Path) -> None:
    x, w = random((2, 4, 6)), random((1, 5, 6), 1)
    run = Run(tmp_path, "y = linear(x, w);", {"x": x}, {"w": w})
    run.agrees("y", x.astype(np.float64) @ w[0].T)
    assert run.operators == ["RESHAPE", "CONV2D", "RESHAPE"]


WINDOW = {
    "extents": st.tuples(st.integers(3, 8), st.integers(3, 8)),
    "size": st.tuples(st.integers(1, 3), st.integers(1, 3)),
    "stride": st.tuples(st.integers(1, 3), st.integers(1, 3)),
    "padding": st.none() | st.tuples(*[st.tuples(st.integers(-1, 3), st.integers(-1, 3))] * 2),
}


def meets_input(padding: tuple[int, int], extent: int, size: int, stride: int, dilation: int) -> bool:
    """Whether the window fits at all, and some position of it covers part of the input."""
    room = sum(padding) + extent - (size - 1) * dilation - 1
    return room >= 0 and extent + min(padding[0], 0) + min(padding[1] - room % stride, 0) > 0


@given(
    **WINDOW,
    dilation=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    groups=st.sampled_from([(1, 3, 4), (2, 4, 6), (0, 3, 3), (0, 2, 4), (3, 3, 3), (1, 1, 4), (0, 1, 2), (4, 4, 4)]),
    bias=st.sampled_from(["none", "channels", "one"]),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_conv(tmp_path: Path, extents, size, stride, padding, dilation, groups, bias) -> None:
    count, inputs, outputs = groups
    real = padding or tuple(automatic(*numbers) for numbers in zip(extents, size, stride, dilation, strict=True))
    if not all(map(meets_input, real, extents, size, stride, dilation)):
        return
    x, w = random((2, inputs, *extents)), random((outputs, inputs // (count or inputs), *size), 1)
    b = {"none": None, "channels": random((1, outputs), 2), "one": random((1, 1), 2)}[bias]
    arguments = (
        f"stride = {list(stride)}, dilation = {list(dilation)}, padding = {list(padding or [])}, groups = {count}"
    )
    body = f"y = conv(x, w{', b' if b is not None else ''}, {arguments});"
    run = Run(tmp_path, body, {"x": x}, {"w": w} | ({"b": b} if b is not None else {}))
    run.agrees("y", conv(x, w, b, real, stride, dilation, count))
    depthwise = (count or inputs) == inputs > 1
    assert ("DEPTHWISE_CONV2D" in run.operators) is depthwise


def test_conv_of_one_dimension_and_with_a_computed_filter(tmp_path: Path) -> None:
    x, w = random((2, 4, 9)), random((6, 2, 3), 1)
    wanted = conv(x, w, None, [(1, 0)], [2], [1], 2)
    body = "y = conv(x, w, padding = [(1, 0)], stride = [2], groups = 2);"
    Run(tmp_path / "a", body, {"x": x}, {"w": w}).agrees("y", wanted)
    Run(tmp_path / "b", body, {"x": x, "w": w}).agrees("y", wanted)


@given(**WINDOW, kind=st.sampled_from(["max_pool", "avg_pool"]), border=st.sampled_from(["constant", "ignore"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pools(tmp_path: Path, extents, size, stride, padding, kind: str, border: str) -> None:
    real = padding or tuple(automatic(*numbers, 1) for numbers in zip(extents, size, stride, strict=True))
    if not all(map(meets_input, real, extents, size, stride, (1, 1))):
        return
    if border == "ignore" and any(max(pair) >= f for pair, f in zip(real, size, strict=True)):
        return
    x = random((2, 3, *extents))
    pads = [(0, 0), (0, 0), *padding] if padding else []
    body = f"y = {kind}(x, size = {[1, 1, *size]}, stride = {[1, 1, *stride]}, padding = {pads}, border = '{border}');"
    Run(tmp_path, body, {"x": x}).agrees("y", pool(kind, x, size, real, stride, border))


def test_pool_of_one_dimension(tmp_path: Path) -> None:
    x = random((2, 3, 7))
    body = "y = max_pool(x, size = [1, 1, 3], stride = [1, 1, 2], padding = [(0,0), (0,0), (1,1)], border = 'ignore');"
    Run(tmp_path, body, {"x": x}).agrees("y", pool("max_pool", x, [3], [(1, 1)], [2], "ignore"))


def test_constants_and_variables_of_other_types(tmp_path: Path) -> None:
    body = """c = constant<scalar>(shape = [1, 3], value = [1.0, 2.0, 3.0]);
    j = reshape<integer>(i, shape = [1, 2]);
    k = transpose<logical>(b, axes = [1, 0]);
    t = add(x, c); y = add(t, h);"""
    tensors = {"i": np.array([1, 2], np.int64), "b": np.array([[True, False]]), "h": np.full((2,), 0.5, np.float16)}
    run = Run(tmp_path, body, {"x": X}, tensors, results="y, j, k")
    run.agrees("y", X + 0.5 + np.array([1, 2, 3]).reshape(1, 3, 1, 1))
    assert run.after["k"].tolist() == [[True], [False]]
    assert run.after["j"].dtype == np.int32
    assert run.after["j"].tolist() == [[1, 2]]
