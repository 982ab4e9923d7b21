"""Packed constants are there once, for plans of a session and for sessions of the same graph, and only while needed."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from nets import Net, feeds_of

from tosa_engine import Session, types
from tosa_engine.kernels import shared_constants as shared
from tosa_engine.kernels.tile.packing import panels_of_runs
from tosa_engine.plan import expand, make_plan
from tosa_engine.runtime.blocks import Blocks

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.plan import Plan
    from tosa_engine.types import Array

LARGE = 2000  # bytes: less than any of the weights, and more than anything else that the kernels read here


def net(seed: int = 0) -> Graph:
    """A convolution of 3 x 3, a depthwise one and one of 1 x 1; every call makes new arrays of the same content."""
    net = Net(seed)
    x = net.input("x", types.i8, 1, 4, 4, 32)
    net.conv("c", x, net.weights(48, 3, 3, 32), 48)
    net.rescale("c8", "c", types.i32, types.i8, 40)
    net.conv("d", "c8", net.weights(7, 7, 48, 1), 48, op="DEPTHWISE_CONV2D", pad=(3, 3, 3, 3))
    net.rescale("d8", "d", types.i32, types.i8, 40)
    net.conv("p", "d8", net.weights(48, 1, 1, 48), 48, pad=(0, 0, 0, 0))
    net.rescale("y", "p", types.i32, types.i8, 40)
    return net.done("y")


def packed(plan: Plan) -> list[Array]:
    """The weights that the steps of a plan read."""
    runs = [bound.run for bound in Blocks(plan, 1).main.steps]
    arguments = [argument for run in runs for argument in getattr(run, "arguments", ())]
    return [a for a in arguments if isinstance(a, np.ndarray) and a.dtype.itemsize < 4 and a.nbytes > LARGE]


@pytest.fixture
def known() -> int:
    gc.collect()
    return len(shared._known)


def test_sessions_of_the_same_graph_read_the_same_weights(known: int) -> None:
    first, second, other = Session(net(), 1), Session(net(), 1), Session(net(seed=1), 1)
    weights = [packed(session.plan()) for session in (first, second, other)]
    assert [len(found) for found in weights] == [3, 3, 3]
    assert all(a is b for a, b in zip(weights[0], weights[1], strict=True))
    assert not any(np.shares_memory(a, b) for a, b in zip(weights[0], weights[2], strict=True))
    assert len(shared._known) == known + 6


def test_plans_with_and_without_probes_read_the_same_weights(known: int) -> None:
    session = Session(net(), 1)
    plain, probed = session.plan(), session.plan(frozenset(["c", "d", "p"]))
    assert [step.operators for step in probed.steps[:2]] == ["CONV2D", "RESCALE"], "another epilogue"
    assert all(a is b for a, b in zip(packed(plain), packed(probed), strict=True))
    assert len(shared._known) == known + 3


def test_weights_that_nobody_needs_are_gone(known: int) -> None:
    feeds = feeds_of(net())
    sessions = [Session(net(), 1), Session(net(), 1)]
    results = [session.run(None, feeds)[0] for session in sessions]
    np.testing.assert_array_equal(*results)
    assert len(shared._known) == known + 3
    sessions.pop()
    gc.collect()
    assert len(shared._known) == known + 3
    np.testing.assert_array_equal(sessions[0].run(None, feeds)[0], results[0])
    sessions.clear()
    gc.collect()
    assert len(shared._known) == known


def test_what_is_shared_keeps_no_graph_alive(known: int) -> None:
    plan = make_plan(expand(net()))
    weights = packed(plan)
    del plan
    gc.collect()
    assert len(shared._known) == known + 3
    del weights
    gc.collect()
    assert len(shared._known) == known


def test_all_of_the_content_counts() -> None:
    weight = np.arange(32, dtype=np.int16).reshape(2, 16)
    first = panels_of_runs(weight, 1, 2, np.int16)
    assert panels_of_runs(weight.copy(), 1, 2, np.int16) is first
    assert panels_of_runs(np.asfortranarray(weight), 1, 2, np.int16) is first
    others = [
        panels_of_runs(weight + np.int16(1), 1, 2, np.int16),
        panels_of_runs(weight, 2, 2, np.int16),
        panels_of_runs(weight, 1, 4, np.int16),
        panels_of_runs(weight, 1, 2, np.int8),
        panels_of_runs(weight.astype(np.int32), 1, 2, np.int16),
        panels_of_runs(weight.reshape(4, 8), 1, 2, np.int16),
    ]
    assert len({id(a) for a in (first, *others)}) == 7
