"""Conditions on an operator, as tables of targets say them: `stride_y <= 3`, `constant weight`, `type input is i8`."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import UsageError
from ..types import BY_NAME
from .place import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from .place import Place

COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_COMPARED: Final = re.compile(r"(\w+) *(<=|>=|==|!=|<|>) *(-?\d+|\w+)")
_CONSTANT: Final = re.compile(r"constant (\w+)")
_TYPE: Final = re.compile(r"type (\w+) is (\w+(?: \w+)*)")
_WORDS: Final = re.compile(r"(\w+) is (\w+(?: \w+)*)")


@dataclass(frozen=True)
class Condition:
    """`shown` is what an operator has in its place, for messages; None of `holds`: it is about nothing that this
    operator has.
    """

    text: str
    holds: Callable[[Place], bool | None]
    shown: Callable[[Place], str]


def parse(text: str) -> Condition:
    """Raises UsageError for a text of another form."""
    if found := _COMPARED.fullmatch(text):
        return _compared(text, *found.groups())
    if found := _CONSTANT.fullmatch(text):
        name = found[1]
        return Condition(text, lambda p: p.is_constant(name), lambda p: f"{name} isn't constant")
    if found := _TYPE.fullmatch(text):
        name, wanted = found[1], found[2].split()
        unknown = [one for one in wanted if one not in BY_NAME]
        if unknown:
            raise UsageError(f"'{text}': no number format {', '.join(unknown)}")
        return Condition(
            text, lambda p: None if p.format_of(name) is None else p.format_of(name) in wanted,
            lambda p: f"{name} is {p.format_of(name)}",
        )  # fmt: skip
    if found := _WORDS.fullmatch(text):
        return _among(text, found[1], found[2].split())
    raise UsageError(
        f"'{text}' is no condition; there are NAME <= NUMBER (also >=, ==, !=, <, >), constant ARGUMENT, "
        "type ARGUMENT is FORMAT ..., NAME is WORD-OR-NUMBER ..."
    )


def _among(text: str, name: str, words: list[str]) -> Condition:
    """An attribute that is a word, or a number."""

    def found(place: Place) -> object:
        attribute = place.attribute(name)
        return attribute if isinstance(attribute, str) else number(place, name)

    def holds(place: Place) -> bool | None:
        value = found(place)
        return None if value is None else str(value) in words

    return Condition(text, holds, lambda p: f"{name} is {found(p)}")


def _compared(text: str, name: str, sign: str, other: str) -> Condition:
    """A name on the right side may be another number of the operator."""

    def right(place: Place) -> int | None:
        return int(other) if other.lstrip("-").isdecimal() else number(place, other)

    def holds(place: Place) -> bool | None:
        a, b = number(place, name), right(place)
        return None if a is None or b is None else COMPARISONS[sign](a, b)

    names = (name,) if other.lstrip("-").isdecimal() else (name, other)
    return Condition(text, holds, lambda p: ", ".join(f"{one} is {number(p, one)}" for one in names))
