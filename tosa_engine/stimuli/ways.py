"""Ways to inputs that reach more: patterns, changes of samples, slopes toward many goals of a layer or toward one.

Each `go` tries something; it says whether it is worth trying again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from .aim import aimed
from .changes import CHANGES, mixed, rounded, with_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..types import Array
    from .layers import Layer
    from .trials import Trials

PATIENCE: Final = 512  # changes of samples that reach nothing, before there are no more
CLIMBS: Final = 4  # toward goals of a layer that reach nothing
MANY: Final = 48  # goals of a layer at once
SIZES: Final = (1 / 64, 1 / 16, 1 / 4)  # of a format, by which inputs move
CLIMB_STEPS: Final = 6
BETTER: Final = 0.99  # of what was left
STARTS: Final = 3  # samples, of which one is shaken
FAILURES: Final = 12  # changes by which nothing comes nearer
ROUNDS: Final = 4  # in which each goal is tried alone
STEPS: Final = 16  # toward a goal
SHARES: Final = (1.0, 0.4, 0.1)  # of the inputs, that go to the ends of their formats in a step


class Way(Protocol):
    def go(self) -> bool: ...


class Patterns:
    def __init__(self, trials: Trials) -> None:
        self._trials, self._patience = trials, PATIENCE

    def go(self) -> bool:
        before = self._trials.found
        self._trials.run(self._feeds())
        self._patience = PATIENCE if self._trials.found > before else self._patience - 1
        return self._patience > 0

    def _feeds(self) -> Mapping[str, Array]:
        return self._trials.with_patterns(self._trials.sample())


class Changes(Patterns):
    """Of one sample, or of two in one."""

    def _feeds(self) -> Mapping[str, Array]:
        trials, feeds = self._trials, self._trials.sample()
        rng, other = trials.rng, trials.sample()
        for tensor in trials.moved:
            way, array = int(rng.integers(len(CHANGES) + 1)), feeds[tensor.name]
            if way < len(CHANGES):
                feeds[tensor.name] = CHANGES[way](rng, array, tensor.dtype)
            else:
                feeds[tensor.name] = mixed(rng, array, other[tensor.name], tensor.dtype)
        return feeds


class Climb:
    """Along slopes of a sum: values of a layer's channels, each as it is wanted by a goal that isn't met."""

    def __init__(self, trials: Trials, layer: Layer) -> None:
        self._trials, self._layer, self._tries = trials, layer, CLIMBS

    def go(self) -> bool:
        trials, before = self._trials, self._trials.found
        feeds: Mapping[str, Array] = trials.near(self._layer)
        values = trials.run(feeds)
        if values is not None:
            self._climb(feeds, values)
        self._tries = CLIMBS if trials.found > before else self._tries - 1
        return self._tries > 0 and not self._layer.met.all()

    def _climb(self, feeds: Mapping[str, Array], values: Mapping[str, Array]) -> None:
        trials, layer = self._trials, self._layer
        wanted = self._wanted(values)
        for _ in range(CLIMB_STEPS):
            wanted = {element: goal for element, goal in wanted.items() if not layer.met[goal]}
            if not wanted or trials.is_over:
                return
            left = self._left(values, wanted)
            weights = np.sign(left) / self._units(wanted)
            slope = trials.slopes(values, layer.tensor, dict(zip(wanted, weights.tolist(), strict=True)))
            best, least = None, float(np.abs(left).sum()) * BETTER
            for size in SIZES if slope else ():
                moved = self._moved(feeds, slope, size)
                found = trials.run(moved)
                rest = least if found is None else float(np.abs(self._left(found, wanted)).sum())
                if found is not None and rest < least:
                    best, least = (moved, found), rest
            if best is None:
                return
            feeds, values = best

    def _wanted(self, values: Mapping[str, Array]) -> dict[int, int]:
        """Some goals that aren't met, by the element that is nearest to each."""
        layer, rng = self._layer, self._trials.rng
        missing = np.flatnonzero(~layer.met)
        some = rng.choice(missing, min(MANY, len(missing)), replace=False).tolist()
        return {layer.index(goal, layer.distance(values[layer.tensor], goal)[1]): goal for goal in some}

    def _units(self, wanted: Mapping[int, int]) -> Array:
        """What is far, for the channel of each goal."""
        channels = [self._layer.goals[goal].channel for goal in wanted.values()]
        found: Array = np.maximum((self._layer.possible[1] - self._layer.possible[0])[channels], 1).astype(float)
        return found

    def _left(self, values: Mapping[str, Array], wanted: Mapping[int, int]) -> Array:
        """How far each element is from its goal, with a sign, in units."""
        layer = self._layer
        away = [
            layer.distance(values[layer.tensor], goal, element // layer.channels)[0] for element, goal in wanted.items()
        ]
        return np.array(away) / self._units(wanted)

    def _moved(self, feeds: Mapping[str, Array], slope: Mapping[str, Array], size: float) -> dict[str, Array]:
        """Each input by a share of its format, in the direction of its slope."""
        found = dict(feeds)
        for tensor in self._trials.moved:
            if tensor.name in slope:
                step = np.sign(slope[tensor.name]) * max(1.0, size * 2.0**tensor.dtype.bits)
                found[tensor.name] = rounded(found[tensor.name] + step, tensor.dtype)
        return found


class Shake:
    """Small changes of a sample in which values are near goals of few values, as long as they come nearer."""

    def __init__(self, trials: Trials, layer: Layer) -> None:
        self._trials, self._layer, self._tries = trials, layer, CLIMBS

    def go(self) -> bool:
        trials, before = self._trials, self._trials.found
        likely = self._layer.likely
        if not len(likely):
            self._tries -= 1
            return self._tries > 0
        wanted = trials.rng.choice(likely, min(MANY, len(likely)), replace=False).tolist()
        starts = [self._tried(trials.near(self._layer), wanted) for _ in range(STARTS)]
        least, feeds = min(starts, key=lambda one: one[0])
        failures = 0
        while failures < FAILURES and not trials.is_over and not self._layer.met[wanted].all():
            left, moved = self._tried(self._shaken(feeds), wanted)
            failures = 0 if left < least else failures + 1
            if left <= least:
                least, feeds = left, moved
        self._tries = CLIMBS if trials.found > before else self._tries - 1
        return self._tries > 0

    def _tried(self, feeds: dict[str, Array], wanted: list[int]) -> tuple[float, dict[str, Array]]:
        """How many bits the nearest values are from the goals, and the sample."""
        values = self._trials.run(feeds)
        if values is None:
            return math.inf, feeds
        found = values[self._layer.tensor]
        return sum(math.log2(1 + abs(self._layer.distance(found, goal)[0])) for goal in wanted), feeds

    def _shaken(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        rng = self._trials.rng
        return dict(feeds) | {t.name: with_steps(rng, feeds[t.name], t.dtype) for t in self._trials.moved}


class Aim:
    """Toward one goal after the other: where a value is nearest, in the middle of the tensor, then anywhere."""

    def __init__(self, trials: Trials, layer: Layer) -> None:
        self._trials, self._layer, self._left = trials, layer, self._goals()

    def _goals(self) -> Iterator[tuple[int, int]]:
        for again in range(ROUNDS):
            for goal in self._trials.rng.permutation(len(self._layer.goals)).tolist():
                if not self._layer.met[goal]:
                    yield goal, again

    def go(self) -> bool:
        found = next(self._left, None)
        if found is not None:
            self._go(*found)
        return found is not None

    def _go(self, goal: int, again: int) -> None:
        trials, layer = self._trials, self._layer
        feeds: Mapping[str, Array] = trials.near(layer)
        values = trials.run(feeds)
        if values is None:
            return
        found = values[layer.tensor]
        places = found.size // layer.channels
        middle = int(np.ravel_multi_index([n // 2 for n in found.shape], found.shape)) if found.shape else 0
        place = (None, middle // layer.channels, int(trials.rng.integers(places)))[min(again, 2)]
        away, place = layer.distance(found, goal, place)
        for _ in range(STEPS):
            if layer.met[goal] or trials.is_over:
                return
            slope = trials.slopes(values, layer.tensor, {layer.index(goal, place): 1.0})
            better = self._step(goal, place, away, feeds, slope)
            if better is None:
                return
            feeds, values, away = better

    def _step(
        self, goal: int, place: int, away: int, feeds: Mapping[str, Array], slope: Mapping[str, Array]
    ) -> tuple[Mapping[str, Array], dict[str, Array], int] | None:
        """The best of some changes, where it is better than nothing."""
        best = None
        for share in SHARES if slope else ():
            moved = aimed(self._trials.rng, self._trials.moved, feeds, slope, float(away), share)
            values = self._trials.run(moved)
            if values is not None:
                left, _ = self._layer.distance(values[self._layer.tensor], goal, place)
                if abs(left) < abs(away if best is None else best[2]):
                    best = moved, values, left
            if self._layer.met[goal]:
                break
        return best
