"""Run the schedule on an implementation, then make each kind of failure small."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..coverage import Coverage, unpacked
from ..suite import schedule
from . import workers
from .failures import explain
from .journal import Journal
from .record import Results
from .work import close

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ..doors import Door
    from .record import Record
    from .settings import Budget, Settings

BATCH = 8
FOR_TESTS = 0.8  # of a budget of time; the rest is for shrinking


@dataclass(frozen=True)
class Campaign:
    """`jobs` processes here, or the workers of dask at `address`; `door` takes the place of the engine's text."""

    settings: Settings
    budget: Budget
    folder: Path
    jobs: int = 1
    dask: bool = False
    address: str = ""
    door: Door | None = None


def run(
    campaign: Campaign, *, resume: bool = False, told: Callable[[int, Record], object] = lambda *_: None
) -> Results:
    """All results, in the order of the schedule; `told` hears of each test as it ends.

    What is finished is in the folder's journal, whatever happens.
    """
    started = time.monotonic()
    campaign.settings.check()
    campaign.folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(campaign.folder / "journal.jsonl", campaign.settings, resume=resume)
    try:
        names = list[str]()
        batches = _batches(campaign, journal, names, started)
        for records in _worked(campaign, batches):
            journal.add(records)
            for number, record in enumerate(records, len(journal.done) - len(records) + 1):
                told(number, record)
    finally:
        journal.close()
    records = [journal.done[name] for name in names if name in journal.done]
    results = Results(campaign.settings.described(), records, coverage=_coverage(campaign.settings, records))
    seconds = campaign.budget.seconds
    until = None if seconds is None else started + seconds
    results.failures = explain(campaign.settings, records, campaign.folder, campaign.door, until)
    close(campaign.settings)
    return results


def _coverage(settings: Settings, records: Sequence[Record]) -> Coverage:
    """What all tests exercised that the implementation took part in."""
    found = Coverage(settings.selection.target)
    for record in records:
        if record.covered:
            found.seen |= unpacked(record.covered)
            found.tests += 1
    return found


def _worked(campaign: Campaign, batches: Iterator[Sequence[str]]) -> Iterator[list[Record]]:
    if campaign.dask:
        return workers.dask(campaign.settings, batches, campaign.address)
    if campaign.jobs > 1 and campaign.door is None:
        return workers.processes(campaign.settings, batches, campaign.jobs)
    return workers.here(campaign.settings, batches, campaign.door)


def _batches(campaign: Campaign, journal: Journal, names: list[str], started: float) -> Iterator[Sequence[str]]:
    """Names that aren't done, while the budget lasts; all names, done or not, are added to `names`."""
    budget = campaign.budget
    found: list[str] = []
    for name in itertools.islice(schedule(campaign.settings.selection), budget.tests):
        if budget.seconds is not None and time.monotonic() - started > budget.seconds * FOR_TESTS:
            break
        names.append(name)
        if name not in journal.done:
            found.append(name)
        if len(found) == BATCH:
            yield found
            found = []
    if found:
        yield found
