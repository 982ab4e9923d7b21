"""Which tensor of an integer graph stands for which one of the float graph that it was made from?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Graph, QParams


@dataclass(frozen=True)
class Pair:
    """A tensor of the integer graph, `stored`, and the one of the float graph that it stands for, `real`."""

    stored: str
    real: str
    quant: QParams


def pairs(float_graph: Graph, integer_graph: Graph, qparams: Mapping[str, QParams] | None = None) -> list[Pair]:
    """In the integer graph's order. A tensor stands for the float tensor that its source names, else for the one with
    its own name. Its scale and zero point are those it carries, else the entry of its name in `qparams`.
    """
    real = float_graph.main.tensors
    by_source = {t.source_name: name for name, t in reversed(real.items()) if t.source_name}
    found = []
    for name in in_order(integer_graph):
        tensor = integer_graph.main.tensors[name]
        quant = tensor.quant or (qparams or {}).get(name)
        match = name if name in real else by_source.get(tensor.source_name or name)
        if quant is None or match is None or tensor.data is not None or not tensor.dtype.is_int:
            continue
        if real[match].shape == tensor.shape and real[match].dtype.is_float and real[match].data is None:
            found.append(Pair(name, match, quant))
    return found


def in_order(graph: Graph) -> list[str]:
    """The names of the inputs and of what operators write, in execution order."""
    block = graph.main
    return [*block.inputs, *(name for op in block.operators for name in op.outputs)]
