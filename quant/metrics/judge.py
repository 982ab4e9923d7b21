"""How near an integer network comes to its float network on samples, and what a metric says of both.

What networks have in common is computed once (`quant.pieces`), as far as its memory goes; the float network's outputs
are kept in a file. Memory doesn't grow with the number of samples beyond that (unless the metric is a function, which
gets all outputs at once).
"""

from __future__ import annotations

import math
import tempfile
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import Session
from tosa_engine.errors import DataError
from tosa_engine.qparams.arrays import dequantize_array

from ..pieces import Pieces, Runs
from .metric import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.graph import Graph, Tensor
    from tosa_engine.samples.arrays import Samples
    from tosa_engine.types import Array

    from .metric import Metric
    from .tallies import Tally
    from .targets import Targets


@dataclass(frozen=True)
class Score:
    """`noise`: the squares of the differences over the squares of the float outputs, the mean over the outputs.
    `reading`: of the metric, where one was asked for.
    """

    noise: float
    reading: Reading | None = None

    @property
    def sqnr(self) -> float:
        """In dB; infinite where there is no difference."""
        return -10 * math.log10(self.noise) if self.noise > 0 else math.inf

    def __str__(self) -> str:
        shown = f"{self.sqnr:.2f} dB"
        return shown if self.reading is None else f"{shown}, {self.reading}"


class Judge:
    """Scores of networks that stand for one float network, on at most `limit` samples.

    `metric` and `targets` come together or not at all. `real` is the float network's own reading.
    """

    def __init__(
        self,
        graph: Graph,
        samples: Samples,
        limit: int | None = None,
        metric: Metric | None = None,
        targets: Targets | None = None,
    ) -> None:
        self.graph, self.samples, self.metric, self.targets = graph, samples, metric, targets
        self.count = min(samples.total, limit or samples.total)
        if targets is not None and len(targets) < self.count:
            raise DataError(f"{targets.source}: {len(targets)} targets for {self.count} samples")
        self._runs = Runs(lambda: (sample for _, sample in samples.read(range(self.count))), self.count)
        self._wanted = tempfile.TemporaryFile()  # noqa: SIM115  (as long as this object lives)
        weakref.finalize(self, self._wanted.close)
        self.real = self._run_float()

    def score(self, network: Graph) -> Score:
        """Of a network whose inputs and outputs are the float network's, quantized or not."""
        tally, totals = self._tally(), np.zeros((len(network.outputs), 2))
        self._wanted.seek(0)
        for number, found in enumerate(self._runs.values(Pieces(network), network.main.outputs)):
            real = [_real(array, t) for array, t in zip(found, network.outputs, strict=True)]
            for i, array in enumerate(real):
                wanted = np.frombuffer(self._wanted.read(4 * array.size), np.float32).reshape(array.shape)
                totals[i] += _energy(np.asarray(array, np.float64) - wanted), _energy(wanted)
            self._count(tally, number, real)
        return Score(float(np.mean([_ratio(*total) for total in totals])), self._reading(tally))

    def _run_float(self) -> Reading | None:
        session, tally = Session(self.graph), self._tally()
        for number, sample in self.samples.read(range(self.count)):
            outputs = session.run(None, sample)
            for array in outputs:
                self._wanted.write(np.ascontiguousarray(array, np.float32).tobytes())
            self._count(tally, number, outputs)
        return self._reading(tally)

    def _tally(self) -> Tally | None:
        return None if self.metric is None else self.metric.tally()

    def _count(self, tally: Tally | None, number: int, outputs: Sequence[Array]) -> None:
        if tally is not None and self.targets is not None:
            named = {t.name: array for t, array in zip(self.graph.outputs, outputs, strict=True)}
            tally.add(named, self.targets[number])

    def _reading(self, tally: Tally | None) -> Reading | None:
        return None if self.metric is None or tally is None else Reading(self.metric.name, tally.value())


def _energy(array: Array) -> float:
    return float(np.square(array, dtype=np.float64).sum())


def _ratio(noise: float, signal: float) -> float:
    if signal > 0:
        return noise / signal
    return 0.0 if noise == 0 else math.inf


def _real(y: Array, tensor: Tensor) -> Array:
    return dequantize_array(y, tensor.quant) if tensor.quant is not None else y
