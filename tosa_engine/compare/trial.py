"""Computing a tensor again under a fault: what a hypothesis about a difference is tested with."""

from __future__ import annotations

import math
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import oracle, types
from ..errors import TosaEngineError
from ..graph import Operator, Tensor, new_graph
from ..infer import infer
from ..spec import bind_operator, is_constant, macs_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..graph import Graph
    from ..spec.table import Call
    from ..types import Array

SLOW: Final = 1 << 22  # multiplications that the oracle takes too long for


class OutOfTime(Exception):
    """Hypotheses may be tested no longer."""


class Trial:
    """The operators between tensors that agree and the first one, `target`, that doesn't.

    Args:
        graph: without composites, with all shapes (`Session.graph`).
        values: what the graph computes, by tensor name: of its inputs and of every operator.
        known: names of the tensors in which both sides agree.
        target: the name of the first differing tensor; `got` is what the other side has, in the same dtype and shape.
    """

    def __init__(
        self, graph: Graph, values: Mapping[str, Array], known: Collection[str], target: str, got: Array
    ) -> None:
        self.graph, self.block, self.target, self.got = graph, graph.main, target, got
        self.values = {name: t.data for name, t in self.block.tensors.items() if t.data is not None} | dict(values)
        self.wanted = self.values[target]
        self.differs = np.asarray(self.wanted != got)
        self.steps = self._between(set(known))
        self.until = math.inf  # of time.monotonic(), when computing anything again raises OutOfTime

    def _between(self, known: set[str]) -> list[Operator]:
        """In execution order, without constants."""
        producers, found, names = self.block.producers(), set(), [self.target]
        while names:
            name = names.pop()
            producer = producers.get(name)
            if producer is None or is_constant(producer) or id(producer) in found:
                continue
            if name == self.target or name not in known:
                found.add(id(producer))
                names += producer.inputs
        return [op for op in self.block.operators if id(op) in found]

    @cached_property
    def calls(self) -> list[Call]:
        """The operators as their entries see them; the one that wrote the target comes first."""
        return [bind_operator(op, self.block, self.graph) for op in reversed(self.steps)]

    def producer(self, name: str) -> Call | None:
        """What wrote a tensor, wherever that is; None for inputs of the graph."""
        found = self.block.producers().get(name)
        return bind_operator(found, self.block, self.graph) if found is not None else None

    def arguments(self, call: Call) -> dict[str, Array | list[Array]]:
        """The values that an operator reads, by argument."""
        return self._arguments(call, self.values)

    def _arguments(self, call: Call, values: Mapping[str, Array]) -> dict[str, Array | list[Array]]:
        found: dict[str, Array | list[Array]] = {}
        for argument in call.spec.inputs:
            tensors = call.tensors[argument.name]
            found[argument.name] = (
                [values[t.name] for t in tensors] if isinstance(tensors, list) else values[tensors.name]
            )
        return found

    def is_slow(self, call: Call) -> bool:
        """Whether the oracle takes too long for an operator."""
        return macs_of(call.operator, self.block) > SLOW

    def array(self, call: Call, argument: str) -> Array:
        """The value of an argument that is no list."""
        found: Array = self.values[call.tensor(argument).name]
        return found

    def again(
        self, call: Call, attributes: Mapping[str, Any] | None = None, /, **changed: Array | list[Array]
    ) -> Array | None:
        """The output of an operator with other attributes, or other values of some arguments; None where that is an
        error of the graph or violates a REQUIRE: nobody computed it.
        """
        if time.monotonic() > self.until:
            raise OutOfTime
        try:
            graph, feeds = _alone(call, self.arguments(call) | changed, attributes or {})
            if self.is_slow(call) and oracle.assumed() is None:
                from ..runtime.session import Session

                return Session(graph, 1).run(None, feeds)[0]
            return oracle.run(graph, feeds)[graph.main.outputs[0]]
        except TosaEngineError:
            return None

    def target_if(self, name: str, value: Array) -> Array | None:
        """The target where a tensor before it (or itself) has another value; None where a rule is then violated, or an
        operator in between has several outputs (control flow).
        """
        changed = {name: value}
        for op in self.steps:
            if op.outputs[0] in changed or not any(n in changed for n in op.inputs):
                continue
            call = bind_operator(op, self.block, self.graph)
            single = len(op.outputs) == 1
            found = self.again(call, **self._arguments(call, self.values | changed)) if single else None
            if found is None:
                return None
            changed[op.outputs[0]] = found
        return changed.get(self.target)


def _alone(
    call: Call, arguments: Mapping[str, Array | list[Array]], attributes: Mapping[str, Any]
) -> tuple[Graph, dict[str, Array]]:
    """A graph of one operator, and what to feed it with."""
    graph = new_graph()
    block, names = graph.main, list[str]()
    feeds: dict[str, Array] = {}
    for argument in call.spec.inputs:
        tensors, values = call.tensors[argument.name], arguments[argument.name]
        listed: list[tuple[Tensor, Any]] = (
            list(zip(tensors, values, strict=True)) if isinstance(tensors, list) else [(tensors, values)]
        )
        for tensor, value in listed:
            constant = tensor.data is not None
            name = block.add(
                Tensor(block.fresh(argument.name), tensor.dtype, value.shape, value if constant else None)
            ).name
            names.append(name)
            if constant:
                block.operators.append(Operator("CONST_SHAPE" if tensor.dtype is types.shape else "CONST", [], [name]))
            else:
                block.inputs.append(name)
                feeds[name] = value
    made = block.add(Tensor(block.fresh("output"), _output(call).dtype, None))
    block.operators.append(Operator(call.spec.name, names, [made.name], {**call.operator.attributes, **attributes}))
    block.outputs.append(made.name)
    infer(graph)
    return graph, feeds


def _output(call: Call) -> Tensor:
    found = call.tensors[call.spec.outputs[0].name]
    first: Tensor = found[0] if isinstance(found, list) else found
    return first
