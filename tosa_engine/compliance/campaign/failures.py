"""Kinds of failures: one test of each is made small, and kept with what should have come out."""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ... import arrays
from ..doors import open_door
from ..doors.exchange import Exchange
from ..judge import Status, expected
from ..shrink import Probe, shrink, suspicion
from ..shrink.suspicion import smallest
from ..suite import make
from .record import Failure
from .work import door_of, tried

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph import Graph
    from ...types import Array
    from ..doors import Door
    from .record import Record
    from .settings import Settings

MOST_KINDS = 40
MOST_CAUSES = 3  # that are told of a kind
WITNESSES = 4  # tests of a kind that are asked what explains them
HANG_SECONDS = 2.0  # while a test that hangs is made small


def explain(
    settings: Settings, records: Sequence[Record], folder: Path, door: Door | None, until: float | None
) -> list[Failure]:
    """The kinds of failures among the records, in the order in which they came. Those of graphs of many operators are
    left out where the small test is of a kind that is known from single operators.
    """
    kinds: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        if not record.status.good:
            kinds[record.kind].append(record)
    ordered = sorted(kinds.values(), key=lambda same: same[0].operator == "graphs")[:MOST_KINDS]
    found: list[Failure] = []
    last = math.inf if until is None else until
    for same in ordered:
        if time.monotonic() > last:
            found.append(Failure(same[0].name, same[0].status.value, same[0].text, "", (), 0, "", len(same)))
            continue
        small = _small(settings, same, folder, door, last)
        if same[0].operator == "graphs" and any(
            one.operators == small.operators and one.status == small.status for one in found
        ):
            continue
        found.append(small)
    return found


def _small(settings: Settings, same: Sequence[Record], folder: Path, door: Door | None, until: float) -> Failure:
    if same[0].status is not Status.HUNG or door is not None:
        return _shrunk(settings, same, folder, door or door_of(settings), until)
    limits = replace(settings.limits, seconds=min(settings.limits.seconds, HANG_SECONDS))
    with TemporaryDirectory(prefix="tosa-shrink-") as place:
        impatient = open_door(settings.engine, Path(place), settings.files, limits)
        try:
            return _shrunk(settings, same, folder, impatient, until)
        finally:
            impatient.close()


def _shrunk(settings: Settings, same: Sequence[Record], folder: Path, door: Door, until: float) -> Failure:
    first, judged = same[0], tried(settings, door)
    test = make(first.name, settings.seed, settings.selection.target)
    found = judged(test.graph, test.feeds)
    status = first.status.value
    if found.status is not first.status:
        text = f"{first.text}; not again when it was run alone"
        return Failure(first.name, status, text, "not the same each time", (), 0, "", len(same))
    probe = Probe(judged, settings.selection.target, found, test.graph, until)
    graph, feeds = shrink(test.graph, test.feeds, probe)
    cause = _cause(settings, same, door, until) or suspicion(graph, feeds, probe.last, door, until)
    kept = keep(settings, graph, feeds, folder / "failures" / first.name.replace("/", "-"))
    operators = tuple(op.op for op in graph.main.operators if op.inputs)
    elements = smallest(graph, feeds)
    return Failure(
        first.name, status, probe.last.text, " or ".join(cause[:MOST_CAUSES]), operators, elements, kept.name, len(same)
    )


def _cause(settings: Settings, same: Sequence[Record], door: Door, until: float) -> list[str]:
    """What explains the values of several tests of a kind: all of them have more to tell than the small one."""
    if same[0].status is not Status.WRONG:
        return []
    shared: list[str] = []
    for record in same[:WITNESSES]:
        if time.monotonic() > until:
            break
        test = make(record.name, settings.seed, settings.selection.target)
        found = tried(settings, door)(test.graph, test.feeds)
        if found.status is Status.WRONG:
            said = suspicion(test.graph, test.feeds, found, door, until)
            both = [one for one in shared if one in said]
            shared = both or shared or said
    return shared


def keep(settings: Settings, graph: Graph, feeds: Mapping[str, Array], folder: Path) -> Path:
    """The test as a folder: graph, inputs, description, and the outputs that are right, where there are some."""
    exchange = Exchange(folder, settings.files)
    try:
        exchange.give(graph, feeds)
    except ValueError as problem:
        (folder / "not-written.txt").write_text(f"{problem}\n", encoding="utf-8")
        return folder
    wanted = expected(graph, feeds, settings.selection.target)
    for name in graph.main.outputs:
        if wanted.values is not None:
            (folder / "expected").mkdir(exist_ok=True)
            arrays.write(folder / "expected" / f"{name}.npy", {name: wanted.values[name]})
    verdict = {"verdict": wanted.ending.value, "rule": wanted.label}
    (folder / "expected.json").write_text(json.dumps(verdict) + "\n", encoding="utf-8")
    return folder
