"""Runs on another number of samples than the graph was made for."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ..errors import TosaEngineError
from ..plan import make_plan
from ..plan.batch import batch_of, with_batch, with_constants

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Graph
    from ..types import Shape

BATCHES: Final = 4  # numbers of samples for which sessions are kept


Session = TypeVar("Session")


class OtherBatches(Generic[Session]):
    """Sessions for other numbers of samples, made by `make` when they are first asked for."""

    def __init__(self, make: Callable[[Graph], Session]) -> None:
        self._make = make
        self._sessions: OrderedDict[int, Session] = OrderedDict()

    def clear(self) -> None:
        self._sessions.clear()

    def session(self, graph: Graph, feeds: object) -> Session | None:
        """For as many samples as the arrays have; None where they don't tell another number, or samples meet."""
        if not isinstance(feeds, dict) or all(_shape(feeds.get(t.name)) == t.shape for t in graph.inputs):
            return None
        batch = batch_of(graph)
        samples = _samples(graph, feeds, batch)
        if samples is None:
            return None
        if samples not in self._sessions:
            resized = _resized(graph, samples, batch)
            if resized is None:
                return None
            self._sessions[samples] = self._make(resized)
            while len(self._sessions) > BATCHES:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(samples)
        return self._sessions[samples]


def _samples(graph: Graph, feeds: Mapping[str, Any], batch: int) -> int | None:
    """How many samples the arrays have, where they differ from the inputs in the length of axis 0 alone, all alike."""
    fed, found = list(graph.inputs), set[int]()
    if not fed or set(feeds) != {tensor.name for tensor in fed}:
        return None
    for tensor in fed:
        wanted, given = tensor.shape or (), _shape(feeds[tensor.name])
        if not wanted or len(given) != len(wanted) or given[1:] != wanted[1:] or given[0] * batch % wanted[0]:
            return None
        found.add(given[0] * batch // wanted[0])
    samples = found.pop()
    return None if found or samples in (0, batch) else samples


def _shape(array: object) -> Shape:
    return getattr(array, "shape", ())


def _resized(graph: Graph, samples: int, batch: int) -> Graph | None:
    try:
        found = with_batch(with_constants(graph, make_plan(graph.copy()).constants), samples)
    except TosaEngineError:  # a shape says otherwise
        return None
    return found if batch > 1 or batch_of(found) == samples else None
