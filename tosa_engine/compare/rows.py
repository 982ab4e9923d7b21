"""One tensor of two sides beside itself: how many elements differ, by how much, or why that can't be said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..types import count
from .agreement import Agreement
from .arrays import Tolerance, equal
from .forms import in_form_of, is_rounded, whole_numbers
from .where import where

if TYPE_CHECKING:
    from ..graph import QParams
    from ..types import Array
    from .sides import Side

TAIL = 8  # LSB that are counted one by one; what is beyond counts as "more"


@dataclass
class Row:
    """One tensor of both sides. `relation`: `exact` of integers, `floats`, `real` (integers beside floats), `form`
    where dtypes or shapes don't go together, or `unknown` where nothing can be said; `note` says why.

    `echo`: it is an input of a model, which the other side only repeats. `where` says in words which elements differ,
    `local` how many do if the model computes them from the other side's tensors; `dump_fault`: it is wrong in the dump
    alone, since what was computed from it is right.

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
    echo: bool = False
    where: str = ""
    local: int | None = None
    dump_fault: bool = False


def compared(name: str, other: str, here: Side, there: Side, tolerance: Tolerance) -> Row:
    """Tensor `name` of one side and `other` of the other one."""
    row = _compared(name, other, here, there, tolerance)
    row.echo = name in here.inputs or other in there.inputs
    return row


def _compared(name: str, other: str, here: Side, there: Side, tolerance: Tolerance) -> Row:
    if count(here.form(name)[1]) != count(there.form(other)[1]):
        return _other_form(name, other, here, there)
    quant = here.quant(name) or there.quant(other)
    a, b = here.tensors[name], there.tensors[other]
    (a, first), (b, second) = _as_stored(here, a, b, quant), _as_stored(there, b, a, quant)
    fitted, third = in_form_of(b, a)
    return _row(name, other, a, fitted, quant, tolerance, "; ".join(filter(None, [first, second, third])))


def _other_form(name: str, other: str, here: Side, there: Side) -> Row:
    """Of tensors of different sizes, which aren't read."""
    (first, shape), (second, its) = here.form(name), there.form(other)
    note = f"{first}{list(shape)} here, {second}{list(its)} there"
    return Row(name, other, "form", count(shape), note=note)


def _as_stored(side: Side, array: Array, other: Array, quant: QParams | None) -> tuple[Array, str]:
    """A dump's array, with whole numbers in floats as integers where the other side has integers."""
    if side.graph is not None or array.dtype.kind != "f" or other.dtype.kind not in "iub":
        return array, ""
    found = whole_numbers(array, other, quant)
    if found is None:
        return array, ""
    note = f"whole numbers in {array.dtype}, read as {found.dtype}"
    return found, f"{note}; low bits of large ones aren't known" if is_rounded(array) else note


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
        row.where = where(different)
