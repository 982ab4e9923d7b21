"""Where tensors live: offsets in one block of memory, such that tensors that live at the same time never overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ALIGNMENT: Final = 64


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


def place(lives: Mapping[str, Life]) -> Arena:
    """Largest first, each at the lowest offset that is free for all of its life."""
    offsets: dict[str, int] = {}
    for name in sorted(lives, key=lambda n: (-lives[n].size, lives[n].first, n)):
        life = lives[name]
        taken = sorted((offsets[n], offsets[n] + _padded(lives[n].size)) for n in offsets if lives[n].meets(life))
        at = 0
        for start, end in taken:
            if at + _padded(life.size) <= start:
                break
            at = max(at, end)
        offsets[name] = at
    size = max((offsets[n] + _padded(life.size) for n, life in lives.items()), default=0)
    steps = {step for life in lives.values() for step in (life.first, life.last)}
    live = [sum(_padded(v.size) for v in lives.values() if v.first <= s <= v.last) for s in steps]
    return Arena(offsets, size, sum(_padded(v.size) for v in lives.values()), max(live, default=0))
