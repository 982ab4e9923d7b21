"""How long a run may take. Whoever runs steps looks at the clock in front of each piece of work."""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from ..errors import TimeLimit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..spec.table import Call

AT_ONCE: Final = 1e8  # nanoseconds of work, by its costs, between two looks at the clock and at signals
_end: Final[ContextVar[tuple[float, float] | None]] = ContextVar("end of the run", default=None)


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """What runs in here takes no longer than so many seconds, from now on; None: as long as it wants."""
    token = _end.set(None if seconds is None else (time.monotonic() + seconds, seconds))
    try:
        yield
    finally:
        _end.reset(token)


def check(calls: Sequence[Call]) -> None:
    """Raises TimeLimit if the time of this run is over; these operators would be next."""
    end = _end.get()
    if end is not None and time.monotonic() > end[0]:
        where = f", in {calls[0].spec.name}" if calls else ""
        node = calls[0].operator.name if calls else ""
        raise TimeLimit(f"the run was ended at its time limit of {end[1]:g} s{where}", label="RUN.time", node=node)
