"""Running a graph and looking at its tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .probe import Probe
from .runtime.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .graph import Graph
    from .types import Array

    See = Callable[[str, str, Array], None]


class WatchedGraph:
    """A graph of which `see(node name, tensor name, array)` gets to see the named tensors of every run.

    Arrays are read-only copies; the node name of graph inputs is empty. `keeps`: `see` holds all of them.
    """

    def __init__(
        self, graph: Graph, tensors: Iterable[str], see: See, threads: int | None = None, *, keeps: bool = False
    ) -> None:
        self._session = Session(graph, threads)
        self._probe = Probe(see, frozenset(tensors), keeps)

    def run(self, feeds: Mapping[str, Array]) -> None:
        """One run; `feeds` by input name. Raises what `Session.run` raises."""
        self._session.run(None, feeds, probes=[self._probe])


class KeptTensors:
    """A graph whose named tensors are kept from its last run: `arrays`, by name."""

    def __init__(self, graph: Graph, tensors: Iterable[str], threads: int | None = None) -> None:
        self.arrays: dict[str, Array] = {}
        self._watched = WatchedGraph(graph, tensors, self._keep, threads, keeps=True)

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        self._watched.run(feeds)
        return self.arrays

    def _keep(self, node: str, tensor: str, array: Array) -> None:
        del node
        self.arrays[tensor] = array
