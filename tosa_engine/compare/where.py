"""Where elements differ, in words: a box, channels, rows, a period, a share."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from ..types import Array

AXES: Final = {
    1: ("element",),
    2: ("row", "channel"),
    3: ("sample", "row", "channel"),
    4: ("sample", "row", "column", "channel"),
    5: ("sample", "slice", "row", "column", "channel"),
}
LISTED: Final = 4  # indices that are shown one by one


def where(different: Array) -> str:
    """Of a boolean array with the last axis as channels; "" where at most one element differs."""
    flat = np.flatnonzero(different)
    if flat.size < 2:
        return ""
    if flat.size == different.size:
        return "every element"
    used = [np.unique(axis) for axis in np.nonzero(different)]
    box = prod(len(indices) for indices in used)
    names = AXES.get(different.ndim) or tuple(f"index of axis {i}" for i in range(different.ndim))
    parts = [_axis(n, u, s) for n, u, s in zip(names, used, different.shape, strict=True) if len(u) < s]
    steps = np.unique(np.diff(flat))
    if (box != flat.size or not parts) and flat.size > 2 and steps.size == 1:
        return f"every {_nth(int(steps[0]))} element, from element {flat[0]}"
    if not parts:
        return f"{_percent(flat.size, different.size)} of the elements, all over"
    place = ", ".join(parts)
    return f"{place} only" if box == flat.size else f"{_percent(flat.size, box)} of {place}"


def _axis(name: str, used: Array, size: int) -> str:
    low, high = int(used[0]), int(used[-1])
    if used.size == 1:
        return f"{name} {low}"
    steps = np.unique(np.diff(used))
    if steps.size == 1 and steps[0] == 1:
        return f"{name}s {low}-{high}"
    if steps.size == 1 and used.size > 2:
        return f"every {_nth(int(steps[0]))} {name} from {low} to {high}"
    shown = ", ".join(str(int(i)) for i in used[:LISTED])
    return f"{name}s {shown}" if used.size <= LISTED else f"{used.size} of {size} {name}s ({shown}, ...)"


def _nth(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2g} %"
