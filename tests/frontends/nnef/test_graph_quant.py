"""graph.quant as a file, and quantize operations of the graph (NNEF 5.3, 7): what is read, refused and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quantized_documents import TERNARY, X_LINE, X, floats, integers, linear, operators, run, write

from quant.ranges import as_stored
from tosa_engine import Session, oracle
from tosa_engine.errors import ParseError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.language.fast_quant import plain_lines
from tosa_engine.frontends.nnef.language.lalr import parse
from tosa_engine.frontends.nnef.language.parser import _quantization_line
from tosa_engine.frontends.nnef.language.syntax import Text
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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

YES = ("--inverted-scales", "yes")


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
    session = Session(tmp_path / "q.tosa")
    assert [port.quant.scale for port in (*session.inputs, *session.outputs)] == [(1 / 32,), (1 / 16,)]
    weights = [t.data for t in Session(tmp_path / "q.tosa").graph.main.tensors.values() if t.data is not None]
    assert any(data.dtype == np.int8 and data.size == 9 and (data == 64).all() for data in weights)


@pytest.mark.parametrize("source", ["statistics", "data"])
def test_inverted_scales_are_read_as_asked_with_samples(
    tmp_path: Path, command: Callable[..., Any], source: str
) -> None:
    w = np.full((3, 3, 1, 1), 0.5, np.float32)
    body = "w = variable(shape = [3, 3, 1, 1], label = 'w'); y = conv(x, w);"
    quant = f'"x": {linear(0, 32.0)};\n"w": {linear(0, 127.0)};\n"y": {linear(0, 16.0)};'
    path = write(tmp_path, body, quant, tensors={"w": w})
    np.save(tmp_path / "x.npy", X)
    given = ("--data", tmp_path / "x.npy")
    if source == "statistics":
        kept = tmp_path / "s.json"
        done = command("calibrate", path, *given, "--statistics", kept, "-o", tmp_path / "g.quant", *YES)
        assert done.code == 0
        given = ("--statistics", kept)
    assert command("quantize", path, *given, "-o", tmp_path / "q.tosa").code == 6
    done = command("quantize", path, *given, "-o", tmp_path / "q.tosa", *YES)
    assert (done.code, done.err.count("inverted")) == (0, 0)
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
    from tosa_engine.frontends.nnef.files import graph_quant

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
