"""JSON of a document, field by field. Nothing is believed: sizes, depths, numbers and types are checked."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from .rules import FORM, RuleError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_BYTES: Final = 256 << 20
INT64: Final = range(-(1 << 63), 1 << 63)
LONGEST_NUMBER: Final = 400
MOST_ITEMS: Final = 1_000_000


def parsed(content: bytes, file: str) -> Fields:
    """The object of a document. Raises RuleError for what is no JSON object, or holds what no document needs."""

    def fail(message: str) -> RuleError:
        return RuleError(FORM, file, message)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            raise fail(f"'{next(name for name in names if names.count(name) > 1)}' is given twice in one object")
        return found

    def integer(text: str) -> int:
        if len(text) > LONGEST_NUMBER or int(text) not in INT64:
            raise fail(f"the number {text[:24]}... doesn't fit int64" if len(text) > 24 else f"{text} is beyond int64")
        return int(text)

    def real(text: str) -> float:
        if len(text) > LONGEST_NUMBER or not math.isfinite(float(text)):
            raise fail(f"the number {text[:24]} is beyond float64")
        return float(text)

    def constant(text: str) -> float:
        raise fail(f"{text} is no JSON; write it as a string")

    if len(content) > MOST_BYTES:
        raise fail(f"has {len(content)} bytes, more than {MOST_BYTES}")
    try:
        found = json.loads(
            content.decode(), object_pairs_hook=unique, parse_int=integer, parse_float=real, parse_constant=constant
        )
    except RecursionError:
        raise fail("is nested too deeply") from None
    except UnicodeDecodeError as problem:
        raise fail(f"is no UTF-8: byte {problem.start}") from None
    except json.JSONDecodeError as problem:
        raise fail(f"is no JSON: {problem.msg} in line {problem.lineno}, column {problem.colno}") from None
    return Fields(found, file)


class Fields:
    """An object of a document at a place; what nobody asked for is refused by `done`."""

    def __init__(self, found: Any, place: str) -> None:
        if not isinstance(found, dict):
            raise RuleError(FORM, place, "isn't an object")
        self.found, self.place, self._asked = found, place, set[str]()

    def has(self, name: str) -> bool:
        return name in self.found

    def at(self, name: str) -> str:
        return f"{self.place}: {name}"

    def raw(self, name: str, label: str = FORM) -> Any:
        """Raises RuleError with the label where the field is missing."""
        self._asked.add(name)
        if name not in self.found:
            raise RuleError(label, self.place, f"has no '{name}'")
        return self.found[name]

    def text(self, name: str, default: str | None = None, label: str = FORM) -> str:
        found: str = self._of(str, "a string", name, default, label)
        return found

    def integer(self, name: str, default: int | None = None, label: str = FORM) -> int:
        found: int = self._of(int, "an integer", name, default, label)
        return found

    def flag(self, name: str) -> bool:
        found: bool = self._of(bool, "true or false", name, False, FORM)
        return found

    def items(self, name: str, label: str | None = None) -> list[Any]:
        """A list; an empty one where it is missing and no label says that it must be there."""
        found: list[Any] = self._of(list, "a list", name, None if label else [], label or FORM)
        if len(found) > MOST_ITEMS:
            raise RuleError(FORM, self.at(name), f"{len(found)} items, more than {MOST_ITEMS}")
        return found

    def texts(self, name: str) -> list[str]:
        found = self.items(name)
        if not all(isinstance(one, str) for one in found):
            raise RuleError(FORM, self.at(name), "isn't a list of strings")
        return found

    def integers(self, name: str, label: str) -> list[int]:
        found = self.items(name, label)
        if not all(type(one) is int and 0 <= one <= MOST_ITEMS for one in found):
            raise RuleError(FORM, self.at(name), "isn't a list of numbers of inputs")
        return found

    def table(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._of(dict, "an object", name, {}, FORM)
        return found

    def objects(self, name: str, label: str | None = None) -> Iterator[Fields]:
        for index, one in enumerate(self.items(name, label)):
            called = f" '{one['name']}'" if isinstance(one, dict) and isinstance(one.get("name"), str) else ""
            yield Fields(one, f"{self.place}: {name}[{index}]{called}")

    def done(self) -> None:
        for name in self.found:
            if name not in self._asked:
                raise RuleError(FORM, self.place, f"'{name}' isn't known here")

    def _of(self, kind: type, words: str, name: str, default: Any, label: str) -> Any:
        if name not in self.found and default is not None:
            return default
        found = self.raw(name, label)
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise RuleError(FORM, self.at(name), f"isn't {words}")
        return found
