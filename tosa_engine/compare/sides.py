"""The sides of a comparison: a model that is run here, or what a device or another program dumped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import oracle
from ..errors import DataError, RequireViolation, UsageError
from ..formats import open_model
from ..qparams.arrays import dequantize_array, quantize_array
from ..runtime.session import Session
from ..spec import is_constant
from ..types import of_bits
from ..watch import KeptTensors
from . import dumps
from .names import Named
from .pairs import in_order

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Mapping

    from ..formats import Source
    from ..graph import Graph, QParams, Tensor
    from ..oracle import Overflow
    from ..types import Array, Shape


@dataclass
class Side:
    """`tensors` by name, in execution order; those of a dump are read when they are asked for. `graph` is
    None for dumps, else without composites and with all shapes. `assumed` is what a model was run under, and `beyond`
    are the elements of each node that don't fit without that.
    """

    label: str
    tensors: Mapping[str, Array]
    graph: Graph | None = None
    assumed: Overflow | None = None
    beyond: Mapping[str, int] = field(default_factory=dict)

    @property
    def named(self) -> list[Named]:
        """The tensors as they are lined up."""
        aliases = (
            {n: ((t.source_name,) if t.source_name else ()) for n, t in self.graph.main.tensors.items()}
            if self.graph
            else {}
        )
        forms = {name: self.form(name) for name in self.tensors}
        return [Named(name, shape, aliases.get(name, ()), dtype) for name, (dtype, shape) in forms.items()]

    @property
    def inputs(self) -> list[str]:
        """The names of a model's inputs, which a dump can only echo."""
        return list(self.graph.main.inputs) if self.graph is not None else []

    @property
    def outputs(self) -> list[str]:
        """The names of what a model computes for its user."""
        if self.graph is None:
            return []
        return [
            name for name in dict.fromkeys(self.graph.main.outputs) if name in self.tensors and name not in self.inputs
        ]

    def form(self, name: str) -> tuple[np.dtype[Any], Shape]:
        """The dtype and shape of a tensor, without reading it."""
        if isinstance(self.tensors, dumps.Dumped):
            return self.tensors.dtype(name), self.tensors.shape(name)
        return self.tensors[name].dtype, self.tensors[name].shape

    def quant(self, name: str) -> QParams | None:
        """How the integers of a tensor stand for real numbers, where that is known."""
        return self.graph.main.tensors[name].quant if self.graph is not None else None

    @property
    def kind(self) -> str:
        if self.graph is None:
            return "dump"
        return "float model" if any(t.dtype.is_float for t in self.graph.inputs) else "integer model"


def read_model(model: str | Source, quant: Mapping[str, QParams]) -> Graph:
    """A model without composites; its tensors carry its own QParams or those of `quant`, by name."""
    source = open_model(model) if isinstance(model, str) else model
    graph = Session(source.graph(), 1).graph
    for tensor in graph.main.tensors.values():
        params = quant.get(tensor.name) or quant.get(tensor.source_name)
        if params is not None and tensor.dtype.is_int and tensor.data is None and tensor.dtype.bits == params.bits:
            tensor.quant = params
    return graph


def read_dump(path: str | os.PathLike[str]) -> Side:
    return Side(str(path), dumps.read(path))


class Model:
    """A model that is run on sample after sample: as the specification says, or by the oracle, where devices are
    `assumed` to go on where a value doesn't fit.
    """

    def __init__(self, path: str, graph: Graph, assumed: Overflow | None = None) -> None:
        self.path, self.graph, self.assumed = path, graph, assumed
        constants = {out for op in graph.main.operators if is_constant(op) for out in op.outputs}
        self.names = [name for name in in_order(graph) if name not in constants]
        self._kept = KeptTensors(graph, self.names)

    def run(self, given: Mapping[str, Array]) -> Side:
        """The tensors for these inputs: each in the input's type, or as the real numbers or integers that its QParams
        turn into that.

        Raises UsageError for inputs that nobody gives, and what `Session.run` raises.
        """
        missing = missing_inputs(self.graph, given)
        if missing:
            raise UsageError(f"{self.path}: no array for input {', '.join(missing)}; give one with -i or --data")
        found, beyond = self._run({t.name: _fed(t, given) for t in self.graph.inputs})
        return Side(self.path, {name: found[name] for name in self.names}, self.graph, self.assumed, beyond)

    def _run(self, feeds: Mapping[str, Array]) -> tuple[Mapping[str, Array], Mapping[str, int]]:
        if self.assumed is None or self.assumed.bits is None:
            try:
                return self._kept.run(feeds), {}
            except RequireViolation:
                if self.assumed is None:
                    raise
        found = dict(feeds)
        with oracle.assuming(self.assumed) as beyond:
            oracle.run(self.graph, feeds, lambda node, name, array: found.update({name: array}))
        return found, beyond


def run_model(path: str, graph: Graph, given: Mapping[str, Array], assumed: Overflow | None = None) -> Side:
    """`Model.run`, once."""
    return Model(path, graph, assumed).run(given)


def missing_inputs(graph: Graph, given: Container[str]) -> list[str]:
    """The inputs that have no array, neither by their name nor by that of the float tensor that they stand for."""
    return [t.name for t in graph.inputs if t.name not in given and t.source_name not in given]


def _given(tensor: Tensor, given: Mapping[str, Array]) -> Array | None:
    found = given.get(tensor.name)
    return found if found is not None else given.get(tensor.source_name)


def _fed(tensor: Tensor, given: Mapping[str, Array]) -> Array:
    array = _given(tensor, given)
    assert array is not None
    array, dtype = of_bits(array, tensor.dtype), tensor.dtype
    if array.dtype.kind == "f" and dtype.is_int:
        if tensor.quant is None:
            raise DataError(
                "floats for an integer input whose scale and zero point are unknown; give "
                "them with --quant graph.quant, or quantize the model again: its file has them",
                tensor=tensor.name,
            )
        array = quantize_array(array, tensor.quant)
    elif array.dtype.kind in "iu" and dtype.is_float:
        if tensor.quant is None:
            raise DataError("integers for a float input whose scale and zero point are unknown", tensor=tensor.name)
        array = dequantize_array(array, tensor.quant).astype(dtype.storage)
    elif array.dtype.kind == "f" and dtype.is_float:
        array = array.astype(dtype.storage)
    if array.shape != tensor.shape and array.size == tensor.size:
        array = array.reshape(tensor.shape or ())
    return np.ascontiguousarray(array)
