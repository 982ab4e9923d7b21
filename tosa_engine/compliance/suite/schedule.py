"""The names of the tests in their order: breadth first, then random ones without end."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ...errors import UsageError
from ...spec import TABLE
from ...target import LEVEL_8K, Target
from ...versions import V1_0
from ..coverage.dimensions import universe
from ..coverage.labels import labels
from .aims import AIMS
from .corners import count
from .pairs import channels, covering
from .requires import REQUIRES
from .rules import rows_that_break
from .tests import aims_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...spec import OpSpec, Row

DRAWN: Final = 3  # random uses of each row in the finite part
ROWS_OF_A_RULE: Final = 2
GRAPHS: Final = 400  # in the finite part, of each kind
CHANNELS: Final = range(2, 16)
LONG: Final = frozenset({"MATMUL", "AVG_POOL2D"})  # whose sums at the ends of accumulators have many terms
GRAPHS_EARLY: Final = 44  # every chain four times


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
        names = self.operators or tuple(TABLE)
        return [TABLE[name] for name in names if self.rows_of(TABLE[name])]

    def rows_of(self, spec: OpSpec) -> list[Row]:
        return [row for row in spec.rows if self.has(row) and (not self.rows or row.key in self.rows)]

    def has(self, row: Row) -> bool:
        legal = any(set(needs) <= self.target.names for needs in row.needs)
        return legal and row.since <= self.target.version


def schedule(selection: Selection) -> Iterator[str]:
    """Names of tests; it doesn't end."""
    yield from finite(selection)
    yield from _endless(selection)


def finite(selection: Selection) -> Iterator[str]:
    """All that there is to exercise, once.

    First come all rows, one of each operator after the other, then as few tests as have all classes of all operators,
    then one test for each rule and own aim, then all others. In each stage every operator gets on at its own pace, so
    that a short budget sees all of them.
    """
    done: set[str] = set()
    for stage in _stages(selection):
        paced = ((i / len(own), j, name) for j, own in enumerate(stage) for i, name in enumerate(own))
        for _, _, name in sorted(paced):
            if name not in done:
                done.add(name)
                yield name


def _stages(selection: Selection) -> Iterator[list[list[str]]]:
    specs, kinds = selection.specs, _kinds(selection)
    yield [[f"{spec.name}/{row.key}/aimed/0" for row in selection.rows_of(spec)] for spec in specs]
    yield [_classes(spec.name, selection) for spec in specs]
    rules = [[*_requires(spec, selection), *_rules(spec, selection, 0, 1)] for spec in specs]
    aims = [_aimed(spec, selection, len(AIMS.get(spec.name, ()))) for spec in specs]
    edges = [_corners(spec, selection) for spec in specs if spec.name not in LONG]
    yield [*rules, *aims, *edges, *([f"graphs/{kind}/-/{n}" for n in range(GRAPHS_EARLY)] for kind in kinds)]
    everything = [own for spec in specs for own in _everything(spec, selection)]
    yield [*everything, *([f"graphs/{kind}/-/{n}" for n in range(GRAPHS)] for kind in kinds)]


def _everything(spec: OpSpec, selection: Selection) -> Iterator[list[str]]:
    yield [name for name, _ in _pairs(spec.name, selection)]
    yield [*_rules(spec, selection, 1, ROWS_OF_A_RULE)]
    yield [*_limits(spec, selection)]
    yield _corners(spec, selection)
    yield _aimed(spec, selection, aims_of(spec.name))
    yield [f"{spec.name}/{row.key}/drawn/{n}" for n in range(DRAWN) for row in selection.rows_of(spec)]


def _kinds(selection: Selection) -> list[str]:
    """Of graphs of several operators, those that are legal."""
    wanted = selection.graphs and not selection.rows
    return [kind for kind in ("int", "chain", "float") if wanted and _runs(selection, kind)]


def _corners(spec: OpSpec, selection: Selection) -> list[str]:
    keys = [row.key for row in selection.rows_of(spec)]
    return [f"{spec.name}/{key}/corner/{n}" for key in keys for n in range(count(spec.name, key))]


def _aimed(spec: OpSpec, selection: Selection, count: int) -> list[str]:
    return [f"{spec.name}/{row.key}/aimed/{n}" for n in range(1, count) for row in selection.rows_of(spec)]


def _pairs(operator: str, selection: Selection) -> list[tuple[str, Mapping[str, str]]]:
    """The tests of an operator's pairs of classes, with what was chosen for each."""
    rows = {row.key for row in selection.rows_of(TABLE[operator])}
    array = covering(operator, selection.target) if len(universe(operator)) > 1 else ()
    return [(f"{operator}/{one['row']}/pair/{n}", one) for n, one in enumerate(array) if one["row"] in rows]


def _classes(operator: str, selection: Selection) -> list[str]:
    """Those among them of which each has a class that the ones before don't have."""
    there: set[tuple[str, str]] = set()
    found = []
    for name, chosen in _pairs(operator, selection):
        own = {one for one in chosen.items() if one[0] != "row"}
        if not own <= there:
            found.append(name)
        there |= own
    return [*found, *_sizes(operator, selection)]


def _sizes(operator: str, selection: Selection) -> list[str]:
    """Every small number of channels."""
    pairs = _pairs(operator, selection) if channels(operator) else []
    rows = [one["row"] for _, one in pairs]
    return [f"{operator}/{rows[n % len(rows)]}/size/{n}" for n in CHANNELS if rows and not selection.rows]


def _runs(selection: Selection, kind: str) -> bool:
    """Random graphs hold any operator, so they are for those who test all of a profile."""
    return not selection.operators and f"PRO-{'FP' if kind == 'float' else 'INT'}" in selection.target.profiles


def _endless(selection: Selection) -> Iterator[str]:
    kinds = _kinds(selection)
    for n in itertools.count():
        for spec in selection.specs:
            for row in selection.rows_of(spec):
                yield f"{spec.name}/{row.key}/aimed/{aims_of(spec.name) + n}"
                yield f"{spec.name}/{row.key}/drawn/{DRAWN + n}"
        for kind in kinds:
            yield from (f"graphs/{kind}/-/{GRAPHS + n * 100 + i}" for i in range(100))


def _rules(spec: OpSpec, selection: Selection, first: int, last: int) -> Iterator[str]:
    """Graphs that break an ERROR_IF, in some of the rows that can."""
    legal = {row.key for row in selection.rows_of(spec)}
    for rule in spec.checks:
        rows = [row for row in rows_that_break(rule.label, selection.target) if row in legal]
        yield from (f"{spec.name}/{row}/{rule.label}/error" for row in rows[first:last])


def _requires(spec: OpSpec, selection: Selection) -> Iterator[str]:
    for require in spec.requires:
        if require.label in REQUIRES and not selection.rows:
            yield from (f"{spec.name}/-/{require.label}/{where}" for where in ("at", "beyond"))


def _limits(spec: OpSpec, selection: Selection) -> Iterator[str]:
    """Of level 8K: at the limit and one beyond."""
    row = selection.rows_of(spec)[0].key
    if selection.target.level is not LEVEL_8K or selection.rows:
        return
    for label in labels(spec.name):
        limit, _, where = label.partition(" ")
        if where:
            yield f"{spec.name}/{row if '.L' in limit else '-'}/{limit}/{where}"
