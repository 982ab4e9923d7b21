"""Which tensors must be compared? A verdict may not say more than what was looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .names import Lineup
    from .rows import Row
    from .sides import Side


class Require(Enum):
    """The outputs of models (where a regular expression selects tensors: those that it selects); all tensors of both
    sides but inputs; none.
    """

    OUTPUTS = "outputs"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True)
class Missing:
    """A tensor of the side `side` (`here` or `there`) that had to be compared, and why it wasn't."""

    side: str
    name: str
    why: str
    is_output: bool

    def __str__(self) -> str:
        return f"{'output ' if self.is_output else ''}'{self.name}' of the side {self.side}: {self.why}"


def not_compared(
    here: Side, there: Side, lineup: Lineup, rows: Sequence[Row], require: Require, tensors: str | None
) -> list[Missing]:
    """What `require` asks for and no row says anything of; `tensors` selects names of `here`."""
    if require is Require.NONE:
        return []
    found: list[Missing] = []
    partners = dict(lineup.pairs)
    told = {row.here: row for row in rows}
    for name in _required(here, require):
        if tensors is not None and not re.search(tensors, name):
            continue
        row = told.get(name)
        if name not in partners:
            found.append(Missing("here", name, "no tensor there is its partner", name in here.outputs))
        elif row is not None and row.relation == "unknown":
            found.append(Missing("here", name, row.note, name in here.outputs))
    reached = {row.there for row in rows if row.relation != "unknown"} | {missing.name for missing in found}
    for name in _required(there, require) if tensors is None else ():
        if name not in reached and not _is_told(name, lineup, found):
            why = next((row.note for row in rows if row.there == name), "no tensor here is its partner")
            found.append(Missing("there", name, why, name in there.outputs))
    return found


def _is_told(name: str, lineup: Lineup, found: Sequence[Missing]) -> bool:
    """Whether the partner of a tensor there is among the missing ones of the side here."""
    partner = next((a for a, b in lineup.pairs if b == name), None)
    return any(missing.name == partner for missing in found)


def _required(side: Side, require: Require) -> list[str]:
    if require is Require.OUTPUTS:
        return side.outputs
    return [name for name in side.tensors if name not in side.inputs]
