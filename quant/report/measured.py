"""What is measured of one tensor of an integer network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.compare.agreement import Agreement

from ..calibration.statistics import TensorStatistics
from .sizes import NO_SIZES

if TYPE_CHECKING:
    from tosa_engine.graph import QParams
    from tosa_engine.types import Array

    from .sizes import Sizes


@dataclass
class Measured:
    """One tensor of both graphs.

    `name` is the float model's, `stored` the integer graph's; `operator` the float operator that writes it (empty: an
    input), `layer` what selectors of `quantize --layer` call the layer that it is of. `local`: the integer operators
    are given quantized floats; `cumulative`: each graph runs on its own. `beyond` counts floats that the integer tensor
    can't hold. `peaks` are the largest weights of each output channel; `per_channel`: each has a scale of its own.
    `moves`: it only moves values. `effect`: what its own error alone does to the outputs (`effects.measure_effects`).
    """

    name: str
    stored: str
    operator: str
    layer: str
    dtype: str
    quant: QParams
    local: Agreement = field(default_factory=Agreement)
    cumulative: Agreement = field(default_factory=Agreement)
    seen: TensorStatistics = field(default_factory=TensorStatistics)
    beyond: int = 0
    peaks: tuple[float, ...] = ()
    per_channel: bool = False
    is_output: bool = False
    moves: bool = False
    effect: Agreement | None = None
    sizes: Sizes = NO_SIZES

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest real number that the integer tensor holds."""
        q = self.quant
        return tuple((code - q.zero_point[0]) * q.scale[0] for code in (q.low, q.high))  # type: ignore[return-value]

    @property
    def saturation(self) -> float:
        """The share of the floats beyond the range by more than one step."""
        return self.beyond / max(self.local.elements, 1)

    def add(self, real: Array, cumulative: Array, local: Array) -> None:
        """Count one sample's floats, and the integers of both ways."""
        self.local.add(local, real, self.quant)
        self.cumulative.add(cumulative, real, self.quant)
        self.seen.see(real)
        low, high = self.range
        step = self.quant.scale[0] * (1 + 1e-6)  # softmax's 1.0 is just one step beyond its 255 / 256
        self.beyond += int(np.count_nonzero((real < low - step) | (real > high + step)))
