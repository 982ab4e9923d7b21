"""Each layer of an integer graph on its own: its inputs are given, so that it shows no error but its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine.graph import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Graph


def isolated_layers(graph: Graph, names: Iterable[str]) -> tuple[Graph, Mapping[str, str]]:
    """A copy in which readers of the named tensors read graph inputs instead of what operators wrote. The outputs are
    the named tensors that an operator writes; also given is the graph input for each name.
    """
    copied = graph.copy()
    block = copied.main
    written = block.producers()
    given = {name: name for name in names if name in block.inputs}
    for name in names:
        if name in written and name not in given:
            tensor = block.tensors[name]
            given[name] = block.add(Tensor(block.fresh(f"{name}/given"), tensor.dtype, tensor.shape)).name
            block.inputs.append(given[name])
    for op in block.operators:
        op.inputs = [given.get(name, name) for name in op.inputs]
    block.outputs = [name for name in given if name in written]
    return copied, given
