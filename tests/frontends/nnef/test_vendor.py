"""Operations of the extension tract_core, and what exporters write that bends the standard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import oracle
from tosa_engine.errors import ParseError, Problems, TosaEngineError, Unsupported
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.document import parse_text

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.types import Array

TRACT = "version 1.0;\nextension tract_registry tract_core;\n"


def ran(
    folder: Path, body: str, x: Array, *, fragments: str = "", tensors: dict[str, Array] | None = None
) -> tuple[Array, list[str]]:
    """The output y of a document with one input x, and its warnings."""
    start = f"x = tract_core_external(shape = {list(x.shape)}, datum_type = 'f32');"
    text = f"{TRACT}{fragments}graph g(x) -> (y) {{\n{start}\n{body}\n}}"
    (folder / "graph.nnef").write_text(text)
    for name, array in (tensors or {}).items():
        (folder / f"{name}.dat").write_bytes(nnef.write_dat(array))
    graph = nnef.load(folder)
    return oracle.run(graph, {"x": x})["y"], graph.warnings


def numbers(*shape: int) -> Array:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32) * 3


def test_activations(tmp_path: Path) -> None:
    x = numbers(2, 5)
    found, warnings = ran(tmp_path, "y = tract_core_hard_swish(x);", x)
    np.testing.assert_allclose(found, x * np.clip(x / 6 + 0.5, 0, 1), atol=1e-6)
    assert warnings == []
    found, _ = ran(tmp_path, "y = tract_core_log_softmax(x, axes = [1]);", x)
    np.testing.assert_allclose(found, x - np.log(np.exp(x).sum(1, keepdims=True)), atol=1e-5)
    found, _ = ran(tmp_path, "y = tract_core_erf(x);", np.float32([[-1, 0, 0.5]]))
    np.testing.assert_allclose(found, [[-0.84270079, 0, 0.52049988]], atol=1e-6)


def test_casts(tmp_path: Path) -> None:
    x = np.float32([[1.5, -2.5]])
    assert ran(tmp_path, "y = tract_core_cast(x);", x)[0].tolist() == x.tolist()
    assert ran(tmp_path, "y = tract_core_cast(x, to = 'f32');", x)[0].tolist() == x.tolist()
    found, _ = ran(tmp_path, "i = tract_core_cast(x, to = 'i64'); y = tract_core_cast(i, to = 'f32');", x)
    assert found.tolist() == [[1, -3]]  # as cast, to the closest smaller integer


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("interpolator = 'nearest', coord_transformer = 'asymmetric'", [0, 0, 10, 10, 20, 20]),
        ("interpolator = 'linear', coord_transformer = 'half_pixel'", [0, 2.5, 7.5, 12.5, 17.5, 20]),
        ("interpolator = 'linear', coord_transformer = 'pytorch_half_pixel'", [0, 2.5, 7.5, 12.5, 17.5, 20]),
        ("interpolator = 'linear', coord_transformer = 'align_corners'", [0, 4, 8, 12, 16, 20]),
        ("interpolator = 'linear', coord_transformer = 'asymmetric'", [0, 5, 10, 15, 20, 20]),
        ("interpolator = 'nearest', coord_transformer = 'half_pixel', nearest_mode = 'round_prefer_ceil'",
         [0, 0, 10, 10, 20, 20]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("given", ["sizes", "scales"])
def test_resizing(tmp_path: Path, how: str, expected: list[float], given: str) -> None:
    x = np.float32([0, 10, 20]).reshape(1, 1, 1, 3)
    extents = np.float32([1, 1, 1, 6] if given == "sizes" else [1, 1, 1, 2])
    body = f"s = variable<scalar>(shape = [4], label = 's'); y = tract_core_resize(x, {given} = s, {how});"
    found, _ = ran(tmp_path, body, x, tensors={"s": extents})
    np.testing.assert_allclose(found.reshape(-1), expected, atol=1e-5)


def test_resizing_to_another_ratio(tmp_path: Path) -> None:
    body = """s = constant<scalar>(shape = [4], value = [1.0, 1.0, 2.0, 4.0]);
    y = tract_core_resize(x, sizes = s, interpolator = 'linear', coord_transformer = 'half_pixel');"""
    x = np.arange(18, dtype=np.float32).reshape(1, 1, 3, 6)
    found, _ = ran(tmp_path, body, x)
    np.testing.assert_allclose(found[0, 0, :, 0], [0.25 + 1.5, 1.5 + 10.5 + 0.25 - 1.5], atol=1e-4)


SCAN = """fragment step(x_t: tensor<scalar>, h: tensor<scalar>, w: tensor<scalar>)
-> (h_next: tensor<scalar>, out: tensor<scalar>) { h_next = h * w + x_t; out = h_next * 10.0; }
"""


def scan(outputs: str, pace: int) -> str:
    return f"""zero = constant<scalar>(shape = [1, 2], value = [0.0]);
    half = constant<scalar>(shape = [1, 1], value = [0.5]);
    {outputs} = tract_core_scan(body = "step", scan = [("x_t", x, 0, {pace})], full = [("w", half)],
        state = [("h", zero, "h_next")],
        output = [("out", "full", 0, {pace}), ("h_next", "last", 0, {pace})], skip = 0);"""


@pytest.mark.parametrize("pace", [1, -1])
@pytest.mark.parametrize("results", ["y, z", "z, y", "(y, z)"])
def test_scanning(tmp_path: Path, pace: int, results: str) -> None:
    x = numbers(4, 2)
    found, _ = ran(tmp_path, scan(results, pace), x, fragments=SCAN)
    state, outs = np.zeros(2), []
    for row in x[::pace]:
        state = state * 0.5 + row
        outs.append(state * 10)
    expected = np.array(outs[::pace]) if results != "z, y" else state[None]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "form", ["h_next = h * w + x_t;", "h_next = copy(h * w + x_t);", "a = h * w; h_next = a + x_t;"]
)
def test_scanning_with_a_body_of_one_result(tmp_path: Path, form: str) -> None:
    """The body of every GRU and RNN of PyTorch: the state is the output."""
    x = numbers(4, 2)
    fragment = SCAN.replace(", out: tensor<scalar>", "").replace("h_next = h * w + x_t; out = h_next * 10.0;", form)
    body = scan("y, z", 1).replace('("out", "full"', '("h_next", "full"')
    found, warnings = ran(tmp_path, body, x, fragments=fragment)
    state, outs = np.zeros(2), []
    for row in x:
        state = state * 0.5 + row
        outs.append(state)
    np.testing.assert_allclose(found, outs, rtol=1e-5, atol=1e-5)
    assert warnings == []


@pytest.mark.parametrize(
    ("body", "fragments", "message"),
    [
        (scan("y, z", 3), SCAN, "can't go through 'x_t' of shape [4, 2]: axis 0, pace 3"),
        (scan("y, z", 1).replace('body = "step"', 'body = "stop"'), SCAN, "needs a fragment 'stop' as its body"),
        (scan("y, z", 1).replace("skip = 0", "skip = 1"), SCAN, "with skip = 1 isn't supported"),
        (scan("y, z", 1).replace('("w", half)', '("v", half)'), SCAN, "doesn't fit its body 'step': 'v', 'w'"),
        (scan("y, z", 1).replace('"h_next", "last"', '"h_next", "first"'), SCAN, "its body 'step': 'first'"),
        (
            "s = relu(x); y = tract_core_resize(x, sizes = s);",
            "",
            "the value of 's' must be known before the graph runs",
        ),
        ("y = tract_core_resize(x);", "", "needs one tensor, scales or sizes"),
        (
            "y = tract_core_resize(x, sizes = x, interpolator = 'lanczos');",
            "",
            "interpolator = 'lanczos'; supported: nearest",
        ),
        (
            "y = tract_core_cast(x, to = 'c64');",
            "",
            "knows the types f16, f32, f64, i8, i16, i32, i64, bool, not 'c64'",
        ),
        (
            "y = tract_core_scatter_nd(x);",
            "",
            "operation 'tract_core_scatter_nd' isn't supported; supported are: tract_core_erf",
        ),
    ],
)
def test_what_isnt_supported_is_refused_by_name(tmp_path: Path, body: str, fragments: str, message: str) -> None:
    with pytest.raises(TosaEngineError) as caught:
        ran(tmp_path, body, numbers(4, 2), fragments=fragments)
    assert message in str(caught.value)


def test_the_extension_must_be_named() -> None:
    text = "version 1.0; graph g(x) -> (y) { x = external(shape = [1]); y = tract_core_erf(x); }"
    with pytest.raises(Unsupported) as caught:
        parse_text(text, "graph.nnef", strict=False)
    wanted = "operation 'tract_core_erf' isn't supported without 'extension tract_registry tract_core;'"
    assert str(caught.value) == f"graph.nnef:1:65: {wanted}"


def test_notes_about_the_exporter_are_passed_over(tmp_path: Path) -> None:
    notes = """fragment tract_core_properties() -> (properties: (string, tensor<scalar>)[])
    { properties = [("tract_target_version", "0.23.8"), ("export_date", "2026")]; }\n"""
    x = numbers(1, 3)
    assert ran(tmp_path, "y = copy(x);", x, fragments=notes)[0].tolist() == x.tolist()


HEAD = """version 1.0;
extension KHR_enable_fragment_definitions; extension KHR_enable_operator_expressions;
fragment own(x: tensor<scalar>, n: integer = 1, eps: scalar = 0.0) -> (y: tensor<scalar>) { y = x + eps; }
graph g(x) -> (y) { x = external(shape = [1, 3]);
"""
BENT = [
    ("y = softmax(x, [1]);", "NNEF.A8: attribute 'axes' of 'softmax' must be named"),
    ("y = softmax(x, axes = 1);", "NNEF.T4: argument 'axes' must be an array of integers, got the integer 1"),
    ("y = own(x, 1, 0.5, 7.0);", "NNEF.A2: 'own' takes 3 arguments, this is number 4"),
    ("y = erf(x);", "NNEF.A1: operation 'erf' isn't declared, nor is it one of NNEF 1.0.4"),
    ("y = own(x, eps = x);", "NNEF.T4: argument 'eps' must be a scalar (like 1.0), got a tensor of scalars"),
]


@pytest.mark.parametrize(("body", "message"), BENT)
def test_a_bend_is_a_warning_and_strictly_an_error(body: str, message: str) -> None:
    found = parse_text(f"{HEAD}    {body}\n}}", "graph.nnef", strict=False)
    assert any(warning.startswith("graph.nnef:5:") and warning.endswith(message) for warning in found.warnings)
    with pytest.raises((ParseError, Problems)) as caught:
        parse_text(f"{HEAD}    {body}\n}}", "graph.nnef")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = relu(x, 1.0);", "NNEF.A2: 'relu' takes 1 arguments, this is number 2"),
        ("y = own(x, 1, 0.5, x);", "NNEF.A2: 'own' takes 3 arguments, this is number 4"),
        ("y = softmax(x, 1.0);", "NNEF.T4: argument 'axes' must be an array of integers, got the scalar 1.0"),
        ("y = softmax(x, axes = x);", "NNEF.T4: argument 'axes' must be an array of integers, got a tensor of scalars"),
        ("y = err(x);", "NNEF.A1: operation 'err' isn't declared, nor is it one of NNEF 1.0.4"),
    ],
)
def test_what_isnt_clear_stays_an_error(body: str, message: str) -> None:
    with pytest.raises((ParseError, Problems)) as caught:
        parse_text(f"{HEAD}    {body}\n}}", "graph.nnef", strict=False)
    assert message in str(caught.value)


def test_a_tensor_that_the_graph_computes_is_no_number(tmp_path: Path) -> None:
    body = """m = constant<scalar>(shape = [1, 3], value = [1.0]);
    e = max_reduce(x, axes = [0, 1]); y = batch_normalization(x, m, m, m, m, epsilon = e);"""
    with pytest.raises(ParseError, match="the value of 'e' must be known before the graph runs"):
        ran(tmp_path, body, numbers(1, 3))
    body = body.replace("e = max_reduce(x, axes = [0, 1]);", "e = constant<scalar>(shape = [2], value = [1.0]);")
    with pytest.raises(ParseError, match="'epsilon' must be one number, 'e' has 2"):
        ran(tmp_path, body, numbers(1, 3))


def test_what_exporters_write_that_the_standard_allows(tmp_path: Path) -> None:
    """Fragments that take names of the standard, numbers in place of tensors, tensors of rank 0, generic invocations,
    three forms of left sides, labels with dots that two variables share, variables that nothing reads.
    """
    text = """version 1.0;
    extension KHR_enable_fragment_definitions;
    extension KHR_enable_operator_expressions;
    fragment erf(x: tensor<scalar>) -> (y: tensor<scalar>)
    { t = 1.0 / (1.0 + 0.5 * abs(x)); y = select(x < 0.0, -t, t); }
    fragment silu(x: tensor<scalar>) -> (y: tensor<scalar>) { y = x * sigmoid(x); }
    graph network(x) -> (y, n)
    {
        x = external<scalar>(shape = [1, 4, 6, 6]);
        w = variable<scalar>(label = 'c1.0.weight', shape = [4, 1, 3, 3]);
        again = variable<scalar>(label = 'c1.0.weight', shape = [4, 1, 3, 3]);
        unused = copy(w);
        zero = constant<scalar>(value = [0.0], shape = []);
        rank0 = variable<scalar>(label = 'rank0', shape = []);
        i = variable<integer>(label = 'i', shape = [4]);
        n = reshape<integer>(i, shape = [2, 2]);
        c = conv(x, again, 0.0, padding = [], groups = 0, border = 'constant');
        d = clamp(c, zero, 6.0);
        least = unsqueeze(-2.0, axes = [0, 1, 2, 3]);
        e = max(d, least);
        [a, b] = split(e, axis = 1, ratios = [1, 3]);
        mean, variance = moments(b, axes = [2, 3]);
        (more, less) = moments(a, axes = [2, 3]);
        sums = concat([mean, less], axis = 1);
        f = reshape<scalar>(sums, shape = [0, -1]);
        g = slice(f, axes = [1], begin = [1], end = [0]);
        s = silu(erf(g));
        y = mul(s, unsqueeze(rank0, axes = [0, 1]));
    }"""
    (tmp_path / "graph.nnef").write_text(text)
    w = numbers(4, 1, 3, 3)
    files = {"c1.0.weight": w, "rank0": np.float32(0.5), "i": np.arange(4, dtype=np.int32)}
    for name, array in files.items():
        (tmp_path / f"{name}.dat").write_bytes(nnef.write_dat(np.asarray(array)))
    x = numbers(1, 4, 6, 6)
    found = oracle.run(nnef.load(tmp_path), {"x": x})
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    e = np.clip(np.einsum("nchwij,cij->nchw", windows, w[:, 0]), 0, 6)
    sums = np.concatenate([e[:, 1:].mean((2, 3)), e[:, :1].var((2, 3))], axis=1)[:, 1:]
    t = 1 / (1 + 0.5 * np.abs(sums))
    t = np.where(sums < 0, -t, t)
    np.testing.assert_allclose(found["y"], t / (1 + np.exp(-t)) * 0.5, rtol=1e-4)
    assert found["n"].tolist() == [[0, 1], [2, 3]]
