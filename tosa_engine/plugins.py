"""What installed packages add: entry points, which are looked for once."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint


def added(group: str) -> list[EntryPoint]:
    """The entry points of a group, by their names."""
    return sorted((entry for entry in _all() if entry.group == group), key=lambda entry: entry.name)


@cache
def _all() -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points  # takes as long as ten of our own modules

    found = entry_points()
    return tuple(entry for group in found.groups for entry in found.select(group=group))


def function_at(module: str, name: str) -> Callable[..., Any]:
    """A function of the user's, by its module and name; modules of the current folder are found as by `python -m`.

    Raises ValueError, which says what is wrong: nothing that a user's module does when it is imported gets through.
    """
    here = str(Path.cwd())
    added_here = here not in sys.path and "" not in sys.path
    if added_here:
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), name, None)
    except Exception as problem:  # whatever the user's module raises
        raise ValueError(f"{type(problem).__name__}: {problem}") from problem
    finally:
        if added_here:
            sys.path.remove(here)
    if not callable(found):
        raise ValueError(f"module '{module}' has no function '{name}'")
    return found  # type: ignore[no-any-return]
