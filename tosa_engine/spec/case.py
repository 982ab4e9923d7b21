"""Small legal uses of operators, and the means to break them: the source of positive and negative tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import graph as g
from .. import types

if TYPE_CHECKING:
    from ..types import Array, DType, Shape


@dataclass(slots=True)
class Case:
    """One operator with its tensors. Inputs are by argument name (a list for tensor lists); `data` marks constants.

    `regions` are the graphs that the operator's attributes name, `before` operators that have to stand before it.
    """

    op: str
    inputs: dict[str, g.Tensor | list[g.Tensor]] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, g.Tensor] = field(default_factory=dict)
    regions: dict[str, g.Block] = field(default_factory=dict)
    before: list[g.Operator] = field(default_factory=list)

    def input(self, name: str, dtype: DType, shape: Shape) -> Case:
        self.inputs[name] = g.Tensor(name, dtype, shape)
        return self

    def list_input(self, name: str, dtype: DType, *shapes: Shape) -> Case:
        self.inputs[name] = [g.Tensor(f"{name}_{i}", dtype, s) for i, s in enumerate(shapes)]
        return self

    def const(self, name: str, dtype: DType, values: Any) -> Case:
        """A constant input; its shape is that of `values`."""
        data: Array = np.asarray(values, dtype.storage)
        self.inputs[name] = g.Tensor(name, dtype, data.shape, data)
        return self

    def output(self, name: str, dtype: DType, shape: Shape | None, data: Any = None) -> Case:
        array = None if data is None else np.asarray(data, dtype.storage)
        self.outputs[name] = g.Tensor(name, dtype, shape, array)
        return self

    def region(self, block: g.Block) -> Case:
        self.regions[block.name] = block
        return self

    def after(self, op: str, **attributes: Any) -> Case:
        """Put an operator without tensors before this one."""
        self.before.append(g.Operator(op, [], [], attributes))
        return self

    def set(self, **attributes: Any) -> Case:
        self.attributes.update(attributes)
        return self

    def reshape(self, name: str, *dims: int) -> Case:
        """Give the tensor of an argument another shape; constants keep their first value everywhere."""
        tensor = self.tensor(name)
        tensor.shape = dims
        if tensor.data is not None:
            tensor.data = np.full(dims, tensor.data.flat[0], tensor.data.dtype)
        return self

    def retype(self, name: str, dtype: DType) -> Case:
        tensor = self.tensor(name)
        tensor.dtype = dtype
        if tensor.data is not None:
            tensor.data = tensor.data.astype(dtype.storage)
        return self

    def tensor(self, name: str) -> g.Tensor:
        found = self.inputs.get(name, self.outputs.get(name))
        assert isinstance(found, g.Tensor)
        return found

    def graph(self) -> g.Graph:
        """The case as a graph: constants become CONST and CONST_SHAPE, the other inputs graph inputs."""
        built = g.new_graph()
        block = built.main
        block.operators += self.before
        names: list[str] = []
        for entry in self.inputs.values():
            for tensor in entry if isinstance(entry, list) else [entry]:
                names.append(tensor.name)
                if tensor.name in block.tensors:
                    continue
                block.add(tensor)
                if tensor.data is not None:
                    kind = "CONST_SHAPE" if tensor.dtype is types.shape else "CONST"
                    block.operators.append(g.Operator(kind, [], [tensor.name]))
                else:
                    block.inputs.append(tensor.name)
        for tensor in self.outputs.values():
            block.add(tensor)
            if tensor.dtype is not types.shape:  # shapes can't leave a graph
                block.outputs.append(tensor.name)
        block.operators.append(
            g.Operator(self.op, names, [t.name for t in self.outputs.values()], dict(self.attributes))
        )
        built.regions += [g.Region(name, [block]) for name, block in self.regions.items()]
        return built
