"""The search for inputs: what pays most of several ways, measured in goals by work.

Every run is looked at for the goals of all layers. Patterns and changes of samples meet many at once, as long as there
are easy ones; slopes lead to what is far away, and to single values.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from .trials import Trials
from .ways import Aim, Changes, Climb, Patterns, Shake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..graph import Graph
    from ..types import Array
    from .layers import Layer
    from .ways import Way

MEMORY: Final = 0.98  # of what a way has reached, after the work of a run
LEAST: Final = 0.05  # of all work, for each kind of ways


class Pay:
    """How many goals some work has reached of late."""

    def __init__(self) -> None:
        self.spent, self.rate = 0.0, math.inf
        self._found, self._work = 0.0, 0.0

    def note(self, found: int, work: float) -> None:
        kept = MEMORY**work
        self.spent += work
        self._found, self._work = self._found * kept + found, self._work * kept + work
        self.rate = self._found / self._work if self._work else 0.0


class Kind:
    """Ways of one kind, for each layer or for the whole: all are tried once, then those that pay."""

    def __init__(self, ways: Sequence[Way]) -> None:
        self.pay = Pay()
        self._ways = [(way, Pay()) for way in ways]

    def go(self, trials: Trials) -> bool:
        """Whether there is any left."""
        way, pay = max(self._ways, key=lambda one: one[1].rate)
        found, work = trials.found, trials.work
        if not way.go():
            self._ways.remove((way, pay))
        for each in (self.pay, pay):
            each.note(trials.found - found, trials.work - work)
        return bool(self._ways)


class Search:
    """Samples of a graph, and what they reach in its `layers`; `until` a moment of `time.monotonic`.

    `graph` is without composites and with all shapes. The same seed and the same samples give the same search, as far
    as it gets.
    """

    def __init__(self, graph: Graph, layers: Sequence[Layer], seed: int = 0, until: float = math.inf) -> None:
        self._trials = Trials(graph, layers, seed, until)

    @property
    def until(self) -> float:
        return self._trials.until

    @until.setter
    def until(self, moment: float) -> None:
        self._trials.until = moment

    @property
    def runs(self) -> int:
        return self._trials.runs

    def add(self, samples: Iterable[Mapping[str, Array]]) -> None:
        """Ordinary samples: where the search begins."""
        for sample in samples:
            self._trials.run(sample)
        for layer in self._trials.layers:
            layer.begin()

    def run(self) -> None:
        """Until all goals are met, no way leads on, or the time is over."""
        trials = self._trials
        for value in ("minimum", "maximum"):
            full = {t.name: np.full(t.shape or (), getattr(t.dtype, value), t.dtype.storage) for t in trials.moved}
            trials.run(trials.with_patterns(trials.sample()) | full)
        layers = [trials.layers[i] for i in trials.rng.permutation(len(trials.layers))]
        kinds = [Kind([way(trials)]) for way in (Patterns, Changes)]
        of_layer: list[Callable[[Trials, Layer], Way]] = [Climb, Shake, Aim]
        kinds += [Kind([way(trials, layer) for layer in layers]) for way in of_layer]
        while kinds and not trials.is_over and not all(layer.met.all() for layer in layers):
            least = min(kinds, key=lambda kind: kind.pay.spent)
            best = max(kinds, key=lambda kind: kind.pay.rate)
            kind = least if least.pay.spent < LEAST * trials.work else best
            if not kind.go(trials):
                kinds.remove(kind)

    def chosen(self, most: int | None) -> list[dict[str, Array]]:
        """The samples that were first to reach something, or so many of them, those with most goals first."""
        gains = self._trials.gains
        order = sorted(range(len(gains)), key=lambda i: -gains[i])
        return [self._trials.samples[i] for i in order[:most]]
