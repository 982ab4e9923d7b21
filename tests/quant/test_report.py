"""`tosa-engine report`: what is measured, and the page, JSON and CSV that show it."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import shlex
import weakref
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np
import pytest
from quant_tools import Floats

from quant.calibration.calibrate import attach
from quant.calibration.observe import collect
from quant.legalize.quantize import quantize
from quant.report import Files, advise, lints, measure, page, to_csv, to_json
from quant.report.charts import bars
from tosa_engine.compare.agreement import Agreement
from tosa_engine.errors import DataError
from tosa_engine.graph import Graph, QParams

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from quant.report import Measurement
    from tosa_engine.types import Array

FILES = Files("model.nnef", "model.tosa", "calib data.npz")
HOSTILE = '=<script>alert("1")</script>&\x00\u202eeman'
VOID = {"meta", "rect", "line", "polyline"}


def samples(count: int = 6) -> list[dict[str, Array]]:
    rng = np.random.default_rng(5)
    return [{"x": rng.normal(size=(1, 4, 4, 3)).astype(np.float32)} for _ in range(count)]


def network(layers: int = 3, names: Sequence[str] = ()) -> tuple[Graph, Graph]:
    """A chain of convolutions with TANH behind each: the float graph with QParams, and its integer graph."""
    rng = np.random.default_rng(2)
    f = Floats()
    x = f.input((1, 4, 4, 3))
    for i in range(layers):
        weight = rng.normal(size=(3, 1, 1, 3)).astype(np.float32)
        x = f.op("TANH", [f.conv(x, weight, np.zeros(3, np.float32))], name=names[i] if i < len(names) else f"layer{i}")
    graph = f.outputs(x)
    ready = attach(graph, collect(graph, enumerate(samples())))
    return ready, quantize(ready)


@pytest.fixture(scope="module")
def found() -> Measurement:
    return measure(*network(), samples())


def test_every_tensor_is_measured_in_order(found: Measurement) -> None:
    assert [layer.name for layer in found.layers] == [
        "x", "conv2d", "layer0", "conv2d_1", "layer1", "conv2d_2", "layer2",
    ]  # fmt: skip
    assert [layer.operator for layer in found.layers] == ["", *["CONV2D", "TANH"] * 3]
    assert [layer.is_output for layer in found.layers] == [False] * 6 + [True]
    assert found.samples == 6
    assert all(layer.local.elements == 6 * 48 for layer in found.layers)
    assert len(found.layers[1].peaks) == 3


def test_alone_and_cumulative(found: Measurement) -> None:
    """The first convolution gets the same integers either way; the last one much better ones when it is alone."""
    first, last = found.layers[1], found.layers[-1]
    assert first.local == first.cumulative
    assert last.local.sqnr > last.cumulative.sqnr
    assert all(layer.local.mean < 3 for layer in found.layers)


def test_a_broken_layer_shows_where_it_is() -> None:
    """A table of zeros: bad alone where it is, not behind it."""
    graph, integer = network()
    before = {layer.stored: layer for layer in measure(graph, integer, samples()).layers}
    table = integer.main.tensors[integer.main.producers()["layer1"].inputs[1]]
    assert table.data is not None
    table.data = table.data[::-1].copy()
    after = {layer.stored: layer for layer in measure(graph, integer, samples()).layers}
    assert before["layer1"].local.sqnr > 30
    assert after["layer1"].local.sqnr < 0
    assert after["conv2d_2"].local == before["conv2d_2"].local
    assert after["conv2d_2"].cumulative.sqnr < 3
    assert after["layer0"].cumulative == before["layer0"].cumulative


def test_the_numbers_of_agreement() -> None:
    one = Agreement()
    one.add(np.array([1, 2]), np.array([0.5, 1.5]), QParams((0.5,), (0,)))  # 0.5 and 1.0 beside 0.5 and 1.5
    assert one.sqnr == pytest.approx(10 * math.log10(2.5 / 0.25))
    assert one.cosine == pytest.approx((0.25 + 1.5) / math.sqrt(2.5 * 1.25))
    assert (one.largest, one.mean, one.elements) == (1.0, 0.5, 2)
    assert Agreement().sqnr == math.inf
    zeros = Agreement()
    zeros.add(np.array([1]), np.zeros(1), QParams((1.0,), (0,)))
    assert (zeros.sqnr, zeros.cosine) == (-math.inf, 0.0)


def test_saturation_is_counted() -> None:
    f = Floats()
    y = f.relu(f.input((1, 4), QParams((0.01,), (0,))), QParams((0.01,), (-128,)), high=10.0)
    graph = f.outputs(y)
    sample = {"x": np.array([[-0.5, 0.5, 1.27, 9.0]], np.float32)}
    result = measure(graph, quantize(graph), [sample])
    assert [layer.beyond for layer in result.layers] == [1, 1]
    assert result.layers[0].saturation == 0.25
    assert "'x' saturates 25.0 % of its values" in lints(result)
    commands = [command for advice in advise(result, FILES) for command in advice.commands]
    assert any("--method minmax" in command for command in commands)


def test_only_one_sample_is_in_memory() -> None:
    alive: list[weakref.ref[Array]] = []

    def stream() -> Iterator[dict[str, Array]]:
        for sample in samples(12):
            array = sample["x"].copy()
            alive.append(weakref.ref(array))
            assert sum(r() is not None for r in alive) <= 2
            yield {"x": array}
            del array

    assert measure(*network(1), stream()).samples == 12


def test_no_samples_and_nothing_in_common() -> None:
    with pytest.raises(DataError, match="at least one sample"):
        measure(*network(1), [])
    graph, integer = network(1)
    for tensor in integer.main.tensors.values():
        tensor.quant = None
    with pytest.raises(DataError, match="no tensor of the float graph"):
        measure(graph, integer, samples(1))


class Page(HTMLParser):
    """Checks that tags are closed in order; collects what tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.rows: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"]] if found.get("id") else []  # type: ignore[list-item]
        self.links += [v for k, v in attrs if k in ("href", "src") and v]
        if tag == "tr" and "id" in found:
            self.rows.append(found["id"] or "")
        assert not any(name.startswith("on") for name in found)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_is_whole_and_needs_nothing_else(found: Measurement) -> None:
    text = page(found, FILES)
    parsed = Page(text)
    assert parsed.open == []
    assert len(parsed.rows) == len(found.layers)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert parsed.links
    assert {link[1:] for link in parsed.links} <= set(parsed.ids)
    assert "script" not in parsed.tags
    assert "link" not in parsed.tags
    assert not re.search(r"https?:|//[a-z]|url\(|@import", text)
    titles = ["What to do next", "Lints", "Layers", "Resolved configuration", "What the columns mean"]
    assert all(any(title in word for word in parsed.words) for title in titles)


def test_names_of_strangers_are_text(tmp_path: Path) -> None:
    result = measure(*network(2, [HOSTILE]), samples(2))
    result.settings = {HOSTILE: [HOSTILE]}
    result.notes = [HOSTILE]
    text = page(result, Files(HOSTILE, HOSTILE, HOSTILE))
    parsed = Page(text)
    assert parsed.open == []
    assert "script" not in parsed.tags
    assert "<script>" not in text
    assert not set("\x00\u202e") & set(text)
    assert any('=<script>alert("1")</script>&' in word for word in parsed.words)
    names = [row["layer"] for row in csv.DictReader(io.StringIO(to_csv(result)))]
    assert "'" + HOSTILE in names
    assert HOSTILE in [layer["layer"] for layer in json.loads(to_json(result, FILES))["layers"]]


def test_json_and_csv_have_every_layer(found: Measurement) -> None:
    content = json.loads(to_json(found, FILES))
    rows = list(csv.DictReader(io.StringIO(to_csv(found))))
    names = [layer.name for layer in found.layers]
    assert [row["layer"] for row in rows] == [layer["layer"] for layer in content["layers"]] == names
    for row, entry, layer in zip(rows, content["layers"], found.layers, strict=True):
        assert float(row["local_sqnr"]) == entry["local_sqnr"] == layer.local.sqnr
        assert entry["weights"] == list(layer.peaks)
    assert content["samples"] == 6


def test_the_histogram_holds_every_value(found: Measurement) -> None:
    for layer in found.layers:
        assert bars(layer).sum() == layer.local.elements


def test_an_output_that_is_poor_although_its_layers_are_good() -> None:
    result = measure(*network(12), samples(2))
    content = json.loads(to_json(result, FILES))
    assert result.outputs[0].cumulative.sqnr < 25 < min(layer.local.sqnr for layer in result.layers)
    assert content["network"]["layer"] == "layer11"
    assert content["network"]["commands"][0] == (
        "tosa-engine quantize model.nnef --data 'calib data.npz' --equalize --rounding adaround --bias-correction "
        "-o model.tosa"
    )
    text = page(result, FILES)
    assert "The network" in Page(text).words
    shown = [re.sub("<[^>]+>", "", code) for code in re.findall(r"<code>(.*?)</code>", text)]
    assert html.unescape(shown[0]) == content["network"]["commands"][0]
    assert json.loads(to_json(measure(*network(1), samples(2)), FILES))["network"] is None


def test_advice_is_command_lines_with_quoted_names(found: Measurement) -> None:
    advice = advise(found, FILES)
    assert advice
    order = [a.layer.local.sqnr for a in advice]
    assert order == sorted(order)
    command = advice[0].commands[-1]
    assert command == (
        f"tosa-engine quantize model.nnef --data 'calib data.npz' --layer {advice[0].layer.layer}=int16 -o model.tosa"
    )


def test_three_hundred_layers_are_three_hundred_rows() -> None:
    result = measure(*network(2), samples(1))
    many = [layer for _ in range(150) for layer in result.layers[1:3]]
    result.layers = many
    parsed = Page(page(result, FILES))
    assert (parsed.open, len(parsed.rows)) == ([], 300)


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
        "--samples", 5, *flags,
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert re.search(r"output 'output': SQNR [3-6]\d\.\d dB, 5 samples", outcome.out)
    content = json.loads(outputs[1].read_text())
    layers = {layer["layer"]: layer for layer in content["layers"]}
    assert {"input", "r1", "r2", "r3", "pool", "r4", "n5", "r5", "mean", "logits", "output"} <= set(layers)
    assert layers["r1"]["operator"] == "CONV2D, CLAMP"
    assert layers["output"]["operator"] == "softmax"
    assert content["accumulator_bits_to_spare"]["n5"] == pytest.approx(8.8, abs=0.1)
    (file,) = content["settings"]["samples of this report"]["files"]
    assert (file["name"], len(file["sha256"])) == ("digits_data.npz", 64)
    assert content["settings"]["quant"] == str(quantized / "graph.quant")
    parsed = Page(outputs[0].read_text())
    assert (parsed.open, len(parsed.rows)) == ([], len(layers))
    assert len(outputs[2].read_text().splitlines()) == len(layers) + 1


def test_advice_can_be_followed(command, digits: Path, quantized: Path, tmp_path: Path, monkeypatch) -> None:
    """The worst layer, with int16 as the last command says, isn't the worst any more."""
    monkeypatch.chdir(tmp_path)
    integer, report = tmp_path / "digits.tosa", tmp_path / "r.json"
    for name in ("digits.tosa", "digits.qparams.json"):
        (tmp_path / name).write_bytes((quantized / name).read_bytes())
    measured = ["report", digits / "digits.nnef", integer, "--data", digits / "digits_data.npz", "--samples", 5]
    assert command(*measured, "-o", report).code == 0
    worst = json.loads(report.read_text())["next"][0]
    program, *arguments = shlex.split(worst["commands"][-1])
    assert program == "tosa-engine"
    assert command(*arguments, "--samples", 20).code == 0
    assert command(*measured, "-o", report).code == 0
    again = json.loads(report.read_text())
    assert worst["layer"] not in [entry["layer"] for entry in again["next"]]
    assert {layer["dtype"] for layer in again["layers"]} == {"i8", "i16"}
    assert again["settings"]["layer"] == [arguments[arguments.index("--layer") + 1]]


def test_equalized_models_are_compared_with_an_equalized_float_model(command, digits: Path, tmp_path: Path) -> None:
    data, integer, report = ["--data", digits / "digits_data.npz"], tmp_path / "d.tosa", tmp_path / "r.json"
    done = command("quantize", digits / "digits.nnef", *data, "--samples", 20, "--equalize", "-o", integer)
    assert done.code == 0, done.err
    assert command("report", digits / "digits.nnef", integer, *data, "--samples", 3, "-o", report).code == 0
    assert min(layer["local_sqnr"] for layer in json.loads(report.read_text())["layers"]) > 30


def test_a_model_whose_scales_are_lost(command, digits: Path, quantized: Path, tmp_path: Path) -> None:
    """Without the file beside it, --quant has the scales of the tensors that the document names."""
    integer, report = tmp_path / "alone.tosa", tmp_path / "r.json"
    integer.write_bytes((quantized / "digits.tosa").read_bytes())
    data = ["--data", digits / "digits_data.npz"]
    lost = command("report", digits / "digits.nnef", integer, *data, "--samples", 2, "-o", report)
    assert lost.code == 6
    assert "they stand in the .qparams.json beside the model, or in a graph.quant" in lost.err
    quant = ["--quant", quantized / "graph.quant"]
    assert command("report", digits / "digits.nnef", integer, *data, *quant, "--samples", 2, "-o", report).code == 0
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
