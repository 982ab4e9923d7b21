"""Where tensors live: offsets in one block of memory, such that tensors that live at the same time never overlap."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALIGNMENT: Final = 64
MOST_TRIES: Final = 50
MOST_PLACED: Final = 2000  # buffers in all tries: tens of milliseconds


@dataclass(frozen=True)
class Life:
    """A buffer of `size` bytes, written at step `first` and needed until step `last`, both included."""

    size: int
    first: int
    last: int

    def meets(self, other: Life) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Arena:
    """Offsets by name, and three sizes in bytes: of the arena, of all buffers, and the most that live at one step."""

    offsets: Mapping[str, int]
    size: int
    total: int
    lower_bound: int


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def most_live(lives: Mapping[str, Life]) -> int:
    """The bytes of the buffers that live at one step, at most."""
    changes = [(v.first, _padded(v.size)) for v in lives.values()] + [
        (v.last + 1, -_padded(v.size)) for v in lives.values()
    ]
    return max(accumulate(size for _, size in sorted(changes)), default=0)


def place(lives: Mapping[str, Life]) -> Arena:
    """Each buffer at the lowest offset that is free for all of its life, in the best of some orders.

    Largest first does mostly. Where it wastes memory, those that come to lie beyond the lower bound are placed before
    all others the next time, which ends when nothing is wasted, or after a number of tries.
    """
    bound = most_live(lives)
    meeting = {n: [m for m in lives if m != n and lives[m].meets(life)] for n, life in lives.items()}
    order = sorted(lives, key=lambda n: (-lives[n].size, lives[n].first, n))
    best, least = _fit(order, lives, meeting)
    offsets, tries = best, min(MOST_TRIES, MOST_PLACED // max(1, len(lives)))
    while least > bound and tries > 0:
        tries -= 1
        beyond = {n for n in order if offsets[n] + _padded(lives[n].size) > bound}
        order = [n for n in order if n in beyond] + [n for n in order if n not in beyond]
        offsets, size = _fit(order, lives, meeting)
        if size < least:
            best, least = offsets, size
    return Arena(best, least, sum(_padded(v.size) for v in lives.values()), bound)


def _fit(
    order: Sequence[str], lives: Mapping[str, Life], meeting: Mapping[str, Sequence[str]]
) -> tuple[dict[str, int], int]:
    """Offsets, and where the last buffer ends."""
    offsets: dict[str, int] = {}
    ends: dict[str, int] = {}
    for name in order:
        size = _padded(lives[name].size)
        at = 0
        for start, end in sorted((offsets[n], ends[n]) for n in meeting[name] if n in offsets):
            if at + size <= start:
                break
            at = max(at, end)
        offsets[name], ends[name] = at, at + size
    return offsets, max(ends.values(), default=0)
