"""Two sides beside each other: tensor by tensor, and what may have caused the first difference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from . import causes, exact
from .arrays import Tolerance
from .forms import in_form_of, whole_numbers
from .names import line_up, selected
from .requirement import Require, not_compared
from .rows import compared
from .trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..graph import QParams
    from ..spec.table import Call
    from ..types import Array
    from .causes import Cause
    from .exact import ExactValue
    from .names import Lineup
    from .requirement import Missing
    from .rows import Row
    from .sides import Side


@dataclass
class Comparison:
    """`rows` in execution order. `missing` are tensors that had to be compared and weren't. `first` is the first with a
    difference; `causes` and `exact_value` are about it, `tried` is how many causes were put to the test
    (None: nobody looked for them), `stopped` how the search ended before its end.
    """

    here: Side
    there: Side
    lineup: Lineup
    rows: list[Row]
    missing: list[Missing] = field(default_factory=list)
    first: Row | None = None
    causes: list[Cause] = field(default_factory=list)
    tried: int | None = None
    stopped: str = ""
    exact_value: ExactValue | None = None

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


def explain(
    result: Comparison, seconds: float | None = None, progress: Callable[[list[Call]], Iterable[Call]] = iter
) -> None:
    """Look for the causes of the first difference, as seen from the side that is an integer model: all of them, or as
    far as one gets in so many seconds; then `stopped` says so. `progress` goes over the operators in between.

    What was found when it is interrupted is in the result.
    """
    trial = _trial(result)
    if trial is None:
        return
    result.exact_value = exact.explain(trial)
    search = causes.Search(trial, seconds)
    try:
        search.run(progress)
        result.stopped = f"after {seconds:g} s" if search.out_of_time else ""
    except KeyboardInterrupt:
        result.stopped = "by an interrupt"
        raise
    finally:
        result.causes, result.tried = search.best(), search.tried


def _trial(result: Comparison) -> Trial | None:
    """What hypotheses about the first difference are tested on; None where no integer model wrote it."""
    first = result.first
    if first is None or first.relation != "exact":
        return None
    equal = [row for row in result.rows if row.relation == "exact" and not row.different]
    if result.here.kind == "integer model":
        model, target, known = result.here, first.here, [row.here for row in equal]
        given = result.there.tensors[first.there]
    elif result.there.kind == "integer model":
        model, target, known = result.there, first.there, [row.there for row in equal]
        given = result.here.tensors[first.here]
    else:
        return None
    assert model.graph is not None
    wanted = model.tensors[target]
    got = in_form_of(_whole(given, wanted, model.quant(target)), wanted)[0]
    as_stored = got.astype(wanted.dtype)
    if as_stored.shape != wanted.shape or not np.array_equal(as_stored, got):
        return None
    return Trial(model.graph, model.tensors, known, target, as_stored)


def _whole(given: Array, wanted: Array, quant: QParams | None) -> Array:
    found = whole_numbers(given, wanted, quant) if given.dtype.kind == "f" else None
    return given if found is None else found
