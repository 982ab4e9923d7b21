"""Large batches in parts: the same bytes and verdicts as all samples at once, wherever samples don't meet."""

from __future__ import annotations

import importlib
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net, feeds_of

from tosa_engine import Session, serialize, types
from tosa_engine.errors import DataError, RequireViolation
from tosa_engine.kernels import _jit
from tosa_engine.plan import batch, expand
from tosa_engine.probe import Probe
from tosa_engine.runtime import batch_parallel
from tosa_engine.runtime import session as run

if TYPE_CHECKING:
    from collections.abc import Callable

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


@pytest.fixture
def small_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "LONG", 0.0)


def wide_net() -> Graph:
    """Samples that are several rows of axis 0 on the way, as attention has them."""
    net = Net()
    x = net.input("x", i8, BATCH, 5, 8)
    rows = net.op("RESHAPE", "rows", i8, x, net.const(types.shape, [BATCH * 5, 8]))
    net.op("TABLE", "looked_up", i8, rows, net.const(i8, np.arange(-128, 128)))
    net.op("RESHAPE", "heads", i8, "looked_up", net.const(types.shape, [BATCH * 2, 5, 4]))
    net.op("TRANSPOSE", "turned", i8, "heads", perms=(0, 2, 1))
    net.op("MATMUL", "gram", i32, "heads", "turned", net.const(i8, [-128]), net.const(i8, [127]))
    net.op("SLICE", "some", i32, "gram", *(net.const(types.shape, v) for v in ([0, 1, 0], [BATCH * 2, 3, 5])))
    net.op("RESCALE", "one", i32, net.const(i32, [[7]]), net.const(i32, [1 << 30]), net.const(i8, [30]),
           net.const(i32, [0]), net.const(i32, [0]), scale32=True, rounding_mode="SINGLE_ROUND", per_channel=False,
           input_unsigned=False, output_unsigned=False)  # fmt: skip
    net.op("RESHAPE", "flat", i32, "some", net.const(types.shape, [BATCH, 30]))
    return net.done(net.op("ADD", "y", i32, "flat", "one"), "rows")


@pytest.mark.usefixtures("small_is_long")
@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("variant", ["generic", ""])
@pytest.mark.parametrize("make", [net, wide_net])
def test_workers_with_parts_of_their_own_give_the_same_bytes(
    make: Callable[[], Graph], variant: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    feeds, graph = feeds_of(make()), make()
    if make is wide_net:
        feeds = {"x": np.asfortranarray(feeds["x"])}
    whole, session = Session(graph, 1), Session(graph, threads)
    assert (whole.plan().parts, whole.plan().parts_in_parallel) == (1, False)
    assert (session.plan().parts, session.plan().parts_in_parallel) == ((threads, True) if threads < 8 else (1, False))
    wanted = bytes_of(whole.run(None, feeds))
    names = [port.name for port in session.outputs]
    for _ in range(20):
        assert bytes_of(session.run(None, feeds)) == wanted
    first, again = session.run([names[1], names[1]], feeds)
    assert bytes_of([first, again]) == [wanted[1]] * 2
    assert not np.shares_memory(first, again)
    with ThreadPoolExecutor(3) as pool:
        found = pool.map(lambda _: bytes_of(session.run(None, feeds)), range(30))
        assert all(one == wanted for one in found)
    assert bytes_of(Session(graph, threads, checked=True).run(None, feeds)) == wanted


@pytest.mark.usefixtures("small_is_long")
def test_probes_of_a_run_that_is_split_by_samples_see_all_of_them() -> None:
    session, plain = Session(net(), 2), Session(net(), 1)
    seen: dict[str, Array] = {}
    assert session.plan().parts_in_parallel
    probe = Probe(lambda node, name, a: seen.update({name: a}), ["c8", "gram"])
    wanted = plain.run(None, feeds_of(net()))
    assert bytes_of(session.run(None, feeds_of(net()), [probe])) == bytes_of(wanted)
    reference: dict[str, Array] = {}
    plain.run(None, feeds_of(net()), [Probe(lambda node, name, a: reference.update({name: a}), ["c8", "gram"])])
    assert bytes_of([seen["c8"], seen["gram"]]) == bytes_of([reference["c8"], reference["gram"]])


@pytest.mark.usefixtures("small_is_long")
@pytest.mark.parametrize("sample", [0, 1, BATCH - 1])
def test_the_verdict_names_the_sample_whoever_computed_it(sample: int) -> None:
    net = Net()
    x = net.input("x", i32, BATCH, 1000)
    session = Session(net.done(net.op("ADD", "y", i32, x, x)), 2)
    assert session.plan().parts_in_parallel
    feeds = {"x": np.zeros((BATCH, 1000), np.int32)}
    feeds["x"][sample, 7] = 1 << 30
    with pytest.raises(RequireViolation, match=rf"\[{sample}, 7\]"):
        session.run(None, feeds)
    feeds["x"][sample, 7] = 5
    (found,) = session.run(None, feeds)
    np.testing.assert_array_equal(found, 2 * feeds["x"])


@pytest.mark.parametrize(
    ("samples", "megabytes", "workers", "parts"),
    [
        (8, 12, 2, 2), (8, 12, 3, 8), (8, 12, 4, 4), (8, 12, 8, 8), (8, 12, 16, 1), (3, 3, 2, 1), (7, 3, 2, 7),
        (2, 3, 2, 2), (1, 3, 2, 1), (32, 48, 2, 8), (32, 48, 1, 4), (9, 900, 2, 9),
    ],
)  # fmt: skip
def test_parts_are_even_shares_that_fit_the_cache(samples: int, megabytes: int, workers: int, parts: int) -> None:
    assert batch.parts_in_parallel(samples, megabytes << 20, workers) == parts


@pytest.mark.usefixtures("small_is_long")
def test_what_python_has_to_do_is_not_left_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    functions: list[object] = []
    monkeypatch.setattr(_jit, "is_compiled", lambda function: functions.append(function) is None)
    assert Session(net(), 2).plan().parts_in_parallel
    for one in (functions[0], functions[-1]):
        monkeypatch.setattr(_jit, "is_compiled", lambda function, one=one: function is not one)
        assert not Session(net(), 2).plan().parts_in_parallel


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_several_runs_are_what_they_are_one_by_one(threads: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared by the workers, by parts of a batch, and where each operator is computed twice."""
    monkeypatch.setattr(batch_parallel, "WORTH_WAKING", 0.0)
    graph = net()
    feeds = [feeds_of(graph, seed) for seed in range(count)]
    plain = [Session(graph, 1).run(None, one) for one in feeds]
    stacked = {"x": np.array([one["x"] for one in feeds], np.int8).reshape(count, BATCH, 9, 9, 8)}
    sessions = [Session(graph, threads), Session(graph, threads, checked=True)]
    monkeypatch.setattr(batch, "LONG", 0.0)
    sessions.append(Session(graph, threads))
    assert sessions[-1].plan().parts_in_parallel == (threads in (2, 3))
    for session in sessions:
        for _ in range(3):
            found = session.run_each(None, stacked)
            assert [a.shape for a in found] == [(count, *port.shape) for port in session.outputs]
            assert [bytes_of([a[i] for a in found]) for i in range(count)] == [bytes_of(one) for one in plain]
        (rows,) = session.run_each(["rows"], stacked)
        np.testing.assert_array_equal(rows, found[1])


def test_the_first_of_several_runs_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_parallel, "WORTH_WAKING", 0.0)
    net = Net()
    x = net.input("x", i32, 7)
    session = Session(net.done(net.op("ADD", "y", i32, x, x)), 2)
    feeds = {"x": np.arange(42, dtype=np.int32).reshape(6, 7)}
    np.testing.assert_array_equal(session.run_each(None, feeds)[0], 2 * feeds["x"])
    feeds["x"][2:4, 5:] = 1 << 30
    with pytest.raises(RequireViolation, match=r"ADD\.R1.* at \[5\]; 2 of 7 elements"):
        session.run_each(None, feeds)
    with pytest.raises(DataError, match=r"wanted int32\[6, 7\] for i32, got int32\[6, 6\]"):
        session.run_each(None, {"x": feeds["x"][:, :6]})
    with pytest.raises(DataError, match=r"wanted a numpy array, got list"):
        session.run_each(None, {"x": [1]})  # type: ignore[dict-item]


def test_short_runs_share_their_steps() -> None:
    assert not Session(net(), 2).plan().parts_in_parallel


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
        y = net.op("RESHAPE", "y", i8, x, net.const(types.shape, [1, BATCH * BATCH * 4]))
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
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    measure = importlib.import_module("batch").measure
    monkeypatch.delitem(sys.modules, "batch")
    monkeypatch.setattr(batch, "IN_CACHE", 2000)
    measure(expand(batch.with_batch(expand(net()), 1)), 3, 1, 1)
    line = capsys.readouterr().out
    assert line.startswith("batch 3, 1 threads: ms per sample: batch 1 ")
    assert re.search(r"at once \d\.\d{4} \(0\.0 MB\); in parts \d\.\d{4} \(\d x 0\.0 MB\)", line)


@pytest.mark.usefixtures("small_cache")
def test_inspect_says_how_often_the_plan_runs(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    serialize.write(net(), tmp_path / "net.tosa")
    parts = Session(net(), 1).plan().parts
    assert parts > 1
    shown = command("inspect", tmp_path / "net.tosa", "--plan").out
    assert f"the plan runs {parts} times, on a part of the batch each; all threads share the steps of one part" in shown


@pytest.mark.usefixtures("small_is_long")
def test_inspect_says_that_threads_do_parts_of_their_own(  # type: ignore[no-untyped-def]
    command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_processors", lambda: 3)
    serialize.write(net(), tmp_path / "net.tosa")
    shown = command("inspect", tmp_path / "net.tosa", "--plan").out
    assert "the plan runs 3 times, on a part of the batch each; every thread does parts of its own" in shown
