"""How near a choice of precisions comes to the float network, by running it: integers in the integer engine.

Samples are read anew for each choice, one at a time; the float network's outputs are kept in a file. Memory doesn't
grow with the number of samples.
"""

from __future__ import annotations

import math
import tempfile
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import Session
from tosa_engine.errors import DataError
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

from ..calibration.calibrate import attach_precisions
from ..legalize.layers import stay_float
from ..legalize.quantize import prepared, quantize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tosa_engine.graph import Graph, Tensor
    from tosa_engine.samples.arrays import Samples
    from tosa_engine.types import Array

    from ..calibration.calibrate import Scheme
    from ..calibration.records import Statistics


@dataclass(frozen=True)
class Score:
    """`noise`: the squares of the differences over the squares of the float outputs, the mean over the outputs.
    `accuracy`: the share of samples whose largest output is at the label; None without labels.
    """

    noise: float
    accuracy: float | None = None

    @property
    def sqnr(self) -> float:
        """In dB; infinite where there is no difference."""
        return -10 * math.log10(self.noise) if self.noise > 0 else math.inf

    def __str__(self) -> str:
        shown = f"{self.sqnr:.2f} dB"
        return shown if self.accuracy is None else f"{shown}, accuracy {100 * self.accuracy:.2f} %"


class Evaluator:
    """Scores of one float network with one set of statistics on one set of samples, at most `limit` of them.

    `labels`, one integer per sample: the right index of the largest output.
    """

    def __init__(
        self,
        graph: Graph,
        statistics: Statistics,
        scheme: Scheme,
        samples: Samples,
        limit: int | None = None,
        labels: Sequence[int] | None = None,
    ) -> None:
        self.graph, self.statistics, self.scheme, self.samples = graph, statistics, scheme, samples
        self.count = min(samples.total, limit or samples.total)
        if labels is not None and len(labels) < self.count:
            raise DataError(f"{len(labels)} labels for {self.count} samples")
        if labels is not None and len(graph.main.outputs) != 1:
            raise DataError(f"labels are for networks with one output, this one has {len(graph.main.outputs)}")
        self.labels = None if labels is None else [int(label) for label in labels]
        self.block = prepared(graph).main
        self._wanted = tempfile.TemporaryFile()  # noqa: SIM115  (as long as this object lives)
        weakref.finalize(self, self._wanted.close)
        self.float_accuracy = self._run_float()

    def _run_float(self) -> float | None:
        session, right = Session(self.graph), 0
        for number, sample in self.samples.read(range(self.count)):
            outputs = session.run(None, sample)
            for array in outputs:
                self._wanted.write(np.ascontiguousarray(array, np.float32).tobytes())
            right += self._right(number, outputs[0])
        return None if self.labels is None else right / self.count

    def score(self, precisions: Mapping[str, str]) -> Score:
        """Of layer name -> precision. Raises what `quantize` raises."""
        ready = attach_precisions(self.graph, self.statistics, self.scheme, precisions)
        network = quantize(ready, floats=stay_float(self.block, precisions))
        session, right = Session(network), 0
        totals = np.zeros((len(network.outputs), 2))
        self._wanted.seek(0)
        for number, sample in self.samples.read(range(self.count)):
            found = session.run(None, {t.name: _stored(sample[t.name], t) for t in network.inputs})
            real = [_real(array, t) for array, t in zip(found, network.outputs, strict=True)]
            for i, array in enumerate(real):
                wanted = np.frombuffer(self._wanted.read(4 * array.size), np.float32).reshape(array.shape)
                totals[i] += _energy(array - wanted), _energy(wanted)
            right += self._right(number, real[0])
        noise = float(np.mean([_ratio(*total) for total in totals]))
        return Score(noise, None if self.labels is None else right / self.count)

    def _right(self, number: int, output: Array) -> int:
        return 0 if self.labels is None else int(int(np.argmax(output)) == self.labels[number])


def _energy(array: Array) -> float:
    return float(np.square(array, dtype=np.float64).sum())


def _ratio(noise: float, signal: float) -> float:
    if signal > 0:
        return noise / signal
    return 0.0 if noise == 0 else math.inf


def _stored(x: Any, tensor: Tensor) -> Array:
    return quantize_array(x, tensor.quant) if tensor.quant is not None else x


def _real(y: Array, tensor: Tensor) -> Array:
    return dequantize_array(y, tensor.quant) if tensor.quant is not None else np.asarray(y, np.float64)
