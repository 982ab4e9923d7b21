"""Text behind the flatbuffer of a `.tosa` file, where other readers don't look.

    flatbuffer, zero bytes up to a multiple of 8, the text in UTF-8, its length as 8 bytes (little-endian), `TOSAqprm`

A reader of flatbuffers follows offsets from the start of the file, and constants outside of the flatbuffer have offsets
from there, too: what stands behind is invisible to both. A program that writes the file anew drops the text.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import DataError

if TYPE_CHECKING:
    import os

MAGIC: Final = b"TOSAqprm"
_LENGTH: Final = 8
_END: Final = _LENGTH + len(MAGIC)


def append(data: bytes, text: str) -> bytes:
    """The file with a text behind; `data` has none yet."""
    content = text.encode("utf-8")
    return b"".join([data.ljust(-(-len(data) // 8) * 8, b"\0"), content, _length(content), MAGIC])


def split(data: bytes, name: str) -> tuple[bytes, str | None]:
    """The file without its text, and the text. Raises DataError for a text that the file is too short for."""
    if not data.endswith(MAGIC):
        return data, None
    start = len(data) - _END - _size(data[-_END:], len(data), name)
    return data[:start], _decoded(data[start:-_END], name)


def read(path: str | os.PathLike[str]) -> str | None:
    """The text of a file, of which only that is read; None where there is none. Raises OSError, and as `split`."""
    with Path(path).open("rb") as file:
        length = file.seek(0, 2)
        if length < _END:
            return None
        file.seek(length - _END)
        end = file.read(_END)
        if not end.endswith(MAGIC):
            return None
        size = _size(end, length, str(path))
        file.seek(length - _END - size)
        return _decoded(file.read(size), str(path))


def _length(content: bytes) -> bytes:
    return len(content).to_bytes(_LENGTH, "little")


def _size(end: bytes, length: int, name: str) -> int:
    size = int.from_bytes(end[:_LENGTH], "little")
    if size > length - _END:
        raise DataError(f"{name}: scales and zero points of {size} bytes behind the graph: the file has {length}")
    return size


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise DataError(f"{name}: scales and zero points behind the graph: not UTF-8: {problem.reason}") from None
