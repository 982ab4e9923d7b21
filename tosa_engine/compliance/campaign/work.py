"""What a worker does: make tests of their names, run them, judge them. One process does this, wherever it is."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..coverage import look, packed
from ..doors import open_door
from ..judge import Status, try_out
from ..suite import fits, make
from .record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...graph import Graph
    from ...types import Array
    from ..doors import Door
    from ..judge import Judgement
    from .settings import Settings


# What is another in each run, of what an implementation says: addresses, processes, our folders.
PASSING: Final = re.compile(r"\b0x[0-9a-fA-F]{4,}|(?<=\bprocess )\d+|(?<=\bpid )\d+|\S*/tosa-(?:comply|shrink)-\w+")
_DOORS: dict[Settings, tuple[Door, str]] = {}  # of this process


def door_of(settings: Settings) -> Door:
    """The door of this process; it stays open until it is closed, or the process ends."""
    if settings not in _DOORS:
        folder = tempfile.mkdtemp(prefix="tosa-comply-")
        _DOORS[settings] = open_door(settings.engine, Path(folder), settings.files, settings.limits), folder
    return _DOORS[settings][0]


def close(settings: Settings) -> None:
    """Close the door of this process, if it is open."""
    door, folder = _DOORS.pop(settings, (None, ""))
    if door is not None:
        door.close()
        shutil.rmtree(folder, ignore_errors=True)


def work(
    settings: Settings, names: Sequence[str], door: Door | None = None, until: float | None = None
) -> list[Record]:
    """Run some tests, one after the other; none is begun after `until`, a moment of `time.time`."""
    found = list[Record]()
    for name in names:
        if until is not None and time.time() > until:
            break
        found.append(one(settings, name, door or door_of(settings)))
    return found


def one(settings: Settings, name: str, door: Door) -> Record:
    target = settings.selection.target
    test = make(name, settings.seed, target)
    if not fits(test, target):
        return Record(name, Status.UNSUPPORTED, "needs what the target lacks")
    found = tried(settings, door)(test.graph, test.feeds)
    if found.status is Status.HUNG:  # a busy machine is no fault of the engine
        found = tried(settings, door)(test.graph, test.feeds)
    covered = ""
    if found.status is not Status.UNSUPPORTED:
        covered = packed(look(test.graph, test.feeds, target), target)
    return Record(name, found.status, found.text if found.status is not Status.PASSED else "", found.label, covered)


def tried(settings: Settings, door: Door) -> Callable[[Graph, dict[str, Array]], Judgement]:
    """Run and judge a graph; a difference that is known is one that passes."""

    def judged(graph: Graph, feeds: dict[str, Array]) -> Judgement:
        found = try_out(door, graph, feeds, settings.selection.target, strict=settings.strict)
        found = replace(found, text=PASSING.sub("...", found.text))
        if found.status.good or settings.list is None:
            return found
        why = settings.list.explains(graph, feeds, found)
        return found if not why else type(found)(Status.KNOWN, why, found.label, found.tensor, found.ending)

    return judged
