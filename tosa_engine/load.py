"""Any model file becomes a graph: `load` opens it by the format that its name tells.

Graphs of one model, bound to different shapes, have most weights in common. Constants of the same content are one
array, held weakly; whoever gets one must not change it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from .errors import UsageError
from .formats import open_model

if TYPE_CHECKING:
    from typing import BinaryIO

    from .graph import Graph
    from .types import Array

TOSA: Final = b"TOSA"  # the flatbuffer's identifier
LEAST_BYTES: Final = 1024  # of a constant that is looked up
_known: Final[WeakValueDictionary[bytes, Array]] = WeakValueDictionary()
_lock: Final = threading.Lock()


def load(
    path: str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO, *, name: str = "", **options: Any
) -> Graph:
    """The graph of a model of any of `tosa_engine.formats`, whose `options` of opening are taken by name.

    Bytes, and a file that is open for reading them, are read as a file called `name` would be; those of a `.tosa` file
    need no name, an open file has its own.

    The model's own quantization is applied: its QParams are on the tensors, stored codes become real numbers.

    Raises FileNotFoundError, UsageError when the name tells no format or the format has no such option, DataError or
    ParseError when the content is damaged, Unsupported or Problems when it uses what this engine doesn't know.
    """
    if isinstance(path, (str, os.PathLike)):
        graph = open_model(path, **options).graph()
    else:
        graph = _of_bytes(*_content(path, name), options)
    for _, block in graph.blocks():
        for tensor in block.tensors.values():
            if tensor.data is not None and tensor.data.nbytes >= LEAST_BYTES:
                tensor.data = _shared(tensor.data)
    return graph


def _content(given: object, name: str) -> tuple[bytes, str]:
    """Bytes, and the name that they go by. Raises UsageError for what isn't a model."""
    read = getattr(given, "read", None)
    content = given if read is None else read()
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise UsageError(f"a model is a path, bytes or a file open for bytes; got a {type(content).__name__}")
    if not name and bytes(content[4:8]) == TOSA:
        name = "model.tosa"
    own = getattr(given, "name", "")
    own = os.path.basename(own) if isinstance(own, str) else ""
    return bytes(content), name or (own if "." in own else "")


def _of_bytes(content: bytes, name: str, options: dict[str, Any]) -> Graph:
    """Raises UsageError where neither the bytes nor a name tell the format."""
    if not name or name != os.path.basename(name):
        raise UsageError(
            "bytes don't tell the format of a model; a name of its file does, as in load(..., name='x.onnx')"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        with open(path, "xb") as file:
            file.write(content)
        return open_model(path, **options).graph()


def _shared(data: Array) -> Array:
    """The array that the first graph with these values has."""
    digest = hashlib.sha256(f"{data.dtype.name} {data.shape} ".encode())
    digest.update(data.reshape(-1).view("u1").data if data.flags.c_contiguous else data.tobytes())
    with _lock:
        return _known.setdefault(digest.digest(), data)
