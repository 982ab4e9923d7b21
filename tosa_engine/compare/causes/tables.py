"""TABLE: entries, indices, interpolation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]

MOST_DELTA: Final = 4  # of an entry that is only seen through what comes behind the table
SHOWN: Final = 4


@hypothesis("table entry", "TABLE")
def entry(trial: Trial, call: Call) -> Found:
    """One entry, or at a table of 256 a few, are others."""
    table, values = trial.array(call, "table"), trial.array(call, "input1").astype(np.int64)
    if call.operator.outputs[0] == trial.target:
        yield from _whole(trial, table, values) if table.size == 256 else _line(trial, call, table, values)
    elif values.shape == trial.got.shape:
        used = np.unique(values[trial.differs] + 128 if table.size == 256 else (values[trial.differs] + 32768) >> 7)
        around = used if table.size == 256 else np.unique(np.concatenate([used, used + 1]))
        if used.size <= 2:  # one entry is read by one value, or by two neighbouring intervals
            for index in around:
                for delta in sorted(range(-MOST_DELTA, MOST_DELTA + 1), key=abs)[1:]:
                    yield _changed(trial, call, table, int(index), delta)


def _whole(trial: Trial, table: Array, values: Array) -> Found:
    """Of 256 entries: what the other side has for each input is its entry."""
    other = table.copy()
    other[(values + 128)[trial.differs]] = trial.got[trial.differs]
    changed = np.flatnonzero(other != table)
    some = [f"entry {i} (input {i - 128}) is {other[i]} instead of {table[i]}" for i in changed[:SHOWN]]
    more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
    steps = {int(d) for d in other[changed].astype(int) - table[changed]}
    kind = "table entry off by one" if len(changed) == 1 and steps <= {-1, 1} else "another table"
    yield f"{kind}: {', '.join(some)}{more}", other[values + 128]


def _line(trial: Trial, call: Call, table: Array, values: Array) -> Found:
    """Of 513 entries: the first difference tells by how much either end of its interval differs."""
    first = np.unravel_index(int(np.argmax(trial.differs)), trial.differs.shape)
    value = int(values[first]) + 32768
    index, fraction = value >> 7, value & 127
    difference = int(trial.got[first]) - int(trial.wanted[first])
    for at, weight in ((index, 128 - fraction), (index + 1, fraction)):
        if weight and difference % weight == 0:
            yield _changed(trial, call, table, at, difference // weight)


def _changed(trial: Trial, call: Call, table: Array, index: int, delta: int) -> tuple[str, Array | None]:
    other = table.astype(np.int64)
    other[index] += delta
    what = "off by one" if abs(delta) == 1 else f"off by {abs(delta)}"
    text = f"table entry {what}: entry {index} is {other[index]} instead of {table[index]}"
    kept = np.iinfo(table.dtype).min <= other[index] <= np.iinfo(table.dtype).max
    return text, trial.again(call, table=other.astype(table.dtype)) if kept else None


@hypothesis("table index", "TABLE")
def index(trial: Trial, call: Call) -> Found:
    table, values = trial.array(call, "table"), trial.array(call, "input1").astype(np.int64)
    if table.size == 256:
        yield "table read with unsigned inputs", table[values & 255]
        for delta in (1, -1):
            yield f"table shifted by one ({delta:+})", table[np.clip(values + 128 + delta, 0, 255)]
    else:
        left = table.astype(np.int32)[(values + 32768) >> 7] << 7
        yield "no interpolation between table entries", left
