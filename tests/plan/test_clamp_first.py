"""CLAMP behind RESHAPEs is a part of the step in front of them; what else is read, or stored, stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from nets import Net

from tosa_engine import oracle, types
from tosa_engine.plan import expand, make_plan
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

SHAPES = ((1, 6), (2, 3), (3, 1, 2))


def graph_of(reshapes: int, *, read: bool = False) -> Graph:
    """A fully connected layer of six outputs, RESHAPEs, and a CLAMP; with `read`, a RESHAPE is an output, too."""
    net = Net(3)
    x = net.input("x", types.i8, 1, 1, 1, 8)
    weight = net.const(types.i8, net.rng.integers(-128, 128, (6, 1, 1, 8)))
    bias, zero = net.const(types.i32, net.rng.integers(-99, 99, 6)), net.const(types.i8, [0])
    net.op(
        "CONV2D", "sums", types.i32, x, weight, bias, zero, zero, pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1),
        acc_type=types.i32, local_bound=False,
    )  # fmt: skip
    last = net.rescale("scaled", "sums", types.i32, types.i8, 38)
    for i in range(reshapes):
        last = net.op("RESHAPE", f"shaped{i}", types.i8, last, net.const(types.shape, SHAPES[i]))
    net.op("CLAMP", "y", types.i8, last, min_val=-5, max_val=9, nan_mode="PROPAGATE")
    return net.done(*([last] if read else []), "y")


def operators(graph: Graph, keep: frozenset[str] = frozenset()) -> list[str]:
    return [step.operators for step in make_plan(expand(graph), keep).steps if step.work is not None]


@pytest.mark.parametrize("reshapes", [0, 1, 2, 3])
def test_a_clamp_behind_reshapes(reshapes: int) -> None:
    graph = graph_of(reshapes)
    assert operators(graph) == ["CONV2D+RESCALE+CLAMP"]
    feeds = {"x": np.random.default_rng(1).integers(-128, 128, (1, 1, 1, 8)).astype(np.int8)}
    np.testing.assert_array_equal(Session(graph, 1).run(None, feeds)[0], oracle.run(graph, feeds)["y"])


def test_a_reshape_that_is_read_or_kept_stays_in_front() -> None:
    assert operators(graph_of(1, read=True)) == ["CONV2D+RESCALE", "CLAMP"]
    assert operators(graph_of(2), frozenset({"shaped1"})) == ["CONV2D+RESCALE", "CLAMP"]
    assert operators(graph_of(2), frozenset({"shaped0"})) == ["CONV2D+RESCALE", "CLAMP"]
