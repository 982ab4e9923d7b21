"""Files of every kind that we read, broken: bytes, numbers, names, keys, headers, members of archives.

`broken(name, data, rng)` breaks a file in the ways of its kind, which its name tells. One seed gives one file.
"""

from __future__ import annotations

import io
import json
import struct
import tarfile
import warnings
import zipfile
from typing import TYPE_CHECKING, Any, Final

from nnef_documents import WORDS, tokens
from onnx_mutations import onnx

from tosa_engine import serialize
from tosa_engine.errors import TosaEngineError
from tosa_engine.serialize import binary_write, json_write, pack, schema

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tosa_engine.serialize.schema import Field, Record, Table

FORGED: Final = "FORGED"  # what would begin a line of its own if a name were printed as it is
NAMES: Final = (
    "", "x", f"a\n{FORGED} line", f"a\r{FORGED}", "\x1b[2J\x1b[31mred", "\x9b31m", "\u202egnp.exe", "\u2028" + FORGED,
    "\0", "é" * 300,
    "'", '"', "%s{x}", "../../x", "/etc/passwd", "\\", "a,b", "*", "a" * 5000, "\ufeff", "nan", "-",
    "<script>alert(1)</script>",
)  # fmt: skip
NUMBERS: Final = (
    0, 1, -1, 2, 3, 7, 8, 127, 128, 255, 256, 32767, 65535, 65536,
    (1 << 31) - 1, -(1 << 31), 1 << 31, (1 << 32) - 1, 1 << 32,
    (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -(1 << 63), 10**30, -(10**30),
)  # fmt: skip
VALUES: Final = (
    None, True, False, "", "x", 0, -1, 1, 0.5, -0.0, 1e308, 1e-320, 10**400, float("nan"), float("inf"), -float("inf"),
    [], {}, [[]], [None], {"": None}, "1e5", "nan", [0] * 300, [1 << 70],
)  # fmt: skip


def broken(name: str, data: bytes, rng: random.Random) -> bytes:
    """The file `name`, broken."""
    suffixes: dict[str, Callable[[bytes, random.Random], bytes]] = {
        ".tosa": tosa, ".npy": npy, ".npz": npz, ".dat": dat, ".tgz": archive, ".tar": archive, ".nnef": text,
        ".quant": text, ".onnx": onnx, ".tflite": words, ".json": json_file, ".jsonl": json_lines,
    }  # fmt: skip
    change = next((found for suffix, found in suffixes.items() if name.endswith(suffix)), raw)
    return raw(data, rng) if rng.random() < 0.25 else change(data, rng)


def raw(data: bytes, rng: random.Random) -> bytes:
    """Bytes and words replaced, pieces cut out, doubled or added."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, kind = rng.randrange(len(found) + 1), rng.randrange(7)
        if kind < 3 and at < len(found):
            found[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, found[at] ^ (1 << rng.randrange(8)), rng.randrange(256)))
        elif kind == 3 and at + 4 <= len(found):
            struct.pack_into("<I", found, at, rng.choice(NUMBERS[:14]) & 0xFFFFFFFF)
        elif kind == 4:
            del found[at : at + rng.choice((1, 4, 16, 1 << 20))]
        elif kind == 5:
            found[at:at] = found[at : at + rng.choice((1, 4, 64))]
        else:
            found[at:at] = rng.randbytes(rng.choice((1, 4)))
    return bytes(found)


def words(data: bytes, rng: random.Random) -> bytes:
    """A flatbuffer: words of four bytes replaced by numbers and by others of its own, which are offsets and lengths."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, other = (4 * rng.randrange(len(found) // 4) for _ in range(2))
        new = rng.choice((*NUMBERS[:18], int.from_bytes(found[other : other + 4], "little"), found[at] + 4))
        struct.pack_into("<I", found, at, new & 0xFFFFFFFF)
    return bytes(found)


def text(data: bytes, rng: random.Random) -> bytes:
    """A text in words: some replaced, taken out, doubled or moved."""
    words = tokens(data.decode("utf-8"))
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(words))
        word = rng.choice(
            (rng.choice(WORDS), rng.choice(words), str(rng.choice(NUMBERS)), rng.choice(NAMES), "1e400", "")
        )
        words[at : at + rng.choice((0, 1, 1, 1, 3))] = [word]
        words = words or [""]
    return "".join(words).encode("utf-8", "replace")


# --- JSON


def json_file(data: bytes, rng: random.Random) -> bytes:
    """A JSON file: the TOSA form by its schema, any other as a tree."""
    if b'"regions"' in data and rng.random() < 0.7:
        return tosa_json(data, rng)
    return json_tree(data, rng)


def json_tree(data: bytes, rng: random.Random) -> bytes:
    """Values and keys of a tree replaced, taken out or doubled."""
    tree = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        tree = changed(tree, rng)
    return json.dumps(tree).encode()


def json_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    lines[at] = json_tree(lines[at], rng) + b"\n"
    return b"".join(lines)


def changed(tree: Any, rng: random.Random) -> Any:
    """The tree with one place changed."""
    if isinstance(tree, (dict, list)) and tree and rng.random() < 0.85:
        key = rng.choice(list(tree)) if isinstance(tree, dict) else rng.randrange(len(tree))
        found = {**tree} if isinstance(tree, dict) else [*tree]
        kind = rng.random()
        if kind < 0.1:
            del found[key]
        elif kind < 0.2 and isinstance(found, dict):
            found[rng.choice(NAMES)] = found.pop(key)
        elif kind < 0.2:
            found.insert(key, found[key])
        else:
            found[key] = changed(found[key], rng)
        return found
    if isinstance(tree, str) and rng.random() < 0.6:
        return rng.choice(NAMES)
    if isinstance(tree, (int, float)) and rng.random() < 0.6:
        return rng.choice((*NUMBERS, 0.5, -1.5, 1e300))
    return rng.choice(VALUES)


# --- TOSA


def tosa(data: bytes, rng: random.Random) -> bytes:
    return binary_write.write(tosa_record(serialize.tosa_from_bytes(data), rng))


def tosa_json(data: bytes, rng: random.Random) -> bytes:
    return json_write.write(tosa_record(serialize.json_from_text(data.decode()), rng)).encode("utf-8", "surrogatepass")


def tosa_record(graph: Any, rng: random.Random) -> Record:
    """The record of a graph, with some of its fields changed within what the schema can hold."""
    try:
        root = pack.record_of(graph)
    except TosaEngineError as problem:
        raise AssertionError("the sample must be one that can be written") from problem
    places = list(fields(root, schema.GRAPH))
    names = sorted({n for r, f in places if f.kind == "string" for n in [r[f.name]]})
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        record, field = rng.choice(places)
        if field.name not in record:
            continue
        if field.name == "attribute_type" or rng.random() < 0.1:
            record.pop(field.name)
            if field.name == "attribute_type":
                record.pop("attribute", None)
            continue
        record[field.name] = field_value(record[field.name], field, names, rng)
    return root


def fields(record: Record, table: Table) -> list[tuple[Record, Field]]:
    """Every field that is present, with the record that it stands in."""
    found = []
    for field in table.fields:
        if field.name not in record or field.name.startswith("_"):
            continue
        found.append((record, field))
        inner, value = field.table, record[field.name]
        if field.kind == "attribute":
            inner = schema.attribute_table(record["attribute_type"])
        for one in value if field.kind == "tables" else [value]:
            if inner is not None:
                found += fields(one, inner)
    return found


def field_value(value: Any, field: Field, names: list[str], rng: random.Random) -> Any:
    kind = field.kind
    if kind == "bool":
        return not value
    if kind == "string":
        return rng.choice((rng.choice(NAMES), rng.choice(names), rng.choice(names)))
    if kind == "enum":
        codes = list(field.enum.names) if field.enum is not None else [0]
        return rng.choice((*codes, *codes, 255, (1 << 32) - 1))
    if kind in schema.RANGES and kind not in ("i32s", "bytes"):
        low, high = schema.RANGES[kind]
        return rng.choice([n for n in NUMBERS if low <= n <= high])
    if kind in ("table", "attribute"):
        return {}
    items = [*value]
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(len(items) + 1)
        new = {
            "i32s": rng.choice(NUMBERS[:16]),
            "bytes": rng.randrange(256),
            "strings": rng.choice((*names, rng.choice(NAMES))),
        }
        replacement = [] if kind not in new else [new[kind]]
        if kind == "tables" and items:
            replacement = [rng.choice(items)]
        items[at : at + rng.choice((0, 1, 1, len(items)))] = replacement * rng.choice((0, 1, 1, 1, 1, 40))
    return bytes(items) if kind == "bytes" else tuple(items) if kind == "i32s" else items


# --- arrays


DESCRIPTIONS: Final = (
    "<f4", "<i4", "|i1", "|b1", "<f8", "<i8", "|V2", "<f1", "|O", "<U5", "|S3",
    "<c8", "<M8[s]", ">f4", "V0", "(2,)<f4", "<f16", "", "é", "<i3", "f4,f4",
)  # fmt: skip


def npy_shape(rng: random.Random) -> object:
    dimensions = [rng.choice((*NUMBERS, 0, 1, 1, 2)) for _ in range(rng.choice((0, 1, 2, 3, 5, 33, 65, 100)))]
    fixed = ((1,) * 100, (0, 1 << 62, 1 << 62), (1 << 62, 4, 0), 5, None, ("a",), (True,), (2.0,), (-1,))
    return rng.choice((tuple(dimensions), tuple(dimensions), dimensions, *fixed))


def npy(data: bytes, rng: random.Random) -> bytes:
    """The header of an `.npy` file with other fields, or other text."""
    length = int.from_bytes(data[8:10], "little")
    head, body = data[10 : 10 + length].decode("latin-1").strip(), data[10 + length :]
    kind = rng.randrange(4)
    if kind == 0:
        header: object = {
            "descr": rng.choice(DESCRIPTIONS),
            "fortran_order": rng.choice((True, False, 2, None, "x")),
            "shape": npy_shape(rng),
        }
        head = repr(header)
    elif kind == 1:
        at = head.index("'shape': ") + 9
        head = head[:at] + f"{npy_shape(rng)}}}"
    elif kind == 2:
        at = head.index("'descr': ") + 9
        head = f"{{'descr': {rng.choice(DESCRIPTIONS)!r}," + head[head.index(" 'fortran", at) :]
    else:
        head = raw(head.encode("latin-1"), rng).decode("latin-1")
    if rng.random() < 0.1:
        long = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 9000 + ")}"
        deep = ("(" * 90 + ")" * 90, "{" * 3000, "9" * 6000, "-" * 40000 + "1", "{'a': 1", "[" * 30000)
        head = rng.choice((*deep, long))
    version = rng.choice((1, 1, 1, 1, 2, 3, 4, 0))
    packed = head.encode("latin-1", "replace") + b"\n"
    if version == 1 and len(packed) > 65535:
        version = 2
    width = 2 if version < 2 else 4
    return b"\x93NUMPY" + bytes((version, 0)) + len(packed).to_bytes(width, "little") + packed + body


def npz(data: bytes, rng: random.Random) -> bytes:
    """Members of an `.npz` broken, renamed, doubled, missing."""
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        members = [(info.filename, found.read(info)) for info in found.infolist()]
    at = rng.randrange(len(members))
    name, content = members[at]
    kind = rng.randrange(6)
    if kind < 3:
        members[at] = (name, npy(content, rng))
    elif kind == 3:
        members[at] = (rng.choice(NAMES).replace("\0", "") + rng.choice((".npy", "")), content)
    elif kind == 4:
        members.insert(at, members[at])
    else:
        del members[at]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as written:
        for name, content in members:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.compress_type = written.compression
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of names that are there twice
                written.writestr(info, content)
    return raw(packed.getvalue(), rng) if rng.random() < 0.2 else packed.getvalue()


def dat(data: bytes, rng: random.Random) -> bytes:
    """Fields of the 128 bytes of a tensor file's header."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.choice((4, 8, 12, 16, 20, 24, 40, 44, 48, 52, 56, 60, 64))
        struct.pack_into(
            "<I", found, at, rng.choice((*NUMBERS, 5, 16, 32, 64, 0x7F800000, 0x7FC00000, 0xFF800000)) & 0xFFFFFFFF
        )
    return bytes(found)


def archive(data: bytes, rng: random.Random) -> bytes:
    """A member of a tar archive broken in the ways of its own kind, then packed again."""
    with tarfile.open(fileobj=io.BytesIO(data)) as found:
        members = [(info, found.extractfile(info)) for info in found.getmembers()]
        parts = [(info.name, stream.read()) for info, stream in members if stream is not None]
    at = rng.randrange(len(parts))
    name, content = parts[at]
    kind = rng.randrange(5)
    if kind < 3:
        parts[at] = (name, broken(name, content, rng))
    elif kind == 3:
        parts[at] = (rng.choice(NAMES).replace("\0", ""), content)
    else:
        parts.insert(at, parts[at])
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=rng.choice(("w", "w:gz"))) as written:
        for name, content in parts:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.type = rng.choice((tarfile.REGTYPE,) * 9 + (tarfile.SYMTYPE,))
            written.addfile(info, io.BytesIO(content))
    return raw(packed.getvalue(), rng) if rng.random() < 0.2 else packed.getvalue()
