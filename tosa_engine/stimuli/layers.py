"""The layers of a graph that have corners, and what was reached of them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ..errors import UsageError
from ..ranges import analyse
from ..spec import bind_operator
from .goals import Goal, of_rescale, of_table
from .sieve import Sieve
from .values import Values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..graph import Graph
    from ..ranges import Interval
    from ..spec.table import Call
    from ..types import Array

KINDS: Final = ("RESCALE", "TABLE")
MOST: Final = 1 << 62  # of a channel and a value in one number
NARROW: Final = 64  # values of a goal, below which it is looked for in small steps, but for ends of sums
STALE: Final = 8  # when this part of what a sieve lets through was met, another one is made


class Layer:
    """A RESCALE or a TABLE, and the tensor that it reads. `met` says which of its `goals` were; `low` and `high` are
    the least and the greatest value seen, of what is `possible`, for each channel. `met_before` and `reached_before`
    are how it was when the search began (`begin`). `widened`: the last run did so.

    Channels are indices of the tensor's last axis, where each has a multiplier of its own; else there is one.
    """

    def __init__(self, call: Call, tensor: str, goals: Sequence[Goal], possible: tuple[Array, Array]) -> None:
        self.call, self.tensor, self.goals, self.possible = call, tensor, goals, possible
        self.node, self.operator, self.output = call.operator.name, call.spec.name, call.operator.outputs[0]
        self.met = np.zeros(len(goals), np.bool_)
        self.met_before, self.reached_before = self.met, 0.0
        self.channels, self.widened = len(possible[0]), False
        self.low, self.high = (np.full(self.channels, n, np.int64) for n in (np.iinfo("i8").max, np.iinfo("i8").min))
        self._base = int(possible[0].min())
        self._span = int(possible[1].max()) - self._base + 1
        rows = [(i, goal.channel, a, b) for i, goal in enumerate(goals) for a, b in goal.spans]
        self._spans = np.array(rows, np.int64).reshape(-1, 4)
        widths = np.bincount(self._spans[:, 0], self._spans[:, 3] - self._spans[:, 2] + 1, len(goals))
        self.is_narrow = (widths < NARROW) & np.array([not goal.kind.endswith("sum") for goal in goals])
        self._wait()

    def begin(self) -> None:
        self.met_before, self.reached_before = self.met.copy(), self.reached

    def _wait(self) -> None:
        """For the goals that aren't met."""
        self._spans = self._spans[~self.met[self._spans[:, 0]]]
        self._goal, channel, first, last = self._spans.T
        self._first, self._last = self._key(channel, first), self._key(channel, last)
        self._sieve, self._waiting = Sieve(*self.possible, channel, first, last), len(self._goal)

    def _key(self, channel: Array, value: Array) -> Array:
        found: Array = channel * self._span + (value - self._base)
        return found

    def columns(self, values: Array) -> Array:
        """The values of each channel."""
        return values.reshape(-1, self.channels)

    def look(self, values: Array) -> list[int]:
        """Note what a run has reached: the goals that it is the first to meet."""
        columns = self.columns(values)
        low, high = np.minimum(self.low, columns.min(0)), np.maximum(self.high, columns.max(0))
        self.widened = bool((low < self.low).any() or (high > self.high).any())
        self.low, self.high = low, high
        at = self._sieve.through(columns) if self._waiting else np.zeros(0, np.int64)
        if not len(at):
            return []
        keys = np.unique(self._key(at % self.channels, columns.reshape(-1)[at].astype(np.int64)))
        at = np.searchsorted(keys, self._first)
        reached = (at < len(keys)) & (keys[np.minimum(at, len(keys) - 1)] <= self._last)
        found: list[int] = np.unique(self._goal[reached & ~self.met[self._goal]]).tolist()
        if found:
            self.met[found] = True
            if np.count_nonzero(self.met[self._goal]) * STALE > self._waiting:
                self._wait()
        return found

    @property
    def likely(self) -> Array:
        """The goals of few values that aren't met, among the values that their channels had."""
        _, channel, first, last = self._spans.T
        inside = (first >= self.low[channel]) & (last <= self.high[channel])
        goals = np.unique(self._goal[inside])
        found: Array = goals[self.is_narrow[goals] & ~self.met[goals]]
        return found

    def distance(self, values: Array, goal: int, place: int | None = None) -> tuple[int, int]:
        """How far the nearest value of a goal's channel is from it, with a sign, and its place among the channel's."""
        wanted = self.goals[goal]
        column = self.columns(values)[:, wanted.channel].astype(np.int64)
        start = 0 if place is None else place
        part = column if place is None else column[place : place + 1]
        low, high = (np.array(ends)[:, None] for ends in zip(*wanted.spans, strict=True))
        away = np.where(part < low, low - part, np.where(part > high, high - part, 0))
        flat = int(np.abs(away).argmin())
        return int(away.reshape(-1)[flat]), start + flat % len(part)

    def index(self, goal: int, place: int) -> int:
        """The element of the tensor at a place of a goal's channel, counted in row-major order."""
        return place * self.channels + self.goals[goal].channel

    @property
    def reached(self) -> float:
        """The mean share of the possible range that was seen."""
        possible = np.maximum(self.possible[1] - self.possible[0], 1).astype(float)
        return float(np.clip((self.high - self.low).astype(float) / possible, 0, 1).mean())


def layers_of(graph: Graph, chosen: str | None = None) -> list[Layer]:
    """Those of the main block, of a graph without composites and with all shapes; `chosen` is a regular expression that
    is in the name of the operator or of its output.

    Raises UsageError where there are none.
    """
    ranges, found = analyse(graph), []
    producers, values = graph.main.producers(), Values(graph, ranges.intervals)
    for op in graph.main.operators:
        if op.op not in KINDS or (chosen is not None and not any(re.search(chosen, n) for n in (op.name, *op.outputs))):
            continue
        tensor = op.inputs[0]
        producer, interval = producers.get(tensor), ranges.intervals.get(tensor)
        if producer is not None and interval is not None and graph.main.tensors[tensor].size:
            call, source = (bind_operator(one, graph.main, graph) for one in (op, producer))
            possible = _possible(call, interval)
            goals = list(_goals(call, source, possible))
            if len(possible[0]) == 1:
                goals = list(_among(goals, values.of(tensor)))
            span = int(possible[1].max()) - int(possible[0].min()) + 1
            if goals and len(possible[0]) * span < MOST:
                found.append(Layer(call, tensor, goals, possible))
    if not found:
        which = "" if chosen is None else f" whose name has '{chosen}'"
        raise UsageError(f"the graph has no RESCALE or TABLE of computed integers{which}")
    return found


def _goals(call: Call, source: Call, possible: tuple[Array, Array]) -> Iterator[Goal]:
    if call.spec.name == "TABLE":
        return of_table(call, int(possible[0][0]), int(possible[1][0]))
    is_sum = source.spec.traits.is_sum or source.spec.traits.weight is not None
    return of_rescale(call, *possible, is_sum=is_sum)


def _among(goals: Iterable[Goal], values: Array | None) -> Iterator[Goal]:
    """With the spans in which one of these values is; None are any."""
    for goal in goals:
        first, last = (np.array(ends) for ends in zip(*goal.spans, strict=True))
        there = values is None or np.searchsorted(values, first) < np.searchsorted(values, last, "right")
        spans = [span for span, has in zip(goal.spans, np.broadcast_to(there, first.shape), strict=True) if has]
        if spans:
            yield replace(goal, spans=tuple(spans))


def _possible(call: Call, interval: Interval) -> tuple[Array, Array]:
    """The ends of each channel that has a multiplier of its own, else of the tensor."""
    shape = call.shape_of(call.spec.inputs[0].name)
    ends = interval.spread(shape) if call.spec.name == "RESCALE" and call.per_channel and shape else interval.flat()
    return np.atleast_1d(ends.low).astype(np.int64), np.atleast_1d(ends.high).astype(np.int64)
