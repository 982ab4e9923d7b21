"""Models of ONNX as Common IR, Common IR as ONNX, and documents with their libraries in one file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from ...errors import DataError
from ...files import write_atomically
from ..onnx.model import TensorReader, package
from . import document, imports, validity
from .from_onnx import document_of
from .reading import Fields

if TYPE_CHECKING:
    from pathlib import Path

    from ...formats import Source
    from ..onnx.source import ModelSource
    from .source import CommonIrSource


def write_onnx(source: Source, path: Path) -> str:
    """A Common IR graph as an `.onnx` file, its libraries inlined; what was written, in words."""
    model = cast("CommonIrSource", source).model
    checker = package().checker
    try:
        checker.check_model(model)
    except checker.ValidationError as problem:
        reason = str(problem).split("\n", maxsplit=1)[0]
        raise DataError(f"{source.path}: as an ONNX model it breaks a rule of ONNX: {reason}") from None
    write_atomically(path, model.SerializeToString())
    return f"{len(model.graph.node)} nodes"


def write_common_ir(source: Source, path: Path) -> str:
    """An ONNX model as one document that bundles the declarations of its operators."""
    found = document_of(cast("ModelSource", source).model, TensorReader(source.path), path.name)
    document.of_fields(Fields(found, path.name))  # before anything is written: a document that others can't read
    write_atomically(path, _text(found))
    return f"{len(found['nodes'])} nodes, {len(found['bundled'])} libraries"


def write_bundle(source: Source, path: Path) -> str:
    """A document with all the libraries that it imports."""
    ours = cast("CommonIrSource", source)
    validity.check(ours.root)
    found = ours.root.content
    bundled = {
        one.place: one.content
        for one in ours.root.closure() if not one.document.is_graph and one.place not in imports.BUILT_IN
    }  # fmt: skip
    write_atomically(path, _text({**found, "bundled": bundled} if bundled else found))
    return f"{len(bundled)} libraries"


def _text(found: Any) -> bytes:
    return (json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
