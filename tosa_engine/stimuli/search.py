"""The search for inputs: from what ordinary samples give, along slopes, to each goal that isn't met.

The inputs that move a value most are changed until the slopes say that it is where it should be; then the graph is run,
and the rest is gone from there. In the first layers slopes are exact, in later ones they are a guess.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from ..errors import RequireViolation, Unsupported
from ..types import i8, i16
from ..watch import KeptTensors
from .slopes import slopes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..graph import Graph
    from ..types import Array, DType
    from .layers import Layer

    Feeds = Mapping[str, Array]

ROUNDS: Final = 4  # in which each goal that isn't met is tried
STEPS: Final = 16  # towards a goal
SHARES: Final = (1.0, 0.4, 0.1)  # of the inputs, that go to the ends of their formats in a step
FINE: Final = 64  # inputs that are changed one by one
SHAKES: Final = 16  # attempts at that
HIT: Final = 0.5  # from the goal, where slopes are exact


class Search:
    """Samples of a graph, and what they reach in its `layers`; `until` a moment of `time.monotonic`.

    `graph` is without composites and with all shapes. The same seed and the same samples give the same search, as far
    as it gets.
    """

    def __init__(self, graph: Graph, layers: Sequence[Layer], seed: int = 0, until: float = math.inf) -> None:
        self.graph, self.layers, self.until = graph, layers, until
        self.runs = 0
        self.samples: list[dict[str, Array]] = []
        self._goals: list[set[tuple[int, int]]] = []  # of each sample
        self._met: set[tuple[int, int]] = set()
        self._rng = np.random.default_rng(seed)
        self._moved = [t for t in graph.inputs if t.dtype in (i8, i16)]
        if not self._moved:
            raise Unsupported("stimuli are for int8 and int16 inputs, and the graph has none; quantize the model first")
        self._constants = {n: t.data for n, t in graph.main.tensors.items() if t.data is not None}
        names = {name for op in graph.main.operators for name in op.outputs if name not in self._constants}
        self._kept = KeptTensors(graph, sorted(names | set(graph.main.inputs)))

    def add(self, samples: Iterable[Feeds]) -> None:
        """Ordinary samples: where the search begins."""
        for sample in samples:
            self._run(sample)
        for layer in self.layers:
            layer.begin()

    def run(self) -> None:
        """Until all goals are met, were tried, or the time is over; goals of all layers by turns."""
        for value in ("minimum", "maximum"):
            full = {t.name: np.full(t.shape or (), getattr(t.dtype, value), t.dtype.storage) for t in self._moved}
            self._run({**self._start(), **full})
        goals = [(layer, goal) for layer in self.layers for goal in range(len(layer.goals))]
        for again in range(ROUNDS):
            for i in self._rng.permutation(len(goals)).tolist():
                layer, goal = goals[i]
                if time.monotonic() > self.until:
                    return
                if not layer.met[goal]:
                    self._go(layer, goal, again)

    def _run(self, feeds: Feeds) -> dict[str, Array] | None:
        """All values; None where a REQUIRE doesn't hold. What is reached for the first time keeps the sample."""
        self.runs += 1
        try:
            values = dict(self._kept.run(feeds))
        except RequireViolation:
            return None
        met = {(i, goal) for i, layer in enumerate(self.layers) for goal in layer.look(values[layer.tensor])}
        if met - self._met:
            self._met |= met
            self.samples.append(dict(feeds))
            self._goals.append(met)
        return values | self._constants

    def _start(self) -> dict[str, Array]:
        """A sample to begin with: one of those kept, or random numbers in its place."""
        feeds = dict(self.samples[int(self._rng.integers(len(self.samples)))]) if self.samples else {}
        for t in self._moved:
            if t.name not in feeds or self._rng.integers(2):
                numbers = self._rng.integers(t.dtype.minimum, t.dtype.maximum, t.shape or (), endpoint=True)
                feeds[t.name] = numbers.astype(t.dtype.storage)
        for t in self.graph.inputs:
            feeds.setdefault(t.name, np.zeros(t.shape or (), t.dtype.storage))
        return feeds

    def _go(self, layer: Layer, goal: int, again: int) -> None:
        """Towards one goal: where a value is nearest, in the middle of the tensor, then anywhere."""
        feeds: Feeds = self._start()
        values = self._run(feeds)
        if values is None:
            return
        found = values[layer.tensor]
        places = found.size // layer.channels
        middle = int(np.ravel_multi_index([n // 2 for n in found.shape], found.shape)) if found.shape else 0
        place = (None, middle // layer.channels, int(self._rng.integers(places)))[min(again, 2)]
        away, place = layer.distance(found, goal, place)
        for _ in range(STEPS):
            if layer.met[goal] or time.monotonic() > self.until:
                return
            slope = slopes(self.graph, values, layer.tensor, layer.index(goal, place))
            better = self._step(layer, goal, place, away, feeds, slope)
            if better is None:
                return
            feeds, values, away = better

    def _step(
        self, layer: Layer, goal: int, place: int, away: int, feeds: Feeds, slope: Mapping[str, Array]
    ) -> tuple[Feeds, dict[str, Array], int] | None:
        """The best of some changes, where it is better than nothing."""
        best = None
        for share in SHARES if slope else ():
            moved = self._moved_by(feeds, slope, float(away), share)
            values = self._run(moved)
            if values is not None:
                left, _ = layer.distance(values[layer.tensor], goal, place)
                if abs(left) < abs(away if best is None else best[2]):
                    best = moved, values, left
            if layer.met[goal]:
                break
        return best

    def _moved_by(self, feeds: Feeds, slope: Mapping[str, Array], away: float, share: float) -> dict[str, Array]:
        """Inputs with which the value is `away` from where it was, if slopes hold: a `share` of them may go to the ends
        of their formats, then a few go step by step.
        """
        found = dict(feeds)
        for tensor in self._moved:
            if tensor.name in slope and away:
                by = slope[tensor.name].reshape(-1)
                value = feeds[tensor.name].reshape(-1).astype(np.int64)
                away -= self._to_ends(value, by, away, share, tensor.dtype)
                value, away = self._finely(value, by, away, tensor.dtype)
                found[tensor.name] = value.astype(tensor.dtype.storage).reshape(feeds[tensor.name].shape)
        return found

    def _to_ends(self, value: Array, by: Array, away: float, share: float, dtype: DType) -> float:
        """Move values to the ends, as far as that doesn't go beyond `away`. How far that is."""
        end = np.where(by * away > 0, dtype.maximum, dtype.minimum)
        reach = np.abs((end - value) * by)
        order = self._rng.permutation(np.flatnonzero(reach))
        order = order[: max(1, int(share * len(order)))]
        full = order[: int(np.searchsorted(np.cumsum(reach[order]), abs(away), side="right"))]
        value[full] = end[full]
        return math.copysign(float(reach[full].sum()), away)

    def _finely(self, value: Array, by: Array, away: float, dtype: DType) -> tuple[Array, float]:
        """Some values changed step by step; the best of several attempts, and what it leaves."""
        places = np.flatnonzero(by)
        if abs(away) > np.abs(by[places]).sum() * (dtype.maximum - dtype.minimum):
            return value, away
        best = value, away
        for _ in range(SHAKES):
            some = self._rng.choice(places, min(FINE, len(places)), replace=False)
            some = some[np.argsort(-np.abs(by[some]), kind="stable")]
            shaken = some[: len(some) // 4]
            moved = value.copy()
            moved[shaken] = np.clip(
                moved[shaken] + self._rng.integers(-4, 5, len(shaken)), dtype.minimum, dtype.maximum
            )
            left = away - float(((moved - value) * by)[shaken].sum())
            new = moved[some].tolist()
            for i, slope in enumerate(by[some].tolist()):
                wanted = min(max(new[i] + round(left / slope), dtype.minimum), dtype.maximum)
                left -= (wanted - new[i]) * slope
                new[i] = wanted
            moved[some] = new
            if abs(left) < abs(best[1]):
                best = moved, left
            if abs(left) < HIT:
                break
        return best

    def chosen(self, most: int | None) -> list[dict[str, Array]]:
        """Samples that reach all that was reached, or as much as so many can: those that add most come first."""
        left = set(self._met)
        found: list[dict[str, Array]] = []
        while left and (most is None or len(found) < most):
            best = max(range(len(self.samples)), key=lambda i: len(self._goals[i] & left))
            found.append(self.samples[best])
            left -= self._goals[best]
        return found
