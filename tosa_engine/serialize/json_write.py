"""Records -> JSON, as `flatc` reads and writes it: strict, in the order of the schema, lists of numbers on one line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from . import schema

if TYPE_CHECKING:
    from .schema import Field, Record, Table

_BYTES: Final = tuple(str(i) for i in range(256))


def write(root: Record) -> str:
    """The JSON text of a TosaGraph record."""
    return _table(schema.GRAPH, root, "") + "\n"


def _table(table: Table, record: Record, indent: str) -> str:
    inner = indent + "  "
    lines = [f'{inner}"{f.name}": {_value(f, record, inner)}' for f in table.fields if f.name in record]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}" if lines else "{}"


def _value(field: Field, record: Record, indent: str) -> str:
    value: Any = record[field.name]
    if field.kind == "enum":
        assert field.enum is not None
        name = field.enum.name_of(value)
        return str(value) if name is None else f'"{name}"'
    if field.kind in ("union", "attribute"):
        table = schema.attribute_table(record["attribute_type"])
        assert table is not None
        return f'"{table.name}"' if field.kind == "union" else _table(table, value, indent)
    if field.kind == "bytes":
        return f"[{','.join(map(_BYTES.__getitem__, value))}]"
    if field.kind == "i32s":
        return f"[{','.join(map(str, value))}]"
    if field.kind == "table":
        assert field.table is not None
        return _table(field.table, value, indent)
    if field.kind == "tables":
        assert field.table is not None
        inner = indent + "  "
        items = [f"{inner}{_table(field.table, item, inner)}" for item in value]
        return "[\n" + ",\n".join(items) + f"\n{indent}]" if items else "[]"
    return json.dumps(value)
