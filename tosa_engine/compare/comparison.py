"""Two sides beside each other: tensor by tensor, and what may have caused the first difference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..oracle import assuming
from . import explanation
from .arrays import Tolerance
from .names import line_up, selected
from .requirement import Require, not_compared
from .rows import compared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..oracle import Overflow
    from .causes import Cause
    from .explanation import Explanation, Progress
    from .names import Lineup
    from .requirement import Missing
    from .rows import Row
    from .sides import Side


@dataclass
class Comparison:
    """`rows` in execution order. `missing` are tensors that had to be compared and weren't. `first` is the first with a
    difference. `explanations` are what may have caused it and, from the second on, other differences that aren't passed
    on from tensors before them.
    """

    here: Side
    there: Side
    lineup: Lineup
    rows: list[Row]
    missing: list[Missing] = field(default_factory=list)
    first: Row | None = None
    explanations: list[Explanation] = field(default_factory=list)

    @property
    def causes(self) -> list[Cause]:
        """Of the first difference."""
        return self.explanations[0].causes if self.explanations else []

    @property
    def assumed(self) -> Overflow | None:
        """Of the models, what devices do with values that don't fit."""
        return self.here.assumed or self.there.assumed

    @property
    def beyond(self) -> dict[str, int]:
        """The elements of each node that don't fit, and so were computed as `assumed`."""
        return {**self.there.beyond, **self.here.beyond}

    @property
    def different(self) -> list[Row]:
        return [row for row in self.rows if row.different or row.relation == "form"]


def compare_sides(
    here: Side,
    there: Side,
    *,
    mapping: Mapping[str, str] | None = None,
    by_order: bool = False,
    tensors: str | None = None,
    tolerance: Tolerance | None = None,
    require: Require = Require.OUTPUTS,
    seconds: float | None = None,
) -> Comparison:
    """`mapping` and `by_order` as in `names.line_up`; `tensors` is a regular expression that selects names of `here`;
    `require` says which tensors must be compared: `missing` of the result are the others.

    Causes are looked for where a side is an integer model and the other one's tensor has integers, too: for as long as
    it takes, or for so many `seconds` (0: not at all).

    Raises DataError and UsageError for sides that have nothing in common, and for names that aren't there.
    """
    lineup = line_up(here.named, there.named, mapping, by_order=by_order)
    chosen = set(selected([name for name, _ in lineup.pairs], tensors)) if tensors is not None else None
    rows = [
        compared(name, other, here, there, tolerance or Tolerance())
        for name, other in lineup.pairs
        if chosen is None or name in chosen
    ]
    result = Comparison(here, there, lineup, rows, not_compared(here, there, lineup, rows, require, tensors))
    result.first = next(iter(result.different), None)
    if seconds != 0:
        explain(result, seconds)
    return result


def explain(result: Comparison, seconds: float | None = None, progress: Progress = iter) -> None:
    """Look for the causes of the differences, as seen from the side that is an integer model: all of them, or as far as
    one gets in so many seconds. `progress` goes over the operators in between.

    What was found when it is interrupted is in the result.
    """
    if result.first is None or result.first.relation != "exact":
        return
    with assuming(result.assumed):
        for one in explanation.explain(result.here, result.there, result.rows, result.first, seconds, progress):
            result.explanations.append(one)
