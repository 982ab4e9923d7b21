"""Flatbuffer -> records, trusting nothing: every offset, length and count is compared with the file before use.

The flatbuffers runtime doesn't verify what it reads, so the reading side is here. The schema bounds the nesting. What
is read, counted once per use, is bounded by a multiple of the file's size: offsets that all point to one place can't
make a small file large.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError
from . import schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from .schema import Field, Record, Table

_U8, _I32, _U16 = struct.Struct("<B"), struct.Struct("<i"), struct.Struct("<H")
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_SCALARS: Final = {"bool": _U8, "union": _U8, "i32": _I32, "u32": _U32, "u64": _U64, "enum": _U32}
_REUSE: Final = 4  # how often the same bytes may be read, on average


class Reader:
    """One flatbuffer. `file` is what errors call it."""

    def __init__(self, data: bytes, file: str) -> None:
        self.data, self.file = data, file
        self.budget = _REUSE * len(data) + 1024
        self.strings: dict[int, str] = {}
        self.values: dict[str, Callable[[int, Field, Record], Any]] = {
            "string": self._string_field, "bytes": self._bytes, "i32s": self._i32s, "strings": self._strings,
            "table": self._table_field, "tables": self._tables, "attribute": self._attribute,
            "i64s": self._i64s, "f32s": self._f32s, "place": self._place,
        }  # fmt: skip

    def error(self, at: int, message: str) -> DataError:
        return DataError(f"{self.file}: byte {at}: {message}")

    def root(self, table: Table, identifier: bytes = schema.IDENTIFIER, kind: str = "TOSA") -> Record:
        """The root table. Raises DataError unless the file is an intact flatbuffer of this kind."""
        if len(self.data) < 8:
            raise DataError(f"{self.file}: not a {kind} file: {len(self.data)} bytes are too few")
        if self.data[4:8] != identifier:
            raise DataError(f"{self.file}: not a {kind} file: the identifier is {self.data[4:8]!r}, not {identifier!r}")
        return self.table(self._number(0, _U32, table.name), table)

    def _number(self, at: int, form: struct.Struct, what: str) -> int:
        if not 0 <= at <= len(self.data) - form.size:
            raise self.error(at, f"{what}: beyond the end of the file ({len(self.data)} bytes)")
        value: int = form.unpack_from(self.data, at)[0]
        return value

    def _spend(self, at: int, size: int, what: str) -> None:
        self.budget -= size
        if self.budget < 0:
            raise self.error(at, f"{what}: the file refers to the same bytes over and over")

    def table(self, at: int, table: Table) -> Record:
        vtable = at - self._number(at, _I32, table.name)
        slots = self._number(vtable, _U16, f"{table.name}, vtable")
        extent = self._number(vtable + 2, _U16, f"{table.name}, vtable")
        if slots < 4 or slots % 2 or vtable + slots > len(self.data):
            raise self.error(vtable, f"{table.name}: a vtable of {slots} bytes")
        if extent < 4 or at + extent > len(self.data):
            raise self.error(at, f"{table.name}: a table of {extent} bytes in a file of {len(self.data)}")
        self._spend(at, extent, table.name)
        record: Record = {}
        for field in table.fields:
            slot = 4 + 2 * field.id
            if slot + 2 > slots:
                continue
            offset = self._number(vtable + slot, _U16, table.name)
            if offset == 0:
                continue
            if offset < 4 or offset + schema.WIDTHS[field.kind] > extent:
                raise self.error(at, f"{table.name}.{field.name}: at {offset} in a table of {extent} bytes")
            record[field.name] = self._value(at + offset, table, field, record)
        return record

    def _value(self, at: int, table: Table, field: Field, record: Record) -> Any:
        scalar = _SCALARS.get(field.kind)
        if scalar is None:
            place = at + self._number(at, _U32, f"{table.name}.{field.name}")
            return self.values[field.kind](place, field, record)
        value = self._number(at, scalar, f"{table.name}.{field.name}")
        if field.kind == "bool" and value > 1:
            raise self.error(at, f"{table.name}.{field.name}: a bool is 0 or 1, got {value}")
        return bool(value) if field.kind == "bool" else value

    def _vector(self, at: int, width: int, what: str) -> tuple[int, int]:
        """Where a vector's elements start, and how many there are."""
        length = self._number(at, _U32, what)
        if at + 4 + length * width > len(self.data):
            size = len(self.data)
            raise self.error(at, f"{what}: {length} elements reach beyond the end of the file ({size} bytes)")
        self._spend(at, length * width, what)
        return at + 4, length

    def _string(self, at: int, what: str) -> str:
        known = self.strings.get(at)
        if known is not None:
            return known
        start, length = self._vector(at, 1, what)
        if start + length >= len(self.data) or self.data[start + length] != 0:
            raise self.error(at, f"{what}: a string of {length} bytes without its final zero")
        try:
            text = self.data[start : start + length].decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(start + error.start, f"{what}: not UTF-8: {error.reason}") from None
        self.strings[at] = text
        return text

    def _string_field(self, at: int, field: Field, record: Record) -> str:
        return self._string(at, field.name)

    def _bytes(self, at: int, field: Field, record: Record) -> memoryview:
        start, length = self._vector(at, 1, field.name)
        return memoryview(self.data)[start : start + length]

    def _i32s(self, at: int, field: Field, record: Record) -> tuple[int, ...]:
        start, length = self._vector(at, 4, field.name)
        return struct.unpack_from(f"<{length}i", self.data, start)

    def _i64s(self, at: int, field: Field, record: Record) -> tuple[int, ...]:
        start, length = self._vector(at, 8, field.name)
        return struct.unpack_from(f"<{length}q", self.data, start)

    def _f32s(self, at: int, field: Field, record: Record) -> tuple[float, ...]:
        start, length = self._vector(at, 4, field.name)
        return struct.unpack_from(f"<{length}f", self.data, start)

    def _place(self, at: int, field: Field, record: Record) -> int:
        """Where the elements of a vector of 32 bits start."""
        return self._vector(at, 4, field.name)[0]

    def _references(self, at: int, what: str) -> list[int]:
        start, length = self._vector(at, 4, what)
        offsets = struct.unpack_from(f"<{length}I", self.data, start)
        return [start + 4 * i + offset for i, offset in enumerate(offsets)]

    def _strings(self, at: int, field: Field, record: Record) -> list[str]:
        return [self._string(place, field.name) for place in self._references(at, field.name)]

    def _table_field(self, at: int, field: Field, record: Record) -> Record:
        assert field.table is not None
        return self.table(at, field.table)

    def _tables(self, at: int, field: Field, record: Record) -> list[Record]:
        assert field.table is not None
        return [self.table(place, field.table) for place in self._references(at, field.name)]

    def _attribute(self, at: int, field: Field, record: Record) -> Record:
        """The attributes of an operator; none of one that the op table lacks."""
        table = schema.attribute_table(record.get("attribute_type", 0))
        return self.table(at, table) if table is not None else {}
