"""Large batches in parts: the same bytes and verdicts as all samples at once, wherever samples don't meet."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import Session, serialize, types
from tosa_engine.errors import RequireViolation
from tosa_engine.plan import batch, expand
from tosa_engine.probe import Probe

from .nets import Net, feeds_of

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

i8, i32 = types.i8, types.i32
BATCH = 6


def net() -> Graph:
    """An operator of each kind whose samples don't meet."""
    net = Net()
    x = net.input("x", i8, BATCH, 9, 9, 8)
    padding = net.const(types.shape, [0, 0, 1, 0, 0, 1, 0, 0])
    x = net.op("PAD", "padded", i8, x, padding, net.const(i8, [3]))
    net.conv("c", x, net.weights(8, 3, 3, 8), 8)
    net.rescale("c8", "c", i32, i8, 39)
    net.conv("d", "c8", net.weights(3, 3, 8, 1), 8, op="DEPTHWISE_CONV2D")
    net.rescale("d8", "d", i32, i8, np.arange(38, 46))
    net.op("MAX_POOL2D", "m", i8, "d8", kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0), nan_mode="PROPAGATE")
    numbers = [net.const(types.shape, values) for values in ([0, 1, 0, 0], [BATCH, 3, 5, 8], [BATCH, 15, 8])]
    net.op("SLICE", "s", i8, "m", *numbers[:2])
    net.op("RESHAPE", "rows", i8, "s", numbers[2])
    net.op("TRANSPOSE", "columns", i8, "rows", perms=(0, 2, 1))
    net.op("MATMUL", "gram", i32, "rows", "columns", net.const(i8, [0]), net.const(i8, [0]))
    net.op("REDUCE_MAX", "largest", i32, "gram", axis=2, nan_mode="PROPAGATE")
    net.op("SUB", "less", i32, "gram", "largest")
    net.op("ADD", "more", i32, "less", net.const(i32, np.arange(15 * 15).reshape(1, 15, 15)))
    return net.done("more", "rows")


@pytest.fixture
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "IN_CACHE", 9000)


def bytes_of(arrays: list[Array]) -> list[bytes]:
    return [a.tobytes() for a in arrays]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_parts_of_a_batch_give_the_same_bytes(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Session(net(), threads)
    assert whole.plan().parts == 1
    wanted = whole.run(None, feeds_of(net()))
    for cache, parts in ((7_000, 2), (4_500, 3), (1, BATCH)):
        monkeypatch.setattr(batch, "IN_CACHE", cache)
        session = Session(net(), threads)
        assert session.plan().parts == parts
        assert session.plan().arena.size <= max(cache, whole.plan().arena.size // BATCH + 64 * 4)
        assert bytes_of(session.run(None, feeds_of(net()))) == bytes_of(wanted)
        assert bytes_of(session.run(["rows"], feeds_of(net()))) == bytes_of(wanted[1:])


@pytest.mark.usefixtures("small_cache")
def test_probes_see_all_samples() -> None:
    session = Session(net(), 1)
    seen: dict[str, tuple[int, ...]] = {}
    session.run(None, feeds_of(net()), [Probe(lambda node, name, a: seen.update({name: a.shape}), ["c8", "gram"])])
    assert seen == {"c8": (BATCH, 10, 10, 8), "gram": (BATCH, 15, 15)}


@pytest.mark.usefixtures("small_cache")
def test_the_verdict_names_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net()
    x = net.input("x", i32, BATCH, 1000)
    graph = net.done(net.op("ADD", "y", i32, x, x))
    assert Session(graph, 1).plan().parts == BATCH
    feeds = {"x": np.zeros((BATCH, 1000), np.int32)}
    feeds["x"][4, 7] = 1 << 30
    messages = []
    for cache in (9000, 1 << 30):
        monkeypatch.setattr(batch, "IN_CACHE", cache)
        with pytest.raises(RequireViolation) as caught:
            Session(graph, 1).run(None, feeds)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "[4, 7]" in messages[0]


def meeting(kind: str) -> Graph:
    net = Net()
    x = net.input("x", i8, BATCH, BATCH, 4)
    if kind == "TRANSPOSE":
        y = net.op(kind, "y", i8, x, perms=(1, 0, 2))
    elif kind == "REVERSE":
        y = net.op(kind, "y", i8, x, axis=0)
    elif kind == "constant":
        y = net.op(
            "MAXIMUM", "y", i32, net.op("CAST", "z", i32, x), net.const(i32, np.arange(BATCH).reshape(BATCH, 1, 1))
        )
    elif kind == "MATMUL":
        zeros = net.const(i8, [0]), net.const(i8, [0])
        y = net.op(kind, "y", i32, x, net.const(i8, np.ones((BATCH, 4, 2))), *zeros)
    elif kind == "SLICE":
        y = net.op(kind, "y", i8, x, *(net.const(types.shape, v) for v in ([1, 0, 0], [BATCH - 1, BATCH, 4])))
    elif kind == "REDUCE_MAX":
        y = net.op(kind, "y", i8, x, axis=0, nan_mode="PROPAGATE")
    elif kind == "CONCAT":
        y = net.op(kind, "y", i8, x, net.const(i8, np.ones((BATCH, 1, 4))), axis=1)
    else:
        y = net.op("RESHAPE", "y", i8, x, net.const(types.shape, [BATCH * BATCH, 4]))
    return net.done(y)


KINDS = ("TRANSPOSE", "REVERSE", "constant", "MATMUL", "SLICE", "REDUCE_MAX", "CONCAT", "RESHAPE")


@pytest.mark.parametrize("kind", KINDS)
def test_samples_that_meet_are_never_parted(kind: str) -> None:
    assert batch.batch_of(expand(meeting(kind))) == 1


def test_inputs_of_different_batches_are_never_parted() -> None:
    net = Net()
    a, b = net.input("a", i32, BATCH, 4), net.input("b", i32, 1, 4)
    graph: Any = net.done(net.op("MAXIMUM", "y", i32, a, b))
    assert batch.batch_of(expand(graph)) == 1


def test_the_benchmark_compares_before_it_measures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    measure = importlib.import_module("batch").measure
    monkeypatch.delitem(sys.modules, "batch")
    monkeypatch.setattr(batch, "IN_CACHE", 9000)
    measure(expand(batch.with_batch(expand(net()), 1)), 3, 1, 1)
    line = capsys.readouterr().out
    assert line.startswith("batch 3, 1 threads, ")
    assert "ms per sample: batch 1 " in line


@pytest.mark.usefixtures("small_cache")
def test_inspect_says_how_often_the_plan_runs(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    serialize.write(net(), tmp_path / "net.tosa")
    parts = Session(net(), 1).plan().parts
    assert parts > 1
    shown = command("inspect", tmp_path / "net.tosa", "--plan").out
    assert f"the plan runs {parts} times, on a part of the batch each" in shown
