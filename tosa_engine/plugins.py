"""What installed packages add: entry points, which are looked for once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def added(group: str) -> list[EntryPoint]:
    """The entry points of a group, by their names."""
    return sorted((entry for entry in _all() if entry.group == group), key=lambda entry: entry.name)


@cache
def _all() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points  # takes as long as ten of our own modules

    found = entry_points()
    return tuple(entry for group in found.groups for entry in found.select(group=group))
