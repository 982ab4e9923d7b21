"""Probes: looking at tensors while a graph runs. Looking never changes a byte of the outputs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .errors import UsageError

if TYPE_CHECKING:
    from .graph import Block
    from .types import Array

Selection = Collection[str] | Callable[[str], bool] | None


class Watcher(Protocol):
    """What `Session.run` takes as a probe: `tensors` says which, a call hands one over."""

    @property
    def tensors(self) -> Selection:
        """Names, a predicate on names, or None for the output of every operator but constants."""

    def __call__(self, node: str, tensor: str, array: Array) -> object:
        """Called once per tensor and run, in execution order, with a read-only copy of the value."""


@dataclass(frozen=True)
class Probe:
    """A function that gets to see some tensors of each run.

    `see(node, tensor, array)` gets the name of the operator that wrote the tensor (empty for graph inputs), the
    tensor's name and a read-only copy of its value in its storage dtype. It is called in the thread that called `run`.
    """

    see: Callable[[str, str, Array], object]
    tensors: Selection = None

    def __call__(self, node: str, tensor: str, array: Array) -> object:
        return self.see(node, tensor, array)


def select(selection: Selection, block: Block) -> frozenset[str]:
    """The names of the tensors that a selection means in an expanded block.

    Raises:
        UsageError: it names tensors that aren't there, or a predicate that matches none.
    """
    if selection is None:
        constant = ("CONST", "CONST_SHAPE")
        return frozenset(name for op in block.operators if op.op not in constant for name in op.outputs)
    if callable(selection):
        found = frozenset(name for name in block.tensors if selection(name))
        if not found:
            raise UsageError(f"the probe matches none of the {len(block.tensors)} tensors")
        return found
    unknown = [name for name in selection if name not in block.tensors]
    if unknown:
        raise UsageError(f"the probe names tensors that the graph doesn't have: {', '.join(sorted(unknown))}")
    return frozenset(selection)
