"""Any model file becomes a graph: `load` opens it by the format that its name tells.

Graphs of one model, bound to different shapes, have most weights in common. Constants of the same content are one
array, held weakly; whoever gets one must not change it.
"""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from .formats import open_model

if TYPE_CHECKING:
    import os

    from .graph import Graph
    from .types import Array

LEAST_BYTES: Final = 1024  # of a constant that is looked up
_known: Final[WeakValueDictionary[bytes, Array]] = WeakValueDictionary()
_lock: Final = threading.Lock()


def load(path: str | os.PathLike[str], **options: Any) -> Graph:
    """The graph of a model of any of `tosa_engine.formats`, whose `options` of opening are taken by name.

    The model's own quantization is applied: its QParams are on the tensors, stored codes become real numbers.

    Raises FileNotFoundError, UsageError when the name tells no format or the format has no such option, DataError or
    ParseError when the content is damaged, Unsupported or Problems when it uses what this engine doesn't know.
    """
    graph = open_model(path, **options).graph()
    for _, block in graph.blocks():
        for tensor in block.tensors.values():
            if tensor.data is not None and tensor.data.nbytes >= LEAST_BYTES:
                tensor.data = _shared(tensor.data)
    return graph


def _shared(data: Array) -> Array:
    """The array that the first graph with these values has."""
    digest = hashlib.sha256(f"{data.dtype.name} {data.shape} ".encode())
    digest.update(data.reshape(-1).view("u1").data if data.flags.c_contiguous else data.tobytes())
    with _lock:
        return _known.setdefault(digest.digest(), data)
