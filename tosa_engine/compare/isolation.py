"""Each operator on what the device itself had as its inputs: does it go wrong, or only pass on what was wrong?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .. import oracle
from ..errors import TosaEngineError
from ..graph import Tensor
from ..runtime.session import Session
from ..spec import is_constant, macs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Graph
    from ..types import Array

FAST: Final = 1 << 22  # multiplications of a graph that the oracle computes sooner than kernels are compiled


def computed_from(graph: Graph, given: Mapping[str, Array]) -> dict[str, Array] | None:
    """What every operator computes where the tensors of `given` are these, whatever computed them: by tensor name.

    `graph` is without composites, with all shapes; `given` has all its inputs, and integers in the tensors' own dtypes
    and shapes. One run, since what reads a given tensor reads an input of the graph in its place.

    None where that can't be said: the graph keeps state, or values of the device violate a REQUIRE.
    """
    apart = graph.copy()
    block = apart.main
    if any(op.op.startswith("VARIABLE") for _, b in apart.blocks() for op in b.operators):
        return None
    feeds = {name: given[name] for name in block.inputs}
    instead: dict[str, str] = {}
    for name in (name for name in given if name not in feeds):
        tensor = block.tensors[name]
        instead[name] = block.add(Tensor(block.fresh(f"{name}/given"), tensor.dtype, tensor.shape)).name
        feeds[instead[name]] = np.ascontiguousarray(given[name])
    block.inputs += instead.values()
    for op in block.operators:
        op.inputs = [instead.get(name, name) for name in op.inputs]
    block.outputs = [name for op in block.operators if not is_constant(op) for name in op.outputs]
    try:
        if oracle.assumed() is not None or sum(macs_of(op, block) for op in block.operators) <= FAST:
            return oracle.run(apart, feeds)
        found = Session(apart, 1).run(None, feeds)
    except TosaEngineError:
        return None
    return dict(zip(block.outputs, found, strict=True))
