"""How much memory a process may take: what it was allowed, else what the machine and its limits leave."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

ADVICE: Final = "take a smaller batch, fewer threads, or allow more (--max-memory, Session(max_memory=...))"
SMALL: Final = 1 << 23  # bytes that the system isn't asked for: less than what Python itself takes in between
NO_LIMIT: Final = 1 << 60  # control groups say numbers beyond for none
ROOT: Final = Path("/")
_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@contextmanager
def limited(most: int | None) -> Iterator[None]:
    """What begins inside may take `most` bytes; None changes nothing.

    It holds for sessions that are made inside, by whatever function, and for arrays that are read from files.
    """
    before = _allowed.set(allowed() if most is None else most)
    try:
        yield
    finally:
        _allowed.reset(before)


def allowed() -> int | None:
    """Bytes that `limited` says; None outside of it."""
    return _allowed.get()


def refuse_more(total: int, what: str, limit: int | None = None, held: int = 0) -> None:
    """Raise DataError where `what` takes a `total` of more than `limit` bytes (None: what is free), `held` included."""
    if not fits(total, limit, held):
        most = most_of(limit, held)
        which = "available" if limit is None else "allowed"
        raise DataError(f"{what}, {most:,} are {which}; {ADVICE}", label="RUN.memory")


def fits(total: int, limit: int | None = None, held: int = 0) -> bool:
    """Whether a `total` is within the limit (None: within what is free)."""
    if limit is None and total <= SMALL:
        return True
    most = most_of(limit, held)
    return most is None or total <= most


def most_of(limit: int | None, held: int = 0) -> int | None:
    """The limit, else what is free, besides what this process has got already and counts."""
    if limit is not None:
        return limit
    left = free()
    return None if left is None else left + held


def free(root: Path = ROOT) -> int | None:
    """The least of what the machine has available without swapping, of what the control groups of this process leave,
    and of its own limits (RLIMIT_AS, RLIMIT_DATA); None where the system tells nothing. `root` is that of the files.
    """
    known = [_machine(root), *_groups(root), *_own(root)]
    return min((max(left, 0) for left in known if left is not None), default=None)


def _machine(root: Path) -> int | None:
    found = _fields(root / "proc/meminfo").get("MemAvailable")
    if found is None and {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(getattr(os, "sysconf_names", {})):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return found


def _groups(root: Path) -> Iterator[int | None]:
    """What this process' control groups leave, from its own up to that of the mount.

    In a container the path may be one of the machine outside: what exists of it counts.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mount, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            mount = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        own = mount / path.lstrip("/")
        inside = [one for one in own.parents if one.is_relative_to(mount)]
        yield from (_left(folder, *names) for folder in (own, *inside))


def _left(folder: Path, limit: str, usage: str, reclaimed: str) -> int | None:
    """What a control group leaves; pages of files that nobody used lately are given back when memory is short."""
    most, used = _text(folder / limit).strip(), _text(folder / usage).strip()
    if not most.isdecimal() or not used.isdecimal() or int(most) >= NO_LIMIT:
        return None
    return int(most) - int(used) + _fields(folder / "memory.stat", unit=1).get(reclaimed, 0)


def _own(root: Path) -> Iterator[int | None]:
    try:
        import resource
    except ImportError:  # where there are no such limits
        return
    status = _fields(root / "proc/self/status")
    for kind, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        soft = resource.getrlimit(kind)[0]
        yield None if soft == resource.RLIM_INFINITY else soft - status.get(used, 0)


def _fields(file: Path, unit: int = 1024) -> dict[str, int]:
    """The numbers of a file of lines such as `Name: 12 kB`, in bytes."""
    words = [line.replace(":", " ").split() for line in _text(file).splitlines()]
    return {line[0]: int(line[1]) * unit for line in words if len(line) > 1 and line[1].isdecimal()}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
