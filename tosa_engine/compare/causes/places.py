"""Right elements at wrong places: rotated channels, a group that nobody wrote, a tile of another place."""

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

LEAST: Final = 4  # elements that differ, of which a place says something


def _is_target(trial: Trial, call: Call) -> bool:
    return call.operator.outputs[0] == trial.target and trial.wanted.ndim > 1


@hypothesis("rotated channels", fitted=True)
def rotated(trial: Trial, call: Call) -> Found:
    if not _is_target(trial, call):
        return
    wanted, channels = trial.wanted, trial.wanted.shape[-1]
    for by in range(1, channels):
        if np.array_equal(np.roll(wanted[..., :], by, -1)[..., 0], trial.got[..., 0]):
            yield f"channels rotated by {by if 2 * by <= channels else by - channels:+}", np.roll(wanted, by, -1)


@hypothesis("channel of another", fitted=True)
def another(trial: Trial, call: Call) -> Found:
    """One channel holds what is right in another one."""
    if not _is_target(trial, call) or trial.differs.sum() < LEAST:
        return
    axes = tuple(range(trial.wanted.ndim - 1))
    bad = np.flatnonzero(trial.differs.any(axis=axes))
    if bad.size != 1:
        return
    for channel in range(trial.wanted.shape[-1]):
        if channel != bad[0] and np.array_equal(trial.wanted[..., channel], trial.got[..., bad[0]]):
            other = trial.wanted.copy()
            other[..., bad[0]] = other[..., channel]
            yield f"channel {bad[0]} holds the values of channel {channel}", other


@hypothesis("unwritten channels", fitted=True)
def unwritten(trial: Trial, call: Call) -> Found:
    """The last channels hold one value."""
    if not _is_target(trial, call) or trial.differs.sum() < LEAST:
        return
    axes = tuple(range(trial.wanted.ndim - 1))
    first, channels = int(np.flatnonzero(trial.differs.any(axis=axes))[0]), trial.wanted.shape[-1]
    while first and np.unique(trial.got[..., first - 1 :]).size == 1:
        first -= 1
    values = np.unique(trial.got[..., first:])
    if first and values.size == 1:
        other = trial.wanted.copy()
        other[..., first:] = values[0]
        what = f"channels {first}-{channels - 1}" if first < channels - 1 else f"channel {first}"
        yield f"the last group isn't written: {what} hold nothing but {values[0]}", other


@hypothesis("stale tile", fitted=True)
def stale(trial: Trial, call: Call) -> Found:
    """A box holds what belongs into its neighbour along one axis."""
    if not _is_target(trial, call) or trial.differs.sum() < LEAST:
        return
    used = [np.unique(axis) for axis in np.nonzero(trial.differs)]
    low, high = [int(u[0]) for u in used], [int(u[-1]) + 1 for u in used]
    for axis in range(trial.wanted.ndim - 1):
        if high[axis] - low[axis] == trial.wanted.shape[axis]:
            continue
        for size in range(1, trial.wanted.shape[axis]):
            for by in (size, -size):
                found = _box_from(trial.wanted, low, high, axis, by)
                if found is not None and np.array_equal(found, trial.got):
                    box = ", ".join(f"{a}-{b - 1}" for a, b in zip(low, high, strict=True))
                    yield f"a stale tile: [{box}] holds what belongs {by:+} further along axis {axis}", found
                    return


def _box_from(wanted: Array, low: list[int], high: list[int], axis: int, by: int) -> Array | None:
    if low[axis] + by < 0 or high[axis] + by > wanted.shape[axis]:
        return None
    to = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
    there = tuple(slice(a + by, b + by) if i == axis else s for i, (a, b, s) in
                  enumerate(zip(low, high, to, strict=True)))  # fmt: skip
    found = wanted.copy()
    found[to] = wanted[there]
    return found
