"""The page, JSON and CSV that show a measurement."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from quant.calibration.calibrate import attach
from quant.calibration.observe import collect
from quant.legalize.layers import LayerRule
from quant.legalize.quantize import quantize
from quant.metrics import Reading, Targets, parse
from quant.report import Files, measure, page, to_csv, to_json
from quant.report.charts import bars
from tosa_engine import Session
from tosa_engine.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from quant.report import Measurement
from report_tools import FILES, HOSTILE, Page, network, samples


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


def test_three_hundred_layers_are_three_hundred_rows() -> None:
    result = measure(*network(2), samples(1))
    many = [layer for _ in range(150) for layer in result.layers[1:3]]
    result.layers = many
    parsed = Page(page(result, FILES))
    assert (parsed.open, len(parsed.rows)) == ([], 300)
