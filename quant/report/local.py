"""Each layer of an integer graph on its own: its inputs are given, so that it shows no error but its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine.graph import Tensor
from tosa_engine.qparams.arrays import quantize_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.compare.pairs import Pair
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array


def given_feeds(
    alone: Graph,
    given: Mapping[str, str],
    found: Mapping[str, Pair],
    real: Mapping[str, Array],
    border: Mapping[str, Array],
) -> dict[str, Array]:
    """The inputs of `isolated_layers`: quantized floats of the tensors inside, and the network's own inputs."""
    feeds = {given[name]: quantize_array(real[pair.real], pair.quant) for name, pair in found.items()}
    return {t.name: border[t.name] if t.name in border else feeds[t.name] for t in alone.inputs}


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
