"""`tosa-engine report` from the command line."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import serialize
from tosa_engine.errors import ErrorIf
from tosa_engine.qparams import trailer

if TYPE_CHECKING:
    from pathlib import Path

from report_tools import Page, network, samples

QUICK = ("--samples", "2", "--suggest", "0")


@pytest.fixture(scope="module")
def quantized(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """digits.tosa with the file beside it, and graph.quant."""
    from tosa_engine.cli import main

    folder = tmp_path_factory.mktemp("digits")
    data = ["--data", str(digits / "digits_data.npz"), "--samples", "20"]
    assert main(["calibrate", str(digits / "digits.nnef"), *data, "-o", str(folder / "graph.quant")]) == 0
    quant = ["--quant", str(folder / "graph.quant"), "-o", str(folder / "digits.tosa")]
    assert main(["quantize", str(digits / "digits.nnef"), *quant]) == 0
    return folder


def test_the_command(command, digits: Path, quantized: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"report.{kind}" for kind in ("html", "json", "csv")]
    flags = [word for output in outputs for word in ("-o", output)]
    outcome = command(
        "report", digits / "digits.nnef", quantized / "digits.tosa", "--data", digits / "digits_data.npz",
        "--samples", 5, "--suggest", 0, "--profile", "--target", "ethos-u85-256", *flags,
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert re.search(r"output 'output': SQNR [3-6]\d\.\d dB, 5 samples", outcome.out)
    content = json.loads(outputs[1].read_text())
    layers = {layer["layer"]: layer for layer in content["layers"]}
    assert {"input", "r1", "r2", "r3", "pool", "r4", "n5", "r5", "mean", "logits", "output"} <= set(layers)
    assert layers["r1"]["operator"] == "CONV2D, CLAMP"
    assert layers["output"]["operator"] == "softmax"
    assert content["accumulator_bits_to_spare"]["n5"] == pytest.approx(8.8, abs=0.1)
    assert content["time"]["macs"] == sum(step["macs"] for step in content["time"]["steps"]) > 0
    assert (content["target"]["name"], content["target"]["problems"]) == ("ethos-u85-256", [])
    assert "<h2>Target <bdi>ethos-u85-256</bdi></h2><ul><li" in outputs[0].read_text()
    assert '<svg class="flame"' in outputs[0].read_text()
    (file,) = content["settings"]["data of this report"]["files"]
    assert (file["name"], len(file["sha256"])) == ("digits_data.npz", 64)
    assert content["settings"]["quant"] == str(quantized / "graph.quant")
    parsed = Page(outputs[0].read_text())
    assert (parsed.open, len(parsed.rows)) == ([], len(layers))
    assert len(outputs[2].read_text().splitlines()) == len(layers) + 1


def test_advice_can_be_followed(command, tmp_path: Path, monkeypatch) -> None:
    """The model was calibrated with other data than the report's. The first card's command takes that data and the
    model's options, writes another file, and that gains what the card says.
    """
    monkeypatch.chdir(tmp_path)
    serialize.write(network(1)[0], "net.tosa")
    arrays = np.concatenate([sample["x"] for sample in samples(8)])
    np.savez("calib.npz", x=arrays[:5])
    np.savez("test.npz", x=arrays[5:], y=np.zeros(3, np.int64))
    made = ["quantize", "net.tosa", "--data", "calib.npz", "--method", "minmax", "--layer", "conv2d=int16"]
    assert command(*made, "--samples", 4, "-o", "d.tosa").code == 0
    measured = ["report", "net.tosa", "d.tosa", "--data", "test.npz"]
    done = command(*measured, "--suggest", 60, "--metric", "top9", "-o", "r.json")
    assert done.code == 0, done.err
    content = json.loads((tmp_path / "r.json").read_text())
    first = content["next"][0]
    assert f"  {first['gain']:+6.1f} dB (" in done.out
    assert len(first["metric"]) == 2
    program, *arguments = shlex.split(first["command"])
    assert program == "tosa-engine"
    assert arguments[:8] == ["quantize", "net.tosa", "--data", "calib.npz", "--samples", "4", "--method", "minmax"]
    assert arguments[8:10] == ["--layer", "conv2d=int16"]
    assert arguments[-2:] == ["-o", "d-2.tosa"]
    assert "test.npz" not in " ".join(entry["command"] for entry in content["next"])
    assert command(*arguments).code == 0
    measured[2] = "d-2.tosa"
    assert command(*measured, "--suggest", 0, "-o", "s.json").code == 0
    before, after = (json.loads((tmp_path / name).read_text())["layers"][-1]["sqnr"] for name in ("r.json", "s.json"))
    assert after - before == pytest.approx(first["gain"], abs=0.01)


def test_a_record_without_calibration_data(command, digits: Path, quantized: Path, tmp_path: Path) -> None:
    """`quantized` has its ranges from a graph.quant: commands leave a place for data, and the page says so."""
    report = tmp_path / "r.html"
    data = ["--data", digits / "digits_data.npz", "--samples", 2, "--suggest", 0.001]
    outputs = ["-o", report, "-o", tmp_path / "r.json"]
    assert command("report", digits / "digits.nnef", quantized / "digits.tosa", *data, *outputs).code == 0
    (card,) = json.loads((tmp_path / "r.json").read_text())["next"]
    assert shlex.split(card["command"])[3:] == [
        "--data", "CALIBRATION_DATA", "--rounding", "adaround", "--bias-correction",
        "-o", str(quantized / "digits-2.tosa"),
    ]  # fmt: skip
    said = "ranges are of the samples of this report, for want of calibration data: the record names none"
    assert said in Page(report.read_text()).words


def test_a_record_that_no_quantize_wrote(command, digits: Path, quantized: Path, tmp_path: Path) -> None:
    integer, report = tmp_path / "d.tosa", tmp_path / "r.json"
    flatbuffer, text = trailer.split((quantized / "digits.tosa").read_bytes(), "digits.tosa")
    scales = json.loads(text)
    scales["record"]["settings"] = {"method": "magic", "data": ["x", {}], "image_mean": "y", "layer": {"a": 1}}
    integer.write_bytes(trailer.append(flatbuffer, json.dumps(scales)))
    data = ["--data", digits / "digits_data.npz", "--samples", 1]
    assert command("report", digits / "digits.nnef", integer, *data, "-o", report).code == 0
    content = json.loads(report.read_text())
    assert content["next"] == []
    assert "no change could be tried: the record of the model has other options than" in " ".join(content["lints"])


def test_what_goes_wrong_with_a_change_is_an_error(
    command, digits: Path, quantized: Path, tmp_path: Path, monkeypatch
) -> None:
    """A record that doesn't make the model again is a note; what fails afterwards isn't taken for one."""

    def failing(*_: object) -> None:
        raise ErrorIf("a wrong graph")

    monkeypatch.setattr("quant.report.trials.Workshop.score", failing)
    data = ["--data", digits / "digits_data.npz", "--samples", 1]
    done = command("report", digits / "digits.nnef", quantized / "digits.tosa", *data, "-o", tmp_path / "r.json")
    assert done.code == 3
    assert "a wrong graph" in done.err


def test_equalized_models_are_compared_with_an_equalized_float_model(command, digits: Path, tmp_path: Path) -> None:
    data, integer, report = ["--data", digits / "digits_data.npz"], tmp_path / "d.tosa", tmp_path / "r.json"
    done = command("quantize", digits / "digits.nnef", *data, "--samples", 20, "--equalize", "-o", integer)
    assert done.code == 0, done.err
    assert command("report", digits / "digits.nnef", integer, *data, *QUICK, "-o", report).code == 0
    assert min(layer["local_sqnr"] for layer in json.loads(report.read_text())["layers"]) > 30


def test_a_model_whose_scales_are_lost(command, digits: Path, quantized: Path, tmp_path: Path) -> None:
    """Without the scales in the file, --quant has those of the tensors that the document names."""
    integer, report = tmp_path / "alone.tosa", tmp_path / "r.json"
    flatbuffer, scales = trailer.split((quantized / "digits.tosa").read_bytes(), "digits.tosa")
    assert scales is not None
    integer.write_bytes(flatbuffer)
    data = ["--data", digits / "digits_data.npz"]
    lost = command("report", digits / "digits.nnef", integer, *data, *QUICK, "-o", report)
    assert lost.code == 6
    assert "quantize the model again, or give a graph.quant with --quant" in lost.err
    quant = ["--quant", quantized / "graph.quant"]
    assert (
        command(
            "report", digits / "digits.nnef", integer, *data, *quant, "--samples", 2, "--suggest", 0, "-o", report
        ).code
        == 0
    )
    layers = [layer["layer"] for layer in json.loads(report.read_text())["layers"]]
    assert {"input", "r1", "n5", "logits", "output"} <= set(layers)
    compared = command("compare", digits / "digits.nnef", integer, *data, *quant, "--format", "json")
    assert compared.code == 0, compared.err
    rows = {row["here"]: row for row in json.loads(compared.out)[0]["tensors"]}
    assert rows["r1"]["sqnr"] > 30


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-o", "x.html"], 2, "a report needs one of --data and --random"),
        (["--random", "2", "--data", "d.npz", "-o", "x.html"], 2, "a report needs one of --data and --random"),
        (["--random", "2", "-o", "x.pdf"], 2, "the name must end in .html or .json or .csv"),
        (["--random", "2", "-o", "nowhere/x.html"], 6, "no such folder"),
        (["--data", "none.npz", "-o", "x.html"], 6, "no such data"),
    ],
)
def test_wrong_calls(arguments, code: int, message: str, command, digits: Path, quantized: Path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = command("report", digits / "digits.nnef", quantized / "digits.tosa", *arguments)
    assert outcome.code == code
    assert message in outcome.err
    assert not list(tmp_path.iterdir())
