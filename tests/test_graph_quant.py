"""graph.quant and quantize operations of the graph (NNEF 5.3, 7), in floats as the standard says and in integers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quant.command_tools import given_quant, load_with
from quant.quantize import Report, quantize
from quant.ranges import as_stored, dequantize_array
from tosa_engine import Session, oracle, types
from tosa_engine.errors import ParseError, TosaEngineError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.fast_quant import plain_lines
from tosa_engine.frontends.nnef.lalr import parse
from tosa_engine.frontends.nnef.parser import _quantization_line
from tosa_engine.frontends.nnef.syntax import Text
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

HEAD = "version 1.0;\nextension KHR_enable_fragment_definitions;\nextension KHR_enable_operator_expressions;\n"
SHAPE = (1, 3, 8, 12)
X = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)


def linear(zero_point: Any, scale: Any, bits: int = 8, signed: bool = True, symmetric: bool = False) -> str:
    flags = f"signed = {str(signed).lower()}, symmetric = {str(symmetric).lower()}"
    return f"zero_point_linear_quantize(zero_point = {zero_point}, scale = {scale}, bits = {bits}, {flags})"


X_LINE = f'"x": {linear(0, 1 / 32)};\n'


def write(
    folder: Path, body: str, quant: str = "", *, fragments: str = "", tensors: dict[str, Array | bytes] | None = None
) -> Path:
    path = folder / "m.nnef"
    path.mkdir()
    text = f"{HEAD}{fragments}\ngraph g(x) -> (y)\n{{\n    x = external(shape = {list(SHAPE)});\n    {body}\n}}"
    (path / "graph.nnef").write_text(text)
    if quant:
        (path / "graph.quant").write_text(quant)
    for name, array in (tensors or {}).items():
        (path / f"{name}.dat").write_bytes(array if isinstance(array, bytes) else nnef.write_dat(array))
    return path


def floats(path: Path) -> Array:
    return oracle.run(nnef.load(path), {"x": X})["y"]


def integers(path: Path, report: Report | None = None) -> Graph:
    return quantize(load_with(str(path), given_quant(str(path), None, None)), report)


def run(graph: Graph, codes: Array) -> Array:
    return Session(graph).run(None, {"x": codes})[0]


def operators(graph: Graph) -> list[str]:
    return [op.op for op in graph.main.operators if op.op not in ("CONST", "CONST_SHAPE", "TRANSPOSE")]


def all_codes(graph: Graph) -> Array:
    """An input with every code of int8 in it somewhere."""
    size = int(np.prod(graph.inputs[0].shape or ()))
    return np.resize(np.arange(-128, 128), size).astype(np.int8).reshape(graph.inputs[0].shape or ())


# logarithmic


def logarithmic(x: Array, most: float, bits: int) -> Array:
    """Section 4.9.5, in double precision."""
    m, r = np.ceil(np.log2(most)), 2.0**bits - 1
    with np.errstate(divide="ignore"):
        q = np.floor(np.clip(np.log2(np.abs(x)), m - r, m) + 0.5)
    return np.sign(x) * 2.0**q


def test_a_logarithmic_line_is_applied_behind_the_tensor(tmp_path: Path) -> None:
    path = write(tmp_path, "r = tanh(x); y = add(r, r);", '"r": logarithmic_quantize(max = 0.7, bits = 3);')
    np.testing.assert_allclose(floats(path), 2 * logarithmic(np.tanh(X.astype(np.float64)), 0.7, 3), rtol=1e-6)


@pytest.mark.parametrize("line", ["x", "w"])
def test_external_tensors_and_variables_keep_their_names(tmp_path: Path, line: str) -> None:
    w = np.random.default_rng(1).normal(size=SHAPE).astype(np.float32)
    body = "w = variable(shape = [1, 3, 8, 12], label = 'w'); y = add(x, w);"
    path = write(tmp_path, body, f'"{line}": logarithmic_quantize(max = 2.0, bits = 4);', tensors={"w": w})
    graph = nnef.load(path)
    assert [t.name for t in graph.inputs] == ["x"]
    sides = {"x": X.astype(np.float64), "w": w.astype(np.float64)}
    sides[line] = logarithmic(sides[line], 2.0, 4)
    np.testing.assert_allclose(floats(path), sides["x"] + sides["w"], rtol=1e-5, atol=1e-6)


def test_logarithmic_levels_per_channel(tmp_path: Path) -> None:
    path = write(tmp_path, "y = relu(x);", '"y": logarithmic_quantize(max = [1.0, 2.0, 4.0], bits = 3);')
    expected = [logarithmic(np.maximum(X[:, c], 0), most, 3) for c, most in enumerate((1.0, 2.0, 4.0))]
    np.testing.assert_allclose(floats(path), np.stack(expected, axis=1), rtol=1e-6)


def test_logarithmic_levels_are_one_table(tmp_path: Path) -> None:
    path = write(tmp_path, "y = logarithmic_quantize(x, max = 3.0, bits = 3);", X_LINE.replace("0.03125", "0.0625"))
    graph = integers(path)
    assert operators(graph) == ["TABLE"]
    codes = all_codes(graph)
    scale = graph.outputs[0].quant
    assert scale == QParams((2.0**-4,), (0,))  # 64 codes to 2^2, the least power of two from 3.0 on
    found = dequantize_array(run(graph, codes), scale)
    expected = logarithmic(codes / 16.0, 3.0, 3)
    shown = np.abs(expected) >= 2.0**-4  # lower levels than 2^-6 of the largest are nearer to 0
    np.testing.assert_array_equal(found[shown], expected[shown])
    assert set(np.abs(found).ravel()) == {0, *(2.0**n for n in range(-4, 3))}


def test_logarithmic_lines_become_integers(tmp_path: Path) -> None:
    quant = X_LINE + f'"r": logarithmic_quantize(max = 3.0, bits = 3);\n"y": {linear(-128, 1 / 256)};'
    graph = integers(write(tmp_path, "r = relu(x); y = sigmoid(r);", quant))
    codes = all_codes(graph)
    found = dequantize_array(run(graph, codes), QParams((1 / 256,), (-128,)))
    at = np.floor(np.maximum(codes, 0) / 2 + 0.5) / 16  # r before its levels: RESCALE to 1/16
    levels = np.where(at >= 2.0**-4, logarithmic(at, 3.0, 3), 0)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-levels)), atol=0.51 / 256)


@pytest.mark.parametrize("signed", [False, True])
def test_stored_logarithmic_codes(tmp_path: Path, signed: bool) -> None:
    """Section 5.2: with b bits, code q is 2^(q + m - (2^b - 1)); a signed code has one bit less and its sign."""
    codes = np.array([[0, 1, 2, 3, 12, 13, 14, 15]], np.uint8 if not signed else np.int8)
    codes = codes if not signed else np.array([[0, 1, 6, 7, -8, -7, -2, -1]], np.int8)
    dat = nnef.write_dat(codes, quantized=True, bits=4)
    body = "w = variable(shape = [1, 8], label = 'w'); y = mul(w, 1.0);"
    path = write(tmp_path, body, '"w": logarithmic_quantize(max = 3.0, bits = 4);', tensors={"w": dat})
    levels = [0, 1, 2, 3, 12, 13, 14, 15] if not signed else [0, 1, 6, 7, 0, 1, 6, 7]
    bits = 15 if not signed else 7
    signs = [1] * 4 + [-1 if signed else 1] * 4
    expected = [s * 2.0 ** (q + 2 - bits) for q, s in zip(levels, signs, strict=True)]
    assert floats(path).tolist() == [expected]


# algorithms of the document

TERNARY = """fragment ternary(x: tensor<scalar>, step: scalar, limit: integer = 1) -> (y: tensor<scalar>)
{ y = clamp(round(x / step), scalar(-limit), scalar(limit)) * step; }
"""


def test_a_fragment_is_an_algorithm(tmp_path: Path) -> None:
    path = write(tmp_path, "y = copy(x);", '"y": ternary(step = 0.5, limit = 2);', fragments=TERNARY)
    np.testing.assert_allclose(floats(path), np.clip(np.floor(X / 0.5 + 0.5), -2, 2) * 0.5)


def test_a_fragment_becomes_a_table(tmp_path: Path, command: Callable[..., Any]) -> None:
    """Its tensor has no linear quantization of its own, so the ranges come from statistics."""
    path = write(tmp_path, "r = relu(x); y = sigmoid(r);", '"r": ternary(step = 0.5, limit = 2);', fragments=TERNARY)
    np.save(tmp_path / "x.npy", X)
    stats, out = tmp_path / "s.json", tmp_path / "m.tosa"
    done = command("calibrate", path, "--data", tmp_path / "x.npy", "-o", tmp_path / "g.quant", "--statistics", stats)
    assert done.code == 0, done.err
    done = command("quantize", path, "--statistics", stats, "-o", out)
    assert done.code == 0, done.err
    session = Session(out)
    entry, result = (json.loads((tmp_path / "m.qparams.json").read_text())[k][0] for k in ("inputs", "outputs"))
    codes = np.clip(np.round(X / entry["scale"]) + entry["zero_point"], -128, 127).astype(np.int8)
    found = (session.run(None, {"x": codes})[0].astype(float) - result["zero_point"]) * result["scale"]
    real = (codes.astype(float) - entry["zero_point"]) * entry["scale"]
    inside = np.abs(np.abs(real) % 0.5 - 0.25) > 0.02  # a step of relu's own scale from where the levels change
    expected = 1 / (1 + np.exp(-np.clip(np.floor(np.maximum(real, 0) / 0.5 + 0.5), -2, 2) * 0.5))
    np.testing.assert_allclose(found[inside], expected[inside], atol=2 * result["scale"])


@pytest.mark.parametrize(
    ("quant", "message"),
    [
        (
            '"y": nonsense(bits = 8);',
            "1:1: unknown quantization algorithm 'nonsense'; it is no fragment",
        ),
        ('"y": ternary(limit = 1);', "1:1: ternary: missing argument 'step'; arguments are step, limit"),
        ('"y": ternary(step = 1.0, gain = 2);', "1:1: ternary: unknown argument 'gain'; arguments are step, limit"),
        ('"y": ternary(step = 1.0, limit = 0.5);', "1:1: ternary: 'limit' must be an integer, got 0.5"),
        ('"y": pair();', "1:1: 'pair' doesn't make one tensor of one tensor"),
        ('"y": logarithmic_quantize(max = 0.0, bits = 8);', "1:1: max must be greater than 0, got 0.0"),
        ('"y": logarithmic_quantize(max = 1.0, bits = 0);', "1:1: bits must be an integer in 1 .. 16, got 0"),
        ('"y": logarithmic_quantize(max = 1.0);', "1:1: logarithmic_quantize: missing argument 'bits'"),
        (
            '"y": logarithmic_quantize(max = [1.0, 2.0], bits = 3);',
            "1:1: 'max' has 2 values, which fit no axis",
        ),
        ('"y": logarithmic_quantize(max = 5e-324, bits = 3);', "1:1: max must be in 2^-100 .. 2^127, got 5e-324"),
        ('"y": ternary(step = [[1.0]]);', "1:1: ternary: 'step' must be a scalar (like 1.0), got ((1.0,),)"),
        ('"y": logarithmic_quantize(max = [[1.0]], bits = 3);', "1:1: logarithmic_quantize: 'max' must be a number"),
        ('"y": endless(n = 1000000);', "1:1: 'endless': fragments call each other more than 200 deep"),
        ('"z": ternary(step = 1.0);', "1:1: the document has no tensor 'z'"),
        (
            f'"y": {linear(0, 1.0)};\n"v": {linear(0, 1.0)};\n"u": {linear(0, 1.0)};',
            "2:1: the document has no tensor 'v'",
        ),
        (f'"y": {linear([0, 0], [1.0, 2.0])};', "2 entries don't fit any axis of shape [1, 3, 8, 12]"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "run", "convert", "quantize"])
def test_every_verb_finds_what_is_wrong(
    tmp_path: Path, command: Callable[..., Any], quant: str, message: str, verb: str
) -> None:
    fragments = TERNARY + "fragment pair(x: tensor<scalar>) -> (y: tensor<scalar>, z: tensor<scalar>) { y = x; z = x; }"
    fragments += (
        "fragment endless(x: tensor<scalar>, n: integer) -> (y: tensor<scalar>) { y = endless(x + 1.0, n = n); }"
    )
    path = write(tmp_path, "y = relu(x);", quant, fragments=fragments)
    np.save(tmp_path / "x.npy", X)
    more = {"check": [], "run": ["-i", tmp_path / "x.npy"], "convert": ["-o", tmp_path / "o.tosa"],
            "quantize": ["-o", tmp_path / "q.tosa"]}[verb]  # fmt: skip
    done = command(verb, path, *more)
    assert done.code == 6
    assert message in done.err
    if "fit any axis" not in message:
        assert f"{path}/graph.quant:{message}" in done.err


# bits, signs, borders


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("signed", [True, False])
def test_narrow_activations_stay_in_their_range(tmp_path: Path, bits: int, signed: bool) -> None:
    quant = QParams((0.25,), (0 if signed or bits < 2 else 1,), bits, signed)
    line = linear(quant.zero_point[0], 0.25, bits, signed)
    graph = integers(write(tmp_path, "y = mul(x, 2.0);", X_LINE + f'"y": {line};'))
    codes = all_codes(graph)
    found = run(graph, codes) if signed else run(graph, codes).view(np.uint8)
    steps = codes.astype(np.int64) * 2 / 32 / 0.25
    expected = np.sign(steps) * np.floor(np.abs(steps) + 0.5) + quant.zero_point[0]
    np.testing.assert_array_equal(found, np.clip(expected, quant.low, quant.high))


@pytest.mark.parametrize("bits", [9, 12, 15])
def test_more_than_eight_bits_are_int16(tmp_path: Path, bits: int) -> None:
    x, y = linear(5, 1 / 64, bits), linear(-3, 1 / 128, bits)
    graph = integers(write(tmp_path, "y = copy(x);", f'"x": {x};\n"y": {y};'))
    assert (graph.inputs[0].dtype, graph.outputs[0].dtype) == (types.i16, types.i16)
    top = (1 << (bits - 1)) - 1
    codes = np.zeros(SHAPE, np.int16)
    codes[0, 0, 0, :4] = [
        -(top + 1) - 5 - 10,
        top - 5 + 10,
        100,
        -100,
    ]  # counted from the zero point; two beyond the range
    found = run(graph, codes)[0, 0, 0, :4]
    assert found.tolist() == [-(top + 1) + 3, top + 3, 200, -200]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (linear(0, 1e-6, 24), "activations need 8 or 16 bits with one scale, got 24 bits (tensor 'x')"),
        (linear(7, 0.1, 16), "16-bit activations have no zero point in TOSA, got 7 (tensor 'x')"),
        (linear([0, 0, 0], [0.1, 0.2, 0.3]), "got per-channel 8 bits (tensor 'x')"),
    ],
)
def test_what_has_no_integer_form(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(TosaEngineError) as caught:
        integers(write(tmp_path, "y = sigmoid(x);", f'"x": {line};\n"y": {linear(0, 1 / 256)};'))
    assert message in str(caught.value)


def test_unsigned_data_passes_a_rescale_at_the_border(tmp_path: Path, command: Callable[..., Any]) -> None:
    quant = f'"x": {linear(100, 1 / 32, 8, signed=False)};\n"y": {linear(3, 1 / 200, 8, signed=False)};'
    path = write(tmp_path, "y = sigmoid(x);", quant)
    graph = integers(path)
    assert operators(graph) == ["RESCALE", "TABLE", "RESCALE"]
    assert (graph.inputs[0].quant, graph.outputs[0].quant) == (
        QParams((1 / 32,), (100,), 8, signed=False), QParams((1 / 200,), (3,), 8, signed=False),
    )  # fmt: skip
    codes = all_codes(graph).view(np.uint8)
    real = (codes.astype(float) - 100) / 32
    expected = np.clip(np.round(200 / (1 + np.exp(-real))) + 3, 0, 255)
    found = run(graph, codes.view(np.int8)).view(np.uint8)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(dequantize_array(found.view(np.int8), graph.outputs[0].quant), (expected - 3) / 200)

    out = tmp_path / "m.tosa"
    assert command("quantize", path, "-o", out).code == 0
    np.save(tmp_path / "x.npy", codes)  # uint8, as data of users is
    np.savez(tmp_path / "y.npz", y=expected.astype(np.uint8))
    done = command("run", out, "-i", tmp_path / "x.npy", "--expect", tmp_path / "y.npz")
    assert (done.code, done.out.split(":")[0]) == (0, "EQUAL")


def test_unsigned_16_bits(tmp_path: Path) -> None:
    line = linear(32768, 1 / 4096, 16, signed=False)
    graph = integers(write(tmp_path, "y = copy(x);", f'"x": {line};\n"y": {line};'))
    assert operators(graph)[0] == operators(graph)[-1] == "RESCALE"
    codes = np.resize(np.array([0, 1, 32767, 32768, 40000, 65535], np.uint16), SHAPE)
    found = run(graph, codes.view(np.int16)).view(np.uint16)
    np.testing.assert_array_equal(found, codes)


# ranges


@pytest.mark.parametrize("signed", [True, False])
def test_a_range_moves_so_that_zero_is_a_level(tmp_path: Path, signed: bool) -> None:
    op = f"min_max_linear_quantize(min = -1.0, max = 2.0, bits = 4, signed = {str(signed).lower()}, symmetric = false)"
    path = write(tmp_path, "y = relu(x);", f'"x": {op};\n"y": {linear(0, 0.1)};')
    graph = nnef.load(path)
    quant = graph.inputs[0].quant
    assert quant == QParams((0.2,), (5 if not signed else -3,), 4, signed)
    assert graph.warnings == []  # -1.0 is 5 steps of 0.2
    (path / "graph.quant").write_text(f'"x": {op.replace("2.0", "1.9")};')
    (warning,) = nnef.load(path).warnings
    assert (
        warning == f"{path}/graph.quant:1: zero is between two levels of a range, which moves by at most 0.0333 ('x')"
    )
    quantization = nnef.own_quantization(nnef.load_document(path))
    assert quantization.moved == {"x": pytest.approx(1 / 30)}  # 2.9 / 15 a step, -1.0 is 5.17 of them


def test_ranges_without_zero_are_widened(tmp_path: Path) -> None:
    op = "linear_quantize(min = 1.0, max = 2.0, bits = 8)"
    graph = nnef.load(write(tmp_path, "y = relu(x);", f'"x": {op};'))
    assert graph.inputs[0].quant == QParams((2.0 / 255,), (0,), 8, signed=False)
    assert graph.warnings[0].endswith(
        "graph.quant:1: 'x': the range 1.0 .. 2.0 is widened to 0.0 .. 2.0: integers need a level for 0"
    )


def test_stored_codes_of_a_range_mean_its_own_levels(tmp_path: Path) -> None:
    """Also where the range moves for computing: the data are what the file says."""
    op = "min_max_linear_quantize(min = -1.0, max = 1.9, bits = 4, signed = true, symmetric = false)"
    codes = np.arange(-8, 8, dtype=np.int8).reshape(1, 16)
    dat = nnef.write_dat(codes, quantized=True, bits=4)
    body = "w = variable(shape = [1, 16], label = 'w'); y = mul(w, 1.0);"
    path = write(tmp_path, body, f'"w": {op};', tensors={"w": dat})
    np.testing.assert_allclose(floats(path)[0], np.linspace(-1.0, 1.9, 16), rtol=1e-6)


def test_per_channel_arguments_find_their_axis(tmp_path: Path) -> None:
    """Axis 0 of filters, axis 1 of biases [1, C]."""
    quant = X_LINE + f'"w": {linear([0] * 3, [0.1, 0.2, 0.3], symmetric=True)};\n'
    quant += f'"b": {linear([0] * 3, [0.1, 0.2, 0.3], 32)};\n"y": {linear(0, 0.5)};'
    w, b = np.ones((3, 3, 1, 1), np.int8), np.array([[10, 10, 10]], np.int32)
    body = (
        "w = variable(shape = [3, 3, 1, 1], label = 'w'); b = variable(shape = [1, 3], label = 'b'); y = conv(x, w, b);"
    )
    tensors = {"w": nnef.write_dat(w, quantized=True), "b": nnef.write_dat(b, quantized=True)}
    path = write(tmp_path, body, quant, tensors=tensors)
    expected = X.astype(np.float64).sum(1, keepdims=True) * np.array([0.1, 0.2, 0.3]).reshape(1, 3, 1, 1)
    np.testing.assert_allclose(floats(path), expected + np.array([1, 2, 3]).reshape(1, 3, 1, 1), rtol=1e-5, atol=1e-5)


# quantize operations of the graph


def test_constant_ranges_in_the_graph_are_hints(tmp_path: Path) -> None:
    body = f"""q = min_max_linear_quantize(x, -4.0, 3.96875, bits = 8, signed = true, symmetric = false);
    s = sigmoid(q);
    y = {linear(-128, 1 / 256).replace("(", "(s, ", 1)};"""
    path = write(tmp_path, body)
    steps = np.floor(np.clip(X.astype(np.float64), -4, 3.96875) * 32 + 0.5) / 32
    real = np.clip(np.floor(256 / (1 + np.exp(-steps)) + 0.5), 0, 255) / 256
    np.testing.assert_allclose(floats(path), real, atol=1e-6)
    graph = integers(path)
    assert graph.inputs[0].quant == as_stored(QParams((1 / 32,), (0,)))
    assert graph.outputs[0].quant == QParams((1 / 256,), (-128,))
    codes = np.clip(np.floor(X * 32 + 0.5), -128, 127).astype(np.int8)
    np.testing.assert_array_equal(run(graph, codes).astype(float) + 128, real * 256)


def test_wrong_ranges_in_the_graph_have_their_line(tmp_path: Path) -> None:
    path = write(tmp_path, "y = linear_quantize(x, 2.0, 1.0, bits = 8);")
    with pytest.raises(ParseError, match=r"graph\.nnef:8:9: 'linear_quantize': min must be less than max"):
        nnef.load(path)


def test_a_quantization_file_beside_the_model(tmp_path: Path, command: Callable[..., Any]) -> None:
    path = write(tmp_path, "r = relu(x); y = sigmoid(r);")
    beside = tmp_path / "other.quant"
    beside.write_text(X_LINE + f'"r": logarithmic_quantize(max = 1.0, bits = 3);\n"y": {linear(-128, 1 / 256)};')
    assert command("quantize", path, "--quant", beside, "-o", tmp_path / "m.tosa").code == 0
    assert operators(Session(tmp_path / "m.tosa").graph).count("TABLE") == 1
    beside.write_text(f'"nothing": {linear(0, 1.0)};')
    done = command("quantize", path, "--quant", beside, "-o", tmp_path / "m.tosa")
    assert (done.code, f"{beside}:1:1: the document has no tensor 'nothing'" in done.err) == (6, True)


def test_dynamic_ranges(tmp_path: Path, command: Callable[..., Any]) -> None:
    """Section 7.2: floats compute them, per channel here; integers pass over them and say so."""
    body = "m = max_reduce(x, axes = [0, 2, 3]); q = linear_quantize(x, 0.0, m, bits = 8); y = relu(q);"
    path = write(tmp_path, body, X_LINE + f'"y": {linear(-128, 1 / 64)};')
    most = X.astype(np.float64).max(axis=(0, 2, 3), keepdims=True)
    expected = np.floor(np.clip(X, 0, most) / most * 255 + 0.5) / 255 * most
    np.testing.assert_allclose(floats(path), expected, atol=1e-5)
    out = tmp_path / "m.tosa"
    done = command("quantize", path, "-o", out)
    assert done.code == 0
    assert (
        "the graph computes the ranges of 'q'; integer graphs have fixed ranges, so these operations are passed"
        in done.err
    )
    codes = np.clip(np.floor(X * 32 + 0.5), -128, 127).astype(np.int8)
    found = (Session(out).run(None, {"x": codes})[0].astype(float) + 128) / 64
    np.testing.assert_allclose(found, np.maximum(codes / 32.0, 0), atol=0.51 / 64)


# scales that are upside down


def test_inverted_scales_are_refused_or_read_as_asked(tmp_path: Path, command: Callable[..., Any]) -> None:
    """As nnef_tools' quantize.py writes them: 255 / (max - min)."""
    w = np.full((3, 3, 1, 1), 0.5, np.float32)
    body = "w = variable(shape = [3, 3, 1, 1], label = 'w'); y = conv(x, w);"
    quant = f'"x": {linear(0, 32.0)};\n"w": {linear(0, 127.0)};\n"y": {linear(0, 16.0)};'
    path = write(tmp_path, body, quant, tensors={"w": w})
    np.save(tmp_path / "x.npy", X)
    verbs = [("check",), ("inspect",), ("run", "-i", tmp_path / "x.npy"), ("convert", "-o", tmp_path / "o.nnef"),
             ("quantize", "-o", tmp_path / "q.tosa"),
             ("calibrate", "--data", tmp_path / "x.npy", "-o", tmp_path / "g.quant")]  # fmt: skip
    for verb, *more in verbs:
        done = command(verb, path, *more)
        assert done.code == 6
        assert f"{path}/graph.quant:2:1: the scales look inverted: those of all 1 weights are more than 1" in done.err
        assert command(verb, path, *more, "--inverted-scales", "no").code == 0
    done = command("quantize", path, "-o", tmp_path / "q.tosa", "--inverted-scales", "yes")
    assert done.code == 0
    entries = json.loads((tmp_path / "q.qparams.json").read_text())
    assert [entries[key][0]["scale"] for key in ("inputs", "outputs")] == [1 / 32, 1 / 16]
    weights = [t.data for t in Session(tmp_path / "q.tosa").graph.main.tensors.values() if t.data is not None]
    assert any(data.dtype == np.int8 and data.size == 9 and (data == 64).all() for data in weights)


def test_large_scales_of_activations_alone_are_believed(tmp_path: Path) -> None:
    w = np.full((3, 3, 1, 1), 0.5, np.float32)
    body = "w = variable(shape = [3, 3, 1, 1], label = 'w'); y = conv(x, w);"
    quant = f'"x": {linear(0, 32.0)};\n"w": {linear(0, 1 / 127)};\n"y": {linear(0, 16.0)};'
    assert nnef.load(write(tmp_path, body, quant, tensors={"w": w})).warnings == []


# writing


def test_the_writer_keeps_every_algorithm(tmp_path: Path, command: Callable[..., Any]) -> None:
    quant = (
        X_LINE + '"r": logarithmic_quantize(max = [1.0, 2.0, 4.0], bits = 3);\n"y": ternary(step = 0.5, limit = 2);\n'
    )
    path = write(tmp_path, "r = relu(x); y = add(r, 1.0);", quant, fragments=TERNARY)
    from quant import graph_quant

    text = graph_quant.to_text(graph_quant.read(path / "graph.quant"))
    assert graph_quant.to_text(graph_quant.from_text(text)) == text
    assert graph_quant.from_text(text).functions == graph_quant.read(path / "graph.quant").functions
    assert command("convert", path, "-o", tmp_path / "o.nnef").code == 0
    assert oracle.run(nnef.load(tmp_path / "o.nnef"), {"x": X})["y"].tolist() == floats(path).tolist()


# the fast reader

NUMBERS = st.sampled_from(["0", "-1", "1.5", "-2.", "3e-4", "1e999", "007", "1e", "--1", "0.1E+2", "x", "9" * 50])
VALUES = st.one_of(
    NUMBERS, st.sampled_from(["true", "false", "'s'", "[]", "2.0 ^ 3.0", "(1, 2)"]),
    st.lists(NUMBERS, min_size=1, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
)  # fmt: skip
NAMES = st.sampled_from(["a", "scale", "if", "true", "b1", "_", "1a", ""])
SIGNS = st.sampled_from(["=", "=", "=", "", "=="])
ARGUMENTS = st.lists(st.builds(lambda name, value, sign: f"{name} {sign} {value}", NAMES, VALUES, SIGNS))
LINES = st.builds(
    lambda q, t, colon, op, args, end: f"{q}{t}{q}{colon}{op}({', '.join(args)}){end}",
    st.sampled_from(["'", '"', '"', ""]), NAMES, st.sampled_from([":", " : ", ": ", ""]), NAMES, ARGUMENTS,
    st.sampled_from([";", ";", " ;  ", "", "; # c", ";\r"]),
)  # fmt: skip


@given(st.lists(LINES, max_size=3).map("\n".join))
def test_the_fast_reader_reads_what_the_grammar_reads(text: str) -> None:
    source = Text.of("graph.quant", text)
    fast = plain_lines(source)
    if fast is not None:
        with_grammar = [_quantization_line(*line) for line in parse(text, "quantization", source)]
        assert fast == with_grammar
        assert repr(fast) == repr(with_grammar)  # 1 isn't 1.0, nor True


def test_what_tools_write_is_read_fast() -> None:
    scales = ", ".join(["0.0123", "4.5e-05"] * 50_000)
    text = f'"a": {linear(0, f"[{scales}]", symmetric=True)};\n'
    lines = plain_lines(Text.of("graph.quant", text))
    assert lines is not None
    assert len(lines[0].args["scale"]) == 100_000  # type: ignore[arg-type]
