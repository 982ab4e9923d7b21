"""Integers beside exact numbers for which a quadratic form is least: one after the other goes to its better side.

`gram` G is [group, tap, tap], `wanted` h [group, row, tap], `step` s [group, row, 1]; of each row the sum
s^2 q G q - 2 s q h counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from tosa_engine.types import Array

SWEEPS: Final = 40


def best_of(
    gram: Array, wanted: Array, exact: Array, step: Array, nearest: Array, most: int, rng: np.random.Generator
) -> Array:
    """The better of the two descents, for each row; arguments as those of `descend`."""
    found = descend(gram, wanted, exact, step, nearest, most, rng)
    other = descend(gram, wanted, exact, step, with_error_feedback(gram, wanted, exact, step, most), most, rng)
    costs = [(np.matmul(q * step, gram) * q * step - 2 * q * step * wanted).sum(axis=2) for q in (found, other)]
    return np.where((costs[1] < costs[0])[:, :, None], other, found)


def with_error_feedback(gram: Array, wanted: Array, exact: Array, step: Array, most: int) -> Array:
    """Neighbours of the exact integers: taps in the order of falling G_ii; what rounding one of them does to the result
    is made good by the real values of the taps after it.
    """
    low = np.clip(np.floor(exact), -most, most)
    high = np.clip(np.ceil(exact), -most, most)
    found = np.clip(np.rint(exact), low, high)  # where inputs are zero in every sample
    groups = np.flatnonzero(gram.any(axis=(1, 2)))
    if not groups.size:
        return found
    gram, step, taps = gram[groups], step[groups], exact.shape[2]
    order = np.argsort(-np.diagonal(gram, axis1=1, axis2=2), axis=1, kind="stable")[:, None, :]
    low, high, wanted = (np.take_along_axis(values[groups], order, 2) for values in (low, high, wanted))
    matrix = np.take_along_axis(np.take_along_axis(gram, order.swapaxes(1, 2), 1), order, 2)
    inverse = np.linalg.pinv(matrix, hermitian=True)
    ideal = np.matmul(wanted, inverse)
    least = 1e-12 * np.trace(inverse, axis1=1, axis2=2)[:, None, None] / taps * np.eye(taps)
    upper = np.linalg.cholesky(inverse + least).swapaxes(1, 2)[:, None]
    chosen = np.empty_like(ideal)
    for i in range(taps):
        chosen[:, :, i] = np.clip(np.rint(ideal[:, :, i] / step[:, :, 0]), low[:, :, i], high[:, :, i])
        miss = (ideal[:, :, i] - chosen[:, :, i] * step[:, :, 0]) / upper[:, :, i, i]
        ideal[:, :, i:] -= miss[:, :, None] * upper[:, :, i, i:]
    sorted_back = np.empty_like(chosen)
    np.put_along_axis(sorted_back, np.broadcast_to(order, chosen.shape), chosen, 2)
    found[groups] = sorted_back
    return found


def descend(
    gram: Array, wanted: Array, exact: Array, step: Array, start: Array, most: int, rng: np.random.Generator
) -> Array:
    """Integers of [group, row, tap] about `exact` for which s^2 q G q - 2 s q h is least, one tap changed at a time.

    From `start`, taps are visited in a random order; each row takes the one of the two neighbours of its exact value
    that is better now.
    """
    low = np.clip(np.floor(exact), -most, most)
    high = np.clip(np.ceil(exact), -most, most)
    slope = np.matmul(start * step, gram) - wanted
    # by tap, of the change to the other neighbour: what it is in real units, its own square, and the least gain
    change = _by_tap((low + high - 2 * start) * step)
    square = change * np.diagonal(gram, axis1=1, axis2=2).T[:, :, None]
    least = -1e-12 * np.abs(change * _by_tap(wanted))
    flipped = np.zeros(change.shape, bool)
    for _ in range(SWEEPS):
        changes = 0
        for tap in rng.permutation(exact.shape[2]):
            delta = change[tap]
            group, row = np.nonzero(delta * (2 * slope[:, :, tap] + square[tap]) < least[tap])
            if group.size:
                changes += group.size
                slope[group, row] += delta[group, row, None] * gram[group, tap]
                flipped[tap, group, row] ^= True
                delta[group, row] *= -1
                square[tap, group, row] *= -1
        if not changes:
            break
    return np.where(np.moveaxis(flipped, 0, 2), low + high - start, start)


def _by_tap(values: Array) -> Array:
    """[group, row, tap] as [tap, group, row]."""
    return np.ascontiguousarray(np.moveaxis(values, 2, 0))
