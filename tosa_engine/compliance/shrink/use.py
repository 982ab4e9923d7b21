"""One operator with the values of its inputs: what is changed when a test is made small."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import types
from ...errors import TosaEngineError
from ...graph import Operator, Tensor, new_graph
from ...infer import infer
from ...spec import TABLE
from ...types import Array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph import Graph
    from ...spec import OpSpec
    from ...types import DType


@dataclass(frozen=True)
class Value:
    """An input of an operator; `constant`: in the graph, otherwise fed."""

    dtype: DType
    array: Array
    constant: bool


@dataclass(frozen=True)
class Use:
    """`values` has an entry for each argument of the op table, a list of them for a list of tensors. `shape` is that of
    the output where it isn't to be inferred: a graph that is an error by it keeps it.
    """

    operator: str
    attributes: Mapping[str, Any]
    values: Mapping[str, list[Value]]
    outputs: tuple[tuple[DType, tuple[int, ...] | None], ...]

    @property
    def spec(self) -> OpSpec:
        return TABLE[self.operator]

    @classmethod
    def of(cls, graph: Graph, feeds: Mapping[str, Array]) -> Use | None:
        """The only operator of a graph that computes; None where there are several, or regions."""
        main = graph.main
        computing = [op for op in main.operators if op.inputs]
        if len(computing) != 1 or len(graph.regions) > 1 or computing[0].op not in TABLE:
            return None
        operator, names = computing[0], iter(computing[0].inputs)
        spec = TABLE[operator.op]
        values: dict[str, list[Value]] = {}
        for argument in spec.inputs:
            listed = list(names) if argument.is_list else [next(names)]
            found = [main.tensors[name] for name in listed]
            if any(t.data is None and t.name not in feeds for t in found) or not found:
                return None
            values[argument.name] = [
                Value(t.dtype, feeds[t.name] if t.data is None else t.data, t.data is not None) for t in found
            ]
        outputs = tuple((main.tensors[name].dtype, main.tensors[name].shape) for name in operator.outputs)
        return cls(operator.op, operator.attributes, values, outputs)

    def graph(self, *, inferred: bool = True) -> tuple[Graph, dict[str, Array]]:
        """The graph with its feeds. Where shapes aren't inferred they are those that the outputs had."""
        made, feeds, names = new_graph(), dict[str, Array](), list[str]()
        block = made.main
        for argument, values in self.values.items():
            for i, value in enumerate(values):
                name = argument if len(values) == 1 else f"{argument}_{i}"
                data = value.array if value.constant else None
                block.add(Tensor(name, value.dtype, value.array.shape, data))
                names.append(name)
                if value.constant:
                    kind = "CONST_SHAPE" if value.dtype is types.shape else "CONST"
                    block.operators.append(Operator(kind, [], [name]))
                else:
                    block.inputs.append(name)
                    feeds[name] = value.array
        for i, (dtype, shape) in enumerate(self.outputs):
            name = self.spec.outputs[min(i, len(self.spec.outputs) - 1)].name
            name = name if name not in block.tensors else f"{name}_{i}"
            block.add(Tensor(name, dtype, None if inferred else shape))
            block.outputs.append(name)
        block.operators.append(Operator(self.operator, names, list(block.outputs), dict(self.attributes)))
        if inferred:
            try:
                infer(made)
            except TosaEngineError:  # what it breaks, those who look at it say
                return made, feeds
        return made, feeds

    def with_arrays(self, arrays: Mapping[str, list[Array]]) -> Use:
        """The same use with other values of some arguments."""
        changed = {
            name: [
                replace(old, array=np.asarray(new, order="C"))
                for old, new in zip(self.values[name], given, strict=True)
            ]
            for name, given in arrays.items()
        }
        return replace(self, values={**self.values, **changed})

    def with_attributes(self, **changed: Any) -> Use:
        return replace(self, attributes={**self.attributes, **changed})

    def array(self, argument: str) -> Array:
        return self.values[argument][0].array

    @property
    def elements(self) -> int:
        """Of the largest input that isn't a table."""
        sizes = [v.array.size for name, values in self.values.items() if name != "table" for v in values]
        return max(sizes, default=0)
