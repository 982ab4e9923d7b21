"""One test: a graph with feeds, made of its name and a seed.

Names are `OPERATOR/ROW/aimed/3` (data that tell implementations apart), `OPERATOR/ROW/drawn/3` (random attributes,
shapes and data), `OPERATOR/ROW/pair/3` (pairs of classes), `OPERATOR/ROW/size/7` (channels), `OPERATOR/ROW/corner/3`
(numeric corners that random data seldom meet), `OPERATOR/ROW/OPERATOR.E2/error`, `OPERATOR/-/OPERATOR.R1/at`,
`.../beyond` (a REQUIRE, `L1` or `rank.ARGUMENT` a level), and `graphs/int/-/3`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...check import check
from ...spec import TABLE
from ...target import Target
from ..cases.choices import by_random
from ..cases.grown import draw_graph
from ..cases.operators import case_of, draw_case
from ..cases.plans import PLANS, unary
from .aims import AIMS, FLAVOURS
from .chains import chain
from .corners import at_corners
from .ends import to_the_ends
from .limits import limited, of_rank
from .pairs import covering, pair, sized
from .requires import at_require
from .rules import broken

if TYPE_CHECKING:
    from ...graph import Graph
    from ...types import Array
    from ..cases.values import Plan

TRIES = 40
ACCUMULATORS = {"CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"}


@dataclass(frozen=True)
class Test:
    """`about` is the label of the rule that the test breaks or touches; empty where it is about values."""

    __test__ = False  # for pytest
    name: str
    graph: Graph
    feeds: dict[str, Array]
    about: str = ""

    @property
    def operator(self) -> str:
        """Of what this is a test: an operator, or `graphs`."""
        return self.name.split("/")[0]

    @property
    def row(self) -> str:
        return self.name.split("/")[1]


def make(name: str, seed: int, target: Target | None = None) -> Test:
    """The test of this name. On a target another one is drawn as long as it needs what the target lacks."""
    test = _made(name, random.Random(f"{seed}/{name}"), target)
    for again in range(1, TRIES if target is not None else 1):
        if fits(test, target):
            break
        test = _made(name, random.Random(f"{seed}/{name}/{again}"), target)
    return test


def fits(test: Test, target: Target | None) -> bool:
    """Whether a target has all that a test needs: rows, rounding modes, formats."""
    if target is None or target.names >= Target().names:
        return True
    return not any(".profile" in problem.label for problem in check(test.graph, target))


def _made(name: str, rng: random.Random, target: Target | None) -> Test:
    operator, row, kind, number = name.split("/")
    if operator == "graphs" and row == "chain":
        return Test(name, *chain(int(number), rng, aimed))
    if operator == "graphs":
        graph, feeds = draw_graph(by_random(rng), floats=row == "float")
        return Test(name, graph, feeds)
    if operator == "VARIABLE" and kind in ("aimed", "drawn"):  # its rows follow each other in the array
        array = covering(operator, target or Target())
        numbers = [n for n, one in enumerate(array) if one["row"] == row]
        return Test(name, *pair(operator, numbers[int(number) % len(numbers)], rng.getrandbits(32), target))
    if kind == "aimed":
        return Test(name, *aimed(operator, row, int(number), rng))
    if kind == "drawn":
        return Test(name, *small(operator, row, rng))
    if kind == "corner":
        return Test(name, *at_corners(operator, row, int(number)))
    if kind == "size":
        return Test(name, *sized(operator, int(number), rng.getrandbits(32), target))
    if kind == "pair":
        return Test(name, *pair(operator, int(number), rng.getrandbits(32), target))
    if number == "error":
        return Test(name, *broken(kind, row, rng), kind)
    if ".rank." in kind:
        return Test(name, *of_rank(kind, rng.getrandbits(32), target, beyond=number == "beyond"), kind)
    if kind.startswith(f"{operator}.L"):
        return Test(name, *limited(kind, TABLE[operator].row(row), beyond=number == "beyond"), kind)
    return Test(name, *at_require(kind, beyond=number == "beyond"), kind)


def aims_of(operator: str) -> int:
    """How many aims an operator has."""
    return len(AIMS.get(operator, ())) + len(FLAVOURS) + (operator in ACCUMULATORS)


def aimed(operator: str, row: str, number: int, rng: random.Random) -> tuple[Graph, dict[str, Array]]:
    """A use of an operator with data of its aim of this number, again from the first one after the last."""
    spec = TABLE[operator]
    if not spec.pure or not spec.inputs:
        return small(operator, row, rng)
    number %= aims_of(operator)
    ends = operator in ACCUMULATORS and number == aims_of(operator) - 1
    aim = (*AIMS.get(operator, ()), *FLAVOURS, FLAVOURS[2])[number]
    numbers = np.random.default_rng(rng.getrandbits(64))
    for _ in range(TRIES):  # what an aim changes may not go with the attributes that were drawn
        draw = by_random(rng)
        plan = PLANS.get(operator, unary)(draw, spec, spec.row(row))
        if not _is_small(plan):
            continue
        aim(plan, spec, spec.row(row), numbers)
        try:
            graph, feeds = case_of(draw, spec, spec.row(row), plan)
        except AssertionError:
            continue
        if ends:
            to_the_ends(graph, feeds)
        return graph, feeds
    return small(operator, row, rng)


def _is_small(plan: Plan) -> bool:
    shapes = [s for shape in plan.shapes.values() for s in (shape if isinstance(shape, list) else [shape])]
    return all(int(np.prod(shape)) <= 4096 for shape in shapes)


def small(operator: str, row: str, rng: random.Random) -> tuple[Graph, dict[str, Array]]:
    """A random use of an operator; of some the smallest one, so that no oracle takes long."""
    drawn = [draw_case(by_random(rng), operator, row) for _ in range(3)]
    return min(drawn, key=lambda one: sum(t.size for t in one[0].main.tensors.values()))
