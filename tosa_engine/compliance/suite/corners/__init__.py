"""Tests that stand at the numeric corners (`coverage.corners`) which random data seldom meet."""

from __future__ import annotations

from copy import deepcopy
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ....infer import infer
from ....spec import TABLE
from .pairs import BINARY
from .scales import rescale
from .unary import UNARY

if TYPE_CHECKING:
    from ....graph import Graph
    from ....types import Array
    from .build import Made

MAKERS = {**UNARY, **BINARY, "RESCALE": rescale}


@lru_cache(maxsize=4)  # tests of a row follow each other
def _made(operator: str, row: str) -> list[Made]:
    spec = TABLE[operator]
    return list(MAKERS[operator](spec, spec.row(row))) if operator in MAKERS else []


@cache
def count(operator: str, row: str) -> int:
    """How many there are of a row."""
    return len(_made(operator, row))


def at_corners(operator: str, row: str, number: int) -> tuple[Graph, dict[str, Array]]:
    """The one of this number, with feeds."""
    case, feeds = deepcopy(_made(operator, row)[number])
    graph = case.graph()
    infer(graph)
    return graph, feeds
