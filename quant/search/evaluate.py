"""How near a choice of precisions comes to the float network, by running it: integers in the integer engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..calibration.calibrate import Attaching
from ..legalize.layers import stay_float
from ..legalize.quantize import unchecked
from ..metrics import Judge, Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.graph import Graph
    from tosa_engine.samples.arrays import Samples

    from ..calibration.calibrate import Scheme
    from ..calibration.records import Statistics
    from ..metrics import Metric, Targets


class Evaluator:
    """Scores of one float network with one set of statistics on one set of samples, at most `limit` of them."""

    def __init__(
        self,
        graph: Graph,
        statistics: Statistics,
        scheme: Scheme,
        samples: Samples,
        limit: int | None = None,
        metric: Metric | None = None,
        targets: Targets | None = None,
    ) -> None:
        self.graph, self.statistics, self.scheme = graph, statistics, scheme
        self.judge = Judge(graph, samples, limit, metric, targets)
        self._attaching = Attaching(graph, statistics, scheme)
        self._attaching.find_weight_scales()
        self.block = self._attaching.prepared.main

    def score(self, precisions: Mapping[str, str]) -> Score:
        """Of layer name -> precision. Raises what `quantize` raises."""
        return self.judge.score(self.integers(precisions))

    def integers(self, precisions: Mapping[str, str]) -> Graph:
        """The network in these precisions; floats where they say so. Raises what `quantize` raises."""
        ready = self._attaching.attach(precisions)
        return unchecked(ready, floats=stay_float(self.block, precisions))
