"""The layers of a graph that have corners, and what was reached of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from ..errors import UsageError
from ..ranges import analyse
from ..spec import bind_operator
from .goals import GOALS, Goal, of_rescale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Graph
    from ..spec.table import Call
    from ..types import Array

MOST: Final = 1 << 62  # of a channel and a value in one number


class Layer:
    """A RESCALE or a TABLE, and the tensor that it reads. `met` says which of its `goals` were; `low` and `high` are
    the least and the greatest value seen, of what is `possible`, for each channel. `met_before` and `reached_before`
    are how it was when the search began (`begin`).

    Channels are indices of the tensor's last axis; those of a TABLE are one.
    """

    def __init__(self, call: Call, tensor: str, goals: Sequence[Goal], possible: tuple[Array, Array]) -> None:
        self.call, self.tensor, self.goals, self.possible = call, tensor, goals, possible
        self.node, self.operator, self.output = call.operator.name, call.spec.name, call.operator.outputs[0]
        self.met = np.zeros(len(goals), np.bool_)
        self.met_before, self.reached_before = self.met, 0.0
        self.channels = len(possible[0])
        self.low, self.high = (np.full(self.channels, n, np.int64) for n in (np.iinfo("i8").max, np.iinfo("i8").min))
        self._base = int(possible[0].min())
        self._span = int(possible[1].max()) - self._base + 1
        rows = [(i, goal.channel, a, b) for i, goal in enumerate(goals) for a, b in goal.spans]
        goal, channel, first, last = np.array(rows, np.int64).reshape(-1, 4).T
        self._goal, self._first, self._last = goal, self._key(channel, first), self._key(channel, last)

    def begin(self) -> None:
        self.met_before, self.reached_before = self.met.copy(), self.reached

    def _key(self, channel: Array, value: Array) -> Array:
        found: Array = channel * self._span + (value - self._base)
        return found

    def columns(self, values: Array) -> Array:
        """The values of each channel."""
        return values.astype(np.int64).reshape(-1, self.channels)

    def look(self, values: Array) -> set[int]:
        """Note what a run has reached: the goals that it meets."""
        columns = self.columns(values)
        self.low, self.high = np.minimum(self.low, columns.min(0)), np.maximum(self.high, columns.max(0))
        keys = np.sort(self._key(np.arange(self.channels), columns), axis=None)
        at = np.searchsorted(keys, self._first)
        met = (at < len(keys)) & (keys[np.minimum(at, len(keys) - 1)] <= self._last)
        found = self._goal[met]
        self.met[found] = True
        return set(found.tolist())

    def distance(self, values: Array, goal: int, place: int | None = None) -> tuple[int, int]:
        """How far the nearest value of a goal's channel is from it, with a sign, and its place among the channel's."""
        wanted = self.goals[goal]
        column = self.columns(values)[:, wanted.channel] if self.channels > 1 else values.astype(np.int64).reshape(-1)
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
    producers = graph.main.producers()
    for op in graph.main.operators:
        if op.op not in GOALS or (chosen is not None and not any(re.search(chosen, n) for n in (op.name, *op.outputs))):
            continue
        call = bind_operator(op, graph.main, graph)
        tensor = op.inputs[0]
        producer, interval = producers.get(tensor), ranges.intervals.get(tensor)
        if producer is None or interval is None or not graph.main.tensors[tensor].size:
            continue
        source = bind_operator(producer, graph.main, graph)
        if call.spec.name == "RESCALE":
            is_sum = source.spec.traits.is_sum or source.spec.traits.weight is not None
            goals = list(of_rescale(call, interval, is_sum=is_sum))
            shape = call.shape_of("input")
            spread = interval.spread(shape) if shape else interval.flat()
        else:
            goals, spread = list(GOALS[call.spec.name](call, interval)), interval.flat()
        possible = (np.atleast_1d(spread.low).astype(np.int64), np.atleast_1d(spread.high).astype(np.int64))
        fits = len(possible[0]) * (int(possible[1].max()) - int(possible[0].min()) + 1) < MOST
        if goals and fits:
            found.append(Layer(call, tensor, goals, possible))
    if not found:
        which = "" if chosen is None else f" whose name has '{chosen}'"
        raise UsageError(f"the graph has no RESCALE or TABLE of computed integers{which}")
    return found
