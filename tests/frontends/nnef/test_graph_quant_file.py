"""graph.quant: what is written is read back to the bit; what is wrong is said with its line."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosa_engine.errors import ParseError
from tosa_engine.files import write_atomically
from tosa_engine.frontends.nnef.files import graph_quant
from tosa_engine.graph import QParams

scale = st.floats(5e-324, 1.7e308, allow_subnormal=True)


@st.composite
def qparams(draw: st.DrawFn) -> QParams:
    bits, signed = draw(st.sampled_from([2, 4, 8, 16, 32])), draw(st.booleans())
    shape = QParams((1.0,), (0,), bits, signed, draw(st.booleans()))
    count = draw(st.integers(1, 4))
    zero = st.integers(shape.low, shape.high)
    return replace(
        shape,
        scale=tuple(draw(st.lists(scale, min_size=count, max_size=count))),
        zero_point=tuple(draw(st.lists(zero, min_size=count, max_size=count))),
    )


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True), qparams(), max_size=4))
def test_a_round_trip_keeps_every_bit_and_the_order(entries: dict[str, QParams]) -> None:
    text = graph_quant.to_text(entries)
    assert graph_quant.from_text(text) == entries
    assert list(graph_quant.from_text(text)) == list(entries)
    assert graph_quant.to_text(graph_quant.from_text(text)) == text


def test_the_text_of_a_line() -> None:
    text = graph_quant.to_text({"a": QParams((0.1,), (-3,)), "w": QParams((0.5, 0.25), (0, 0), symmetric=True, axis=0)})
    assert text == (
        '"a": zero_point_linear_quantize('
        "zero_point = -3, scale = 0.1, bits = 8, signed = true, symmetric = false);\n"
        '"w": zero_point_linear_quantize('
        "zero_point = [0, 0], scale = [0.5, 0.25], bits = 8, signed = true, symmetric = true);\n"
    )


def test_one_number_for_all_channels() -> None:
    line = f'"w": zero_point_linear_quantize({GOOD.replace("1.0", "[1.0, 2.0]").replace("false", "true")});'
    assert graph_quant.from_text(line)["w"] == QParams((1.0, 2.0), (0, 0), symmetric=True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("min = 0.0, max = 25.5, bits = 8", QParams((0.1,), (0,), signed=False)),
        ("min = -12.8, max = 12.7, bits = 8, signed = true, symmetric = false", QParams((0.1,), (0,))),
        ("min = -12.7, max = 12.7, bits = 8, signed = true, symmetric = true", QParams((0.1,), (0,), symmetric=True)),
        ("min = -1.0, max = 254.0, bits = 8, signed = false", QParams((1.0,), (1,), signed=False)),
    ],
)
def test_min_and_max(arguments: str, expected: QParams) -> None:
    found = graph_quant.from_text(f'"a": linear_quantize({arguments});')["a"]
    assert found.scale == pytest.approx(expected.scale)
    assert replace(found, scale=expected.scale) == expected


def test_the_current_name_of_the_min_max_algorithm_needs_all_arguments() -> None:
    full = '"a": min_max_linear_quantize(min = 0.0, max = 1.0, bits = 8, signed = false, symmetric = false);'
    assert graph_quant.from_text(full)["a"].zero_point == (0,)
    with pytest.raises(ParseError, match="missing argument 'signed', missing argument 'symmetric'"):
        graph_quant.from_text('"a": min_max_linear_quantize(min = 0.0, max = 1.0, bits = 8);')


GOOD = "zero_point = 0, scale = 1.0, bits = 8, signed = true, symmetric = false"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f'"a": zero_point_linear_quantize({GOOD}, gain = 2);', "unknown argument 'gain'"),
        ('"a": zero_point_linear_quantize(zero_point = 0);', "missing argument 'scale'"),
        (f'"a": zero_point_linear_quantize({GOOD.replace("1.0", "0.0")});', "finite and greater than 0, got 0.0"),
        (f'"a": zero_point_linear_quantize({GOOD.replace("1.0", "-2.0")});', "finite and greater than 0, got -2.0"),
        (f'"a": zero_point_linear_quantize({GOOD.replace("t = 0", "t = 128")});', "zero point 128 is outside -128"),
        (f'"a": zero_point_linear_quantize({GOOD.replace("t = 0", "t = 0.5")});', "zero_point must be an integer"),
        (f'"a": zero_point_linear_quantize({GOOD.replace("t = 0", "t = [0, 0, 0]").replace("1.0", "[1.0, 2.0]")});',
         "scale has 2 values and zero_point 3"),
        (f'"a": zero_point_linear_quantize({GOOD.replace("8", "0")});', "bits must be an integer in 1 .. 32, got 0"),
        (f'"a": zero_point_linear_quantize({GOOD.replace("= true", "= 1")});', "signed must be true or false, got 1"),
        ('"a": linear_quantize(min = 1.0, max = 1.0, bits = 8);', "min must be less than max"),
        (f'"ok": zero_point_linear_quantize({GOOD});', "'ok' has more than one line"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(line: str, message: str) -> None:
    text = f'"ok": zero_point_linear_quantize({GOOD});\n{line}\n'
    with pytest.raises(ParseError) as raised:
        graph_quant.from_text(text, "some.quant")
    assert message in str(raised.value)
    assert (raised.value.file, raised.value.line) == ("some.quant", 2)
    assert str(raised.value).startswith("some.quant:2:1: ")


def test_reading_and_writing_a_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.quant"
    graph_quant.write({"a": QParams((1 / 3,), (7,))}, path)
    assert graph_quant.read(path) == {"a": QParams((1 / 3,), (7,))}
    assert os.listdir(tmp_path) == ["graph.quant"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.quant"
    path.write_text("old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["graph.quant"]
