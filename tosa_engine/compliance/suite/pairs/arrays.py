"""Covering arrays: few choices of one class for each dimension of an operator, so that all pairs of classes of two
dimensions that can stand together do so in one of them.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Final

from ....check import ATTRIBUTE_NEEDS
from ....spec import TABLE
from ...coverage.dimensions import universe
from ...coverage.impossible import rules, why_not

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....target import Target

    Chosen = Mapping[str, str]
    Pair = tuple[tuple[str, str], tuple[str, str]]

TRIES: Final = 60


def covering(operator: str, target: Target) -> tuple[Chosen, ...]:
    """The choices for an operator, of rows and modes that a target has."""
    rows = tuple(
        row.key for row in TABLE[operator].rows
        if row.since <= target.version and any(set(needs) <= target.names for needs in row.needs)
    )  # fmt: skip
    lacking = tuple(mode for mode, need in ATTRIBUTE_NEEDS.items() if need not in target.names)
    return _covering(operator, rows, lacking)


@cache
def _covering(operator: str, rows: tuple[str, ...], lacking: tuple[str, ...]) -> tuple[Chosen, ...]:
    classes = {name: tuple(c for c in some if c not in lacking) for name, some in universe(operator).items()}
    classes["row"] = rows
    rng = random.Random(operator)
    if len(classes) == 1:
        return tuple({"row": row} for row in rows)
    wanted = dict.fromkeys(pairs(operator, classes))
    found: list[Chosen] = []
    while wanted:
        first = next(iter(wanted))
        chosen = _completed(operator, classes, dict(first), wanted, rng)
        assert chosen is not None, f"{operator}: {first} can't be completed"
        for pair in combinations(((name, chosen[name]) for name in classes), 2):
            wanted.pop(pair, None)
        found.append(chosen)
    return tuple(found)


def pairs(operator: str, classes: Mapping[str, tuple[str, ...]]) -> list[Pair]:
    """All pairs of classes that can stand together."""
    return [
        ((a, x), (b, y))
        for a, b in combinations(classes, 2)
        for x in classes[a]
        for y in classes[b]
        if not why_not(operator, {a: x, b: y})
    ]


def _completed(
    operator: str, classes: Mapping[str, tuple[str, ...]], start: dict[str, str], wanted: Mapping[Pair, None],
    rng: random.Random,
) -> Chosen | None:  # fmt: skip
    """A choice with the given classes that has many wanted pairs; None where none was found."""
    order = {name: i for i, name in enumerate(classes)}
    for _ in range(TRIES):
        chosen = dict(start)
        for name in rng.sample([n for n in classes if n not in chosen], len(classes) - len(chosen)):
            options = [c for c in classes[name] if not _forbidden(operator, chosen, name, c)]
            if not options:
                break
            rng.shuffle(options)
            chosen[name] = max(options, key=lambda c: _gain(chosen, name, c, wanted, order))
        else:
            return chosen
    return None


def _forbidden(operator: str, chosen: Mapping[str, str], name: str, value: str) -> bool:
    tried = {**chosen, name: value}
    return any(name in one.classes and one.forbids(tried) for one in rules(operator))


def _gain(chosen: Chosen, name: str, value: str, wanted: Mapping[Pair, None], order: Mapping[str, int]) -> int:
    new, at = (name, value), order[name]
    return sum(((new, one) if at < order[one[0]] else (one, new)) in wanted for one in chosen.items())
