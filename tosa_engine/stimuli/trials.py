"""Runs of a graph on one sample after the other, and what they reach."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from ..errors import RequireViolation, Unsupported
from ..types import i8, i16
from ..watch import KeptTensors
from .changes import pattern
from .slopes import Slopes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..graph import Graph
    from ..types import Array
    from .layers import Layer

    Feeds = Mapping[str, Array]

SLOPES_WORK: Final = 6.0  # of slopes from the last layer, in runs
RARE: Final = 15  # more goals that one of few values counts as
LATEST: Final = 32  # samples


class Trials:
    """`found` counts the goals that were met, those of few values more often; `work` is its cost in runs; `until` is
    a moment of `time.monotonic`. `graph` is without composites and with all shapes.
    """

    def __init__(self, graph: Graph, layers: Sequence[Layer], seed: int, until: float = math.inf) -> None:
        self.graph, self.layers, self.until = graph, layers, until
        self.rng = np.random.default_rng(seed)
        self.runs, self.found, self.work = 0, 0, 0.0
        self.samples: list[dict[str, Array]] = []
        self.gains: list[int] = []  # the goals that each of them was first to meet
        self.moved = [t for t in graph.inputs if t.dtype in (i8, i16)]
        if not self.moved:
            raise Unsupported("stimuli are for int8 and int16 inputs, and the graph has none; quantize the model first")
        self._constants = {n: t.data for n, t in graph.main.tensors.items() if t.data is not None}
        names = [name for op in graph.main.operators for name in op.outputs if name not in self._constants]
        self._kept = KeptTensors(graph, sorted({*names, *graph.main.inputs}))
        self._depth = {name: (i + 1) / len(names) for i, name in enumerate(names)}
        self._slopes = Slopes(graph)
        self._widest: dict[Layer, Feeds] = {}  # the latest sample in which a channel was beyond what it had been

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.until

    def run(self, feeds: Feeds) -> dict[str, Array] | None:
        """All values; None where a REQUIRE doesn't hold."""
        self.runs += 1
        self.work += 1.0
        try:
            values = dict(self._kept.run(feeds))
        except RequireViolation:
            return None
        gain = 0
        for layer in self.layers:
            met = layer.look(values[layer.tensor])
            gain += len(met)
            self.found += len(met) + int(np.count_nonzero(layer.is_narrow[met])) * RARE
            if layer.widened:
                self._widest[layer] = feeds
        if gain:
            self.samples.append(dict(feeds))
            self.gains.append(gain)
        return values | self._constants

    def slopes(self, values: Mapping[str, Array], tensor: str, wanted: Mapping[int, float]) -> dict[str, Array]:
        """See `Slopes.to_inputs`."""
        self.work += SLOPES_WORK * self._depth[tensor]
        return self._slopes.to_inputs(values, tensor, wanted)

    def near(self, layer: Layer) -> dict[str, Array]:
        """A sample from which a layer may reach more."""
        return dict(self._widest[layer]) if layer in self._widest and self.rng.integers(2) else self.sample()

    def sample(self) -> dict[str, Array]:
        """One of those kept, half of the time one of the latest; patterns before there is any."""
        if not self.samples:
            return self.with_patterns({})
        first = max(0, len(self.samples) - LATEST) if self.rng.integers(2) else 0
        return dict(self.samples[int(self.rng.integers(first, len(self.samples)))])

    def with_patterns(self, feeds: Feeds) -> dict[str, Array]:
        """With other inputs of int8 and int16; zeros for what isn't there."""
        found = {t.name: np.zeros(t.shape or (), t.dtype.storage) for t in self.graph.inputs} | dict(feeds)
        return found | {t.name: pattern(self.rng, t.shape or (), t.dtype) for t in self.moved}
