"""The names of the tests in their order: first every row of every operator once, then rules and aims of all operators
side by side, then random ones without end.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from ...errors import UsageError
from ...spec import TABLE
from ...target import Target
from ...versions import V1_0
from .requires import REQUIRES
from .rules import rows_that_break
from .tests import aims_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec import OpSpec, Row

DRAWN: Final = 6  # random uses of each row in the finite part
ROWS_OF_A_RULE: Final = 2
GRAPHS: Final = 400  # in the finite part, of integers and of floats each
# What no single graph can test from outside: operators of the user's own, and variables, which few can load.
LEFT_OUT: Final = frozenset({"CUSTOM", "VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE", "CONST_SHAPE"})


@dataclass(frozen=True)
class Selection:
    """Which tests: of which operators (all), of which rows (all), legal on which target, and whether graphs of many
    operators belong to them.
    """

    operators: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    target: Target = field(default_factory=lambda: Target(version=V1_0))
    graphs: bool = True

    def check(self) -> None:
        """Raises UsageError for operators and rows that aren't there."""
        unknown = [name for name in self.operators if name not in TABLE]
        if unknown:
            raise UsageError(f"no operator {', '.join(unknown)}; they have the specification's names, as in RESCALE")
        keys = {row.key for spec in TABLE.values() for row in spec.rows}
        missing = [key for key in self.rows if key not in keys]
        if missing:
            raise UsageError(f"no row {', '.join(missing)}; rows are formats joined by underscores, as in i8_i32")

    @property
    def specs(self) -> list[OpSpec]:
        names = self.operators or tuple(name for name in TABLE if name not in LEFT_OUT)
        return [TABLE[name] for name in names if self.rows_of(TABLE[name])]

    def rows_of(self, spec: OpSpec) -> list[Row]:
        return [row for row in spec.rows if self.has(row) and (not self.rows or row.key in self.rows)]

    def has(self, row: Row) -> bool:
        legal = any(set(needs) <= self.target.names for needs in row.needs)
        return legal and row.since <= self.target.version


def schedule(selection: Selection) -> Iterator[str]:
    """Names of tests; it doesn't end."""
    first, rest = [], []
    for spec in selection.specs:
        rows = [row.key for row in selection.rows_of(spec)]
        first += [f"{spec.name}/{row}/aimed/0" for row in rows]
        own = [*_rules(spec, selection)]
        own += [f"{spec.name}/{row}/aimed/{n}" for n in range(1, aims_of(spec.name)) for row in rows]
        own += [f"{spec.name}/{row}/drawn/{n}" for n in range(DRAWN) for row in rows]
        rest += [((i + 1) / (len(own) + 1), spec.name, name) for i, name in enumerate(own)]
    kinds = [
        kind for kind in ("int", "chain", "float") if selection.graphs and not selection.rows and _runs(selection, kind)
    ]
    for kind in kinds:
        rest += [((n + 1) / (GRAPHS + 1), f"graphs {kind}", f"graphs/{kind}/-/{n}") for n in range(GRAPHS)]
    yield from first
    yield from (name for _, _, name in sorted(rest, key=lambda one: one[:2]))
    yield from _endless(selection, kinds)


def _runs(selection: Selection, kind: str) -> bool:
    """Random graphs hold any operator, so they are for those who test all of a profile."""
    return not selection.operators and f"PRO-{'FP' if kind == 'float' else 'INT'}" in selection.target.profiles


def _endless(selection: Selection, kinds: list[str]) -> Iterator[str]:
    for n in itertools.count():
        for spec in selection.specs:
            for row in selection.rows_of(spec):
                yield f"{spec.name}/{row.key}/aimed/{aims_of(spec.name) + n}"
                yield f"{spec.name}/{row.key}/drawn/{DRAWN + n}"
        for kind in kinds:
            yield from (f"graphs/{kind}/-/{GRAPHS + n * 100 + i}" for i in range(100))


def _rules(spec: OpSpec, selection: Selection) -> Iterator[str]:
    legal = {row.key for row in selection.rows_of(spec)}
    for rule in spec.checks:
        rows = [row for row in rows_that_break(rule.label, selection.target) if row in legal]
        yield from (f"{spec.name}/{row}/{rule.label}/error" for row in rows[:ROWS_OF_A_RULE])
    for require in spec.requires:
        if require.label in REQUIRES and not selection.rows:
            yield from (f"{spec.name}/-/{require.label}/{where}" for where in ("at", "beyond"))


@cache
def whole(selection: Selection) -> int:
    """How many tests the finite part has."""
    return sum(1 for _ in itertools.takewhile(lambda name: not name.endswith(f"/drawn/{DRAWN}"), schedule(selection)))
