"""JSON -> records: the JSON form that `flatc` gives the same schema, parsed along the schema.

The schema says what may stand where, so every error has a position, nesting is bounded, and long lists of numbers
(data) are parsed in one go by numpy. Strict JSON only; enumerations by name or number; no floating-point number occurs.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import ParseError
from ..text import NAME, shown
from . import schema, versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schema import Enumeration, Field, Record, Table

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NAME: Final = re.compile(r'[ \t\r\n]*"([^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*')
_NEXT: Final = re.compile(r"[ \t\r\n]*([,\]}])[ \t\r\n]*")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,19})(?![0-9.eE])")
_INTEGERS: Final = re.compile(r"[-0-9, \t\r\n]*")
_PLAIN_STRING: Final = re.compile(r'"([^"\\\x00-\x1f]*)"')
_SKIPPED: Final = re.compile(r'[{}\[\]]|[^"{}\[\]]+')
_MAX_SKIPPED_DEPTH: Final = 64
_LONG: Final = 256  # characters of a list that numpy parses faster
_STRINGS: Final = json.JSONDecoder()


class Parser:
    """One text. `file` is what errors call it."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file, self.at = text, file, 0
        self.values: dict[str, Callable[[Field, Record], Any]] = {
            "bool": self._bool, "union": self._union, "i32": self._integer, "u32": self._integer, "u64": self._integer,
            "enum": self._enum, "string": self._string_field, "bytes": self._bytes, "i32s": self._i32s,
            "strings": self._strings, "table": self._table_field, "tables": self._tables, "attribute": self._attribute,
        }  # fmt: skip

    def error(self, message: str, at: int | None = None) -> ParseError:
        at = min(self.at if at is None else at, len(self.text))
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", at)
        line = self.text[start : end if end >= 0 else len(self.text)]
        return ParseError(
            message, file=self.file, line=self.text.count("\n", 0, at) + 1, column=at - start + 1, source_line=line
        )

    def root(self, table: Table) -> Record:
        """The whole text as one table. Raises ParseError where it isn't."""
        record = self.table(table)
        self._space()
        if self.at < len(self.text):
            raise self.error("more text after the graph")
        return record

    def _space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _take(self, character: str) -> bool:
        """Skip white space; whether `character` follows (and is taken)."""
        self._space()
        found = self.text.startswith(character, self.at)
        self.at += found
        return found

    def _expect(self, character: str, what: str) -> None:
        if not self._take(character):
            raise self.error(f"expected {what}")

    def table(self, table: Table) -> Record:
        self._expect("{", f"'{{', the start of a {table.name}")
        record: Record = {}
        if self._take("}"):
            return record
        what = f"a {table.name}"
        while True:
            field = self._field(table, record)
            record[field.name] = self.values[field.kind](field, record)
            if table is schema.GRAPH and field.name == "version":
                versions.version(record, self.file)  # before fields of another version look like mistakes
            if not self._goes_on("}", what):
                return record

    def _field(self, table: Table, record: Record) -> Field:
        """The field whose name comes next, with its colon."""
        found = _NAME.match(self.text, self.at)
        if found is not None:
            field = table.by_name.get(found.group(1))
            if field is not None and field.name not in record:
                self.at = found.end()
                return field
        self._space()
        at = self.at
        name = self._string("the name of a field")
        field = table.field(name)
        if field is None:
            known = ", ".join(f.name for f in table.fields) or "none"
            raise self.error(f"{table.name} has no field '{shown(name, NAME)}'; its fields: {known}", at)
        if name in record:
            raise self.error(f"the field '{name}' stands here twice", at)
        self._expect(":", "':'")
        self._space()
        return field

    def _goes_on(self, end: str, what: str) -> bool:
        """Whether a comma follows, and not the end; both are taken, with the white space behind."""
        found = _NEXT.match(self.text, self.at)
        if found is None or found.group(1) not in (",", end):
            self._space()
            raise self.error(f"expected ',' or '{end}' in {what}")
        self.at = found.end()
        return found.group(1) == ","

    def _string(self, what: str) -> str:
        plain = _PLAIN_STRING.match(self.text, self.at)
        if plain is not None:
            self.at = plain.end()
            return self._checked(plain.group(1), plain.start())
        if not self.text.startswith('"', self.at):
            raise self.error(f"expected {what}: a string")
        start = self.at
        try:
            text, self.at = _STRINGS.raw_decode(self.text, start)
        except json.JSONDecodeError as problem:
            raise self.error(f"in a string: {problem.msg}", problem.pos) from None
        return self._checked(text, start)

    def _checked(self, text: str, start: int) -> str:
        if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
            raise self.error("a string with half of a surrogate pair", start)
        return text

    def _number(self, field: Field) -> int:
        match = _INTEGER.match(self.text, self.at)
        if match is None:
            raise self.error(f"expected {field.name}: an integer")
        value = int(match.group())
        low, high = schema.RANGES[field.kind]
        if not low <= value <= high:
            raise self.error(f"{field.name} {value} isn't within {low} to {high}")
        self.at = match.end()
        return value

    def _integer(self, field: Field, record: Record) -> int:
        return self._number(field)

    def _bool(self, field: Field, record: Record) -> bool:
        for word, value in (("true", True), ("false", False)):
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        raise self.error(f"expected {field.name}: true or false")

    def _enum(self, field: Field, record: Record) -> int:
        if not self.text.startswith('"', self.at):
            return self._number(field)
        start = self.at
        name = self._string(field.name)
        assert field.enum is not None
        value = field.enum.values.get(name)
        if value is None:
            raise self.error(f"{field.name}: {_unknown_name(field.enum, name)}", start)
        return value

    def _union(self, field: Field, record: Record) -> int:
        if not self.text.startswith('"', self.at):
            return self._number(field)
        start = self.at
        name = self._string(field.name)
        value = schema.union_code(name)
        if value is None:
            raise self.error(f"no operator has attributes called '{shown(name, NAME)}'", start)
        return value

    def _string_field(self, field: Field, record: Record) -> str:
        return self._string(field.name)

    def _numbers(self, field: Field) -> list[int]:
        """A list of integers, within the range of the field."""
        start = self.at
        self._expect("[", f"{field.name}: '[', the start of a list of integers")
        match = _INTEGERS.match(self.text, self.at)
        assert match is not None
        if not self.text.startswith("]", match.end()):
            raise self.error(f"{field.name}: expected integers", match.end())
        try:
            numbers: list[int] = json.loads(f"[{match.group()}]")
        except json.JSONDecodeError as problem:
            raise self.error(f"{field.name}: {problem.msg}", match.start() + problem.pos - 1) from None
        except ValueError:
            raise self.error(f"{field.name}: a number of too many digits", start) from None
        low, high = schema.RANGES[field.kind]
        if numbers and (min(numbers) < low or max(numbers) > high):
            words = re.finditer("-?[0-9]+", match.group())
            wrong = next(w for w in words if not low <= int(w.group()) <= high)
            message = f"{field.name}: {shown(wrong.group(), NAME)} isn't within {low} to {high}"
            raise self.error(message, match.start() + wrong.start())
        self.at = match.end() + 1
        return numbers

    def _bytes(self, field: Field, record: Record) -> bytes:
        found = self._long_bytes()
        return bytes(self._numbers(field)) if found is None else found

    def _long_bytes(self) -> bytes | None:
        """A long list of bytes at once; None where it is short, or where anything about it is odd.

        numpy takes more than JSON does (signs, zeros in front, more kinds of space, numbers that end the list early).
        What it took for n numbers was n - 1 commas, space and the digits that they need, or `_numbers` gets the list.
        """
        end = self.text.find("]", self.at)
        if end - self.at < _LONG or self.text[self.at] != "[":
            return None
        words = self.text[self.at + 1 : end]
        if any(map(words.__contains__, "+-\v\f")):
            return None
        try:
            codes, numbers = np.frombuffer(words.encode("ascii"), np.uint8), np.fromstring(words, np.int64, sep=",")
        except (ValueError, DeprecationWarning):
            return None
        if len(numbers) != np.count_nonzero(codes == ord(",")) + 1 or numbers.min() < 0 or numbers.max() > 255:
            return None
        needed = len(numbers) + np.count_nonzero(numbers > 9) + np.count_nonzero(numbers > 99)
        if np.count_nonzero(codes >= ord("0")) != needed:
            return None
        self.at = end + 1
        return numbers.astype(np.uint8).tobytes()

    def _i32s(self, field: Field, record: Record) -> tuple[int, ...]:
        return tuple(self._numbers(field))

    def _list(self, what: str, one: Callable[[], Any]) -> list[Any]:
        self._expect("[", f"{what}: '[', the start of a list")
        items: list[Any] = []
        if self._take("]"):
            return items
        self._space()
        while True:
            items.append(one())
            if not self._goes_on("]", what):
                return items

    def _strings(self, field: Field, record: Record) -> list[str]:
        return self._list(field.name, lambda: self._string(field.name))

    def _table_field(self, field: Field, record: Record) -> Record:
        assert field.table is not None
        return self.table(field.table)

    def _tables(self, field: Field, record: Record) -> list[Record]:
        table = field.table
        assert table is not None
        return self._list(field.name, lambda: self.table(table))

    def _attribute(self, field: Field, record: Record) -> Record:
        """The attributes of an operator; none of one that the op table lacks."""
        if "attribute_type" not in record:
            raise self.error("'attribute_type' must stand before 'attribute'")
        table = schema.attribute_table(record["attribute_type"])
        if table is not None:
            return self.table(table)
        self._skip()
        return {}

    def _skip(self) -> None:
        """Step over an object, whatever it holds."""
        start, opened = self.at, ""
        while True:
            if opened and self.text.startswith('"', self.at):
                self._string("a string")
                continue
            token = _SKIPPED.match(self.text, self.at)
            if token is None or (not opened and token.group() != "{"):
                raise self.error("expected an object that ends", start)
            word = token.group()
            if word in "{[":
                opened += word
                if len(opened) > _MAX_SKIPPED_DEPTH:
                    raise self.error(f"objects and lists nested more than {_MAX_SKIPPED_DEPTH} deep")
            elif word in "}]":
                if opened[-1] + word not in ("{}", "[]"):
                    raise self.error(f"'{word}' without its opening")
                opened = opened[:-1]
            self.at = token.end()
            if not opened:
                return


def _unknown_name(enum: Enumeration, name: str) -> str:
    return f"'{shown(name, NAME)}' isn't one of {enum.name}: {', '.join(enum.values)}"
