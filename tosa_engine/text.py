"""Text for people: names come from files, and what a name holds must neither steer a terminal nor begin a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

NAME = 200  # characters of a name
MOST = 4000  # characters of an error's line


def shown(text: str, most: int | None = None) -> str:
    """The text on one line: every character that can't be seen (of control, of direction, ends of lines, halves of
    surrogate pairs) as JSON would escape it; cut behind `most` characters.
    """
    cut = text if most is None or len(text) <= most else f"{text[:most]}..."
    return cut if cut.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in cut)


def joined(lines: Iterable[str]) -> str:
    """Lines as one text, each of them `shown`."""
    return "\n".join(shown(line) for line in lines)


def counted(number: int, one: str) -> str:
    """`1 tensor`, `2 tensors`."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def say(*lines: str, file: TextIO | None = None, flush: bool = False) -> None:
    """Print lines, each of them `shown`. Nothing else of ours prints what it found in a file."""
    print(joined(lines), file=file, flush=flush)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
