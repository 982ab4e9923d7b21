"""How far integers are from the floats that they stand for: sums that stream over samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..graph import QParams
    from ..types import Array


@dataclass
class Agreement:
    """Of one tensor over all samples. LSB are steps of the integer tensor's scale."""

    signal: float = 0.0
    noise: float = 0.0
    product: float = 0.0
    power: float = 0.0
    largest: float = 0.0
    total: float = 0.0
    elements: int = 0

    def add(self, stored: Array, real: Array, quant: QParams) -> None:
        """Count integers beside the floats that they stand for, of one shape."""
        wanted = np.asarray(real, np.float64)
        got = (np.asarray(stored, np.float64) - quant.zero_point[0]) * quant.scale[0]
        distance = np.abs(got - wanted) / quant.scale[0]
        self.largest = max(self.largest, float(distance.max(initial=0.0)))
        self.total += float(distance.sum())
        self.add_floats(got, wanted)

    def add_floats(self, got: Array, wanted: Array) -> None:
        """Count floats beside floats; without LSB."""
        got, wanted = np.asarray(got, np.float64).reshape(-1), np.asarray(wanted, np.float64).reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            noise = got - wanted
            self.signal += float(wanted @ wanted)
            self.noise += float(noise @ noise)
            self.product += float(got @ wanted)
            self.power += float(got @ got)
        self.elements += got.size

    def join(self, other: Agreement) -> None:
        """Count what another one counted, too."""
        for name in ("signal", "noise", "product", "power", "total", "elements"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)

    @property
    def sqnr(self) -> float:
        """Signal to quantization noise in dB: 10 log10(sum real^2 / sum (real - integer)^2); infinite without noise."""
        if self.noise == 0:
            return math.inf
        ratio = self.signal / self.noise
        return 10 * math.log10(ratio) if ratio > 0 else -math.inf

    @property
    def cosine(self) -> float:
        """Of the angle between both, seen as vectors; 1 where both are zero."""
        size = math.sqrt(self.signal) * math.sqrt(self.power)
        if size == 0:
            return 1.0 if self.signal == self.power else 0.0
        return self.product / size

    @property
    def mean(self) -> float:
        """The mean of the absolute distances, in LSB."""
        return self.total / max(self.elements, 1)
