"""Warnings on stderr: one line for each kind, with how many there are; all of them with -v, none with --quiet.

Warnings are of one kind if they differ only in what they are about: names, shapes, numbers and places.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Final

from ..text import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

# quoted names, shapes, paths and numbers
_ABOUT: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\[[^\[\]]*\]|\S*[/\\]\S*|(?<!\w)[-+]?\d[\w.+-]*")
_asked = {"debug": False, "quiet": False}


def listen(args: argparse.Namespace) -> None:
    """Take what the command line says of warnings, until the next one does."""
    _asked.update({flag: bool(getattr(args, flag, False)) for flag in _asked})


def warn(warnings: Iterable[str]) -> None:
    """Print warnings as the command line asks for them."""
    if _asked["quiet"]:
        return
    for line in list(warnings) if _asked["debug"] else by_kind(warnings):
        say(f"warning: {line}", file=sys.stderr)


def by_kind(warnings: Iterable[str]) -> list[str]:
    """The first of each kind; where there are more, how many."""
    kinds: dict[str, list[str]] = {}
    for warning in warnings:
        kinds.setdefault(_ABOUT.sub("_", warning), []).append(warning)
    return [
        first + (f" (and {len(more)} more like this: -v lists them)" if more else "") for first, *more in kinds.values()
    ]
