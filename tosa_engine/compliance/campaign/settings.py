"""What is tested, on what, and for how long."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...errors import UsageError
from ..doors import Limits
from ..known import KNOWN
from ..suite import Selection

if TYPE_CHECKING:
    from ..known import Known

UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Budget:
    """Seconds, or a number of tests; a number of tests gives the same result each time."""

    seconds: float | None = None
    tests: int | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """`90s`, `10m`, `1h`, or a number of tests. Raises UsageError for what is neither."""
        found = re.fullmatch(r"(\d+)([smh]?)", text)
        if found is None or int(found[1]) == 0:
            raise UsageError(f"a budget is a time as 90s, 10m or 1h, or a number of tests, not '{text}'")
        if found[2]:
            return cls(seconds=int(found[1]) * UNITS[found[2]])
        return cls(tests=int(found[1]))


@dataclass(frozen=True)
class Settings:
    """`strict`: a violated REQUIRE must be reported. `known` names a list of differences that are written down."""

    engine: str
    selection: Selection = field(default_factory=Selection)
    seed: int = 0
    files: str = "npy"
    limits: Limits = field(default_factory=Limits)
    strict: bool = False
    known: str = ""

    def check(self) -> None:
        """Raises UsageError for names that aren't there."""
        self.selection.check()
        if self.known and self.known not in KNOWN:
            raise UsageError(f"no list of known differences '{self.known}'; there are: {', '.join(KNOWN)}")

    @property
    def list(self) -> Known | None:
        return KNOWN.get(self.known)

    def described(self) -> dict[str, object]:
        """What a journal was made with: only the same can go on."""
        target = self.selection.target
        return {
            "engine": self.engine, "seed": self.seed, "files": self.files, "strict": self.strict, "known": self.known,
            "operators": list(self.selection.operators), "rows": list(self.selection.rows),
            "graphs": self.selection.graphs, "target": sorted(target.names), "level": target.level.name,
            "version": str(target.version), "timeout": self.limits.seconds, "memory": self.limits.memory,
        }  # fmt: skip
