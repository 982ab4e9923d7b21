"""What an integer network's outputs lose, sample by sample, and a metric of both networks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.compare.agreement import Agreement
from tosa_engine.errors import DataError
from tosa_engine.qparams.arrays import dequantize_array

from ..metrics import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.compare.pairs import Pair
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    from ..metrics import Metric, Targets
    from ..metrics.tallies import Tally


@dataclass(frozen=True)
class SampleError:
    """`sqnr`: of the output, of several the worst; `largest`: the largest difference, as a real number; `real` and
    `integer`: what the metric is of this sample alone, where it has such a value.
    """

    number: int
    sqnr: float
    largest: float
    real: float | None = None
    integer: float | None = None


class OutputErrors:
    """The outputs of both networks, counted sample by sample. Outputs whose scale nobody knows don't count."""

    def __init__(
        self,
        float_graph: Graph,
        integer_graph: Graph,
        found: Iterable[Pair],
        metric: Metric | None = None,
        targets: Targets | None = None,
    ) -> None:
        scales = {pair.stored: pair.quant for pair in found}
        outputs = zip(float_graph.outputs, integer_graph.outputs, strict=True)
        self._outputs = [
            (
                real.name,
                stored.name,
                scales.get(stored.name, stored.quant),
                stored.dtype.is_float == real.dtype.is_float,
            )
            for real, stored in outputs
        ]
        self._metric, self._targets = metric, targets
        self._real: Tally | None = None if metric is None else metric.tally()
        self._integer: Tally | None = None if metric is None else metric.tally()

    def add(self, number: int, real: Mapping[str, Array], stored: Mapping[str, Array]) -> SampleError:
        sqnr, largest = math.inf, 0.0
        pairs: dict[str, tuple[Array, Array]] = {}
        for name, other, quant, alike in self._outputs:
            if quant is None and not alike:
                continue
            array = stored[other] if quant is None else dequantize_array(stored[other], quant)
            pairs[name] = real[name], array
            agreement = Agreement()
            agreement.add_floats(array, real[name])
            sqnr = min(sqnr, agreement.sqnr)
            difference = np.abs(array.astype(np.float64) - real[name].astype(np.float64))
            largest = max(largest, float(difference.max(initial=0.0)))
        return SampleError(number, sqnr, largest, *self._counted(number, pairs))

    def readings(self) -> tuple[Reading | None, Reading | None]:
        """The metric of the float and of the integer network."""
        if self._metric is None or self._real is None or self._integer is None:
            return None, None
        name = self._metric.name
        return Reading(name, self._real.value()), Reading(name, self._integer.value())

    def _counted(self, number: int, pairs: Mapping[str, tuple[Array, Array]]) -> tuple[float | None, float | None]:
        if self._targets is None or self._real is None or self._integer is None:
            return None, None
        if number >= len(self._targets):
            raise DataError(f"{self._targets.source}: {len(self._targets)} targets, and more samples")
        target = self._targets[number]
        return (
            self._real.add({name: real for name, (real, _) in pairs.items()}, target),
            self._integer.add({name: integer for name, (_, integer) in pairs.items()}, target),
        )
