"""TABLE is looked up in the step of its producer, whatever that is: the same bytes, and only where it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from nets import Net, feeds_of
from replay_tools import replay

from tosa_engine import Session, oracle, types
from tosa_engine.plan import expand, make_plan
from tosa_engine.plan.rewrite.in_place import MOST
from tosa_engine.runtime import workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph

i8, i16, i32 = types.i8, types.i16, types.i32
CURVE = np.arange(-256, 257) ** 2 // 3 - 5000


def looked_up(net: Net, x: str, dtype: types.DType = i8) -> Graph:
    """y = the entries for x; of int16 scaled to int16."""
    if dtype is i8:
        entries = np.random.default_rng(1).integers(-128, 128, 256)
        return net.done(net.op("TABLE", "y", i8, x, net.const(i8, entries)))
    net.op("TABLE", "entry", i32, x, net.const(i16, CURVE))
    return net.done(net.rescale("y", "entry", i32, i16, 38))


def operators(graph: Graph, keep: frozenset[str] = frozenset()) -> list[str]:
    return [step.operators for step in make_plan(expand(graph), keep).steps]


def image(net: Net, dtype: types.DType = i8) -> str:
    return net.input("x", dtype, 2, 6, 8, 20)


def conv(net: Net) -> str:
    net.conv("sums", image(net), net.weights(24, 3, 3, 20), 24)
    return net.rescale("z", "sums", i32, i8, np.full(24, 40))


def largest(net: Net, dtype: types.DType = i8) -> str:
    x = image(net, dtype)
    return net.op("MAX_POOL2D", "z", dtype, x, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0), nan_mode="PROPAGATE")


def average(net: Net) -> str:
    zeros = net.const(i8, [3]), net.const(i8, [-4])
    settings = {"kernel": (2, 2), "stride": (2, 2), "pad": (0, 0, 0, 0), "acc_type": i32}
    return net.op("AVG_POOL2D", "z", i8, image(net), *zeros, **settings)


def added(net: Net, dtype: types.DType = i8) -> str:
    sides = [net.rescale(f"s{n}", net.input(n, dtype, 3, 500), dtype, i32, 20) for n in ("a", "b")]
    net.op("ADD", "sum", i32, *sides)
    return net.rescale("z", "sum", i32, dtype, 44)


def reduced(net: Net) -> str:
    return net.op("REDUCE_MAX", "z", i8, image(net), axis=3, nan_mode="PROPAGATE")


def resized(net: Net) -> str:
    numbers = (net.const(types.shape, values) for values in ([4, 2, 4, 2], [-1, -1], [1, 1]))
    return net.op("RESIZE", "z", i8, image(net), *numbers, mode="NEAREST")


def gathered(net: Net) -> str:
    values, places = net.input("x", i8, 2, 50, 7), net.const(i32, [[1, 0, 49], [3, 3, 2]])
    return net.op("GATHER", "z", i8, values, places)


def transposed(net: Net) -> str:
    bias, zeros = net.const(i32, np.arange(12)), (net.const(i8, [2]), net.const(i8, [0]))
    settings = {"out_pad": (0, 0, 0, 0), "stride": (2, 2), "acc_type": i32, "local_bound": False}
    net.op("TRANSPOSE_CONV2D", "sums", i32, image(net), net.weights(12, 3, 3, 20), bias, *zeros, **settings)
    return net.rescale("z", "sums", i32, i8, 40)


def tiled(net: Net) -> str:
    return net.op("TILE", "z", i8, image(net), net.const(types.shape, [1, 2, 1, 1]))


PRODUCERS: dict[str, tuple[Callable[[Net], str], types.DType]] = {
    "CONV2D+RESCALE": (conv, i8), "MAX_POOL2D": (largest, i8), "AVG_POOL2D": (average, i8),
    "RESCALE+RESCALE+ADD+RESCALE": (added, i8), "REDUCE_MAX": (reduced, i8), "RESIZE": (resized, i8),
    "GATHER": (gathered, i8), "TRANSPOSE_CONV2D+RESCALE": (transposed, i8), "TILE": (tiled, i8),
}  # fmt: skip
WORDS = {
    "MAX_POOL2D": lambda net: largest(net, i16), "RESCALE+RESCALE+ADD+RESCALE": lambda net: added(net, i16),
}  # fmt: skip


@pytest.fixture
def shares_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers share every step, however small."""
    monkeypatch.setattr(workspace, "WORTH_SHARING", 0.0)
    monkeypatch.setattr(workspace, "WORTH_WAKING", 0.0)


@pytest.mark.usefixtures("shares_all")
@pytest.mark.parametrize("producer", PRODUCERS)
def test_bytes_of_any_producer(producer: str) -> None:
    make, dtype = PRODUCERS[producer]
    net = Net()
    graph = looked_up(net, make(net), dtype)
    assert operators(graph) == [f"{producer}+TABLE"]
    for threads in (1, 3):
        replay(graph, feeds_of(graph), threads)


@pytest.mark.usefixtures("shares_all")
@pytest.mark.parametrize("producer", WORDS)
def test_words_of_any_producer(producer: str) -> None:
    net = Net()
    graph = looked_up(net, WORDS[producer](net), i16)
    assert operators(graph) == [f"{producer}+TABLE+RESCALE"]
    for threads in (1, 3):
        replay(graph, feeds_of(graph), threads)


def test_reshapes_between_are_no_obstacle() -> None:
    net = Net()
    a, b = net.input("a", i8, 2, 6, 5), net.input("b", i8, 2, 5, 7)
    net.op("MATMUL", "sums", i32, a, b, net.const(i8, [3]), net.const(i8, [-2]))
    net.rescale("small", "sums", i32, i8, 38)
    net.op("RESHAPE", "flat", i8, "small", net.const(types.shape, [84]))
    net.op("RESHAPE", "rows", i8, "flat", net.const(types.shape, [21, 4]))
    graph = looked_up(net, "rows")
    assert operators(graph) == ["MATMUL+RESCALE+RESHAPE+RESHAPE+TABLE"]
    assert operators(graph, frozenset({"flat"})) == ["MATMUL+RESCALE", "RESHAPE", "RESHAPE", "TABLE"]
    replay(graph, feeds_of(graph))


def test_one_table_behind_the_other() -> None:
    """Two of int8 would be one function: the first one's result is wanted by nobody, and so is that of a pooling."""
    net = Net()
    x = largest(net, i16)
    net.op("TABLE", "first", i32, x, net.const(i16, CURVE))
    graph = looked_up(net, net.rescale("w", "first", i32, i16, 36), i16)
    assert operators(graph) == ["MAX_POOL2D+TABLE+RESCALE+TABLE+RESCALE"]
    replay(graph, feeds_of(graph))


@pytest.mark.parametrize(("between", "count"), [("TABLE+RESCALE", 100), ("RESHAPE", 1500)])
def test_thousands_of_operators_are_no_step(between: str, count: int) -> None:
    """A step's loops are bound one inside the other, and so there are some at most."""
    net = Net()
    x = largest(net, i16)
    shape = net.const(types.shape, [2, 3, 4, 20])
    for i in range(count):
        if between == "RESHAPE":
            x = net.op("RESHAPE", f"t{i}", i16, x, shape)
        else:
            net.op("TABLE", f"e{i}", i32, x, net.const(i16, np.arange(-256, 257)))
            x = net.rescale(f"t{i}", f"e{i}", i32, i16, 37)
    graph = looked_up(net, x, i16)
    session = Session(graph, 1)
    assert max(len(step.calls) for step in session.plan().steps) <= MOST + 2
    feeds = feeds_of(graph)
    np.testing.assert_array_equal(session.run(None, feeds)[0], oracle.run(graph, feeds)["y"])


def test_who_else_reads_the_tensor_gets_it() -> None:
    net = Net()
    x = largest(net)
    net.op("CLAMP", "other", i8, x, min_val=-3, max_val=3, nan_mode="PROPAGATE")
    net.block.outputs.append("other")
    graph = looked_up(net, x)
    assert sorted(operators(graph)) == ["CLAMP", "MAX_POOL2D", "TABLE"]
    replay(graph, feeds_of(graph))


def test_results_of_another_size_are_not_where_the_indices_lie() -> None:
    net = Net()
    graph = net.done(net.op("TABLE", "y", i32, largest(net, i16), net.const(i16, CURVE)))
    assert operators(graph) == ["MAX_POOL2D", "TABLE"]


def test_a_producer_that_may_fail_is_a_step_of_its_own() -> None:
    """Its REQUIRE is told with its own name."""
    net = Net()
    values, places = net.input("x", i8, 2, 50, 7), net.input("places", i32, 2, 3)
    assert operators(looked_up(net, net.op("GATHER", "z", i8, values, places))) == ["GATHER", "TABLE"]


def test_moves_stay_moves() -> None:
    net = Net()
    graph = looked_up(net, net.op("TRANSPOSE", "z", i8, image(net), perms=(0, 2, 1, 3)))
    assert operators(graph) == ["TRANSPOSE", "TABLE"]
    replay(graph, feeds_of(graph))
