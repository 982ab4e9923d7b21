"""The range of every activation over the calibration samples, in one pass and in constant memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.errors import DataError

from .watch import Watched

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array


@dataclass
class Range:
    """The smallest and the largest value seen. Ranges don't depend on the order of what they see."""

    low: float = math.inf
    high: float = -math.inf

    def see(self, array: Array) -> None:
        self.low = min(self.low, float(array.min()))
        self.high = max(self.high, float(array.max()))


@dataclass
class Observer:
    """A probe that keeps the range of each tensor it sees.

    Raises DataError (from the run it watches) when a tensor has NaN or infinity: such a range calibrates nothing.
    """

    ranges: dict[str, Range] = field(default_factory=dict)
    sample: int = 0

    def __call__(self, node: str, tensor: str, array: Array) -> None:
        if not np.isfinite(array).all():
            raise DataError(f"calibration sample {self.sample} gives NaN or infinity", node=node, tensor=tensor)
        self.ranges.setdefault(tensor, Range()).see(array)


def observe(graph: Graph, samples: Iterable[Mapping[str, Array]], tensors: Iterable[str]) -> dict[str, Range]:
    """Run the float graph on each sample; the ranges of the named tensors, graph inputs among them.

    Raises DataError as `Observer` does; what the engine raises for samples that don't fit the graph passes through.
    """
    observer = Observer()
    watched = Watched(graph, tensors, observer)
    for observer.sample, sample in enumerate(samples):
        watched.run(sample)
    return observer.ranges
