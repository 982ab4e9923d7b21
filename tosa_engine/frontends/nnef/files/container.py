"""Where the files of an NNEF document are: a folder, or a tar archive with or without gzip (section 5.1).

An archive is never unpacked to disk; a member that points outside of it, or isn't a plain file, is an error.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from ....errors import DataError
from .names import GRAPH, QUANT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedIOBase

    from ..language.flat import Container

MAX_TEXT: Final = 64 << 20  # bytes of graph.nnef and of graph.quant
MAX_MEMBER: Final = 2 << 30
MAX_TOTAL: Final = 4 << 30
MAX_MEMBERS: Final = 100_000
# weights hardly shrink: what unpacks to more than this and so many times its size is made to fill the memory
PLENTY: Final = 256 << 20
MAX_RATIO: Final = 100
_GZIP: Final = b"\x1f\x8b"


def open_container(path: str | os.PathLike[str], main: str = GRAPH) -> Container:
    """The folder or archive at `path`, whose text is the file `main`.

    Raises DataError for anything else, and for archives with a bad member.
    """
    place = Path(path)
    if place.is_dir():
        return Folder(place)
    if not place.exists():
        raise DataError(f"{place}: no such file or folder")
    return Archive(place, main=main)


def read_text(container: Container, name: str) -> str:
    """A text file of the container. Raises DataError if it is missing, too long or not UTF-8."""
    data = container.read(name)
    if len(data) > MAX_TEXT:
        raise DataError(f"{container.label}/{name}: {len(data)} bytes; at most {MAX_TEXT} are read")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise DataError(f"{container.label}/{name}: not UTF-8 text at byte {problem.start}") from None


def unsafe_name(name: str) -> str:
    """Why a file name may not be followed, or nothing."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or name[1:2] == ":":
        return "an absolute path"
    if ".." in path.parts:
        return "a path with '..'"
    if "\0" in name or not path.parts:
        return "not a file name"
    return ""


class Folder:
    """A document in a folder. Links are followed only within it. A file is read once."""

    def __init__(self, path: Path) -> None:
        self.path, self.label = path, str(path)
        self._files: dict[str, bytes] = {}
        self._root = os.path.realpath(path)

    def _find(self, name: str) -> Path:
        reason = unsafe_name(name)
        if reason:
            raise DataError(f"{self.label}: '{name}' is {reason}")
        place = os.path.realpath(self.path / name)
        if os.path.commonpath([place, self._root]) != self._root:
            raise DataError(f"{self.label}/{name}: a link that leaves the folder")
        return Path(place)

    def has(self, name: str) -> bool:
        return self._find(name).is_file()

    def read(self, name: str) -> bytes:
        if name not in self._files:
            self._files[name] = self._read(name)
        return self._files[name]

    def _read(self, name: str) -> bytes:
        place = self._find(name)
        if not place.is_file():
            raise DataError(f"{self.label}/{name}: no such file")
        limit = MAX_TEXT if name in (GRAPH, QUANT) else MAX_MEMBER
        if place.stat().st_size > limit:
            raise DataError(f"{self.label}/{name}: {place.stat().st_size} bytes; at most {limit} are read")
        return place.read_bytes()


class Archive:
    """A document in a tar archive, read once from front to end. Files other than the document's own are passed over."""

    def __init__(
        self, path: Path, max_member: int = MAX_MEMBER, max_total: int = MAX_TOTAL, *, main: str = GRAPH
    ) -> None:
        self.label, self._main = str(path), main
        self._max_member, self._max_total = max_member, max_total
        self._files: dict[str, bytes] = {}
        try:
            with path.open("rb") as raw:
                packed = raw.read(len(_GZIP)) == _GZIP
                raw.seek(0)
                if packed:
                    self._max_total = min(max_total, max(PLENTY, MAX_RATIO * path.stat().st_size))
                # gzip checks the length and the checksum at the end; tarfile's own mode r|gz doesn't
                stream: BufferedIOBase = gzip.GzipFile(fileobj=raw) if packed else raw
                with tarfile.open(fileobj=stream, mode="r|") as tar:
                    self._read_all(tar)
                self._drain(stream)
        except (tarfile.TarError, EOFError, zlib.error, OSError, UnicodeDecodeError, ValueError) as problem:
            raise DataError(f"{self.label}: not a readable tar archive ({problem})") from None
        self._root = self._find_root()

    def _read_all(self, archive: tarfile.TarFile) -> None:
        total = 0
        for member in self._members(archive):
            total += member.size
            if member.size > self._max_member or total > self._max_total:
                raise self._bad(member, f"too large ({member.size} bytes)")
            name = str(PurePosixPath(member.name))
            if not name.endswith((".dat", PurePosixPath(self._main).suffix, QUANT)):
                continue
            if name in self._files:
                raise self._bad(member, "in the archive twice")
            stream = archive.extractfile(member)
            data = stream.read() if stream is not None else b""
            if len(data) != member.size:
                raise self._bad(member, f"cut off after {len(data)} of {member.size} bytes")
            self._files[name] = data

    def _drain(self, stream: BufferedIOBase) -> None:
        """Read what follows the last member, so that a damaged end is noticed."""
        left = self._max_total
        while left > 0 and (data := stream.read(1 << 20)):
            left -= len(data)

    def _members(self, archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
        for number, member in enumerate(archive):
            reason = unsafe_name(member.name)
            if number >= MAX_MEMBERS:
                raise DataError(f"{self.label}: more than {MAX_MEMBERS} members")
            if reason and not (member.isdir() and member.name in (".", "./")):
                raise self._bad(member, reason)
            if member.issym() or member.islnk():
                raise self._bad(member, f"a link to '{member.linkname}'")
            if member.isreg():
                yield member
            elif not member.isdir():
                raise self._bad(member, "neither a file nor a folder")

    def _bad(self, member: tarfile.TarInfo, reason: str) -> DataError:
        return DataError(f"{self.label}: member '{member.name}' is {reason}")

    def _find_root(self) -> str:
        """The folder of the main text inside the archive: its top, or one folder around everything."""
        if self._main in self._files:
            return ""
        roots = [name[: -len(self._main)] for name in self._files if name.endswith("/" + self._main)]
        if len(roots) != 1:
            found = f"{len(roots)} files named {self._main}" if roots else f"no {self._main}"
            raise DataError(f"{self.label}: the archive holds {found}")
        return roots[0]

    def has(self, name: str) -> bool:
        return self._root + name in self._files

    def read(self, name: str) -> bytes:
        if not self.has(name):
            raise DataError(f"{self.label}/{name}: no such file in the archive")
        return self._files[self._root + name]
