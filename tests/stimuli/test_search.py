"""Stimuli: what they promise of single values, by plain Python; what a search reaches; faults that only they show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from devices import simulate
from nets import Net

from tosa_engine import types
from tosa_engine.cli import main
from tosa_engine.errors import UsageError
from tosa_engine.ranges import analyse
from tosa_engine.runtime.session import Session
from tosa_engine.serialize import write
from tosa_engine.stimuli import Search, layers_of, trials, ways
from tosa_engine.stimuli.goals import Scale
from tosa_engine.stimuli.sieve import Sieve
from tosa_engine.stimuli.slopes import Slopes
from tosa_engine.stimuli.values import Values

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

i8, i32 = types.i8, types.i32
CHANNELS = 4


def network() -> Graph:
    """A convolution of 72 products with scales of 24 bits, one per channel; a TABLE; a second convolution."""
    net = Net(5)
    x = net.input("x", i8, 1, 6, 6, 8)
    acc = net.conv("acc", x, net.weights(CHANNELS, 3, 3, 8), CHANNELS)
    scales = [16777259, 15000001, 13999999, 12582917]
    y = net.rescale("y", acc, i32, i8, [36] * CHANNELS, multiplier=scales, zero=(0, -3))
    entries = np.clip(np.arange(-128, 128) // 2 + 20, -128, 127)
    z = net.op("TABLE", "z", i8, y, net.const(i8, entries))
    net.conv("acc2", z, net.weights(CHANNELS, 3, 3, CHANNELS), CHANNELS)
    return net.done(net.rescale("out", "acc2", i32, i8, 40))


def ordinary(count: int, seed: int) -> list[dict[str, Array]]:
    """Smooth pictures, not noise: what a data set has."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        coarse = rng.normal(0, 40, (1, 3, 3, 8))
        found.append({"x": np.clip(coarse.repeat(2, 1).repeat(2, 2), -128, 127).astype(np.int8)})
    return found


def rounded(value: int, multiplier: int, shift: int, *, double: bool) -> int:
    half = 1 << (shift - 1)
    if double and shift > 31:
        half += 1 << 30 if value >= 0 else -(1 << 30)
    return (value * multiplier + half) >> shift


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(("multiplier", "shift"), [(1 << 30, 38), (1518500250, 36), (16777259, 34), (3, 5)])
def test_the_first_value_of_each_result(multiplier: int, shift: int, double: bool) -> None:
    scale = Scale(multiplier, shift, double=double)
    for q in range(-130, 130):
        first = scale.first(q)
        assert rounded(first, multiplier, shift, double=double) >= q
        assert rounded(first - 1, multiplier, shift, double=double) < q


def test_goals_are_what_plain_python_says() -> None:
    """Of each channel of `y`, for a value of each interval."""
    graph = Session(network(), 1).graph
    (layer,) = layers_of(graph, "^y$")
    multipliers = [16777259, 15000001, 13999999, 12582917]
    assert {goal.kind for goal in layer.goals} >= {"saturates low", "saturates high", "multiplier +1", "least sum"}
    for goal in layer.goals:
        m = multipliers[goal.channel]
        for low, high in goal.spans:
            for v in (low, high):
                q = rounded(v, m, 36, double=False) - 3
                other = {by: rounded(v, m + by, 36, double=False) - 3 for by in (1, -1)}
                assert {
                    "saturates low": q < -128, "saturates high": q > 127, "least result": q == -128,
                    "greatest result": q == 127, "multiplier +1": other[1] != q, "multiplier -1": other[-1] != q,
                    "least sum": v == int(layer.possible[0][goal.channel]),
                    "greatest sum": v == int(layer.possible[1][goal.channel]),
                    "tie above 0": (v * m) % (1 << 36) == 1 << 35, "tie below 0": (v * m) % (1 << 36) == 1 << 35,
                }[goal.kind], (goal, v)  # fmt: skip


def test_slopes_are_what_a_step_gives() -> None:
    """Of sums of the first layer exactly, by its weights."""
    graph = Session(network(), 1).graph
    constants = {n: t.data for n, t in graph.main.tensors.items() if t.data is not None}
    x = ordinary(1, 3)[0]["x"]
    values: dict[str, Any] = {"x": x, **simulate(graph, {"x": x, **constants}, {})} | constants
    found = Slopes(graph).to_inputs(values, "acc", {57: 1.0})["x"]
    for i in range(0, x.size, 7):
        moved = x.copy()
        moved.reshape(-1)[i] += 1
        other = simulate(graph, {"x": moved, **constants}, {})["acc"].reshape(-1)[57]
        assert int(other) - int(values["acc"].reshape(-1)[57]) == found.reshape(-1)[i]


def test_a_multiplier_off_by_one_in_one_channel_is_shown() -> None:
    """No ordinary picture shows it; the stimuli show it in each channel where a sum can, and reach more of all."""
    graph = Session(network(), 1).graph
    layers = layers_of(graph, "^y$")
    search = Search(graph, layers, seed=1)
    pictures = ordinary(20, 1)
    search.add(pictures)
    search.run()
    found = search.chosen(None)
    visible = {goal.channel for goal in layers[0].goals if goal.kind == "multiplier +1"}
    assert len(visible) == 3
    for channel in range(CHANNELS):
        assert not any(shows(graph, feeds, channel) for feeds in pictures)
        assert any(shows(graph, feeds, channel) for feeds in found) == (channel in visible), channel
    first = layers[0]
    kinds = {kind: [m for g, m in zip(first.goals, first.met, strict=True) if g.kind == kind] for kind in
             ("saturates low", "saturates high", "least sum", "greatest sum")}  # fmt: skip
    assert all(all(met) for met in kinds.values()), kinds
    assert first.reached_before < 0.2 < 0.99 < first.reached


def test_entries_of_a_table_behind_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "ROUNDS", 1)
    graph = Session(network(), 1).graph
    (layer,) = layers_of(graph, "^z$")
    search = Search(graph, [layer], seed=1)
    search.add(ordinary(20, 1))
    search.run()
    assert len(layer.goals) == 256
    assert layer.met_before.sum() < 100 < 230 < layer.met.sum()


def shows(graph: Graph, feeds: dict[str, Array], channel: int) -> bool:
    """Whether the outputs of `y` differ where the multiplier of a channel is one more."""
    other = graph.copy()
    rescale = next(op for op in other.main.operators if op.outputs == ["y"])
    tensor = other.main.tensors[rescale.inputs[1]]
    assert tensor.data is not None
    tensor.data = tensor.data.copy()
    tensor.data[channel] += 1
    ways = []
    for one in (graph, other):
        constants = {n: t.data for n, t in one.main.tensors.items() if t.data is not None}
        ways.append(simulate(one, {**feeds, **constants}, {})["y"])
    return bool((ways[0] != ways[1]).any())


def deep() -> Graph:
    """Eight convolutions behind each other; their scales leave the values of ordinary samples far from saturation."""
    net = Net(7)
    x = net.input("x", i8, 1, 6, 6, 8)
    for i in range(8):
        acc = net.conv(f"acc{i}", x, net.weights(8, 3, 3, 8), 8, pad=(1, 1, 1, 1))
        x = net.rescale(f"y{i}", acc, i32, i8, [40] * 8)
    return net.done(x)


def test_deep_layers_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 1,000 runs, by which the clock goes here. Ordinary samples saturate none of them."""
    graph = Session(deep(), 1).graph
    layers = layers_of(graph, "^y[4567]$")
    search = Search(graph, layers, seed=1)
    search.add(ordinary(8, 1))
    monkeypatch.setattr(trials.time, "monotonic", lambda: search.runs)
    search.until = search.runs + 1000
    search.run()
    assert search.runs < 1040
    reached = []
    for layer in layers:
        kinds = [goal.kind.startswith("saturates") for goal in layer.goals]
        assert not layer.met_before[kinds].any()
        reached.append(layer.met[kinds].mean())
    assert reached[0] > 0.9
    assert sum(reached) > 1, reached


def test_a_sieve_lets_all_pass_that_are_waited_for() -> None:
    rng = np.random.default_rng(3)
    low, high = np.array([-5_000, 0, 7]), np.array([90_000, 3, 8])
    columns = np.stack([rng.integers(a, b, 4_000, endpoint=True) for a, b in zip(low, high, strict=True)], 1)
    spans = [(0, -4_000, -3_990), (0, 80_000, 80_000), (0, 77_000, 79_000), (1, 2, 2), (2, 8, 8)]
    sieve = Sieve(low, high, *(np.array(ends) for ends in zip(*spans, strict=True)))
    through = set(sieve.through(columns.astype(np.int32)).tolist())
    wanted = {
        row * 3 + channel
        for channel, first, last in spans
        for row in np.flatnonzero((columns[:, channel] >= first) & (columns[:, channel] <= last)).tolist()
    }
    assert wanted <= through
    assert len(through) < len(wanted) + 100


def scaled_bytes() -> list[int]:
    """What the first RESCALE of a `Net` makes of bytes with a shift of 30."""
    return sorted({min(max(rounded(v, 1518500250, 30, double=False), -128), 127) for v in range(-128, 128)})


def test_multipliers_of_bytes_that_become_int32_are_told_apart() -> None:
    """As in front of an ADD: results aren't clipped, and all values are few."""
    net = Net()
    x = net.rescale("x8", net.input("x", i8, 1, 4), i8, i8, 30)
    multiplier, shift = 1400000011, 11
    graph = net.done(net.rescale("y", x, i8, i32, shift, multiplier=[multiplier]))
    (layer,) = layers_of(Session(graph, 1).graph, "^y$")
    goals = {goal.kind: goal for goal in layer.goals}
    for by in (1, -1):
        told = {
            v
            for v in scaled_bytes()
            if rounded(v, multiplier + by, shift, double=False) != rounded(v, multiplier, shift, double=False)
        }
        spans = goals[f"multiplier {by:+}"].spans
        assert {v for low, high in spans for v in range(low, high + 1)} == told
        assert len(told) > 1


def test_the_command_writes_samples_and_says_what_they_reach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "PATIENCE", 16)
    monkeypatch.setattr(ways, "ROUNDS", 1)
    write(network(), tmp_path / "net.tosa")
    words = ["stimuli", str(tmp_path / "net.tosa"), "-o", str(tmp_path / "x.npz"), "--layers", "^y$", "--random", "2"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].split() == ["layer", "operator", "goals", "before", "after", "range", "before", "after"]
    found = np.load(tmp_path / "x.npz")["x"]
    assert found.shape[1:] == (1, 6, 6, 8)
    assert found.dtype == np.int8
    assert main([*words, "--format", "json", "--seed", "0"]) == 0
    told = json.loads(capsys.readouterr().out)
    (layer,) = told["layers"]
    assert layer["output"] == "y"
    assert layer["range"]["after"] > layer["range"]["before"]
    assert np.array_equal(np.load(tmp_path / "x.npz")["x"], found)  # the same seed
    met = sum(kind["after"] for kind in layer["kinds"].values())
    assert met + len(layer["missing"]) == sum(kind["goals"] for kind in layer["kinds"].values())
    graph = Session(network(), 1).graph
    (again,) = layers_of(graph, "^y$")
    search = Search(graph, [again])
    search.add([{"x": one} for one in found])
    assert again.met.sum() == met  # what is written reaches what was told
    assert main([*words, "--most", "1"]) == 0
    assert len(np.load(tmp_path / "x.npz")["x"]) == 1


def test_what_has_no_goals_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(network(), tmp_path / "net.tosa")
    assert main(["stimuli", str(tmp_path / "net.tosa"), "-o", str(tmp_path / "x.npz"), "--layers", "nothing"]) == 2
    assert "no RESCALE or TABLE of computed integers whose name has 'nothing'" in capsys.readouterr().err
    assert main(["stimuli", str(tmp_path / "net.tosa"), "-o", str(tmp_path / "x.npy")]) == 2
    net = Net()
    graph = net.done(net.op("ABS", "y", i32, net.input("x", i32, 3)))
    with pytest.raises(UsageError, match="the graph has no RESCALE or TABLE"):
        layers_of(Session(graph, 1).graph)


def test_where_no_value_is_a_goal_no_sum_shows_the_fault() -> None:
    (layer,) = layers_of(Session(network(), 1).graph, "^y$")
    visible = {goal.channel for goal in layer.goals if goal.kind == "multiplier +1"}
    for channel, m in enumerate([16777259, 15000001, 13999999, 12582917]):
        sums = np.arange(layer.possible[0][channel], layer.possible[1][channel] + 1)
        ways = [np.clip(((sums * by + (1 << 35)) >> 36) - 3, -128, 127) for by in (m, m + 1)]
        assert (ways[0] != ways[1]).any() == (channel in visible)


def sum_of_bytes() -> Graph:
    """As quantizers write an ADD of int8: both operands scaled to int32, and the sum back."""
    net = Net(3)
    x, y = (net.rescale(f"{n}8", net.input(n, i8, 1, 64), i8, i8, 30) for n in ("a", "b"))
    scaled = [
        net.rescale(f"{name}32", name, i8, i32, 11, multiplier=[m]) for name, m in ((x, 1400000011), (y, 1700000023))
    ]
    return net.done(net.rescale("out", net.op("ADD", "sum", i32, *scaled), i32, i8, 50, multiplier=[1500000001]))


def test_all_values_of_a_sum_of_two_bytes() -> None:
    graph = Session(sum_of_bytes(), 1).graph
    values = Values(graph, analyse(graph).intervals)
    a, b = (np.unique([rounded(v, m, 11, double=False) for v in scaled_bytes()]) for m in (1400000011, 1700000023))
    found = values.of("sum")
    assert found is not None
    np.testing.assert_array_equal(found, np.unique(a[:, None] + b))
    results = np.clip([rounded(v, 1500000001, 50, double=False) for v in found.tolist()], -128, 127)
    np.testing.assert_array_equal(values.of("out"), np.unique(results))


def test_goals_that_no_sum_of_two_bytes_meets_are_none() -> None:
    graph = Session(sum_of_bytes(), 1).graph
    (layer,) = layers_of(graph, "^out$")
    values = Values(graph, analyse(graph).intervals).of("sum")
    assert values is not None
    for goal in layer.goals:
        assert all(((values >= low) & (values <= high)).any() for low, high in goal.spans), goal
    told = {
        f"multiplier {by:+}"
        for by in (1, -1)
        if any(
            rounded(v, 1500000001 + by, 50, double=False) != rounded(v, 1500000001, 50, double=False)
            for v in values.tolist()
        )
    }
    assert {goal.kind for goal in layer.goals if goal.kind.startswith("mult")} == told
