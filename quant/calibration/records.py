"""The statistics of a model over samples, with what they were made from: a file that can be resumed and merged.

    {"format": ..., "version": 1, "model": SHA-256, "data": {...}, "done": [[0, 200]], "tensors": {name: {...}}}

`done` lists the samples that were counted, as intervals of their numbers (end excluded). Neither times nor paths of
this machine are in the file: the same model and samples give the same bytes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosa_engine.errors import DataError
from tosa_engine.files import write_atomically

from .statistics import FORMAT, VERSION, TensorStatistics

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

Intervals = list[tuple[int, int]]


@dataclass
class Statistics:
    """`model`: SHA-256 of the graph; `data`: what the samples are (`Samples.describe`); `done`: the samples counted."""

    model: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    done: Intervals = field(default_factory=list)
    tensors: dict[str, TensorStatistics] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        return sum(end - first for first, end in self.done)

    def missing(self, total: int) -> Iterator[int]:
        """The numbers below `total` of the samples that aren't counted yet."""
        at = 0
        for first, end in [*self.done, (total, total)]:
            yield from range(at, min(first, total))
            at = max(at, end)

    def mark(self, first: int, end: int) -> None:
        """Samples first .. end - 1 are counted. Raises DataError where one already was."""
        self.done = joined([*self.done, (first, end)])

    def add(self, other: Statistics, where: str = "the other statistics") -> None:
        """Count what another one counted.

        Raises DataError when it is of another model or other data, or has a sample that this one has.
        """
        for what, mine, its in (("model", self.model, other.model), ("data", self.data, other.data)):
            if mine != its:
                raise DataError(f"{where}: made from another {what}; statistics of one {what} can be merged")
        if self.tensors and other.tensors and set(self.tensors) != set(other.tensors):
            raise DataError(f"{where}: other tensors were watched")
        done = joined([*self.done, *other.done], where)
        for name, seen in other.tensors.items():
            self.tensors.setdefault(name, TensorStatistics()).add(seen)
        self.done = done

    def to_text(self) -> str:
        content = {
            "format": FORMAT, "version": VERSION, "model": self.model, "data": self.data, "versions": self.versions,
            "done": [list(interval) for interval in self.done],
        }  # fmt: skip
        lines = [f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in content.items()]
        tensors = [f"  {json.dumps(name)}: {json.dumps(self.tensors[name].to_json())}" for name in sorted(self.tensors)]
        return "{\n" + ",\n".join([*lines, '"tensors": {\n' + ",\n".join(tensors) + "\n}"]) + "\n}\n"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Raises OSError; what was there before stays until the whole file is written."""
        write_atomically(path, self.to_text().encode("utf-8"))


def read(path: str | os.PathLike[str]) -> Statistics:
    """Raises OSError, and DataError for a file that isn't one of ours."""
    return from_text(Path(path).read_text(encoding="utf-8", errors="replace"), str(path))


def from_text(text: str, where: str) -> Statistics:
    """The statistics in a file's text; `where` is what errors call it."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{where}: not what calibrate --statistics keeps: not JSON: {problem}") from problem
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{where}: not a file of calibration statistics")
    if content.get("version") != VERSION:
        raise DataError(f"{where}: statistics of version {content.get('version')!r}, this program knows {VERSION}")
    tensors, done = content.get("tensors"), content.get("done")
    named = (
        isinstance(tensors, dict) and isinstance(content.get("data"), dict) and isinstance(content.get("model"), str)
    )
    if not named or not isinstance(content.get("versions"), dict):
        raise DataError(f"{where}: 'model', 'data', 'versions' or 'tensors' is missing")
    return Statistics(
        content["model"], content["data"], content["versions"], joined(_intervals(done, where), where),
        {name: _tensor(its, f"{where}, tensor '{name}'") for name, its in content["tensors"].items()},
    )  # fmt: skip


def _tensor(content: Any, where: str) -> TensorStatistics:
    if not isinstance(content, dict):
        raise DataError(f"{where}: not the statistics of a tensor")
    return TensorStatistics.from_json(content, where)


def _intervals(found: Any, where: str) -> Intervals:
    pairs: list[Any] = found if isinstance(found, list) else [None]
    if not all(
        isinstance(p, list) and len(p) == 2 and all(type(n) is int for n in p) and 0 <= p[0] < p[1] for p in pairs
    ):
        raise DataError(f"{where}: 'done' is a list of intervals [first, end] of sample numbers")
    return [(first, end) for first, end in pairs]


def joined(intervals: Intervals, where: str = "") -> Intervals:
    """The same numbers in as few intervals as possible, ascending. Raises DataError where two overlap; `where` is what
    brought the last of them.
    """
    found: Intervals = []
    for first, end in sorted(intervals):
        if found and first < found[-1][1]:
            raise DataError(
                f"{where}: sample {first} is counted twice" if where else f"sample {first} is counted twice"
            )
        if found and first == found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((first, end))
    return found


def merged(parts: Sequence[tuple[str, Statistics]]) -> Statistics:
    """All parts together, each with a name for errors. Raises DataError as `Statistics.add` does."""
    first = parts[0][1]
    total = Statistics(first.model, first.data, first.versions)
    for name, part in parts:
        total.add(part, name)
    return total
