"""Run the schedule on an implementation, then make each kind of failure small."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import UsageError
from ...journal import Journal
from ..coverage import Coverage, unpacked
from ..suite import schedule
from . import workers
from .failures import explain
from .record import Record, Results
from .work import close

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ...cluster import Workers
    from ..doors import Door
    from .settings import Budget, Settings

BATCH = 8
FOR_TESTS = 0.8  # of a budget of time; the rest is for shrinking


@dataclass(frozen=True)
class Campaign:
    """`jobs` processes here, or `workers` of dask; `door` takes the place of the engine's text."""

    settings: Settings
    budget: Budget
    folder: Path
    jobs: int = 1
    workers: Workers | None = None
    door: Door | None = None


def run(
    campaign: Campaign, *, resume: bool = False, told: Callable[[int, Record], object] = lambda *_: None
) -> Results:
    """All results, in the order of the schedule; `told` hears of each test as it ends.

    What is finished is in the folder's journal, whatever happens. A budget of time ends with the test, or the step of
    shrinking, that runs then.
    """
    started = time.monotonic()
    campaign.settings.check()
    campaign.folder.mkdir(parents=True, exist_ok=True)
    journal, done = _begun(campaign, resume=resume)
    seconds, names = campaign.budget.seconds, list[str]()
    last = None if seconds is None else time.time() + seconds * FOR_TESTS
    try:
        for records in _worked(campaign, _batches(campaign, done, names, last), last):
            for record in records:
                done[record.name] = record
                journal.put(record.name, record.data() | {"covered": record.covered})
                told(len(done), record)
        records = [done[name] for name in names if name in done]
        results = Results(campaign.settings.described(), records, coverage=_coverage(campaign.settings, records))
        until = None if seconds is None else started + seconds
        results.failures = explain(campaign.settings, records, campaign.folder, campaign.door, until)
    finally:
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


def _begun(campaign: Campaign, *, resume: bool) -> tuple[Journal, dict[str, Record]]:
    """The folder's journal, and what it has of this run."""
    path = campaign.folder / "journal.jsonl"
    if resume and not path.exists():
        raise UsageError(f"--resume: there is no {path}; the first run makes it")
    journal = Journal(path, {"work": "comply", **campaign.settings.described()}, resume=resume)
    done = {}
    for name in journal:
        with journal.reading(name):
            done[name] = Record.of(journal.get(name))
    return journal, done


def _worked(campaign: Campaign, batches: Iterator[Sequence[str]], last: float | None) -> Iterator[list[Record]]:
    if campaign.workers is not None:
        return workers.dask(campaign.settings, batches, campaign.workers, last)
    if campaign.jobs > 1 and campaign.door is None:
        return workers.processes(campaign.settings, batches, campaign.jobs, last)
    return workers.here(campaign.settings, batches, campaign.door, last)


def _batches(
    campaign: Campaign, done: Mapping[str, Record], names: list[str], last: float | None
) -> Iterator[Sequence[str]]:
    """Names that aren't done, while the budget lasts; all names, done or not, are added to `names`."""
    found: list[str] = []
    for name in itertools.islice(schedule(campaign.settings.selection), campaign.budget.tests):
        if last is not None and time.time() > last:
            break
        names.append(name)
        if name not in done:
            found.append(name)
        if len(found) == BATCH:
            yield found
            found = []
    if found:
        yield found
