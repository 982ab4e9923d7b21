"""If and Loop that data decide: SELECT between branches that are both computed, COND_IF, WHILE_LOOP.

Both branches are computed where no operator of them can fail: then the graph needs no control flow, and can become
integers. What a branch or a step reads from outside are inputs of its region; a loop carries them on unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....graph import Tensor
from ....lower.elementary import compared, plus
from ....lower.nested import branch_taken, give, run
from ..elements import BOOL, INT64
from ..values import Value, known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....lower.nested import Opened
    from ..call import Call

BRANCHES: Final = ("then_branch", "else_branch")


def choice(call: Call, condition: Value) -> list[Value]:
    """The results of the branch that a condition takes, which is data."""
    g, test = call.g, _flag(call, condition)
    regions: list[Opened] = []
    results: list[list[Value]] = []
    for name in BRANCHES:
        stem = f"{call.outputs[0]}/{name}"
        with g.region(stem) as opened:
            results.append(call.scope.branch(call.attributes[name], [], stem))
            give(g, opened, [g.tensor_of(value) for value in results[-1]])
        regions.append(opened)
    for yes, no in zip(*results, strict=True):
        if yes.element is not no.element or yes.shape != no.shape:
            forms = " and ".join(f"{one.element}{list(one.shape)}" for one in (yes, no))
            raise Unsupported(f"branches that give {forms}, chosen by data: {call.scope.way_to(condition)}")
    found = branch_taken(g, test, regions)
    return [Value(v.element, v.shape, None, t) for v, t in zip(results[0], found, strict=True)]


def _flag(call: Call, condition: Value) -> Tensor:
    """A condition as a bool of shape []. Raises GraphError."""
    if condition.element is not BOOL or int(np.prod(condition.shape)) != 1:
        raise GraphError(f"a condition of {condition.element}{list(condition.shape)}")
    return call.g.reshape(call.g.tensor_of(condition), ())


def repeated(call: Call, step: int, most: Value | None, going: Value, states: Sequence[Value]) -> list[Value]:
    """The steps of a loop from `step` on, while `going` and fewer than `most`: the values that it carries on."""
    g, stem = call.g, call.outputs[0]
    limit = _limit(call, most)
    carried = [g.const(np.array(step), types.i32), _flag(call, going), *(g.tensor_of(value) for value in states)]
    with g.region(f"{stem}/step") as body:
        body.loops = True
        inner = [body.carry(x) for x in carried]
        g.bound(inner[0], step, types.i32.maximum - 1)
        if isinstance(limit, Tensor):
            g.local(limit)
        given = [Value(v.element, v.shape, None, t) for v, t in zip(states, inner[2:], strict=True)]
        index = Value(INT64, (), None, inner[0])
        found = call.scope.branch(call.attributes["body"], [index, known(np.array(True)), *given], f"{stem}/step")
        _same_forms(states, found[1:])
        results = [plus(g, inner[0], 1), _flag(call, found[0]), *(g.tensor_of(value) for value in found[1:])]
        kept = [body.given(x) for x in body.outer]
        give(g, body, [*results, *kept])
    with g.region(f"{stem}/condition") as condition:
        index, going_on, *_ = (condition.carry(x) for x in carried)  # type: ignore[assignment]
        for x in body.outer:
            condition.given(x)
        end = g.local(limit) if isinstance(limit, Tensor) else g.const(np.array(limit), types.i32)
        give(g, condition, [compared(g, "LOGICAL_AND", going_on, compared(g, "GREATER", end, index))])  # type: ignore[arg-type]
    names = {"cond_graph": condition.block.name, "body_graph": body.block.name}
    given_all = [*carried, *(g.local(x) for x in body.outer)]
    last = run(g, "WHILE_LOOP", given_all, given_all, names)[2:]
    return [Value(v.element, v.shape, None, t) for v, t in zip(states, last, strict=False)]


def _limit(call: Call, most: Value | None) -> Tensor | int:
    """The number of steps; beyond int32 it is as good as none."""
    if most is None:
        return types.i32.maximum
    if most.data is not None:
        return min(int(most.data.reshape(-1)[0]), types.i32.maximum)
    return call.g.reshape(call.g.tensor_of(most), ())


def _same_forms(states: Sequence[Value], found: Sequence[Any]) -> None:
    """Raise Unsupported for what is carried on with another type or shape."""
    for index, (before, after) in enumerate(zip(states, found, strict=True)):
        if before.items is not None or before.element is not after.element or before.shape != after.shape:
            forms = " becomes ".join(f"{one.element}{list(one.shape)}" for one in (before, after))
            raise Unsupported(f"value {index} that a loop carries on, whose end data decide: {forms}")
