"""ONNX models with fields changed, by protobuf's own description of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random

NAMES: Final = (
    "", "x", "a\nFORGED line", "a\rFORGED", "\x1b[31mred", "\u202egnp.exe", "../../x", "/etc/passwd", "a" * 5000, "nan",
    "\0", "Add", "Relu", "If", "Loop", "Constant", "Reshape", "Conv", "SAME_LOWER", "NOTSET", "reflect", "own",
    "weights.bin",
)  # fmt: skip
INTEGERS: Final = (0, 1, -1, 2, 3, 4, 7, 16, 19, 22, 127, 255, 65536, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1)
FLOATS: Final = (0.0, -0.0, 1.0, -1.5, 1e-40, 3e38, float("inf"), float("nan"))


def onnx(data: bytes, rng: random.Random) -> bytes:
    """A model with some fields replaced, taken out, doubled, or moved from one message to another of its kind."""
    from onnx import ModelProto

    model = ModelProto.FromString(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        messages = list(messages_of(model))
        message = rng.choice(messages)
        field = rng.choice(message.DESCRIPTOR.fields if rng.random() < 0.1 else [f for f, _ in message.ListFields()])
        others = [m for m in messages if field.message_type is m.DESCRIPTOR]
        if field.is_repeated:
            change_list(getattr(message, field.name), field, others, rng)
        elif rng.random() < 0.15:
            message.ClearField(field.name)
        elif field.message_type is not None:
            if others:
                copied = type(others[0]).FromString(rng.choice(others).SerializePartialToString())
                getattr(message, field.name).CopyFrom(copied)
        else:
            setattr(message, field.name, value(field, getattr(message, field.name), rng))
    packed: bytes = model.SerializePartialToString()
    return packed


def messages_of(message: Any) -> list[Any]:
    """A message and all inside of it that have a field."""
    found = [message] if message.ListFields() else []
    for field, inner in message.ListFields():
        if field.message_type is not None:
            for one in inner if field.is_repeated else [inner]:
                found += messages_of(one)
    return found


def change_list(items: Any, field: Any, others: list[Any], rng: random.Random) -> None:
    kind, at = rng.randrange(4), rng.randrange(len(items) + 1)
    if kind == 0 and items:
        del items[min(at, len(items) - 1)]
    elif field.message_type is not None:
        if others:
            items.add().CopyFrom(type(others[0]).FromString(rng.choice(others).SerializePartialToString()))
        if kind == 1:
            items.sort(key=lambda _: rng.random())
    elif kind == 1 or at == len(items):
        new = value(field, items[0] if items else None, rng)
        items.extend([new] * rng.choice((1, 1, 2, 40)))
    else:
        items[at] = value(field, items[at], rng)


def value(field: Any, old: Any, rng: random.Random) -> Any:
    """Another value of a field's kind, mostly one that protobuf takes."""
    if field.cpp_type == field.CPPTYPE_STRING and field.type == field.TYPE_BYTES:
        return rng.choice((b"", bytes(old or b"")[:-1], bytes(old or b"") * 2, rng.choice(NAMES).encode(), b"\xff\xfe"))
    if field.cpp_type == field.CPPTYPE_STRING:
        return rng.choice(NAMES)
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return rng.choice(FLOATS)
    if field.cpp_type == field.CPPTYPE_ENUM:
        return rng.choice([v.number for v in field.enum_type.values])
    wide = field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_UINT64)
    signed = field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_INT32)
    return rng.choice([n for n in INTEGERS if (wide or n < 1 << 31) and (signed or n >= 0)])
