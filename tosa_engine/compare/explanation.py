"""What may have caused the differences of two sides: of the first tensor that differs, and of every other one that is
wrong for what it was computed from.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from . import causes, exact
from .forms import in_form_of, whole_numbers
from .isolation import computed_from
from .trial import Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..spec.table import Call
    from ..types import Array
    from .causes import Cause
    from .exact import ExactValue
    from .rows import Row
    from .sides import Side

    Progress = Callable[[list[Call]], Iterable[Call]]


@dataclass
class Explanation:
    """Of the tensor `row`. `tried` is how many causes were put to the test, `stopped` how the search ended before its
    end.
    """

    row: Row
    causes: list[Cause] = field(default_factory=list)
    tried: int = 0
    stopped: str = ""
    exact_value: ExactValue | None = None


class Evidence:
    """The tensors of an integer model, and those that the other side has in their place, as the model stores them."""

    def __init__(self, here: Side, there: Side, rows: Sequence[Row]) -> None:
        turned = here.kind != "integer model"
        self.model, other = (there, here) if turned else (here, there)
        self.rows = {row.there if turned else row.here: row for row in rows if row.relation == "exact"}
        self.given: dict[str, Array] = {}
        for name, row in self.rows.items():
            array = self._stored(name, other.tensors[row.here if turned else row.there])
            if array is not None:
                self.given[name] = array

    def _stored(self, name: str, array: Array) -> Array | None:
        wanted = self.model.tensors[name]
        whole = whole_numbers(array, wanted, self.model.quant(name)) if array.dtype.kind == "f" else array
        if whole is None:
            return None
        got = in_form_of(whole, wanted)[0]
        stored: Array = got.astype(wanted.dtype)
        return stored if stored.shape == wanted.shape and np.array_equal(stored, got) else None

    def name_of(self, row: Row) -> str:
        return next(name for name, one in self.rows.items() if one is row)

    def local(self) -> dict[str, Array] | None:
        """What the model computes from the other side's tensors."""
        assert self.model.graph is not None
        inputs = {name: self.model.tensors[name] for name in self.model.inputs}
        return computed_from(self.model.graph, inputs | self.given)


def explain(
    here: Side, there: Side, rows: Sequence[Row], first: Row, seconds: float | None, progress: Progress
) -> Iterable[Explanation]:
    """One after the other, as they begin: each goes on until the next is asked for. `Row.local` and `Row.dump_fault` of
    the rows are set before the first.
    """
    until = math.inf if seconds is None else time.monotonic() + seconds
    if "integer model" not in (here.kind, there.kind):
        return
    evidence = Evidence(here, there, rows)
    target = evidence.name_of(first)
    if target not in evidence.given:
        return
    model = evidence.model
    assert model.graph is not None
    local = _isolate(evidence)
    known = [name for name, row in evidence.rows.items() if not row.different]
    trial = Trial(model.graph, model.tensors, known, target, evidence.given[target])
    found = Explanation(first)
    yield found
    _search(found, trial, until, seconds, progress)
    for name, row in evidence.rows.items() if local is not None else ():
        if row is first or not row.local or row.dump_fault or not row.different or time.monotonic() > until:
            continue
        values = {**model.tensors, **(local or {}), **{n: a for n, a in evidence.given.items() if n != name}}
        trial = Trial(model.graph, values, [n for n in evidence.given if n != name], name, evidence.given[name])
        found = Explanation(row)
        yield found
        _search(found, trial, until, seconds, progress)


def _search(found: Explanation, trial: Trial, until: float, seconds: float | None, progress: Progress) -> None:
    found.exact_value = exact.explain(trial)
    search = causes.Search(trial, until)
    try:
        search.run(progress)
        found.stopped = f"after {seconds:g} s" if search.out_of_time else ""
    except KeyboardInterrupt:
        found.stopped = "by an interrupt"
        raise
    finally:
        found.causes, found.tried = search.best(), search.tried


def _isolate(evidence: Evidence) -> dict[str, Array] | None:
    local = evidence.local()
    if local is not None:
        for name, row in evidence.rows.items():
            if name in local and name in evidence.given:
                row.local = int(np.count_nonzero(local[name] != evidence.given[name]))
        _tell_dump_faults(evidence)
    return local


def _tell_dump_faults(evidence: Evidence) -> None:
    """A tensor is wrong in the dump alone where all that was computed from it is right, and couldn't be with it."""
    assert evidence.model.graph is not None
    consumers = evidence.model.graph.main.consumers()
    for name, row in evidence.rows.items():
        if not row.local:
            continue
        readers = [out for op in consumers.get(name, ()) for out in op.outputs]
        known = [evidence.rows[out] for out in readers if out in evidence.rows]
        agree = bool(known) and len(known) == len(readers) and not any(reader.different for reader in known)
        row.dump_fault = agree and any(reader.local for reader in known)
