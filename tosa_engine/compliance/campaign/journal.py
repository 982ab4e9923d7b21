"""Finished tests in a file, line by line, to go on from after an interrupt."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

from ...errors import DataError, UsageError
from .record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .settings import Settings


class Journal:
    """The file's first line says what is tested; each other line is a record."""

    def __init__(self, path: Path, settings: Settings, *, resume: bool) -> None:
        self.done: dict[str, Record] = {}
        said = json.dumps(settings.described())
        if resume:
            self._read(path, said)
        self.stream: IO[str] = path.open("a" if self.done else "w", encoding="utf-8")
        if not self.done:
            self.stream.write(said + "\n")

    def _read(self, path: Path, said: str) -> None:
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except FileNotFoundError:
            raise UsageError(f"--resume: there is no {path}; the first run makes it") from None
        if lines[0] != said:
            raise UsageError(f"--resume: {path} is of another run: its engine, seed or selection differ")
        for line in lines[1:-1]:  # what follows the last line break is half of a line
            try:
                record = Record.of(json.loads(line))
            except (ValueError, KeyError) as problem:
                raise DataError(f"{path}: damaged line: {problem}") from None
            self.done[record.name] = record
        path.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")

    def add(self, records: Sequence[Record]) -> None:
        for record in records:
            self.done[record.name] = record
            self.stream.write(json.dumps(record.data() | {"covered": record.covered}) + "\n")
        self.stream.flush()

    def close(self) -> None:
        self.stream.close()
