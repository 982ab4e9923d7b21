"""Inputs changed so that one value goes as far as it should, if slopes hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..graph import Tensor
    from ..types import Array, DType

FINE: Final = 64  # inputs that are changed one by one
SHAKES: Final = 16  # attempts at that
HIT: Final = 0.5  # from the goal, where slopes are exact


def aimed(
    rng: np.random.Generator,
    inputs: Iterable[Tensor],
    feeds: Mapping[str, Array],
    slope: Mapping[str, Array],
    away: float,
    share: float,
) -> dict[str, Array]:
    """Inputs with which the value is `away` from where it was: a `share` of them may go to the ends of their formats,
    then a few go step by step.
    """
    found = dict(feeds)
    for tensor in inputs:
        if tensor.name in slope and away:
            by = slope[tensor.name].reshape(-1).astype(np.float64)
            value = feeds[tensor.name].reshape(-1).astype(np.int64)
            away -= _to_ends(rng, value, by, away, share, tensor.dtype)
            value, away = _finely(rng, value, by, away, tensor.dtype)
            found[tensor.name] = value.astype(tensor.dtype.storage).reshape(feeds[tensor.name].shape)
    return found


def _to_ends(rng: np.random.Generator, value: Array, by: Array, away: float, share: float, dtype: DType) -> float:
    """Move values to the ends, as far as that doesn't go beyond `away`. How far that is."""
    end = np.where(by * away > 0, dtype.maximum, dtype.minimum)
    reach = np.abs((end - value) * by)
    order = rng.permutation(np.flatnonzero(reach))
    order = order[: max(1, int(share * len(order)))]
    full = order[: int(np.searchsorted(np.cumsum(reach[order]), abs(away), side="right"))]
    value[full] = end[full]
    return math.copysign(float(reach[full].sum()), away)


def _finely(rng: np.random.Generator, value: Array, by: Array, away: float, dtype: DType) -> tuple[Array, float]:
    """Some values changed step by step; the best of several attempts, and what it leaves."""
    places = np.flatnonzero(by)
    if abs(away) > np.abs(by[places]).sum() * (dtype.maximum - dtype.minimum):
        return value, away
    best = value, away
    for _ in range(SHAKES):
        some = rng.choice(places, min(FINE, len(places)), replace=False)
        some = some[np.argsort(-np.abs(by[some]), kind="stable")]
        shaken = some[: len(some) // 4]
        moved = value.copy()
        moved[shaken] = np.clip(moved[shaken] + rng.integers(-4, 5, len(shaken)), dtype.minimum, dtype.maximum)
        left = away - float(((moved - value) * by)[shaken].sum())
        new = moved[some].tolist()
        for i, slope in enumerate(by[some].tolist()):
            wanted = min(max(new[i] + round(left / slope), dtype.minimum), dtype.maximum)
            left -= (wanted - new[i]) * slope
            new[i] = wanted
        moved[some] = new
        if abs(left) < abs(best[1]):
            best = moved, left
        if abs(left) < HIT:
            break
    return best
