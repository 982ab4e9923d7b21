"""Planning goes down to the kernels and seldom comes back: what plans and what computes aren't mixed."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from nets import Net, halves_net, residual_net, words_net

from tosa_engine import types
from tosa_engine.plan import expand, make_plan

if TYPE_CHECKING:
    from types import FrameType

    from tosa_engine.graph import Graph

MOST_CLIMBS = 6
ROOMS = {"tosa_engine.kernels": "kernels", "tosa_engine.plan": "plan"}


def everything() -> Graph:
    """The residual network, and more of what plans do: constants folded, sums scaled, a CONCAT that copies a part."""
    graph = residual_net()
    net = Net()
    net.graph, net.block = graph, graph.main
    folded = net.op("ADD", "folded", types.i32, net.const(types.i32, [[1]]), net.const(types.i32, [[2]]))
    x = net.input("more", types.i32, 4, 6)
    added = net.op("ADD", "added", types.i32, x, folded)
    turned = net.op("TRANSPOSE", "turned", types.i32, x, perms=(1, 0))
    flat = net.op("RESHAPE", "flat", types.i32, turned, net.const(types.shape, [4, 6]))
    joined = net.op("CONCAT", "joined", types.i32, added, x, flat, axis=0)
    return net.done(joined)


def climbs(graph: Graph, **settings: Any) -> list[tuple[str, str]]:
    """Where functions of plans are entered for the first time, next after one of kernels; and that one."""
    expanded = expand(graph)
    entered: dict[str, str] = {}

    def enter(frame: FrameType, event: str, _: Any) -> None:
        name, code = frame.f_globals.get("__name__", ""), frame.f_code
        room = next((short for room, short in ROOMS.items() if f"{name}.".startswith(f"{room}.")), None)
        if event == "call" and room is not None and "<" not in code.co_name + code.co_filename:
            entered.setdefault(f"{name}.{getattr(code, 'co_qualname', code.co_name)}:{code.co_firstlineno}", room)

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        make_plan(expanded, **settings)
    finally:
        sys.setprofile(before)
    assert {"kernels", "plan"} == set(entered.values())
    return [(down, up) for down, up in pairwise(entered) if (entered[down], entered[up]) == ("kernels", "plan")]


@pytest.mark.parametrize("make", [residual_net, words_net, halves_net, everything])
def test_planning_climbs_from_kernels_a_few_times(make: Any) -> None:
    found = climbs(make())
    assert 0 < len(found) <= MOST_CLIMBS, found
