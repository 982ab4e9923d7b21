"""while, if and case: what is known before the graph runs is decided here.

A branch is chosen where its condition is known; where it is data, both are computed, or regions. Loops are unrolled as
long as they are known to go on and are short; what is left is a region.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ....errors import Unsupported
from ....lower.elementary import compared, number
from ....lower.nested import branch_taken, give, run
from ..values import Value
from .counters import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ....lower.nested import Opened
    from ..call import Call
    from ..module import Body
    from .counters import Counter

MOST_STEPS: Final = 1024  # that are unrolled
MOST_UNROLLED: Final = 1 << 14  # operations of all steps


def while_(call: Call) -> list[Value]:
    condition, body = call.operation.regions
    values, step = list(call.inputs), 0
    most = min(MOST_STEPS, MOST_UNROLLED // max(_operations(body), 1))
    steps = _known_steps(call, condition, body, values, most)
    if steps is None:
        return _loop(call, condition, body, values)
    while step < steps:
        values = call.scope.inner(f"{step}").run(body, values)
        step += 1
    return values


def _operations(body: Body) -> int:
    return sum(1 + sum(_operations(inner) for inner in op.regions) for op in body.operations)


def _known_steps(call: Call, condition: Body, body: Body, values: list[Value], most: int) -> int | None:
    """How many steps there are, where that takes no data: a counter, compared with a number; None for too many.

    Only what the condition needs is computed, of values that are known.
    """
    needed = _needed(condition, body)
    if needed is None or any(not values[i].is_known for i in needed):
        return None
    state, step = list(values), 0
    while True:
        found = call.scope.inner("condition").run(condition, state)[0]
        if found.data is None:
            return None
        if not bool(found.data.reshape(-1)[0]):
            return step
        step += 1
        if step > most:
            return None
        after = _partly(call, body, state, needed)
        if after is None:
            return None
        state = after


def _needed(condition: Body, body: Body) -> list[int] | None:
    """The values that decide how long a loop goes on: those of the condition, and what they become of."""
    wanted = _sources(condition, condition.results)
    while True:
        more = wanted | _sources(body, [body.results[i] for i in wanted])
        if more == wanted:
            return sorted(wanted)
        wanted = more


def _sources(body: Body, results: Sequence[int]) -> set[int]:
    """The arguments that some results of a block are made of."""
    makers = {number: op for op in body.operations for number, _ in op.results}
    arguments = {number: i for i, (number, _) in enumerate(body.arguments)}
    found, left, seen = set(), list(results), set()
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        if one in arguments:
            found.add(arguments[one])
        elif one in makers:
            left += makers[one].operands
            left += [n for region in makers[one].regions for n in _outer(region)]
    return found


def _outer(body: Body) -> list[int]:
    found = []
    for op in body.operations:
        found += op.operands
        for region in op.regions:
            found += _outer(region)
    return found


def _partly(call: Call, body: Body, state: list[Value], needed: Sequence[int]) -> list[Value] | None:
    """One step of the values that decide; the others stay as they are."""
    from ..module import Body as Block

    makers = {number: op for op in body.operations for number, _ in op.results}
    wanted, kept = [body.results[i] for i in needed], []
    left, seen = list(wanted), set()
    while left:
        one = left.pop()
        op = makers.get(one)
        if op is None or id(op) in seen:
            continue
        seen.add(id(op))
        left += op.operands
        left += [n for region in op.regions for n in _outer(region)]
    kept = [op for op in body.operations if id(op) in seen]
    end = body.operations[-1]
    last = type(end)(end.name, wanted, [], {}, [])
    found = call.scope.inner("counter").run(Block(body.arguments, [*kept, last]), state)
    if any(value.data is None for value in found):
        return None
    after = list(state)
    for i, value in zip(needed, found, strict=True):
        after[i] = value
    return after


def _loop(call: Call, condition: Body, body: Body, values: Sequence[Value]) -> list[Value]:
    """WHILE_LOOP: what the regions read from outside is carried on unchanged."""
    g, stem = call.g, call.operation.label or "while"
    carried = [g.full(value) for value in values]
    carried = [t if t.data is None else g.unary("IDENTITY", t) for t in carried]
    counters = counted(condition, body, values)
    with g.region(f"{stem}/body") as opened:
        opened.loops = True
        results = _inside(call, opened, body, values, carried, counters)
        inner = [g.full(v) for v in results]
        kept = [opened.given(x) for x in opened.outer]
        give(g, opened, [*inner, *kept])
    with g.region(f"{stem}/condition") as testing:
        outer = list(opened.outer)
        given = [testing.carry(x) for x in carried]
        for i, counter in counters.items():
            g.bound(given[i], counter.first, counter.last)
        for x in outer:
            testing.given(x)
        mine = [Value(v.element, v.shape, None, t) for v, t in zip(values, given, strict=True)]
        test = g.full(call.scope.inner("condition").run(condition, mine)[0])
        give(g, testing, [g.reshape(test, ())])
        late = [x for x in testing.outer if not any(x is other for other in outer)]
    for x in late:  # what only the condition reads
        opened.block.outputs.append(_passed(opened, x))
    everything = [*carried, *(g.local(x) for x in [*outer, *late])]
    names = {"cond_graph": testing.block.name, "body_graph": opened.block.name}
    last = run(g, "WHILE_LOOP", everything, everything, names)
    for i, counter in counters.items():
        g.bound(last[i], counter.first, counter.last)
    return [Value(v.element, v.shape, None, t) for v, t in zip(values, last, strict=False)]


def _passed(opened: Opened, x: Tensor) -> str:
    """An input of a region that is an output, too."""
    from ....graph import Operator

    inner = opened.given(x)
    copy = opened.block.add(type(inner)(opened.block.fresh(f"{inner.name}/kept"), inner.dtype, inner.shape))
    opened.block.operators.append(Operator("IDENTITY", [inner.name], [copy.name]))
    return copy.name


def _inside(
    call: Call, opened: Opened, body: Body, values: Sequence[Value], carried: Sequence[Tensor],
    counters: Mapping[int, Counter],
) -> list[Value]:  # fmt: skip
    given = [opened.carry(x) for x in carried]
    for i, counter in counters.items():
        call.g.bound(given[i], counter.first, counter.most)
    mine = [Value(v.element, v.shape, None, t) for v, t in zip(values, given, strict=True)]
    return call.scope.inner("body").run(body, mine)


def choice(call: Call) -> list[Value]:
    """if: the first region where the condition holds."""
    condition = call.inputs[0]
    yes, no = call.operation.regions
    if condition.data is not None:
        return call.scope.inner("branch").run(yes if bool(condition.data.reshape(-1)[0]) else no, [])
    return _either(call, call.g.reshape(call.full(0), ()), lambda: _branch(call, yes), lambda: _branch(call, no))


def case(call: Call) -> list[Value]:
    """The region of the index; the last one for an index that is no region's."""
    index, regions = call.inputs[0], call.operation.regions
    if index.data is not None:
        at = int(index.data.reshape(-1)[0])
        return _branch(call, regions[at if 0 <= at < len(regions) else -1])
    return _cases(call, 0)


def _cases(call: Call, start: int) -> list[Value]:
    regions = call.operation.regions
    if start == len(regions) - 1:
        return _branch(call, regions[start])
    g = call.g
    index = g.full(call.inputs[0])
    test = g.reshape(compared(g, "EQUAL", index, number(g, start, index)), ())
    return _either(call, test, lambda: _branch(call, regions[start]), lambda: _cases(call, start + 1))


def _branch(call: Call, body: Body) -> list[Value]:
    return call.scope.inner("branch").run(body, [])


def _either(call: Call, test: Tensor, yes: Callable[[], list[Value]], no: Callable[[], list[Value]]) -> list[Value]:
    g, stem = call.g, call.operation.label or call.name
    regions: list[Opened] = []
    results: list[list[Value]] = []
    for name, branch in (("true", yes), ("false", no)):
        with g.region(f"{stem}/{name}") as opened:
            results.append(branch())
            give(g, opened, [_own(call, value) for value in results[-1]])
        regions.append(opened)
    found = branch_taken(g, test, regions)
    return [Value(v.element, v.shape, None, t) for v, t in zip(results[0], found, strict=True)]


def _own(call: Call, value: Value) -> Tensor:
    return call.g.full(value)


def replicas(call: Call) -> Value:
    """partition_id and replica_id of the only one."""
    return Value(call.element, call.shape, np.zeros(call.shape, call.element.storage))


def over_replicas(call: Call) -> list[Value]:
    """What replicas tell each other; of one alone it is what it has."""
    groups = call.attribute("replica_groups")
    if groups is not None and np.asarray(groups).size and np.asarray(groups).shape[-1] > 1:
        raise Unsupported(f"replicas in groups of {np.asarray(groups).shape[-1]}; TOSA tells nothing to other devices")
    return list(call.inputs[: len(call.operation.results)])


OPERATORS: Final[Mapping[str, Callable[[Call], Value | list[Value]]]] = {
    "all_reduce": over_replicas, "all_gather": over_replicas, "all_to_all": over_replicas, "case": case,
    "collective_broadcast": over_replicas, "cross_replica_sum": over_replicas, "cross-replica-sum": over_replicas,
    "if": choice, "partition_id": replicas, "reduce_scatter": over_replicas, "replica_id": replicas, "while": while_,
}  # fmt: skip
