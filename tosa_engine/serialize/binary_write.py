"""Records -> flatbuffer, on the builder of the flatbuffers runtime. The same records give the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import flatbuffers

from ..errors import DataError
from . import schema

if TYPE_CHECKING:
    from .schema import Field, Record, Table

_ALIGNMENT: Final = 8  # of data, minimum and maximum values: `force_align` in the schema


def write(root: Record, size_hint: int = 0) -> bytes:
    """The flatbuffer of a TosaGraph record; `size_hint` is a guess of its size in bytes.

    Raises:
        DataError: more than 2 GB.
    """
    builder = flatbuffers.Builder(size_hint + 4096)
    try:
        builder.Finish(_table(builder, schema.GRAPH, root), schema.IDENTIFIER)
    except flatbuffers.builder.BuilderSizeError:
        raise DataError("the graph doesn't fit the 2 GB of a flatbuffer; write it with external=True") from None
    return bytes(builder.Output())


def _table(builder: Any, table: Table, record: Record) -> int:
    offsets = {f.name: _child(builder, f, record) for f in table.fields if f.name in record and _is_offset(f)}
    builder.StartObject(max((f.id for f in table.fields), default=-1) + 1)
    for field in table.fields:
        if field.name not in record:
            continue
        value = record[field.name]
        if field.name in offsets:
            builder.PrependUOffsetTRelativeSlot(field.id, offsets[field.name], 0)
        elif field.kind == "bool":
            builder.PrependBoolSlot(field.id, value, bool(field.default))
        elif field.kind == "union":
            builder.PrependUint8Slot(field.id, value, field.default)
        elif field.kind == "i32":
            builder.PrependInt32Slot(field.id, value, field.default)
        elif field.kind == "u64":
            builder.PrependUint64Slot(field.id, value, field.default)
        else:
            builder.PrependUint32Slot(field.id, value, field.default)
    return int(builder.EndObject())


def _is_offset(field: Field) -> bool:
    return field.kind not in {"bool", "union", "i32", "u32", "u64", "enum"}


def _child(builder: Any, field: Field, record: Record) -> int:
    """Write what a field refers to; where it is."""
    value = record[field.name]
    if field.kind == "string":
        return _string(builder, value)
    if field.kind == "bytes":
        return _bytes(builder, value)
    if field.kind == "i32s":
        builder.StartVector(4, len(value), 4)
        for number in reversed(value):
            builder.PrependInt32(number)
        return int(builder.EndVector())
    if field.kind == "strings":
        return _references(builder, [_string(builder, text) for text in value])
    if field.kind == "attribute":
        table = schema.attribute_table(record["attribute_type"])
        assert table is not None
        return _table(builder, table, value)
    assert field.table is not None
    if field.kind == "table":
        return _table(builder, field.table, value)
    return _references(builder, [_table(builder, field.table, item) for item in value])


def _string(builder: Any, text: str) -> int:
    # As bytes: given a str, the runtime takes its length in characters for the length in bytes.
    return int(builder.CreateSharedString(text.encode("utf-8")))


def _bytes(builder: Any, data: bytes) -> int:
    builder.StartVector(1, len(data), _ALIGNMENT)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    return int(builder.EndVector())


def _references(builder: Any, places: list[int]) -> int:
    builder.StartVector(4, len(places), 4)
    for place in reversed(places):
        builder.PrependUOffsetTRelative(place)
    return int(builder.EndVector())
