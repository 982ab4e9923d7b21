"""How integers stand for real numbers: in the `.tosa` file or beside the `.json`, and never with another graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import serialize, types
from tosa_engine.builder import Builder
from tosa_engine.errors import DataError
from tosa_engine.graph import QParams, Record
from tosa_engine.load import load
from tosa_engine.qparams import sidecar, trailer

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph

SCALES = {"x": QParams((0.5,), (3,)), "y": QParams((0.25,), (-4,))}


def graph(axis: int | None = None) -> Graph:
    b = Builder()
    x = b.input(types.i8, (3,), "x")
    b.output(b.op("IDENTITY", x, output="y") if axis is None else b.op("REVERSE", x, axis=axis, output="y"))
    found = b.graph()
    for name, quant in SCALES.items():
        found.main.tensors[name].quant = quant
    return found


def test_the_flatbuffer_is_the_same_with_and_without_scales() -> None:
    whole, plain = graph(), graph()
    for tensor in plain.main.tensors.values():
        tensor.quant = None
    without = serialize.tosa_to_bytes(plain)
    found, text = trailer.split(serialize.tosa_to_bytes(whole), "f")
    assert (found, trailer.split(without, "f")) == (without.ljust(-(-len(without) // 8) * 8, b"\0"), (without, None))
    assert text == sidecar.to_text(whole)


@pytest.mark.parametrize("external", [False, True])
def test_a_moved_tosa_file_keeps_its_scales(external: bool, tmp_path: Path) -> None:
    made = graph()
    made.record = Record(["made by hand"], {"y": 2.0}, {"bits": 8})
    serialize.write(made, tmp_path / "a.tosa", external=external)
    (tmp_path / "a.tosa").rename(tmp_path / "elsewhere.tosa")
    found = load(tmp_path / "elsewhere.tosa")
    assert {name: tensor.quant for name, tensor in found.main.tensors.items()} == SCALES
    assert found.record == made.record == sidecar.record(tmp_path / "elsewhere.tosa")
    assert [p.name for p in tmp_path.iterdir()] == ["elsewhere.tosa"]


def test_a_json_file_has_a_sidecar(tmp_path: Path) -> None:
    serialize.write(graph(), tmp_path / "a.json")
    assert load(tmp_path / "a.json").main.tensors["x"].quant == SCALES["x"]
    unsigned = graph()
    unsigned.main.tensors["x"].quant = QParams((0.5,), (128,), signed=False)
    serialize.write(unsigned, tmp_path / "a.json")
    assert load(tmp_path / "a.json").main.tensors["x"].quant == QParams((0.5,), (128,), signed=False)


@pytest.mark.parametrize("name", ["a.json", "a.tosa"])
def test_a_sidecar_of_another_model_is_refused(name: str, tmp_path: Path) -> None:
    """The other one has the same names, types and shapes."""
    serialize.write(graph(), tmp_path / "a.json")
    other = graph(axis=0)
    for tensor in other.main.tensors.values():
        tensor.quant = None
    serialize.write(other, tmp_path / name)
    with pytest.raises(DataError, match=r"a\.qparams\.json: it is about another model: its model_sha256 isn't that of"):
        load(tmp_path / name)
    (tmp_path / "a.qparams.json").unlink()
    assert load(tmp_path / name).main.tensors["x"].quant is None


def test_a_sidecar_without_a_hash_must_fit_by_names_types_and_shapes(tmp_path: Path) -> None:
    serialize.write(graph(), tmp_path / "a.json")
    text = sidecar.to_text(graph())
    (tmp_path / "a.qparams.json").write_text(text)
    assert load(tmp_path / "a.json").main.tensors["y"].quant == SCALES["y"]
    (tmp_path / "a.qparams.json").write_text(text.replace("3\n", "4\n"))
    with pytest.raises(DataError, match=r"another model: there is no tensor 'x' of i8\[4\]; write the model again"):
        load(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("behind", "message"),
    [
        (b"\xff" * 8, "scales and zero points of 18446744073709551615 bytes behind the graph: the file has"),
        (b"\xff\xfe" + (2).to_bytes(8, "little"), "behind the graph: not UTF-8"),
        (b"{}[" + (3).to_bytes(8, "little"), "behind the graph: not a file of scales and zero points"),
        (b"[]" + (2).to_bytes(8, "little"), "behind the graph: not a file of scales and zero points: no object"),
    ],
)
def test_damage_behind_the_graph(behind: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tosa"
    path.write_bytes(trailer.split(serialize.tosa_to_bytes(graph()), "a")[0] + behind + trailer.MAGIC)
    with pytest.raises(DataError, match=message):
        load(path)
    with pytest.raises(DataError, match=r"a\.tosa: "):
        sidecar.record(path)


@pytest.mark.parametrize("scale", ["1e308", "NaN", "-1.0", "0", "1" + "0" * 400])
def test_scales_that_cannot_be(scale: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tosa"
    text = (sidecar.to_text(graph()) or "").replace('"scale": 0.5', f'"scale": {scale}')
    path.write_bytes(trailer.append(trailer.split(serialize.tosa_to_bytes(graph()), "a")[0], text))
    with pytest.raises(DataError, match="not a file of scales and zero points"):
        load(path)


def test_a_file_that_is_only_an_end(tmp_path: Path) -> None:
    path = tmp_path / "a.tosa"
    for content in (trailer.MAGIC, b"", trailer.append(b"", "{}")):
        path.write_bytes(content)
        with pytest.raises(DataError):
            load(path)
    np.testing.assert_equal(sidecar.record(path), Record())
