"""If and Loop that data decide: SELECT between branches that are both computed, COND_IF, WHILE_LOOP.

Both branches are computed where no operator of them can fail: then the graph needs no control flow, and can become
integers. What a branch or a step reads from outside are inputs of its region; a loop carries them on unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import GraphError, Unsupported
from ....graph import Operator, Tensor
from ....lower.elementary import chosen, compared, plus
from ....lower.views import shape_of
from ....spec import TABLE
from ..elements import BOOL, INT64
from ..values import Value, known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph import Block
    from ..call import Call
    from ..writer import OnnxWriter, Opened

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
            _give(g, opened, [g.tensor_of(value) for value in results[-1]])
        regions.append(opened)
    for yes, no in zip(*results, strict=True):
        if yes.element is not no.element or yes.shape != no.shape:
            forms = " and ".join(f"{one.element}{list(one.shape)}" for one in (yes, no))
            raise Unsupported(f"branches that give {forms}, chosen by data: {call.scope.way_to(condition)}")
    if any(_may_fail(one.block) for one in regions):
        found = _cond_if(g, test, regions)
    else:
        found = [_selected(g, test, *pair) for pair in zip(*(_inlined(g, one) for one in regions), strict=True)]
    return [Value(v.element, v.shape, None, t) for v, t in zip(results[0], found, strict=True)]


def _flag(call: Call, condition: Value) -> Tensor:
    """A condition as a bool of shape []. Raises GraphError."""
    if condition.element is not BOOL or int(np.prod(condition.shape)) != 1:
        raise GraphError(f"a condition of {condition.element}{list(condition.shape)}")
    return call.g.reshape(call.g.tensor_of(condition), ())


def _give(g: OnnxWriter, opened: Opened, tensors: Sequence[Tensor]) -> None:
    """Outputs of a region, each a tensor of its own."""
    for x in tensors:
        own = x.name not in opened.block.inputs and x.name not in opened.block.outputs
        opened.block.outputs.append((x if own else g.unary("IDENTITY", x)).name)


def _may_fail(block: Block) -> bool:
    """Whether an operator has a REQUIRE on integers that are data, or runs regions."""
    for op in block.operators:
        entry = TABLE.get(op.op)
        tensors = [block.tensors[name] for name in (*op.inputs, *op.outputs)]
        integers = any(t.data is None and t.dtype.is_int for t in tensors)
        if entry is not None and (not entry.pure or (entry.requires and integers)):
            return True
    return False


def _inlined(g: OnnxWriter, opened: Opened) -> list[Tensor]:
    """The operators of a region, in the block around it."""
    block = opened.block
    g.graph.regions[:] = [region for region in g.graph.regions if region.blocks != [block]]
    names = {inner: g.local(outer).name for inner, outer in zip(block.inputs, opened.outer, strict=True)}
    for op in block.operators:
        for name in op.outputs:
            tensor = block.tensors[name]
            tensor.name = names[name] = g.fresh(name)
            g.block.add(tensor)
        op.inputs, op.outputs = ([names[name] for name in side] for side in (op.inputs, op.outputs))
        g.append(op)
    g.named.update(names.values())
    return [g.block.tensors[names[name]] for name in block.outputs]


def _selected(g: OnnxWriter, test: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return chosen(g, g.reshape(test, (1,) * len(shape_of(yes))), yes, no)


def _cond_if(g: OnnxWriter, test: Tensor, regions: Sequence[Opened]) -> list[Tensor]:
    outer: list[Tensor] = []
    for one in regions:
        outer += [x for x in one.outer if not any(x is other for other in outer)]
    for one in regions:
        one.block.inputs = [one.given(x).name for x in outer]
        one.outer = outer
    names = dict(zip(("then_graph", "else_graph"), (one.block.name for one in regions), strict=True))
    return _run(g, "COND_IF", [test, *(g.local(x) for x in outer)], _ends(regions[0].block), names)


def _ends(block: Block) -> list[Tensor]:
    return [block.tensors[name] for name in block.outputs]


def _run(
    g: OnnxWriter, op: str, inputs: Sequence[Tensor], like: Sequence[Tensor], regions: dict[str, str]
) -> list[Tensor]:
    """An operator that runs regions."""
    found = [g.output(op.lower(), t.dtype, shape_of(t)) for t in like]
    g.append(Operator(op, [t.name for t in inputs], [t.name for t in found], {**regions}, g.location))
    return found


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
        _give(g, body, [*results, *kept])
    with g.region(f"{stem}/condition") as condition:
        index, going_on, *_ = (condition.carry(x) for x in carried)  # type: ignore[assignment]
        for x in body.outer:
            condition.given(x)
        end = g.local(limit) if isinstance(limit, Tensor) else g.const(np.array(limit), types.i32)
        _give(g, condition, [compared(g, "LOGICAL_AND", going_on, compared(g, "GREATER", end, index))])  # type: ignore[arg-type]
    names = {"cond_graph": condition.block.name, "body_graph": body.block.name}
    given_all = [*carried, *(g.local(x) for x in body.outer)]
    last = _run(g, "WHILE_LOOP", given_all, given_all, names)[2:]
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
