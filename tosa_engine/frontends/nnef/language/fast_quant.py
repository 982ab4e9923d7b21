"""Quantization files as tools write them, without the grammar: a line per tensor, with numbers and lists of numbers.

The grammar takes minutes over lists of a million scales. Whatever looks different is left to it, errors above all.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from .fast import KEYWORDS
from .syntax import Place, QuantLine
from .tree import number_of

if TYPE_CHECKING:
    from .syntax import Text

_NUMBER: Final = r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
_LIST: Final = rf"\[(?:[ \t]*{_NUMBER}[ \t]*,)*[ \t]*{_NUMBER}[ \t]*\]"
_ARGUMENT: Final = re.compile(
    rf"[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*({_NUMBER}|true|false|{_LIST})[ \t]*(?:,|\Z)"
)
_LINE: Final = re.compile(
    r"[ \t]*(?:\"([A-Za-z0-9_]+)\"|'([A-Za-z0-9_]+)')[ \t]*:[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*"
    r"\(([^()\"'#]*)\)[ \t]*;[ \t]*\Z"
)
_MOST_DIGITS: Final = 40  # of a number; longer ones are for the grammar to judge


def plain_lines(source: Text) -> list[QuantLine] | None:
    """The lines of a file in which nothing is unusual, or None."""
    found = []
    for number, text in enumerate(source.lines, 1):
        line = text.rstrip("\r")
        if not line.strip(" \t"):
            continue
        match = _LINE.match(line)
        args = _arguments(match[4]) if match else None
        if match is None or args is None or not KEYWORDS.isdisjoint((match[3], *args)):
            return None
        found.append(QuantLine(match[1] or match[2], match[3], args, number, source))
    return found


def _arguments(text: str) -> dict[str, Any] | None:
    args: dict[str, Any] = {}
    at = 0
    while at < len(text):
        match = _ARGUMENT.match(text, at)
        if match is None or match[1] in args:
            return None
        value = _value(match[2])
        if value is None:
            return None
        args[match[1]], at = value, match.end()
    return args if not text.rstrip().endswith(",") else None


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if text[0] != "[":
        return _number(text)
    values = tuple(_number(part.strip()) for part in text[1:-1].split(","))
    return None if None in values else values


def _number(text: str) -> int | float | None:
    value = float(text) if len(text) <= _MOST_DIGITS else math.inf
    return number_of(text, Place(0, 0)) if math.isfinite(value) else None
