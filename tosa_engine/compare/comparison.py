"""Two sides beside each other: tensor by tensor, and what may have caused the first difference."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..types import count
from . import causes, exact
from .agreement import Agreement
from .arrays import Tolerance, equal
from .names import line_up, selected
from .trial import Trial

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import QParams
    from ..types import Array
    from .causes import Cause
    from .exact import ExactValue
    from .names import Lineup
    from .sides import Side

TAIL = 8  # LSB that are counted one by one; what is beyond counts as "more"


@dataclass
class Row:
    """One tensor of both sides. `relation`: `exact` of integers, `floats`, `real` (integers beside floats), or `form`
    where dtypes or shapes don't go together (`note` says how).

    `different` counts elements that differ: by bits, of floats beyond the tolerance; None for `real`.
    """

    here: str
    there: str
    relation: str
    elements: int = 0
    different: int | None = None
    index: tuple[int, ...] = ()
    values: tuple[object, object] = (None, None)
    lsb: Counter[int] = field(default_factory=Counter)
    agreement: Agreement | None = None
    note: str = ""


@dataclass
class Comparison:
    """`rows` in execution order. `first` is the first with a difference; `causes` and `exact_value` are about it."""

    here: Side
    there: Side
    lineup: Lineup
    rows: list[Row]
    first: Row | None = None
    causes: list[Cause] = field(default_factory=list)
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
    explain: bool = True,
) -> Comparison:
    """`mapping` and `by_order` as in `names.line_up`; `tensors` is a regular expression that selects names of `here`.

    Causes are looked for (unless `explain` is off) where a side is an integer model and the other one's tensor has
    integers, too.

    Raises DataError and UsageError for sides that have nothing in common, and for names that aren't there.
    """
    lineup = line_up(here.named, there.named, mapping, by_order=by_order)
    chosen = set(selected([name for name, _ in lineup.pairs], tensors)) if tensors is not None else None
    rows = []
    for name, other in lineup.pairs:
        if chosen is not None and name not in chosen:
            continue
        if count(here.form(name)[1]) != count(there.form(other)[1]):
            rows.append(_other_form(name, other, here, there))
            continue
        a = here.tensors[name]
        fitted, note = in_form_of(there.tensors[other], a)
        rows.append(
            _row(name, other, a, fitted, here.quant(name) or there.quant(other), tolerance or Tolerance(), note)
        )
    result = Comparison(here, there, lineup, rows)
    result.first = next(iter(result.different), None)
    if explain and result.first is not None and result.first.relation == "exact":
        _explain(result)
    return result


def _other_form(name: str, other: str, here: Side, there: Side) -> Row:
    """Of tensors of different sizes, which aren't read."""
    (first, shape), (second, its) = here.form(name), there.form(other)
    note = f"{first}{list(shape)} here, {second}{list(its)} there"
    return Row(name, other, "form", count(shape), note=note)


def in_form_of(array: Array, like: Array) -> tuple[Array, str]:
    """An array in another one's form, and a note that says how: signed for unsigned, with other dimensions of 1, with
    channels last for first. As it is, where nothing fits.
    """
    array, first = _signed(array, like)
    array, second = _shaped(array, like.shape)
    return array, "; ".join(filter(None, [first, second]))


def _signed(array: Array, like: Array) -> tuple[Array, str]:
    """Unsigned integers beside signed ones of as many bits: the same bits if that makes both equal, else half the range
    less, as other programs store what is int8 here with its zero point moved.
    """
    if array.dtype.kind != "u" or like.dtype.kind != "i" or array.dtype.itemsize != like.dtype.itemsize:
        return array, ""
    bits = array.view(like.dtype)
    if np.array_equal(bits.reshape(-1), like.reshape(-1)):
        return bits, f"{array.dtype} there, the same bits"
    half = 1 << (8 * array.dtype.itemsize - 1)
    return (array.astype(np.int64) - half).astype(like.dtype), f"{array.dtype} there, read as {half} less"


def _shaped(array: Array, shape: tuple[int, ...]) -> tuple[Array, str]:
    if array.shape == shape:
        return array, ""
    if [d for d in array.shape if d != 1] == [d for d in shape if d != 1]:
        return array.reshape(shape), f"{list(array.shape)} read as {list(shape)}"
    if array.ndim == len(shape) > 2 and (array.shape[0], *array.shape[2:], array.shape[1]) == shape:
        return np.moveaxis(array, 1, -1), "channels first there"
    return array, ""


def _row(name: str, other: str, a: Array, b: Array, quant: QParams | None, tolerance: Tolerance, note: str) -> Row:
    kinds = "".join(sorted("f" if array.dtype.kind not in "iub" else "i" for array in (a, b)))
    relation = {"ii": "exact", "ff": "floats", "fi": "real"}[kinds]
    row = Row(name, other, relation, a.size, note=note)
    if a.shape != b.shape:
        row.relation, row.note = "form", f"{a.dtype}{list(a.shape)} here, {b.dtype}{list(b.shape)} there"
    elif relation == "real":
        stored, real = (a, b) if a.dtype.kind in "iub" else (b, a)
        if quant is None:
            row.relation, row.note = "unknown", "integers beside floats, and their scale is unknown"
        else:
            row.agreement = Agreement()
            row.agreement.add(stored, real, quant)
    elif relation == "floats":
        row.agreement = Agreement()
        row.agreement.add_floats(b, a)
        _differences(row, a, b, ~equal(b, a, tolerance))
    else:
        a, b = a.astype(np.int64), b.astype(np.int64)
        _differences(row, a, b, a != b)
        values, counts = np.unique(np.clip(b - a, -TAIL - 1, TAIL + 1), return_counts=True)
        row.lsb = Counter({int(v): int(c) for v, c in zip(values, counts, strict=True) if v})
    return row


def _differences(row: Row, a: Array, b: Array, different: Array) -> None:
    row.different = int(np.count_nonzero(different))
    if row.different:
        row.index = tuple(int(i) for i in np.argwhere(different)[0])
        row.values = a[row.index].item(), b[row.index].item()


def _explain(result: Comparison) -> None:
    """The causes of the first difference, as seen from the side that is an integer model."""
    first = result.first
    assert first is not None
    equal = [row for row in result.rows if row.relation == "exact" and not row.different]
    if result.here.kind == "integer model":
        model, target, known = result.here, first.here, [row.here for row in equal]
        got = in_form_of(result.there.tensors[first.there], model.tensors[target])[0]
    elif result.there.kind == "integer model":
        model, target, known = result.there, first.there, [row.there for row in equal]
        got = in_form_of(result.here.tensors[first.here], model.tensors[target])[0]
    else:
        return
    assert model.graph is not None
    wanted = model.tensors[target]
    as_stored = got.astype(wanted.dtype)
    if as_stored.shape != wanted.shape or not np.array_equal(as_stored, got):
        return
    trial = Trial(model.graph, model.tensors, known, target, as_stored)
    result.causes, result.exact_value = causes.find(trial), exact.explain(trial)
