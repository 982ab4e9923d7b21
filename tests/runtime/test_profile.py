"""`Session.profile`: every step has its time, and looking changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import Session, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.errors import DataError, UsageError
from tosa_engine.graph import Location
from tosa_engine.profiling import Machine, figures, page, picture, table

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

HOSTILE = "<b>&\x1b[2J\n"


def network() -> Graph:
    """A 1 x 1 convolution of 4 to 8 channels at 6 x 5, then a maximum of all rows, and a counter of runs."""
    b = Builder()
    x = b.input(types.i8, (1, 6, 5, 4), "x")
    y = b.op(
        "CONV2D", x, b.const(np.ones((8, 1, 1, 4)), types.i8), [0], 0, 0, pad=(0, 0, 0, 0), stride=(1, 1),
        dilation=(1, 1), local_bound=False, output="y",
    )  # fmt: skip
    b.output(y)
    b.output(b.op("REDUCE_MAX", x, axis=1, nan_mode="PROPAGATE", output="z"))
    return b.graph()


def counting() -> Graph:
    """What a variable holds before the run; the run adds its input."""
    b = Builder()
    x = b.input(types.fp32, (1,), "x")
    b.op("VARIABLE", name="count", var_shape=(1,), type=types.fp32, initial_value=np.zeros(1, np.float32))
    count = b.op("VARIABLE_READ", name="count", dtype=types.fp32)
    b.op("VARIABLE_WRITE", b.op("ADD", count, x), name="count")
    b.output(count)
    return b.graph()


def test_every_step_has_its_time() -> None:
    profile = Session(network(), 1).profile(seconds=0.01)
    assert [one.step.operators for one in profile.steps] == ["CONV2D", "REDUCE_MAX"]
    assert all(one.nanoseconds > 0 for one in profile.steps)
    assert profile.in_steps <= profile.clocked
    assert 0 < profile.accounted
    assert profile.runs >= 5


def test_figures_are_those_of_the_operators() -> None:
    found = figures(Session(network(), 1).profile(seconds=0.01), Machine())
    conv, reduce = found["steps"]
    assert (conv["macs"], conv["bytes"], conv["nodes"]) == (30 * 4 * 8, 120 + 32 + 4 + 2 + 4 * 240, ["y"])
    assert (reduce["macs"], reduce["bytes"], reduce["nodes"]) == (0, 120 + 20, ["z"])
    assert found["macs"] == conv["macs"]
    assert list(found["machine"]["products"]) == ["i8 x i8"]
    assert sorted(found["furthest"]) == [conv["number"], reduce["number"]]
    assert {one["operators"]: one["steps"] for one in found["operators"]} == {"CONV2D": 1, "REDUCE_MAX": 1}
    assert sum(one["nanoseconds"] for one in found["operators"]) == pytest.approx(found["in_steps"])
    for step in found["steps"]:
        assert step["share"] == pytest.approx(step["bound"] / step["nanoseconds"])


def test_names_of_strangers_are_text() -> None:
    graph = network()
    for op in graph.main.operators:
        op.location = Location(name=HOSTILE)
    found = figures(Session(graph, 1).profile(seconds=0.01), Machine())
    shown = page(found, HOSTILE)
    assert "<b>" not in shown
    assert "\x1b" not in shown + table(found)
    assert "&lt;b&gt;&amp;\\u001b[2J\\u000a" in picture(found)
    assert f"\n{found['steps'][0]['number']:5} " in table(found, every=True)


def test_variables_keep_what_they_had() -> None:
    session, one = Session(counting()), {"x": np.ones(1, np.float32)}
    session.run(None, one)
    profile = session.profile(one, seconds=0.01)
    assert [step.step.operators for step in profile.steps] == ["ADD"], "variables lie in the memory of the run"
    assert session.run(None, one)[0].tolist() == [1]


def test_parts_of_the_batch_are_summed() -> None:
    """A plan for half of the batch runs twice: both halves count."""
    b = Builder()
    x = b.input(types.i8, (2, 64, 64, 64), "x")
    for _ in range(2):
        x = b.op("MAX_POOL2D", x, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0), nan_mode="PROPAGATE")
    b.output(x)
    profile = Session(b.graph(), 1).profile(seconds=0.01)
    found = figures(profile, Machine())
    moved = [2 * 64 * 64 * 64 * (1 + 1 / 4), 2 * 32 * 32 * 64 * (1 + 1 / 4)]
    assert [step["bytes"] for step in found["steps"]] == moved


def test_what_has_no_profile() -> None:
    with pytest.raises(UsageError, match="a profile of a checked session"):
        Session(network(), 1, checked=True).profile()
    with pytest.raises(DataError, match=r"wanted int8\[1, 6, 5, 4\] for i8, got int8\[3\]"):
        Session(network(), 1).profile({"x": np.zeros(3, np.int8)})


def test_the_command(command, tmp_path) -> None:
    model, pages = tmp_path / "net.tosa", [tmp_path / "p.json", tmp_path / "p.html"]
    serialize.write(network(), model)
    for place in pages:
        outcome = command("profile", model, "--seconds", "0.01", "-o", place)
        assert outcome.code == 0, outcome.err
    assert "in its steps" in outcome.out
    assert "by operator" in outcome.out
    assert len(json.loads(pages[0].read_text())["steps"]) == 2
    assert "<svg" in pages[1].read_text()
    assert command("profile", model, "-o", "p.txt").code == 2
    assert command("profile", model, "--seconds", "0").code == 2
