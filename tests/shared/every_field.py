"""Every field of a file broken in every way, one at a time; `WAYS` are texts of JSON that stand for another value."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE: Final = "@@HERE@@"
DEEP: Final = "[" * 100_000 + "]" * 100_000
WAYS: Final = (
    "null", "true", '""', '"x"', "-1", "0", "0.5", "1e308", "1" + "0" * 400, "9" * 5000, "NaN", "Infinity", "-Infinity",
    "[]", "{}", "[null]", "[[1]]", "1180591620717411303424", '"\\u001b[2J\\nFORGED"', '"\\u0000"', '"\\ud800"', DEEP,
)  # fmt: skip


def broken_json(text: str) -> Iterator[tuple[str, str]]:
    """Each field of a JSON text missing, given twice, and replaced by each of WAYS: where, and the text."""
    tree = json.loads(text)
    for way in paths(tree):
        where = "/".join(map(str, way)) or "all of it"
        if way:
            yield f"{where} missing", json.dumps(replaced(tree, way, missing=True))
        written = json.dumps(replaced(tree, way))
        if way and isinstance(way[-1], str):
            key = f"{json.dumps(way[-1])}: "
            yield f"{where} twice", written.replace(f'"{HERE}"', f"null, {key}1")
        for new in WAYS:
            yield f"{where} = {new[:12]}", written.replace(f'"{HERE}"', new)


def paths(tree: Any) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a tree; of a list to its first item, since the others are alike."""
    yield ()
    inner = (
        list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree[:1])) if isinstance(tree, list) else []
    )
    for key, value in inner:
        for rest in paths(value):
            yield (key, *rest)


def replaced(tree: Any, way: tuple[Any, ...], *, missing: bool = False) -> Any:
    """The tree with HERE in place of one value, or without it."""
    if not way:
        return HERE
    found = {**tree} if isinstance(tree, dict) else [*tree]
    if missing and len(way) == 1:
        del found[way[0]]
    else:
        found[way[0]] = replaced(tree[way[0]], way[1:], missing=missing)
    return found


EXTREMES: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 33, 64, 255, 1 << 16, 1 << 31, (1 << 32) - 1)
DAT: Final = {  # the fields of a tensor file's header: offset and struct code
    "magic": (0, "<H"), "major": (2, "<B"), "minor": (3, "<B"), "length": (4, "<I"), "rank": (8, "<I"),
    **{f"extent {i}": (12 + 4 * i, "<I") for i in range(8)}, "bits": (44, "<I"), "item": (48, "<I"),
    **{f"parameter {i}": (52 + 4 * i, "<I") for i in range(8)}, "reserved": (84, "<I"), "last": (124, "<I"),
}  # fmt: skip


def broken_dat(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Each field of a tensor file's header with each extreme, and the file cut anywhere in its header."""
    for name, (offset, code) in DAT.items():
        for number in EXTREMES:
            found = bytearray(data)
            struct.pack_into(code, found, offset, number & ((1 << 8 * struct.calcsize(code)) - 1))
            yield f"{name} = {number}", bytes(found)
    for length in (0, 1, 2, 4, 8, 43, 127, 128, len(data) - 1):
        yield f"{length} bytes", data[:length]
    yield "a byte more", data + b"\0"


def broken_trailer(data: bytes, magic: bytes) -> Iterator[tuple[str, bytes]]:
    """The text behind a `.tosa` file's graph, its length and its mark."""
    end = len(magic) + 8
    size = int.from_bytes(data[-end : -len(magic)], "little")
    graph, text = data[: -end - size], data[-end - size : -end]
    for length in (0, 1, size - 1, size + 1, size + 8, len(data) - end, len(data), 1 << 31, 1 << 63, (1 << 64) - 1):
        yield f"length {length}", graph + text + length.to_bytes(8, "little") + magic
    for cut in (1, 8, 9, 16, 17, 16 + size // 2, 16 + size):
        yield f"{cut} bytes cut off", data[:-cut]
        yield f"{cut} bytes of the text cut out", graph + text[cut:] + size.to_bytes(8, "little") + magic
    yield "twice", data + data[-end - size :]
    yield "no text", graph + bytes(8) + magic
    for place, new in broken_json(text.decode()):
        content = new.encode()
        yield f"text: {place}", graph + content + len(content).to_bytes(8, "little") + magic
