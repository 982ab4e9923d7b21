"""Two sides beside each other, sample after sample: per tensor all samples together, and the worst one."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .agreement import Agreement

if TYPE_CHECKING:
    from .comparison import Comparison
    from .requirement import Missing
    from .rows import Row

NOT_COMPARED = ("form", "unknown")


@dataclass
class Tally:
    """One tensor over all samples; numbers of elements are of one sample.

    `different` counts elements in all samples together, `differing` samples. `worst` is the sample with the lowest
    SQNR, or of integers beside integers the one with the most elements that differ; `worst_row` is its row.
    """

    here: str
    there: str
    relation: str
    elements: int
    worst: int
    worst_row: Row
    samples: int = 0
    different: int | None = None
    differing: int = 0
    first: int | None = None
    lsb: Counter[int] = field(default_factory=Counter)
    agreement: Agreement | None = None
    note: str = ""

    def add(self, sample: int, row: Row) -> None:
        self.samples += 1
        if row.relation in NOT_COMPARED and self.relation not in NOT_COMPARED:
            self.relation, self.note = row.relation, f"{row.note}, in sample {sample}"
        if row.different is not None:
            self.different = (self.different or 0) + row.different
        if row.different or row.relation == "form":
            self.differing += 1
            self.first = sample if self.first is None else self.first
        self.lsb += row.lsb
        if row.agreement is not None:
            self.agreement = self.agreement or Agreement()
            self.agreement.join(row.agreement)
        if badness(row) > badness(self.worst_row):
            self.worst, self.worst_row = sample, row

    @property
    def mean_different(self) -> float | None:
        """Elements that differ, per sample."""
        return None if self.different is None else self.different / max(self.samples, 1)


def badness(row: Row) -> tuple[float, float]:
    """What makes a sample the worst one of a tensor."""
    return (-row.agreement.sqnr if row.agreement is not None else -math.inf, row.different or 0)


@dataclass
class SamplesComparison:
    """`tallies` in execution order; `missing` is what wasn't compared in some sample, `beyond` counts in
    all samples what didn't fit. `example` is the comparison of
    sample `at`: of the first tensor that differs, that with the most elements that do; None where nothing differs.
    """

    samples: int
    model: Comparison
    tallies: list[Tally]
    missing: list[Missing] = field(default_factory=list)
    at: int | None = None
    example: Comparison | None = None
    beyond: Counter[str] = field(default_factory=Counter)

    @property
    def different(self) -> list[Tally]:
        return [tally for tally in self.tallies if tally.differing]


class ComparisonCollector:
    """Comparisons of the same sides, added one by one."""

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}
        self._model: Comparison | None = None
        self._missing: dict[tuple[str, str], Missing] = {}
        self._samples = 0
        self._beyond: Counter[str] = Counter()

    def add(self, sample: int, found: Comparison) -> None:
        if self._model is None:
            self._model = found
        self._samples += 1
        self._beyond.update(found.beyond)
        for one in found.missing:
            self._missing.setdefault((one.side, one.name), one)
        for row in found.rows:
            tally = self._tallies.get(row.here)
            if tally is None:
                tally = Tally(row.here, row.there, row.relation, row.elements, sample, row, note=row.note)
                self._tallies[row.here] = tally
            tally.add(sample, row)

    def done(self) -> SamplesComparison:
        """The tallies; `example` is left to who can compare a sample again."""
        assert self._model is not None
        result = SamplesComparison(
            self._samples, self._model, list(self._tallies.values()), list(self._missing.values())
        )
        result.beyond = self._beyond
        if result.different:
            first = result.different[0]
            result.at = first.worst if first.worst_row.different else first.first
        return result
