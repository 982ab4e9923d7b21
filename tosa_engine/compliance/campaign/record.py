"""What is known of each test after it ran, and of each kind of failure after it was shrunk."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..coverage import tables
from ..judge import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..coverage import Coverage


@dataclass(frozen=True)
class Record:
    """One test. `text` says what is wrong; `label` is the rule that the graph breaks; `covered` is what it exercised
    (`coverage.packed`), which the journal keeps.
    """

    name: str
    status: Status
    text: str = ""
    label: str = ""
    covered: str = ""

    @property
    def operator(self) -> str:
        return self.name.split("/")[0]

    @property
    def row(self) -> str:
        return self.name.split("/")[1]

    @property
    def kind(self) -> tuple[str, str, str]:
        """What tells failures apart before anything is shrunk."""
        rule = self.label if self.status in (Status.VERDICT, Status.CRASHED) else ""
        return self.operator, self.status.value, rule

    def data(self) -> dict[str, str]:
        found = {"name": self.name, "status": self.status.value, "text": self.text, "label": self.label}
        return {name: value for name, value in found.items() if value}

    @classmethod
    def of(cls, data: dict[str, str]) -> Record:
        status = Status(data["status"])
        return cls(data["name"], status, data.get("text", ""), data.get("label", ""), data.get("covered", ""))


@dataclass(frozen=True)
class Failure:
    """A kind of failure: the test that was shrunk, what is left of it, and what the engine probably does.

    `operators` are those of the small graph, `elements` its largest tensor that isn't a table; `folder` holds it.
    """

    name: str
    status: str
    text: str
    cause: str
    operators: tuple[str, ...]
    elements: int
    folder: str
    tests: int = 1

    def data(self) -> dict[str, Any]:
        return asdict(self) | {"operators": list(self.operators)}


@dataclass
class Results:
    """All records in the order of the schedule, and the kinds of failures."""

    settings: dict[str, object]
    records: list[Record]
    failures: list[Failure] = field(default_factory=list)
    coverage: Coverage | None = None

    @property
    def good(self) -> bool:
        return all(record.status.good for record in self.records)

    def counts(self) -> Counter[str]:
        return Counter(record.status.value for record in self.records)

    def by_row(self) -> dict[tuple[str, str], Counter[str]]:
        """How many tests of each operator and row ended how."""
        found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for record in self.records:
            found[record.operator, record.row][record.status.value] += 1
        return dict(sorted(found.items()))

    def data(self) -> dict[str, Any]:
        """For JSON: no times, so that the same tests give the same file."""
        return {
            "settings": self.settings,
            "counts": dict(sorted(self.counts().items())),
            "coverage": {} if self.coverage is None else tables.totals(self.coverage),
            "failures": [failure.data() for failure in self.failures],
            "tests": [record.data() for record in self.records],
        }

    @classmethod
    def of(cls, data: dict[str, Any]) -> Results:
        failures = [Failure(**{**one, "operators": tuple(one["operators"])}) for one in data["failures"]]
        return cls(data["settings"], [Record.of(one) for one in data["tests"]], failures)


def worse_than(now: Iterable[Record], before: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """Tests that failed now and not before, and those that failed before and not now; of tests that both have."""
    old = {record.name: record for record in before}
    both = [record for record in now if record.name in old]
    new = [record for record in both if not record.status.good and old[record.name].status.good]
    gone = [record for record in both if record.status.good and not old[record.name].status.good]
    return new, gone
