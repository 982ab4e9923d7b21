"""The search by cycles of a processor; a formula stands for Vela."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant.calibration.observe import collect
from tosa_engine import serialize
from tosa_engine.errors import Unsupported
from tosa_engine.npu import vela, work_of
from tosa_engine.npu.figures import VELA, Costs
from tosa_engine.samples.arrays import RandomSamples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph

CLOCK = 1e6


def network() -> Graph:
    """Two convolutions, of which the second has by far the larger weights, so that int16 costs more there."""
    rng = np.random.default_rng(1)
    f = Floats()
    y = f.conv(
        f.input((1, 3, 3, 4)), rng.normal(size=(4, 1, 1, 4)).astype(np.float32), np.zeros(4, np.float32), name="a"
    )
    weight = rng.normal(size=(64, 1, 1, 4)).astype(np.float32)
    return f.outputs(f.conv(f.relu(y), weight, np.zeros(64, np.float32), name="b"))


def costs(graph: Graph, name: str) -> Any:
    """A cycle for each byte; convolutions of 16 bits with more than 8 outputs are refused."""
    tensors = graph.main.tensors
    for op in graph.main.operators:
        if op.op == "CONV2D" and tensors[op.inputs[0]].dtype.name == "i16" and name == "ethos-u55-32":
            raise Unsupported("no CONV2D of i16", label="TARGET.vela")
    return Costs(name, VELA, CLOCK, sum(one.moved for one in work_of(graph)), 0, 0, 0.0, ())


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    serialize.write(network(), tmp_path / "net.tosa")
    graph = serialize.read(tmp_path / "net.tosa")
    samples = RandomSamples(6, 7, graph.inputs)
    np.savez(tmp_path / "data.npz", x=np.stack([sample["x"] for _, sample in samples.read(range(6))]))
    collect(graph, samples.read(range(6))).write(tmp_path / "stats.json")
    monkeypatch.setattr(vela, "costs", costs)
    monkeypatch.setattr(vela, "available", lambda: True)
    return [
        "search", tmp_path / "net.tosa", "--statistics", tmp_path / "stats.json", "--data", tmp_path / "data.npz",
        "--json", tmp_path / "f.json", "-q",
    ]  # fmt: skip


def test_what_is_found_is_compiled_as_a_whole(command: Callable[..., Any], line: list[object], tmp_path: Path) -> None:
    done = command(*line, "--sqnr", "20", "--precisions", "int8,int16", "--target", "ethos-u85-256")
    found = json.loads((tmp_path / "f.json").read_text())
    times = found["times"]
    assert (done.code, found["reached"], found["target"]) == (0, True, "ethos-u85-256")
    assert times["int8"]["cycles"] <= times["found"]["cycles"] < times["int16"]["cycles"]
    assert times["found"]["milliseconds"] == 1e3 * times["found"]["cycles"] / CLOCK
    assert f"{times['found']['cycles']:,} cycles" in done.out
    assert "on ethos-u85-256 by Vela (every layer in int8 " in done.out


def test_time_is_a_limit(command: Callable[..., Any], line: list[object], tmp_path: Path) -> None:
    words = [*line, "--sqnr", "20", "--precisions", "int8,int16", "--target", "ethos-u85-256", "--max-ms"]
    assert command(*words, "100").code == 0
    done = command(*words, "0.001")
    assert (done.code, "the target is out of reach; nearest: " in done.out) == (1, True)


def test_what_the_processor_refuses_is_not_tried(
    command: Callable[..., Any], line: list[object], tmp_path: Path
) -> None:
    done = command(*line, "--sqnr", "90", "--precisions", "int8,int16", "--target", "ethos-u55-32")
    found = json.loads((tmp_path / "f.json").read_text())
    assert (done.code, found["reached"]) == (1, False)
    assert set(found["layers"].values()) == {"int8"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-ms", "3"], "--max-ms is time on a --target"),
        (["--target", "mine"], "no target 'mine'; there are ethos-u55-32, "),
    ],
)
def test_wrong_words(command: Callable[..., Any], line: list[object], words: list[str], message: str) -> None:
    done = command(*line, "--sqnr", "20", *words)
    assert (done.code, message in done.err) == (2, True), done.err
