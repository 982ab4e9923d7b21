"""Graphs whose sums overflow, compared under what a device is assumed to do then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from device_networks import int48
from devices import simulate
from nets import Net, feeds_of

from tosa_engine import arrays, oracle, types
from tosa_engine.cli import main
from tosa_engine.compare import Side, compare_sides
from tosa_engine.compare.sides import Model
from tosa_engine.errors import RequireViolation
from tosa_engine.oracle import Overflow
from tosa_engine.runtime.session import Session
from tosa_engine.serialize import write

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

MOST = (1 << 31) - 1


def overflowing() -> Graph:
    """A sum of three products and a bias near the end of int32, then an ADD and a RESCALE."""
    net = Net()
    x = net.input("x", types.i8, 1, 1, 1, 3)
    weight = net.const(types.i8, [[[[127, -127, 127]]], [[[1, 1, 1]]]])
    zero = net.const(types.i8, [0])
    acc = net.op(
        "CONV2D", "acc", types.i32, x, weight, net.const(types.i32, [MOST - 5000, 7]), zero, zero, pad=(0, 0, 0, 0),
        stride=(1, 1), dilation=(1, 1), acc_type=types.i32, local_bound=False,
    )  # fmt: skip
    return net.done(net.rescale("y", acc, types.i32, types.i8, 54))


X = np.array([100, 3, 100], np.int8).reshape(1, 1, 1, 3)  # 25,019 and 203 with weights of 127, -127, 127 and of 1


def side(graph: Graph, overflow: Overflow | None, x: Array = X) -> Side:
    source = graph.copy()
    return Model("model", Session(source).graph, overflow).run({"x": x})


def test_each_rule_gives_what_python_integers_give() -> None:
    exact = MOST - 5000 + 127 * (100 - 3 + 100)
    with pytest.raises(RequireViolation):
        side(overflowing(), None)
    for overflow, wanted in (
        (Overflow(), exact - (1 << 32)),
        (Overflow(saturate=True), MOST),
        (Overflow(bits=40), exact - (1 << 32)),  # an accumulator of the graph has 32
        (Overflow(bits=16), (exact + (1 << 15)) % (1 << 16) - (1 << 15)),
        (Overflow(saturate=True, bits=16), (1 << 15) - 1),
    ):
        found = side(overflowing(), overflow)
        assert found.tensors["acc"].reshape(-1).tolist() == [wanted, 210]
        assert found.beyond == {"acc": 1}


def test_saturated_sums_depend_on_their_order() -> None:
    """REDUCE_SUM of 2^31 - 1, 5, -10: saturated at the second, -10 is taken from the end of the range."""
    net = Net()
    graph = net.done(net.op("REDUCE_SUM", "y", types.i32, net.input("x", types.i32, 3), axis=0))
    values = np.array([MOST, 5, -10], np.int32)
    assert side(graph, Overflow(saturate=True), values).tensors["y"].tolist() == [MOST - 10]
    assert side(graph, Overflow(), values).tensors["y"].tolist() == [MOST - 5]
    with oracle.assuming(Overflow(saturate=True)) as beyond:
        assert oracle.run(graph, {"x": values})["y"].tolist() == [MOST - 10]
    assert list(beyond.values()) == [1]
    with pytest.raises(RequireViolation):  # only in there
        oracle.run(graph, {"x": values})


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL"])
def test_other_sums_wrap_and_saturate(op: str) -> None:
    net = Net()
    x, y = net.input("x", types.i32, 1), net.const(types.i32, [{"ADD": 7, "SUB": -7, "MUL": 1 << 20}[op]])
    inputs = (x, y, net.const(types.i8, [1])) if op == "MUL" else (x, y)
    graph = net.done(net.op(op, "z", types.i32, *inputs))
    exact = {"ADD": MOST + 7, "SUB": MOST + 7, "MUL": (MOST << 20) + 1 >> 1}[op]
    for bits in (None, 16):  # these are no accumulators
        found = side(graph, Overflow(bits=bits), np.array([MOST], np.int32)).tensors["z"].tolist()
        assert found == [(exact + MOST + 1) % (1 << 32) - MOST - 1]
    assert side(graph, Overflow(saturate=True), np.array([MOST], np.int32)).tensors["z"].tolist() == [MOST]


def test_the_command_says_what_was_assumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(overflowing(), tmp_path / "net.tosa")
    np.save(tmp_path / "x.npy", X)
    saturating = side(overflowing(), Overflow(saturate=True))
    arrays.write(tmp_path / "device.npz", {name: saturating.tensors[name] for name in ("acc", "y")})
    words = ["compare", str(tmp_path / "net.tosa"), str(tmp_path / "device.npz"), "-i", str(tmp_path / "x.npy")]
    assert main(words) == 4
    assert "CONV2D.R2" in capsys.readouterr().err
    assert main([*words, "--assume", "saturate"]) == 0
    out = capsys.readouterr().out
    assert "assumed: accumulators saturate; elements that don't fit: 'acc' (1)" in out
    assert "EQUAL: 2 tensors" in out
    assert main([*words, "--assume", "wrap", "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["assumed"], found["beyond"]) == ("accumulators wrap", {"acc": 1})
    assert found["first"] == "acc"
    assert [c["text"] for c in found["causes"] if c["complete"]] == ["the accumulator saturates at every addition"]
    np.save(tmp_path / "samples.npy", np.concatenate([X, X, -X]))
    several = [*words[:2], str(tmp_path / "net.tosa"), "--data", str(tmp_path / "samples.npy"), "--assume", "wrap"]
    assert main(several) == 0
    assert "elements that don't fit: 'acc' (2)" in capsys.readouterr().out
    for wrong in ("clip", "bits=1", "bits=99", "wrap,saturate", "bits=8,bits=9"):
        assert main([*words, "--assume", wrong]) == 2


@pytest.mark.parametrize(("saturate", "how"), [(False, "wraps"), (True, "saturates")])
def test_int40_is_a_cause_for_accumulators_of_48_bits(saturate: bool, how: str) -> None:
    net = Session(int48(), 1).graph
    block = net.main
    bias = next(op.inputs[2] for op in block.operators if op.op == "CONV2D")
    data = block.tensors[bias].data
    assert data is not None
    data[:4] = (1 << 39) - 1000  # sums of these channels need 41 bits
    feeds = feeds_of(net)
    overflow = Overflow(saturate, 40)
    with oracle.assuming(overflow) as beyond:
        device = simulate(net, feeds, {})
    assert beyond
    here = Model("model", net).run(feeds)
    found = compare_sides(here, Side("device", device))
    assert found.first is not None
    assert found.first.here == "acc"
    texts = [cause.text for cause in found.causes if cause.complete]
    assert any(text.startswith(f"the accumulator {how} at 40 bits") for text in texts), texts
    under = compare_sides(Model("model", net, overflow).run(feeds), Side("device", device))
    assert not under.different
    assert under.beyond == beyond
