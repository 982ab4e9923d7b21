"""What tests exercised, found by looking at their graphs and at what the oracle computes of their data.

Items are numbered in one fixed order for a version of the specification (`items`), so that sets of them can be kept,
sent and added up: rows, classes, pairs of classes, labels, numeric corners, segments of tables.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ... import oracle
from ...errors import RequireViolation, TosaEngineError
from ...spec import TABLE
from ...target import Target
from ...versions import V1_0
from .corners import Seen, corners, met, segments
from .dimensions import classes_of, universe
from .impossible import why_not
from .labels import labels, of_graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...graph import Graph
    from ...spec.table import Call
    from ...types import Array
    from ...versions import Version

KINDS: Final = ("rows", "classes", "pairs", "labels", "corners", "segments")
SEGMENTS: Final = {"i8_i8_i8": 256, "i16_i16_i32": 512}


class Item(NamedTuple):
    """One thing that tests can exercise; `operator` has it."""

    kind: str
    operator: str
    name: str


@cache
def items(version: Version = V1_0) -> tuple[Item, ...]:
    """All there is to exercise in a version."""
    operators = [spec.name for spec in TABLE.values() if spec.since <= version]
    return tuple(dict.fromkeys(one for operator in operators for one in _of(operator, version)))


def _of(operator: str, version: Version) -> Iterable[Item]:
    spec, there = TABLE[operator], universe(operator)
    rows = [row.key for row in spec.rows if row.since <= version]
    there = {**there, "row": tuple(rows)}
    yield from (Item("rows", operator, row) for row in rows)
    for name, some in there.items():
        if name != "row":
            yield from (Item("classes", operator, f"{name}={c}") for c in some if not why_not(operator, {name: c}))
    for a, b in combinations(there, 2):
        for x in there[a]:
            for y in there[b]:
                if not why_not(operator, {a: x, b: y}):
                    yield Item("pairs", operator, paired(a, x, b, y))
    yield from (Item("labels", operator, label) for label in labels(operator))
    yield from (Item("corners", operator, f"{row}: {name}") for row in rows for name in corners(operator, row))
    if operator == "TABLE":
        yield from (Item("segments", operator, f"{row}: {n}") for row in rows for n in range(SEGMENTS[row]))


def paired(a: str, x: str, b: str, y: str) -> str:
    return f"{a}={x}, {b}={y}"


@cache
def numbers(version: Version = V1_0) -> Mapping[Item, int]:
    return {item: i for i, item in enumerate(items(version))}


@cache
def within(target: Target) -> tuple[tuple[Item, int], ...]:
    """The items that a target has, with their numbers: those of its operators and rows."""
    legal = {
        spec.name: {row.key for row in spec.rows if any(set(needs) <= target.names for needs in row.needs)}
        for spec in TABLE.values()
    }
    return tuple((item, n) for item, n in numbers(target.version).items() if _has(legal[item.operator], item))


def _has(rows: set[str], item: Item) -> bool:
    if item.kind == "rows":
        return item.name in rows
    if item.kind in ("corners", "segments"):
        return item.name.split(": ")[0] in rows
    if item.kind == "pairs" and item.name.startswith("row="):
        return item.name[4:].split(", ")[0] in rows
    return bool(rows)


@dataclass
class Coverage:
    """`seen` are numbers of items. `tests` counts what was looked at, `unread` what couldn't be."""

    target: Target = field(default_factory=lambda: Target(version=V1_0))
    seen: set[int] = field(default_factory=set)
    tests: int = 0
    unread: int = 0

    def add(self, graph: Graph, feeds: Mapping[str, Array] | None) -> set[int]:
        """Look at a test; without data only its graph counts. The numbers of all that it has."""
        self.tests += 1
        found = look(graph, feeds, self.target)
        self.seen |= found
        return found

    def share(self, kind: str, operator: str = "") -> tuple[int, int]:
        """How many items of a kind were seen, and how many there are."""
        there = self._of(kind, operator)
        return sum(n in self.seen for _, n in there), len(there)

    def holes(self, kind: str, operator: str = "") -> list[Item]:
        """What wasn't seen."""
        return [item for item, n in self._of(kind, operator) if n not in self.seen]

    def _of(self, kind: str, operator: str) -> list[tuple[Item, int]]:
        known = within(self.target)
        return [one for one in known if one[0].kind == kind and operator in ("", one[0].operator)]  # fmt: skip


def packed(seen: set[int], target: Target) -> str:
    """Numbers of items as a short text."""
    bits = np.zeros(len(items(target.version)), np.bool_)
    bits[list(seen)] = True
    return b64encode(zlib.compress(np.packbits(bits).tobytes())).decode()


def unpacked(text: str) -> set[int]:
    """The numbers that `packed` was given."""
    bits = np.unpackbits(np.frombuffer(zlib.decompress(b64decode(text)), np.uint8))
    return set(np.flatnonzero(bits).tolist())


def look(graph: Graph, feeds: Mapping[str, Array] | None, target: Target) -> set[int]:
    """The numbers of the items that a test has. Rows, classes and corners count where operators run to their end; rows
    and classes of legal graphs without data, too.
    """
    known = numbers(target.version)
    found: set[Item] = set()

    def observe(call: Call, inputs: Mapping[str, Array | list[Array]], outputs: list[Array]) -> None:
        found.update(_of_call(call))
        found.update(_of_values(Seen(call, inputs, outputs)))

    there, problems, calls = of_graph(graph, target)
    found.update(Item("labels", label.split(".", maxsplit=1)[0], label) for label in there)
    if problems:
        return {known[item] for item in found if item in known}
    if feeds is None:
        found.update(item for call in calls for item in _of_call(call))
    else:
        try:
            oracle.run(graph, feeds, level=target.level, observe=observe)
        except RequireViolation as violation:
            found.add(Item("labels", violation.label.split(".", maxsplit=1)[0], violation.label))
        except TosaEngineError:  # arrays that don't fit the graph, compile-time constants that are wrong
            pass
    return {known[item] for item in found if item in known}


def _of_call(call: Call) -> Iterable[Item]:
    operator, row = call.spec.name, call.row
    if operator not in TABLE or row is None:
        return
    yield Item("rows", operator, row.key)
    classes = classes_of(call)
    yield from (Item("classes", operator, f"{name}={c}") for name, c in classes.items() if name != "row")
    for a, b in combinations(classes, 2):
        yield Item("pairs", operator, paired(a, classes[a], b, classes[b]))


def _of_values(seen: Seen) -> Iterable[Item]:
    operator, row = seen.call.spec.name, seen.call.row
    if operator not in TABLE or row is None:
        return
    yield from (Item("corners", operator, f"{row.key}: {name}") for name in met(seen))
    if operator == "TABLE":
        yield from (Item("segments", operator, f"{row.key}: {n}") for n in segments(seen))
