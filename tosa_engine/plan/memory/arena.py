"""Where tensors live: offsets in one block of memory, such that tensors that live at the same time never overlap."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from ..steps import Arena

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALIGNMENT: Final = 64
MOST_TRIES: Final = 50
MOST_PLACED: Final = 2000  # buffers in all tries: tens of milliseconds


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes, written at step `first` and needed until step `last`, both included."""

    size: int
    first: int
    last: int

    def meets(self, other: Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def most_needed(lifetimes: Mapping[str, Lifetime]) -> int:
    """The bytes of the buffers that live at one step, at most."""
    changes = [(v.first, _padded(v.size)) for v in lifetimes.values()] + [
        (v.last + 1, -_padded(v.size)) for v in lifetimes.values()
    ]
    return max(accumulate(size for _, size in sorted(changes)), default=0)


def place(lifetimes: Mapping[str, Lifetime]) -> Arena:
    """Each buffer at the lowest offset that is free for all of its life, in the best of some orders.

    Largest first does mostly. Where it wastes memory, those that come to lie beyond the lower bound are placed before
    all others the next time, which ends when nothing is wasted, or after a number of tries.
    """
    bound = most_needed(lifetimes)
    meeting = {n: [m for m in lifetimes if m != n and lifetimes[m].meets(life)] for n, life in lifetimes.items()}
    order = sorted(lifetimes, key=lambda n: (-lifetimes[n].size, lifetimes[n].first, n))
    best, least = _fit(order, lifetimes, meeting)
    offsets, tries = best, min(MOST_TRIES, MOST_PLACED // max(1, len(lifetimes)))
    while least > bound and tries > 0:
        tries -= 1
        beyond = {n for n in order if offsets[n] + _padded(lifetimes[n].size) > bound}
        order = [n for n in order if n in beyond] + [n for n in order if n not in beyond]
        offsets, size = _fit(order, lifetimes, meeting)
        if size < least:
            best, least = offsets, size
    return Arena(best, least, sum(_padded(v.size) for v in lifetimes.values()), bound)


def _fit(
    order: Sequence[str], lifetimes: Mapping[str, Lifetime], meeting: Mapping[str, Sequence[str]]
) -> tuple[dict[str, int], int]:
    """Offsets, and where the last buffer ends."""
    offsets: dict[str, int] = {}
    ends: dict[str, int] = {}
    for name in order:
        size = _padded(lifetimes[name].size)
        at = 0
        for start, end in sorted((offsets[n], ends[n]) for n in meeting[name] if n in offsets):
            if at + size <= start:
                break
            at = max(at, end)
        offsets[name], ends[name] = at, at + size
    return offsets, max(ends.values(), default=0)
