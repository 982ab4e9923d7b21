"""What a testbench has to know of a graph: its operators in order, who makes a tensor and who reads it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..probe import name_of
from ..spec import TABLE, is_constant
from ..types import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..graph import Block, Graph, Operator, QParams, Tensor
    from ..spec import Argument

INPUT: Final = "input"
CONSTANT: Final = "constant"
ACCUMULATOR: Final = "accumulator"
OUTPUT: Final = "output"
INTERMEDIATE: Final = "intermediate"


class Index:
    """The operators of an expanded graph, with numbers; tensors by the names that probes give them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.operators: list[dict[str, Any]] = []
        self.tensors: dict[str, Tensor] = {}
        self.regions: dict[str, dict[str, list[str]]] = {}
        self._made_by: dict[str, int] = {}
        self._read_by: dict[str, list[int]] = {}
        self._sums: set[str] = set()
        for region in graph.regions:
            self._add_block(region.name, region.blocks[0])

    def constants(self) -> Iterator[tuple[str, Tensor]]:
        """Those that operators read, or that are outputs of the graph."""
        outputs = set(self.graph.main.outputs)
        for name, tensor in self.tensors.items():
            if tensor.data is not None and not tensor.variable and (name in self._read_by or name in outputs):
                yield name, tensor

    def describe(self, name: str) -> dict[str, Any]:
        """What the index says of a tensor besides its file."""
        tensor = self.tensors[name]
        found: dict[str, Any] = {"role": self._role(name, tensor), "dtype": tensor.dtype.name}
        if tensor.quant is not None and tensor.dtype.is_int:
            found["quant"] = _quant(tensor.quant)
        return found | {"made_by": self._made_by.get(name), "read_by": self._read_by.get(name, [])}

    def _role(self, name: str, tensor: Tensor) -> str:
        main = self.graph.main
        if tensor.data is not None:
            return CONSTANT
        if name in main.inputs:
            return INPUT
        if name in main.outputs:
            return OUTPUT
        rescaled = any(self.operators[i]["op"] == "RESCALE" for i in self._read_by.get(name, []))
        return ACCUMULATOR if name in self._sums and rescaled else INTERMEDIATE

    def _add_block(self, region: str, block: Block) -> None:
        names = {name: name_of(self.graph, region, name) or f"{region}/{name}" for name in block.tensors}
        ports = {"inputs": block.inputs, "outputs": block.outputs}
        self.regions[region] = {kind: [names[name] for name in those] for kind, those in ports.items()}
        self.tensors.update({names[name]: tensor for name, tensor in block.tensors.items()})
        for op in block.operators:
            if is_constant(op):
                continue
            number = len(self.operators)
            self._made_by.update({names[name]: number for name in op.outputs})
            for name in dict.fromkeys(op.inputs):
                self._read_by.setdefault(names[name], []).append(number)
            if TABLE[op.op].traits.is_sum:
                self._sums.update(names[name] for name in op.outputs)
            self.operators.append(_operator(op, region, names))


def _operator(op: Operator, region: str, names: dict[str, str]) -> dict[str, Any]:
    spec = TABLE[op.op]
    return {
        "name": op.name,
        "op": op.op,
        "region": region,
        "inputs": _arguments(spec.inputs, [names[name] for name in op.inputs]),
        "outputs": _arguments(spec.outputs, [names[name] for name in op.outputs]),
        "attributes": {name: plain(value) for name, value in op.attributes.items()},
    }


def _arguments(arguments: Sequence[Argument], names: Sequence[str]) -> dict[str, str | list[str]]:
    """The tensors by the specification's names; a list of tensors stands last."""
    found: dict[str, str | list[str]] = {}
    for i, argument in enumerate(arguments):
        if argument.is_list:
            found[argument.name] = list(names[i:])
        elif i < len(names):
            found[argument.name] = names[i]
    return found


def plain(value: object) -> Any:
    """An attribute for JSON. Bytes are hexadecimal; floats that JSON has no word for are `inf`, `-inf`, `nan`."""
    if isinstance(value, DType):
        return value.name
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _quant(quant: QParams) -> dict[str, Any]:
    return {"scale": list(quant.scale), "zero_point": list(quant.zero_point), "axis": quant.axis}
