"""Finished parts of long work, kept line by line: after an interrupt the next run goes on where this one stopped.

The first line says what the parts belong to; each other line is one part and its key. A line that an interrupt cut is
as good as none.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .errors import DataError
from .files import write_atomically

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

FORMAT: Final = "tosa-engine journal"
VERSION: Final = 1


class Journal:
    """`path` None: nothing outlives this object. The file is made with the first part.

    Without `resume` what another run left in the file is forgotten. Raises DataError for a file that isn't a journal,
    and with `resume` for one of something else.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        belongs: Mapping[str, Any] | None = None,
        *,
        resume: bool = False,
    ) -> None:
        self.path = None if path is None else Path(path)
        self._known: dict[str, Any] = {}
        self._head = json.loads(json.dumps({"format": FORMAT, "version": VERSION, **(belongs or {})}))
        self._begun = False
        if self.path is not None and self.path.exists():
            self._read(self.path, resume)

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def get(self, key: str) -> Any:
        """What was kept under a key, as plain data; None where there is nothing."""
        return self._known.get(key)

    def put(self, key: str, content: Any) -> None:
        """Keep a part: plain data."""
        self._known[key] = content
        if self.path is None:
            return
        if not self._begun:
            write_atomically(self.path, _line(self._head))
            self._begun = True
        with self.path.open("ab") as file:
            file.write(_line({"part": key, "content": content}))

    def remove(self) -> None:
        """The work is done: the file goes."""
        if self.path is not None and self._begun:
            self.path.unlink(missing_ok=True)

    @contextmanager
    def reading(self, key: str) -> Iterator[None]:
        """Around code that takes a part to pieces: raises DataError where it has another form."""
        try:
            yield
        except (ValueError, KeyError, TypeError, IndexError, OverflowError) as problem:
            raise DataError(f"{self.path}: '{key}' isn't what this program keeps: {problem}") from problem

    def _read(self, path: Path, resume: bool) -> None:
        lines = path.read_bytes().splitlines(keepends=True)
        try:
            head = json.loads(lines[0]) if lines else None
            if not isinstance(head, dict) or head.get("format") != FORMAT:
                raise DataError(f"{path}: not a journal of tosa-engine; give another file")
            if not resume:
                return
            if head != self._head:
                others = ", ".join(key for key in self._head if head.get(key) != self._head[key])
                raise DataError(f"{path}: made with another {others}; without --resume it is begun anew")
            whole = [line for line in lines[1:] if line.endswith(b"\n")]
            for content in map(json.loads, whole):
                self._known[str(content["part"])] = content["content"]
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            raise DataError(f"{path}: not a journal of tosa-engine: {problem}") from problem
        if len(whole) != len(lines) - 1:
            write_atomically(path, b"".join([lines[0], *whole]))
        self._begun = True


def _line(content: Any) -> bytes:
    return (json.dumps(content, sort_keys=True) + "\n").encode()
