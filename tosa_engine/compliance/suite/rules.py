"""Graphs that break one rule and no other."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...check import check
from ...errors import TosaEngineError
from ...spec import TABLE
from ..cases.values import values

if TYPE_CHECKING:
    import random

    from ...graph import Graph
    from ...target import Target
    from ...types import Array


def feeds_of(graph: Graph, rng: random.Random) -> dict[str, Array]:
    """Small values for the inputs of a graph."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    return {t.name: values(numbers, "small", t.dtype, t.shape or ()) for t in graph.inputs}


def labels(graph: Graph, target: Target) -> list[str]:
    return list(dict.fromkeys(problem.label for problem in check(graph, target)))


@cache
def rows_that_break(label: str, target: Target) -> tuple[str, ...]:
    """The rows of whose example the rule's mutation makes an error of that rule; alone, where there are such."""
    spec = TABLE[label.split(".", maxsplit=1)[0]]
    rule = next(one for one in spec.checks if one.label == label)
    alone: list[str] = []
    among: list[str] = []
    for row in spec.rows:
        case = deepcopy(spec.example(row))
        try:
            if labels(case.graph(), target):
                continue  # not in this target
            rule.mutate(case)
            found = labels(case.graph(), target)
        except (TosaEngineError, ValueError, LookupError, OverflowError, AssertionError):  # it is for other rows
            continue
        (alone if found == [label] else among if label in found else []).append(row.key)
    return tuple(alone or among)


def broken(label: str, row: str, rng: random.Random) -> tuple[Graph, dict[str, Array]]:
    """A graph that breaks an ERROR_IF, with feeds."""
    spec = TABLE[label.split(".", maxsplit=1)[0]]
    if spec.name == "CONST_SHAPE":  # nobody looks at a shape that no operator reads
        graph = deepcopy(TABLE["RESHAPE"].example(TABLE["RESHAPE"].rows[0])).graph()
        graph.main.tensors["shape"].data = None
        return graph, feeds_of(graph, rng)
    case = deepcopy(spec.example(spec.row(row)))
    next(one for one in spec.checks if one.label == label).mutate(case)
    graph = case.graph()
    return graph, feeds_of(graph, rng)
