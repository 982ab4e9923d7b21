"""`run --corners`: which corners the runs of a graph met, counted anew in plain Python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import device_networks
import numpy as np
import pytest
from devices import simulate
from nets import Net, feeds_of, words_net

from tosa_engine import arrays, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.compliance.coverage.layers import width
from tosa_engine.compliance.coverage.runs import RunCorners
from tosa_engine.ranges import analyse

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

VALUES = np.array([[-128, -65, -64, -3, -1, 0, 1, 2, 63, 64]], np.int8)


def small() -> Graph:
    """x / 2, which has ties and can't saturate; x * 2, which has no ties and saturates; a TABLE of -5 to 9."""
    net = Net(3)
    x = net.input("x", types.i8, 1, 10)
    net.rescale("half", x, types.i8, types.i8, 31, multiplier=[1 << 30])
    net.rescale("twice", x, types.i8, types.i8, 29, multiplier=[1 << 30])
    net.op("CLAMP", "clipped", types.i8, x, min_val=-5, max_val=9, nan_mode="PROPAGATE")
    net.op("TABLE", "looked", types.i8, "clipped", net.const(types.i8, range(-128, 128)))
    return net.done("half", "twice", "looked")


@pytest.fixture
def told(command, tmp_path: Path):  # type: ignore[no-untyped-def]
    def tell(graph: Graph, feeds: dict[str, Array], *flags: str) -> Any:
        serialize.write(graph, tmp_path / "net.tosa")
        arrays.write(tmp_path / "in.npz", feeds)
        outcome = command("run", tmp_path / "net.tosa", "-i", tmp_path / "in.npz", *flags)
        assert (outcome.code, outcome.err) == (0, "")
        return outcome.out

    return tell


def test_ties_saturation_and_entries(told) -> None:
    found = json.loads(told(small(), {"x": VALUES}, "--corners", "json"))
    half, twice = found["rescale"]
    counts = {"elements": 0, "possible": True}
    assert half == {
        "node": "half", "op": "RESCALE", "tensor": "half", "elements": 10,
        "saturates low": {"elements": 0, "possible": False}, "saturates high": {"elements": 0, "possible": False},
        "tie above 0": counts | {"elements": 2}, "tie below 0": counts | {"elements": 3},
    }  # fmt: skip
    assert (twice["saturates low"], twice["saturates high"]) == (counts | {"elements": 2}, counts | {"elements": 1})
    assert not twice["tie above 0"]["possible"]
    assert not twice["tie below 0"]["possible"]
    (table,) = found["table"]
    met = {min(max(v, -5), 9) + 128 for v in VALUES.reshape(-1).tolist()}
    assert (table["of"], table["met"], table["possible"], table["there"]) == ("entries", len(met), 15, 256)
    assert table["not_met"] == [i for i in range(123, 138) if i not in met]
    rest = {one["node"]: one for one in found["corners"]}
    assert "value: max_val" in rest["clipped"]["not_met"]
    assert "value: above max_val" in rest["clipped"]["met"]


def test_the_tables_for_people(told) -> None:
    lines = told(small(), {"x": VALUES}, "--corners", "text").splitlines()
    assert lines[:5] == [
        "corners of 1 run",
        "",
        "RESCALE  elements  saturates low  saturates high  tie above 0  tie below 0",
        "half           10              -               -            2            3",
        "twice          10              2               1            -            -",
    ]
    assert "saturated: 1 of 2 RESCALEs; met a tie: 1; -: proved not to happen" in lines
    assert ["looked", "7", "of", "15", "entries", "256"] in [line.split() for line in lines]


@pytest.mark.parametrize("net", [device_networks.convolutions, device_networks.attention, words_net])
def test_sums_next_to_what_is_proved(told, net) -> None:
    graph = net()
    feeds, intervals = feeds_of(graph), analyse(graph).intervals
    values = simulate(graph, feeds, {})
    found = json.loads(told(graph, feeds, "--corners", "json"))["accumulator"]
    assert found
    for one in found:
        low, high = int(values[one["tensor"]].min()), int(values[one["tensor"]].max())
        assert (one["least"], one["greatest"]) == (low, high)
        proved = intervals[one["tensor"]]
        assert (one["proved_least"], one["proved_greatest"]) == (proved.low.min(), proved.high.max())
        assert one["proved_least"] <= low <= high <= one["proved_greatest"]
        assert one["bits"] <= one["proved_bits"] <= one["type_bits"]


def test_bits_of_a_span() -> None:
    assert [width(*span) for span in ((0, 0), (-1, 0), (0, 1), (-128, 127), (-129, 0), (0, 128))] == [1, 1, 2, 8, 9, 9]


@pytest.mark.parametrize("net", [device_networks.convolutions, device_networks.attention, words_net])
def test_what_is_excluded_never_happens(net) -> None:
    graph = net()
    corners = RunCorners(graph)
    rng = np.random.default_rng(2)
    for _ in range(8):
        feeds = {
            t.name: rng.choice([t.dtype.minimum, -1, 0, 1, t.dtype.maximum], t.shape).astype(t.dtype.storage)
            for t in graph.inputs
        }
        for name, array in simulate(graph, feeds, {}).items():
            if name in corners.tensors:
                corners.see("", name, array)
        corners.end_run()
    found = corners.data()
    assert found["runs"] == 8
    for one in found["rescale"]:
        counts = [one[name] for name in ("saturates low", "saturates high", "tie above 0", "tie below 0")]
        assert all(count["possible"] or not count["elements"] for count in counts), one["node"]


def test_a_data_set_meets_what_its_samples_meet(command, tmp_path: Path) -> None:
    serialize.write(small(), tmp_path / "net.tosa")
    arrays.write(tmp_path / "data.npz", {"x": np.stack([VALUES[0], np.full(10, 5, np.int8), VALUES[0]])})
    run = ("run", tmp_path / "net.tosa", "--data", tmp_path / "data.npz")
    outcome = command(*run, "--corners", "json", "-o", tmp_path / "a.npz")
    found = json.loads(outcome.out)
    assert (found["runs"], found["rescale"][0]["elements"]) == (3, 30)
    assert found["rescale"][1]["saturates low"]["elements"] == 4
    assert found["rescale"][0]["tie above 0"]["elements"] == 2 * 2 + 10
    assert found["table"][0]["met"] == 8
    assert command(*run, "-o", tmp_path / "b.npz").code == 0
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_ends_that_are_excluded_are_no_corners(told) -> None:
    """The result of CLAMP is -5 to 9, and so is what TABLE reads."""
    found = json.loads(told(small(), {"x": VALUES}, "--corners", "json"))
    corners = {one["node"]: one["met"] + one["not_met"] for one in found["corners"]}
    assert "looked" not in corners
    assert {"input: least", "input: greatest"} <= set(corners["clipped"])


def test_variables_and_vectors(command, tmp_path: Path) -> None:
    """VARIABLE_WRITE has no result."""
    b = Builder()
    b.op("VARIABLE", name="v", var_shape=(2, 3), type=types.i8, initial_value=np.ones((2, 3), np.int8))
    b.output(b.op("VARIABLE_READ", name="v", dtype=types.i8, output="old"))
    b.op("VARIABLE_WRITE", b.input(types.i8, (2, 3), "new"), name="v")
    serialize.write(b.graph(), tmp_path / "net.tosa")
    np.save(tmp_path / "x.npy", np.full((2, 3), -128, np.int8))
    run = ("run", tmp_path / "net.tosa", "-i", tmp_path / "x.npy", "--extension", "EXT-VARIABLE")
    outcome = command(*run, "--corners", "json", "--vectors", tmp_path / "v")
    assert (outcome.code, outcome.err) == (0, "")
    written = [one for one in json.loads(outcome.out)["corners"] if one["op"] == "VARIABLE_WRITE"]
    assert [(one["tensor"], one["met"]) for one in written] == [("", ["input1: least"])]
    index = json.loads((tmp_path / "v" / "index.json").read_text())
    assert [op["op"] for op in index["operators"]] == ["VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE"]
    assert [tensor["role"] for tensor in index["tensors"].values()] == ["input", "output"]


def test_two_flags_that_print(command, tmp_path: Path) -> None:
    serialize.write(small(), tmp_path / "net.tosa")
    outcome = command("run", tmp_path / "net.tosa", "--corners", "json", "--expect", "y.npz")
    message = "error: --corners json and --expect both print: give --corners text, or two runs\n"
    assert (outcome.code, outcome.err) == (2, message)
