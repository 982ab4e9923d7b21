"""Running a graph and looking at its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine import Session
from tosa_engine.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    See = Callable[[str, str, Array], None]


class Watched:
    """A graph of which `see(node name, tensor name, array)` gets to see the named tensors of every run.

    Graph inputs are among them if they are named; the node's name is then empty.
    """

    def __init__(self, graph: Graph, tensors: Iterable[str], see: See) -> None:
        self.tensors, self.see = frozenset(tensors), see
        self._inputs = [name for name in graph.main.inputs if name in self.tensors]
        self._session = Session(graph)
        self._probe = Probe(self._seen, self.tensors - set(self._inputs))

    def _seen(self, node: str, tensor: str, array: Array) -> None:
        if tensor not in self._inputs:
            self.see(node, tensor, array)

    def run(self, feeds: Mapping[str, Array]) -> None:
        """One run; `feeds` by input name."""
        for name in self._inputs:
            self.see("", name, feeds[name])
        self._session.run(None, dict(feeds), probes=[self._probe])
