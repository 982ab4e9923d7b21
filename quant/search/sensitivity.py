"""Which layers cost accuracy: one unit at a time in integers, and the reverse.

- `only`: this unit in int8, all others in float. The noise of these adds up, nearly, to that of the whole network.
- `without`: this unit in float, all others in int8: what its integers cost in the company of the others.
- `wide`: this unit in int16, all others in int8: what more bits would mend.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..legalize.layers import FLOAT, INT8, INT16
from ..metrics import Score
from .units import assigned, paste_ready

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .evaluate import Evaluator
    from .journal import Scores
    from .units import Unit

    Measured = Score | str


@dataclass(frozen=True)
class Row:
    """The scores of one unit; a text says why there is none."""

    unit: Unit
    only: Measured
    without: Measured
    wide: Measured

    @property
    def noise(self) -> float:
        return self.only.noise if isinstance(self.only, Score) else 0.0


@dataclass
class Sensitivity:
    """`rows` begin with the unit that costs most; `mended` is the score with `choice`, unit name -> precision."""

    whole: Measured
    rows: list[Row]
    choice: dict[str, str] = field(default_factory=dict)
    mended: Measured | None = None

    def rules(self) -> list[str]:
        """`choice` as lines for `quantize --layers`."""
        return paste_ready([row.unit for row in self.rows], self.choice, INT8)


def analyse(
    evaluator: Evaluator,
    journal: Scores,
    units: Sequence[Unit],
    share: float = 0.5,
    done: Callable[[], None] = lambda: None,
) -> Sensitivity:
    """Three measurements for each unit and two of the whole; `done` is called after each.

    `choice` gives int16 to the units that cost most: as few as bring at least `share` of the noise of all, without
    those that int16 can't help.
    """

    def measured(unit: Unit | None, own: str, others: str) -> Measured:
        chosen = {} if unit is None else {unit.name: own}
        found = journal.score(assigned(units, chosen, others), evaluator.score)
        done()
        return found

    whole = measured(None, "", INT8)
    rows = [
        Row(unit, measured(unit, INT8, FLOAT), measured(unit, FLOAT, INT8), measured(unit, INT16, INT8))
        for unit in units
    ]
    rows.sort(key=lambda row: -row.noise)  # sorting is stable: the order of execution where they are equal
    found = Sensitivity(whole, rows, dict.fromkeys((unit.name for unit in units), INT8))
    found.choice |= dict.fromkeys(_worst(whole, rows, share), INT16)
    found.mended = journal.score(assigned(units, found.choice, INT8), evaluator.score)
    done()
    return found


def measurements(units: Sequence[Unit]) -> int:
    """How often `analyse` calls `done`."""
    return 3 * len(units) + 2


def _worst(whole: Measured, rows: Sequence[Row], share: float) -> list[str]:
    total, names, reached = sum(row.noise for row in rows), list[str](), 0.0
    for row in rows:
        if reached >= share * total:
            break
        reached += row.noise
        if isinstance(whole, Score) and isinstance(row.wide, Score) and row.wide.noise < whole.noise:
            names.append(row.unit.name)
    return names
