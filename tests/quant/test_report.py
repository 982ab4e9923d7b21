"""`tosa-engine report`: what is measured, and the page, JSON and CSV that show it."""

from __future__ import annotations

import base64
import csv
import hashlib
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
from quant.improve.post_training import Options
from quant.legalize.layers import LayerRule
from quant.legalize.quantize import quantize
from quant.metrics import Judge, Reading, Score, Targets, parse
from quant.report import Files, Workshop, advise, lints, measure, measure_effects, page, to_csv, to_json, try_changes
from quant.report.advice import another, with_flags
from quant.report.charts import bars
from quant.report.effects import with_errors
from quant.report.trials import EVERYWHERE
from tosa_engine import Session, serialize
from tosa_engine.compare.agreement import Agreement
from tosa_engine.errors import DataError, Problems, Unsupported
from tosa_engine.graph import Graph, QParams
from tosa_engine.qparams import trailer
from tosa_engine.samples.arrays import RandomSamples
from tosa_engine.watch import KeptTensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from quant.report import Measurement, Suggestions
    from tosa_engine.types import Array

FILES = Files("model.nnef", "model.tosa", ("quantize", "model.nnef", "--data", "calib data.npz", "--method", "mse"))
QUICK = ("--samples", "2", "--suggest", "0")
HOSTILE = '=<script>alert("1")</script>&\x00\u202eeman'
VOID = {"meta", "rect", "line", "polyline", "input"}


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
    assert "link" not in parsed.tags
    assert not re.search(r"https?:|//[a-z]|url\(|@import", text)
    titles = ["What to do next", "Lints", "Samples", "Layers", "Resolved configuration", "What the columns mean"]
    assert all(any(title in word for word in parsed.words) for title in titles)


def test_names_of_strangers_are_text(tmp_path: Path) -> None:
    result = measure(*network(2, [HOSTILE]), samples(2))
    result.settings = {HOSTILE: [HOSTILE]}
    result.notes = [HOSTILE]
    result.beside = measure(*network(2, [HOSTILE]), samples(2))
    result.beside.files = {"integer model": HOSTILE}
    text = page(result, Files(HOSTILE, HOSTILE, (HOSTILE,)))
    parsed = Page(text)
    assert parsed.open == []
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert len(scripts) == 1 == parsed.tags.count("script") == text.count("<script")
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'" in text
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
    assert [entry["sample"] for entry in content["each"]] == list(range(6))


def test_the_histogram_holds_every_value(found: Measurement) -> None:
    for layer in found.layers:
        assert bars(layer).sum() == layer.local.elements


def test_scale_zero_point_and_sizes_are_in_the_table(found: Measurement) -> None:
    """Of conv2d: 16 places, 3 channels of 3 products; weights of 9 bytes; 48 bytes written."""
    conv = found.layers[1]
    assert (conv.operator, *conv.sizes) == ("CONV2D", 16 * 9, 9, 48)
    assert (found.layers[2].operator, *found.layers[2].sizes) == ("TANH", 0, 0, 48)
    (row,) = [row for row in csv.DictReader(io.StringIO(to_csv(found))) if row["layer"] == "conv2d"]
    assert (row["macs"], row["weight_bytes"], row["bytes_written"]) == ("144", "9", "48")
    parsed = Page(page(found, FILES))
    heads = ["layer", "alone dB", "cumulative dB", "operator", "type", "scale", "zero point", "range"]
    assert [word for word in parsed.words if word in heads][: len(heads)] == heads  # what is in sight comes first
    assert f"{conv.quant.scale[0]:.4g}" in parsed.words


def test_rows_can_be_filtered_by_operator(found: Measurement) -> None:
    text = page(found, FILES)
    assert re.findall(r'<button type="button" data-op="([^"]*)" aria-pressed="true">', text) == [
        "CONV2D",
        "TANH",
        "input",
    ]
    assert re.findall(r'<tr id="[^"]*" data-op="([^"]*)">', text) == ["input", *["CONV2D", "TANH"] * 3]
    rows = re.findall(r"<tr id=.*?</tr>", text)
    assert [re.findall(r'data-v="([^"]*)"', row)[0] for row in rows] == [layer.name for layer in found.layers]
    alone = [float(re.findall(r'data-v="([^"]*)"', row)[1]) for row in rows]
    assert alone == pytest.approx([layer.local.sqnr for layer in found.layers])


def test_every_sample_has_its_error(found: Measurement) -> None:
    """Of one sample alone the same as of the whole when it is the only one."""
    alone = measure(*network(), samples()[3:4])
    assert found.each[3].sqnr == pytest.approx(alone.outputs[0].cumulative.sqnr)
    assert found.each[3].largest == pytest.approx(
        alone.outputs[0].cumulative.largest * alone.outputs[0].quant.scale[0], rel=1e-6
    )
    assert [one.number for one in found.each] == list(range(6))


def test_two_models_side_by_side(found: Measurement) -> None:
    graph, integer = network()
    wide = attach(graph, collect(graph, enumerate(samples())), rules=[LayerRule("*", "int16")])
    result = measure(graph, integer, samples())
    result.beside = measure(graph, quantize(wide), samples())
    result.beside.files = {"integer model": "wide.tosa"}
    rows = list(csv.DictReader(io.StringIO(to_csv(result))))
    for row, layer in zip(rows, result.layers, strict=True):
        assert float(row["sqnr"]) == layer.cumulative.sqnr
        assert float(row["beside_sqnr"]) > layer.cumulative.sqnr
    parsed = Page(page(result, FILES))
    assert {"beside dB", "difference dB"} <= set(parsed.words)
    assert any("wide.tosa" in word for word in parsed.words)
    assert "beside dB" not in Page(page(found, FILES)).words


def test_a_metric_of_both_networks() -> None:
    """Labels are the float network's own answers, the last one wrong."""
    graph, integer = network(1)
    labels = np.array([Session(graph).run(None, sample)[0].argmax() for sample in samples()])
    labels[-1] = (labels[-1] + 1) % 48
    result = measure(graph, integer, samples(), metric=parse("accuracy"), targets=Targets(labels, "labels"))
    assert result.real == Reading("accuracy", 100 * 5 / 6)
    assert [one.real for one in result.each] == [100] * 5 + [0]
    assert json.loads(to_json(result, FILES))["metric"]["float"] == 100 * 5 / 6
    assert "accuracy; 83.33 % in float" in Page(page(result, FILES)).words
    with pytest.raises(DataError, match="labels: 6 targets, and more samples"):
        measure(graph, integer, [*samples(), *samples(1)], metric=parse("accuracy"), targets=Targets(labels, "labels"))


def tried(found: Measurement, seconds: float = 60) -> Suggestions:
    graph, _ = network(2)
    given = RandomSamples(6, 3, graph.inputs)
    calibration = [sample for _, sample in given.read(range(6))]
    workshop = Workshop(graph, calibration, Judge(graph, given, 3), seconds)
    return try_changes(workshop, Options(), found.layers, seconds)


@pytest.fixture(scope="module")
def suggested(found: Measurement) -> Measurement:
    result = measure(*network(2), samples())
    measure_effects(*network(2), result.layers, samples(), 60)
    result.suggestions = tried(result)
    return result


def test_changes_are_ranked_by_what_they_gain_at_the_output(suggested: Measurement) -> None:
    """The gain of every change is that of a network which the change alone makes."""
    made = suggested.suggestions
    assert made is not None
    assert [trial.gain for trial in made.tried] == sorted((trial.gain for trial in made.tried), reverse=True)
    graph, _ = network(2)
    given = RandomSamples(6, 3, graph.inputs)
    statistics = collect(graph, given.read(range(6)))
    judge = Judge(graph, given, 3)
    for trial in made.tried:
        if trial.change.layers:
            rules = [LayerRule(name, "int16") for name in trial.change.layers]
            assert judge.score(quantize(attach(graph, statistics, rules=rules))) == trial.after
            assert trial.gain == trial.after.sqnr - trial.before.sqnr
            assert made.gain_of(trial.change.layers[0]) == trial.gain
    single = [trial for trial in made.tried if trial.change.layers]
    assert len(single) == 4
    cards = advise(suggested, FILES)
    gains = [card.trial.gain for card in cards if card.trial is not None and card.title != EVERYWHERE]
    assert gains
    assert gains == sorted(gains, reverse=True)
    assert min(gains) >= 0.5
    content = json.loads(to_json(suggested, FILES))
    assert [entry.get("gain") for entry in content["next"]] == [card.trial and card.trial.gain for card in cards]
    assert f"{gains[0]:+.1f} dB" in Page(page(suggested, FILES)).words


def test_what_a_layer_alone_does_to_the_outputs(suggested: Measurement) -> None:
    """Beside the float network with one tensor shifted, by hand; the last layer's effect is its own error."""
    graph, integer = network(2)
    layers = {layer.stored: layer for layer in suggested.layers}
    assert layers["x"].effect is None
    assert layers["layer1"].effect is not None
    alone = measure(graph, integer, samples()[:2]).layers[-1]
    assert layers["layer1"].effect.sqnr == pytest.approx(alone.local.sqnr, abs=0.01)
    shifted, errors = with_errors(graph, ["x", "layer0"])
    assert errors.keys() == {"layer0"}
    session, exact = Session(shifted), KeptTensors(graph, ["layer0", "layer1"])
    kept = {name: array.copy() for name, array in exact.run(samples()[0]).items()}
    zero = np.zeros_like(kept["layer0"])
    assert np.array_equal(session.run(None, samples()[0] | {errors["layer0"]: zero})[0], kept["layer1"])
    weight, bias = (graph.main.tensors[name].data for name in graph.main.producers()["conv2d_1"].inputs[1:3])
    assert weight is not None
    assert bias is not None
    moved = np.tanh((kept["layer0"] + 0.5) @ weight.reshape(3, 3).T + bias)
    found = session.run(None, samples()[0] | {errors["layer0"]: zero + np.float32(0.5)})[0]
    assert np.allclose(found, moved, atol=1e-5)


class Planned(Workshop):
    """Every change gains, all in int16 but `layer0`, which has no such form."""

    def score(self, options: Options) -> Score:
        if LayerRule("layer0", "int16") in options.rules:
            raise Unsupported("no int16 for it")
        if options.scheme.method.bits == 16:
            raise Problems([Unsupported("first"), Unsupported("second")], "can't be had:")
        return Score(1 / (2 + len(options.rules)))


def test_a_layer_without_int16_is_tried_in_float_and_the_best_together(found: Measurement) -> None:
    graph, _ = network(2)
    given = RandomSamples(3, 3, graph.inputs)
    workshop = Planned(graph, [sample for _, sample in given.read(range(3))], Judge(graph, given, 1), 60)
    made = try_changes(workshop, Options(), found.layers, 60)
    titles = [trial.change.title for trial in made.tried]
    assert titles[0] == "4 layers together"
    assert "layer0 in float" in titles
    assert "layer0 in int16" not in titles
    assert ("--layer", "layer0=float") in [trial.change.flags for trial in made.tried]
    assert made.notes == ["all layers in int16: can't be had: first"]


def test_without_time_nothing_is_tried_and_it_says_so(found: Measurement) -> None:
    made = tried(found, 0)
    assert (made.tried, made.left >= 4) == ([], True)
    found.suggestions = made
    assert any(f"{made.left} more had no time" in word for word in Page(page(found, FILES)).words)
    found.suggestions = None
    assert any("No change was tried" in word for word in Page(page(found, FILES)).words)


def test_commands_keep_the_options_and_write_another_file(suggested: Measurement) -> None:
    start = "tosa-engine quantize model.nnef --data 'calib data.npz'"
    for card in advise(suggested, FILES):
        assert card.command.startswith(start)
        assert card.command.endswith(" -o model-2.tosa")
        assert card.command.count("--method") == 1
    assert with_flags(["quantize", "m", "--method", "percentile", "--percentile", "99"], ["--method", "mse"]) == [
        "quantize", "m", "--method", "mse",
    ]  # fmt: skip
    assert with_flags(["quantize", "m", "--layer", "a=int16", "--smooth"], ["--layer", "b=int16"]) == [
        "quantize", "m", "--layer", "a=int16", "--smooth", "--layer", "b=int16",
    ]  # fmt: skip
    assert [another(name) for name in ("a/b.tosa", "b-2.tosa", "b-x.json")] == ["a/b-2.tosa", "b-3.tosa", "b-x-2.json"]
    assert Files("m.nnef", "m.tosa").command(()) == "tosa-engine quantize m.nnef --data CALIBRATION_DATA -o m-2.tosa"


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
        "--samples", 5, "--suggest", 0, *flags,
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert re.search(r"output 'output': SQNR [3-6]\d\.\d dB, 5 samples", outcome.out)
    content = json.loads(outputs[1].read_text())
    layers = {layer["layer"]: layer for layer in content["layers"]}
    assert {"input", "r1", "r2", "r3", "pool", "r4", "n5", "r5", "mean", "logits", "output"} <= set(layers)
    assert layers["r1"]["operator"] == "CONV2D, CLAMP"
    assert layers["output"]["operator"] == "softmax"
    assert content["accumulator_bits_to_spare"]["n5"] == pytest.approx(8.8, abs=0.1)
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
