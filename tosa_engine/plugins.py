"""What installed packages add: entry points, which are looked for once."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points


def added(group: str) -> list[EntryPoint]:
    """The entry points of a group, by their names."""
    return sorted((entry for entry in _all() if entry.group == group), key=lambda entry: entry.name)


@cache
def _all() -> tuple[EntryPoint, ...]:
    found = entry_points()
    return tuple(entry for group in found.groups for entry in found.select(group=group))
