"""TOSA files: the `.tosa` flatbuffer and its JSON form, both ways, driven by the op table.

    file -> records (binary_read, json_read) -> Graph (unpack)          Graph -> records (pack) -> file (..._write)

What a file holds is kept: regions, blocks, operators, attributes, locations, tensors, shapes, variables, constants.
Operators that the op table lacks keep their name and lose their attributes, so that `check` can list them; they can't
be written. Legality is not looked at here.

How integers stand for real numbers (`QParams`, `Graph.record`) is kept, too: behind the flatbuffer of a `.tosa` file,
in `model.qparams.json` beside a `.json` model (`qparams.sidecar`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import DataError, UsageError
from ..graph import Composite
from ..qparams import sidecar, trailer
from . import schema, versions
from .binary_read import Reader
from .binary_write import write as _write_binary
from .json_read import Parser
from .json_write import write as _write_json
from .pack import record_of
from .unpack import graph_of

if TYPE_CHECKING:
    from ..graph import Graph
    from .schema import Record

INLINE_LIMIT: Final = (1 << 31) - (1 << 26)  # bytes of constants beyond which they lie outside of the flatbuffer
_ALIGNMENT: Final = 8

__all__ = ["json_from_text", "json_to_text", "read", "tosa_from_bytes", "tosa_to_bytes", "write"]


def read(path: str | os.PathLike[str]) -> Graph:
    """The graph in a `.tosa` or `.json` file; its `source` is the path. Its tensors have the scales that are known.

    Raises:
        DataError: the file can't be read, is damaged, or is of a version other than 1.0.x and 1.1-draft; the sidecar
            beside it is damaged, or about another model.
        ParseError: (a DataError) the JSON isn't that of the schema; with line and column.
        Unsupported: the file holds block-scaled tensors (1.1-draft).
        UsageError: another suffix.
    """
    name, kind = os.fspath(path), _kind(path)
    try:
        content = Path(path).read_bytes()
    except OSError as problem:
        raise DataError(f"{name}: {problem.strerror}") from None
    if kind == ".tosa":
        graph = tosa_from_bytes(content, name)
        if content.endswith(trailer.MAGIC):
            return graph
    else:
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise DataError(f"{name}: byte {problem.start}: not UTF-8: {problem.reason}") from None
        graph = json_from_text(text, name)
    sidecar.attach_beside(graph, Path(path), content)
    return graph


def write(graph: Graph, path: str | os.PathLike[str], *, external: bool | None = None) -> None:
    """Write a graph to a `.tosa` or `.json` file; the file appears whole or not at all. Composites are expanded.

    `external` puts constants outside of the flatbuffer, at the end of the same `.tosa` file (the schema's `offset` and
    `size`); None means: when they are too large for its 2 GB.

    Raises:
        Unsupported, GraphError: what the file can't hold (see `record_of`).
        DataError: the file can't be written.
        UsageError: another suffix, or `external` with `.json`.
    """
    if _kind(path) == ".tosa":
        _write_whole(Path(path), tosa_to_bytes(graph, external=external))
        return
    if external:
        raise UsageError(f"{os.fspath(path)}: the JSON form holds its data inside; external=True is for .tosa")
    _write_whole(Path(path), json_to_text(graph).encode("utf-8"))
    sidecar.write(graph, path)


def tosa_from_bytes(data: bytes, name: str = "<bytes>") -> Graph:
    """The graph in the bytes of a `.tosa` file; `name` is what errors call it, and the graph's `source`.

    Raises:
        DataError, Unsupported: as `read`.
    """
    data, scales = trailer.split(data, name)
    version_only = Reader(data, name).root(schema.VERSION_ONLY)
    versions.version(version_only, name)
    graph = graph_of(Reader(data, name).root(schema.GRAPH), name, data)
    if scales is not None:
        sidecar.attach_text(graph, scales, f"{name}: behind the graph")
    return graph


def tosa_to_bytes(graph: Graph, *, external: bool | None = None) -> bytes:
    """The bytes of a `.tosa` file: the same graph gives the same bytes. See `write`."""
    root = record_of(_expanded(graph))
    constants = [t for r in root["regions"] for b in r["blocks"] for t in b["tensors"] if t.get("data")]
    total = sum(len(t["data"]) for t in constants)
    if external is None:
        external = total > INLINE_LIMIT
    content = _write_with_data_behind(root, constants) if external else _write_binary(root, total)
    scales = sidecar.to_text(graph)
    return content if scales is None else trailer.append(content, scales)


def json_from_text(text: str, name: str = "<text>") -> Graph:
    """The graph in the JSON form of a TOSA file.

    Raises:
        DataError, ParseError, Unsupported: as `read`.
    """
    return graph_of(Parser(text, name).root(schema.GRAPH), name)


def json_to_text(graph: Graph) -> str:
    """The JSON form, as `flatc` reads it. Raises as `write`."""
    return _write_json(record_of(_expanded(graph)))


def _kind(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in (".tosa", ".json"):
        raise UsageError(f"{os.fspath(path)}: a TOSA file ends in .tosa or .json")
    return suffix


def _expanded(graph: Graph) -> Graph:
    if any(isinstance(op, Composite) for _, block in graph.blocks() for op in block.operators):
        from ..passes import composites

        return composites.expand(graph)
    return graph


def _write_with_data_behind(root: Record, constants: list[Record]) -> bytes:
    """The flatbuffer without its constants, then the constants. The flatbuffer's size doesn't depend on the offsets."""
    contents = [t.pop("data") for t in constants]
    for tensor, content in zip(constants, contents, strict=True):
        tensor["offset"], tensor["size"] = 2, len(content)
    offset = _aligned(len(_write_binary(root)))
    for tensor in constants:
        tensor["offset"] = offset
        offset = _aligned(offset + tensor["size"])
    parts = [_write_binary(root), *contents]
    return b"".join(part.ljust(_aligned(len(part)), b"\0") for part in parts)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _write_whole(path: Path, content: bytes) -> None:
    """Beside the path first, then renamed, so that no reader ever sees half a file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            beside.write_bytes(content)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as problem:
        raise DataError(f"{path}: {problem.strerror}") from None
