"""All values that a tensor can have, where these are few: sums of two scaled bytes are 65,536 at most, of some hundred
million between their ends.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ..errors import RequireViolation
from ..graph import Block
from ..oracle import run_operator
from ..spec import bind_operator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Graph
    from ..ranges import Interval
    from ..spec.table import Call
    from ..types import Array

FEW: Final = 1 << 16
ELEMENTWISE: Final = ("RESCALE", "CLAMP", "ABS", "NEGATE", "TABLE", "ADD", "SUB", "MUL")
MOVES: Final = ("RESHAPE", "TRANSPOSE", "IDENTITY", "REVERSE", "SLICE")


class Values:
    """Of the tensors of a main block; `intervals` are what `ranges` proves of them. Which values go together isn't
    looked at, so that some of these may be none that an input gives; no other value is one.
    """

    def __init__(self, graph: Graph, intervals: Mapping[str, Interval]) -> None:
        self._graph, self._intervals = graph, intervals
        self._producers = graph.main.producers()
        self._known: dict[str, Array | None] = {}

    def of(self, tensor: str) -> Array | None:
        """In ascending order; None where they are many."""
        if tensor not in self._known:
            self._known[tensor] = None  # until it is known
            self._known[tensor] = self._of(tensor)
        return self._known[tensor]

    def _of(self, tensor: str) -> Array | None:
        data, producer = self._graph.main.tensors[tensor].data, self._producers.get(tensor)
        if data is not None:
            return np.unique(data)
        if producer is not None and producer.op in MOVES:
            return self.of(producer.inputs[0])
        if producer is not None and producer.op in ELEMENTWISE:
            call = bind_operator(producer, self._graph.main, self._graph)
            if producer.op != "RESCALE" or not call.per_channel:
                found = self._computed(call)
                if found is not None:
                    return found
        interval = self._intervals.get(tensor)
        if interval is None or int(interval.high.max()) - int(interval.low.min()) >= FEW:
            return None
        return np.arange(int(interval.low.min()), int(interval.high.max()) + 1)

    def _computed(self, call: Call) -> Array | None:
        """What an operator makes of all values of its operands, by the oracle."""
        given = {argument.name: call.tensor(argument.name).data for argument in call.spec.inputs}
        arrays = {name: data for name, data in given.items() if data is not None}
        operands = [name for name in given if name in ("input1", "input2") or name not in arrays]
        sets = [found for name in operands if (found := self.of(call.tensor(name).name)) is not None]
        size = math.prod(map(len, sets))
        if len(sets) < len(operands) or size > FEW:
            return None
        names = [call.tensor(name).name for name in operands]
        changed = [*names, *call.operator.outputs] if names else []
        block = Block("values", tensors=dict(self._graph.main.tensors))
        for name in changed:
            block.tensors[name] = replace(block.tensors[name], shape=(size,), data=None)
        for name, mesh in zip(operands, np.meshgrid(*sets), strict=True):
            arrays[name] = mesh.reshape(-1).astype(call.tensor(name).dtype.storage)
        try:
            (found,) = run_operator(bind_operator(call.operator, block, self._graph), arrays)
        except RequireViolation:
            return None
        return np.unique(found)
