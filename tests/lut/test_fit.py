"""Fitted tables: never worse than sampled ones, near the best that any table can be, and what the command says."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lut import FUNCTIONS, Quantization, TableRangeError, build, error_16, fit, fit_16, table_16
from lut.truth import truth_8, truth_16
from tosa_engine import cli

if TYPE_CHECKING:
    from pathlib import Path

USUAL = Quantization(4 / 32768, 1 / 32767)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_fitted_table_is_never_worse_in_its_maximum(name: str) -> None:
    try:
        sampled = build(name, FUNCTIONS[name], Quantization(4 / 32768, 4 / 32767), bits=16)
    except TableRangeError:  # -32768 and 32767 beside each other: the fitted one finds a way from one to the other
        assert name == "reciprocal"
        fitted = build(name, FUNCTIONS[name], Quantization(4 / 32768, 4 / 32767), bits=16, kind="fitted")
        assert fitted.error.within_1 > 0.9
        return
    fitted = build(name, FUNCTIONS[name], sampled.quantization, bits=16, kind="fitted")
    assert fitted.error.largest <= sampled.error.largest
    assert np.abs(np.diff(fitted.entries.astype(np.int64))).max() <= 32767


@settings(max_examples=5, deadline=None)
@given(st.floats(0.5, 12), st.floats(-3, 3), st.floats(0.2, 1.0))
def test_of_any_smooth_function(frequency: float, phase: float, amplitude: float) -> None:
    def wave(x: float) -> float:
        return amplitude * math.sin(frequency * x + phase)

    sampled, fitted = (make(wave, 4 / 32768, 1 / 32767) for make in (table_16, fit_16))
    errors = [error_16(table, wave, 4 / 32768, 1 / 32767).largest for table in (sampled, fitted)]
    assert errors[1] <= errors[0]


def _least_possible(wanted: np.ndarray) -> float:
    """No table is nearer: of each interval alone, the least maximum error of any line.

    Of a function that bends to one side over an interval, that is half of its distance from the chord.
    """
    points = wanted.reshape(512, 128)
    chord = points[:, :1] + (points[:, -1:] - points[:, :1]) * np.arange(128) / 127
    return float(np.abs(points - chord).max() / 2)


@pytest.mark.parametrize(("name", "reach"), [("tanh", 8.0), ("sin", 9.0), ("erf", 6.0)])
def test_fitted_tables_are_near_the_least_possible_maximum(name: str, reach: float) -> None:
    scale = 1 / 32700  # at a peak that is the end of int16, entries can't move beyond it
    table = fit_16(FUNCTIONS[name], reach / 32768, scale)
    least = _least_possible(truth_16(FUNCTIONS[name], reach / 32768, scale))
    found = error_16(table, FUNCTIONS[name], reach / 32768, scale).largest
    assert least <= found <= least + 0.5, "half an LSB for entries that are integers"


@pytest.mark.slow("the wider search itself takes a minute")
@pytest.mark.parametrize("name", ["softsign", "sqrt"])
def test_a_wider_search_finds_no_better_maximum(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a kink at 0 makes two intervals pull at one entry, the bound of single intervals isn't reached."""
    scales = Quantization(4 / 32768, 2 / 32767)
    narrow = build(name, FUNCTIONS[name], scales, bits=16, kind="fitted").error.largest
    monkeypatch.setattr(fit, "REACH", np.arange(-10, 11))
    assert build(name, FUNCTIONS[name], scales, bits=16, kind="fitted").error.largest == narrow


def test_what_bends_gains_and_what_is_straight_stays() -> None:
    line = build("line", lambda x: x / 4, USUAL, bits=16)
    assert np.array_equal(build("line", lambda x: x / 4, USUAL, bits=16, kind="fitted").entries, line.entries)
    bent = [build("tanh", math.tanh, USUAL, bits=16, kind=kind).error.largest for kind in ("sampled", "fitted")]
    assert bent[1] < 0.75 * bent[0]


def test_the_error_is_told_in_every_measure() -> None:
    table = build("tanh", math.tanh, USUAL, bits=16)
    errors = np.abs(table.results() - table.truth(math.tanh)) * 32767
    assert table.error.largest == pytest.approx(errors.max())
    assert table.error.at == int(errors.argmax()) - 32768
    assert table.error.mean == pytest.approx(errors.mean())
    assert table.error.rms == pytest.approx(np.sqrt((errors**2).mean()))
    assert table.error.within_1 == pytest.approx((errors <= 1).mean())
    assert table.error.lsb == 1 / 32767
    assert table.inputs[[0, -1]].tolist() == [-4.0, 4.0 * 32767 / 32768]


def test_int8_zero_points_count() -> None:
    table = build("relu", FUNCTIONS["relu"], Quantization(0.5, 0.25, -3, 7))
    assert table.results()[128 + 5] == 4.0  # (5 + 3) * 0.5
    assert table.inputs[128 - 3] == 0.0
    assert truth_8(FUNCTIONS["relu"], 0.5, -3, 0.25, 7)[0] == 7.0


def test_what_no_table_can_hold() -> None:
    def holed(x: float) -> float:
        return math.nan if x == 5.0 else x

    with pytest.raises(TableRangeError, match="the function is NaN at the input 5"):
        build("hole", holed, Quantization(1.0, 1.0), bits=16)
    with pytest.raises(TableRangeError, match="tables of int16 have zero points 0"):
        build("x", abs, Quantization(1.0, 1.0, 1, 0), bits=16)
    with pytest.raises(TableRangeError, match="zero points of int8 are -128 to 127, got 0 and 128"):
        build("x", abs, Quantization(1.0, 1.0, 0, 128))


def test_the_command_prints_both_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target, plot = tmp_path / "tanh.npy", tmp_path / "tanh.svg"
    line = ["lut", "tanh", "--in-scale", "8/32768", "--out-scale", "1/32767", "--int16"]
    assert cli.main([*line, "-o", str(target), "--plot", str(plot)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ("tanh: 513 entries of int16, input scale 0.000244140625, output scale 3.051850947599719e-05")
    assert [text.split()[0] for text in lines[3:]] == ["sampled", "fitted", "no"]
    assert lines[-1] == "no input saturates"
    assert np.array_equal(np.load(target), fit_16(math.tanh, 8 / 32768, 1 / 32767))
    assert plot.read_text(encoding="utf-8").startswith("<?xml")


def test_the_command_writes_int8_as_json_and_csv(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    line = ["lut", "sigmoid", "--in-scale", "0.1", "--out-scale", "1/256", "--out-zero-point", "-128"]
    for suffix in ("json", "csv"):
        assert cli.main([*line, "-o", str(tmp_path / f"table.{suffix}")]) == 0
    capsys.readouterr()
    assert cli.main([*line, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "table.json").read_text())
    assert printed["entries"] == [int(text) for text in (tmp_path / "table.csv").read_text().split()]
    assert len(printed["entries"]) == 256


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["frob"], "unknown function 'frob'; choose from: abs, cos, elu, "),
        ([], "give the name of a function; tosa-engine lut --list shows all"),
        (["tanh", "--in-scale", "1"], "--out-scale missing: a table belongs to two scales"),
        (["tanh", "--in-scale", "0", "--out-scale", "1"], "'0' isn't a positive number, or a quotient such as 1/256"),
        (["tanh", "--in-scale", "1/0", "--out-scale", "1"], "'1/0' isn't a positive number"),
        (["tanh", "--in-scale", "1", "--out-scale", "1", "--build", "fitted"], "--build fitted is for --int16"),
        (["tanh", "--in-scale", "1", "--out-scale", "1", "-o", "x.txt"], "can't tell what to write to 'x.txt'"),
        (["tanh", "--in-scale", "1", "--out-scale", "1", "--plot", "x.txt"], "can't draw 'x.txt'"),
    ],
)
def test_wrong_command_lines(capsys: pytest.CaptureFixture[str], line: list[str], message: str) -> None:
    assert cli.main(["lut", *line]) == 2
    assert message in capsys.readouterr().err


def test_a_table_that_cannot_be_is_an_error_of_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["lut", "reciprocal", "--in-scale", "1/32768", "--out-scale", "1/128", "--int16"]
    assert cli.main([*line, "--build", "sampled"]) == 6
    message = "no sampled table for reciprocal: entries 255 and 256 are -32768 and 32767"
    assert message in capsys.readouterr().err
    assert cli.main(line) == 0
    found = capsys.readouterr()
    assert f"warning: {message}" in found.err
    assert [text.split()[0] for text in found.out.splitlines()[3:-1]] == ["fitted"]


def test_what_saturates_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """exp of 0.1 and above is more than 127 / 128, which was 'within 1: 100 %' alone."""
    assert cli.main(["lut", "exp", "--in-scale", "0.1", "--out-scale", "1/128"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(
        "128 of 256 inputs saturate (50.0 %): the function is up to 4.19516e+07 LSB (3.277e+05) beyond"
    )
    wide = build("twice", lambda x: 2 * x, Quantization(1 / 32768, 1 / 32768), bits=16).error
    assert (wide.saturated, wide.inputs, wide.beyond) == (32768, 65536, 32768.0)
    assert cli.main(["lut", "reciprocal", "--in-scale", "0.1", "--out-scale", "0.1", "--format", "json"]) == 0
    error = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["error"]
    assert (error["saturated"], error["beyond"]) == (1, None)


@pytest.mark.parametrize(
    ("scales", "bits", "message"),
    [
        (
            Quantization(1e-9, 1.0),
            8,
            r"every entry is 0: nothing is left of the function \(input scale 1e-09, ",
        ),
        (Quantization(1.0, 1e-9), 8, r"255 of 256 inputs saturate: next to nothing is left of the function"),
        (Quantization(1e-4, 1e-12), 16, r"TABLE\.R1"),
        (Quantization(1e304, 1.0), 8, r"an input scale of 1e\+304 leads beyond all numbers"),
        (Quantization(1.0, 1.0, 0.5, 0), 8, "zero points of int8 are -128 to 127, got 0.5 and 0"),
    ],
)
def test_scales_without_sense_are_refused(scales: Quantization, bits: int, message: str) -> None:
    with pytest.raises(TableRangeError, match=message):
        build("tanh", math.tanh, scales, bits=bits)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bits": 12}, "tables have 8 or 16 bits, got 12"),
        ({"bits": 16, "kind": "best"}, "a table is 'sampled' or 'fitted', got 'best'"),
        ({"kind": "fitted"}, "a table of 8 bits has nothing to fit"),
    ],
)
def test_tables_that_there_are_none_of(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build("tanh", math.tanh, Quantization(1 / 64, 1 / 128), **options)


def test_slopes_and_functions_of_the_user(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "functions_of_mine.py").write_text(
        "import math\n\ndef leaky(x):\n    return x if x > 0 else 0.25 * x\n\ndef root(x):\n    return math.sqrt(x)\n"
    )
    scales = ["--in-scale", "0.1", "--out-scale", "0.1"]
    for function in (["leaky_relu", "--alpha", "0.25"], ["functions_of_mine:leaky"]):
        assert cli.main(["lut", *function, *scales, "-o", f"{len(function)}.csv"]) == 0
    assert (tmp_path / "1.csv").read_text() == (tmp_path / "3.csv").read_text()
    assert cli.main(["lut", "elu", "--alpha", "0.5", *scales, "-o", "elu.csv"]) == 0
    assert (tmp_path / "elu.csv").read_text().split()[0] == "-5"
    assert capsys.readouterr().out.splitlines()[0].startswith("leaky_relu(alpha = 0.25): 256 entries of int8")
    assert cli.main(["lut", "functions_of_mine:root", *scales]) == 6
    assert (
        "functions_of_mine:root has no value at the input -128, which is -12.8: ValueError: math domain error"
        in capsys.readouterr().err
    )
    for line, message in (
        (["functions_of_mine:gone"], "module 'functions_of_mine' has no function 'gone'"),
        (["no_such_module:f"], "no_such_module:f: ModuleNotFoundError: "),
        (["gelu", "--alpha", "2"], "--alpha is for elu and leaky_relu, not for 'gelu'"),
    ):
        assert cli.main(["lut", *line, *scales]) == 2
        assert message in capsys.readouterr().err
