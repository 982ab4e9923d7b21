"""Trying whether a smaller test still fails in the same way."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from ...check import check
from ...errors import TosaEngineError
from ..judge import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph import Graph
    from ...target import Target
    from ...types import Array
    from ..judge import Judgement
    from .use import Use

    Tried = Callable[[Graph, dict[str, Array]], Judgement]

MOST = 400  # tests of one shrinking
MOST_HANGS = 12


class Probe:
    """Fails in the same way: the same status and, where the graph is an error, the same rule and no other. It stops
    when MOST tests were run, and at `until`, a moment of `time.monotonic`.
    """

    def __init__(self, tried: Tried, target: Target, found: Judgement, graph: Graph, until: float = math.inf) -> None:
        self.tried, self.target, self.status, self.most = tried, target, found.status, MOST
        self.until = until
        self.rules = self.labels(graph)
        self.last = found

    def labels(self, graph: Graph) -> list[str]:
        return list(dict.fromkeys(problem.label for problem in check(graph, self.target)))

    @property
    def tired(self) -> bool:
        return self.most <= 0 or time.monotonic() > self.until

    def fails(self, graph: Graph, feeds: dict[str, Array]) -> bool:
        if self.tired or self.labels(graph) != self.rules:
            return False
        self.most -= 1
        try:
            found = self.tried(graph, feeds)
        except (TosaEngineError, AssertionError, ValueError):  # not a test
            return False
        if found.status is not self.status:
            return False
        if self.status is Status.HUNG:
            self.most -= MOST // MOST_HANGS
        self.last = found
        return True

    def use_fails(self, use: Use) -> bool:
        return self.fails(*use.graph(inferred=not self.rules))
