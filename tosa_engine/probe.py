"""Probes: looking at tensors while a graph runs. Looking never changes a byte of the outputs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .errors import UsageError
from .spec import is_constant

if TYPE_CHECKING:
    from .graph import Graph
    from .types import Array

Selection = Collection[str] | Callable[[str], bool] | None


class Watcher(Protocol):
    """What `Session.run` takes as a probe: `tensors` says which, a call hands one over.

    A tensor of a region that control flow runs is called REGION/TENSOR, unless the main block has one of this name.
    """

    @property
    def tensors(self) -> Selection:
        """Names, a predicate on names, or None for the output of every operator but constants."""

    def __call__(self, node: str, tensor: str, array: Array) -> object:
        """Called once per tensor and run (of a region: each time that it runs), in execution order, with a read-only
        copy of the value.
        """


@dataclass(frozen=True)
class Probe:
    """A function that gets to see some tensors of each run.

    `see(node, tensor, array)` gets the name of the operator that wrote the tensor (empty for graph inputs), the
    tensor's name and a read-only copy of its value in its storage dtype. It is called in the thread that called `run`.
    `keeps`: it holds all these copies, which counts as memory of the run.
    """

    see: Callable[[str, str, Array], object]
    tensors: Selection = None
    keeps: bool = False

    def __call__(self, node: str, tensor: str, array: Array) -> object:
        return self.see(node, tensor, array)


def name_of(graph: Graph, region: str, tensor: str) -> str:
    """What probes call a tensor of a region; empty where the name means another one, of the main block."""
    if region == graph.regions[0].name:
        return tensor
    name = f"{region}/{tensor}"
    return "" if name in graph.main.tensors else name


def select(selection: Selection, graph: Graph) -> frozenset[str]:
    """The names of the tensors that a selection means in an expanded graph.

    Raises:
        UsageError: it names tensors that aren't there, or a predicate that matches none.
    """
    regions = [(region.name, region.blocks[0]) for region in graph.regions]
    every = {name_of(graph, region, tensor) for region, block in regions for tensor in block.tensors} - {""}
    if selection is None:
        computed = [(r, name) for r, b in regions for op in b.operators if not is_constant(op) for name in op.outputs]
        return frozenset(name_of(graph, *pair) for pair in computed) - {""}
    if callable(selection):
        found = frozenset(name for name in every if selection(name))
        if not found:
            raise UsageError(f"the probe matches none of the {len(every)} tensors")
        return found
    unknown = [name for name in selection if name not in every]
    if unknown:
        raise UsageError(f"the probe names tensors that the graph doesn't have: {', '.join(sorted(unknown))}")
    return frozenset(selection)
