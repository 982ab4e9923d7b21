"""Reading an `.onnx` file: its bytes, its tensors, and data that lie in files beside it.

Nothing is believed: a file may be cut off, name files outside of its folder, or tensors that would fill the memory.
"""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import DataError, UsageError
from ...types import MAX_RANK
from .elements import BY_CODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...types import Array

MOST_BYTES: Final = 1 << 31  # of a protobuf, which can't be longer
MOST_ELEMENTS: Final = 1 << 31
MOST_DENSE: Final = 1 << 26  # of a sparse tensor, with the zeros
EXTERNAL: Final = 1  # TensorProto.DataLocation


def package() -> Any:
    """The package `onnx`. Raises UsageError where it isn't installed."""
    try:
        import onnx
    except ImportError:
        raise UsageError("reading ONNX needs the package 'onnx': pip install 'tosa-engine[onnx]'") from None
    return onnx


def read_model(path: Path) -> Any:
    """The ModelProto of a file. Raises FileNotFoundError, DataError where it is damaged."""
    onnx = package()
    if path.stat().st_size > MOST_BYTES:
        raise DataError(f"{path} has {path.stat().st_size} bytes; a protobuf has at most {MOST_BYTES}")
    model = onnx.ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except Exception as problem:  # noqa: BLE001  # protobuf's own class differs between its implementations
        raise DataError(f"{path} is damaged, or no ONNX model: {problem}") from None
    if not model.HasField("graph") or not model.opset_import:
        raise DataError(f"{path} is no ONNX model: it has no {'operator set' if model.HasField('graph') else 'graph'}")
    for found in _names(model):
        if not isinstance(found, str):
            raise DataError(f"{path} is damaged: the name {found!r} isn't UTF-8")
    return model


def _names(model: Any) -> Iterator[Any]:
    """Every name in a model that something reads: protobuf gives what isn't UTF-8 as bytes."""
    yield from (one.domain for one in model.opset_import)
    for function in model.functions:
        yield from (function.name, function.domain, *function.input, *function.output, *function.attribute)
        yield from (one.domain for one in function.opset_import)
    graphs, nodes = [model.graph], [function.node for function in model.functions]
    while graphs or nodes:
        if graphs:
            graph = graphs.pop()
            yield from (one.name for ports in (graph.input, graph.output, graph.initializer) for one in ports)
            yield from (one.values.name for one in graph.sparse_initializer)
            nodes.append(graph.node)
        for node in nodes.pop():
            yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
            for one in node.attribute:
                yield from (one.name, one.ref_attr_name)
                graphs += [one.g] if one.HasField("g") else one.graphs


class TensorReader:
    """Arrays of TensorProtos of one model file."""

    def __init__(self, path: Path) -> None:
        self._file, self._folder = path, path.parent

    def array(self, proto: Any, what: str) -> Array:
        """The values of a tensor. Raises DataError naming `what`."""
        element = BY_CODE.get(proto.data_type)
        if element is None:
            raise DataError(f"{self._file}: {what} has the unknown element type {proto.data_type}")
        shape = tuple(proto.dims)
        if len(shape) > MAX_RANK:
            raise DataError(f"{self._file}: {what} has {len(shape)} dimensions, at most {MAX_RANK} are read")
        if min(shape, default=0) < 0 or math.prod(shape) > MOST_ELEMENTS:
            raise DataError(f"{self._file}: {what} has shape {list(shape)}")
        try:
            if proto.data_location == EXTERNAL:
                return self._external(proto, element.storage, shape, what)
            return self._own(proto, shape)
        except (ValueError, TypeError, KeyError, OverflowError) as problem:
            raise DataError(f"{self._file}: {what} is damaged: {problem}") from None

    def dense(self, proto: Any) -> Array:
        """A SparseTensorProto as an array. Raises DataError."""
        what = f"sparse tensor '{proto.values.name}'"
        values, indices = self.array(proto.values, what), self.array(proto.indices, what)
        shape = tuple(proto.dims)
        if min(shape, default=0) < 0 or math.prod(shape) > MOST_DENSE:
            raise DataError(f"{what} has shape {list(shape)}")
        found = np.zeros(shape, values.dtype)
        at = tuple(indices.T) if indices.ndim == 2 else np.unravel_index(indices, shape)
        try:
            found[at] = values
        except (IndexError, ValueError) as problem:
            raise DataError(f"{what}: {problem}") from None
        return found

    @staticmethod
    def _own(proto: Any, shape: tuple[int, ...]) -> Array:
        from onnx import numpy_helper

        found = np.asarray(numpy_helper.to_array(proto))
        if found.shape != shape:
            raise ValueError(f"{found.size} elements for shape {list(shape)}")
        return found

    def _external(self, proto: Any, storage: Any, shape: tuple[int, ...], what: str) -> Array:
        said = {entry.key: entry.value for entry in proto.external_data}
        place = self._inside(said.get("location", ""), what)
        offset, count = int(said.get("offset", 0)), math.prod(shape)
        if storage.name.endswith("int4") or storage.name.startswith("float4"):
            raise ValueError("elements of 4 bits in a file of their own aren't supported")
        length = int(said.get("length", count * storage.itemsize))
        if length != count * storage.itemsize or offset < 0:
            raise ValueError(f"{length} bytes at {offset} for {count} elements of {storage}")
        if place.stat().st_size < offset + length:
            raise ValueError(f"{place.name} ends before byte {offset + length}")
        with place.open("rb") as file:
            file.seek(offset)
            content = file.read(length)
        return np.frombuffer(content, storage.newbyteorder("<") if storage.isbuiltin == 1 else storage).reshape(shape)

    def _inside(self, location: str, what: str) -> Path:
        """A file in the model's folder. Raises DataError for any other place."""
        parts = PurePosixPath(location).parts
        outside = not parts or ".." in parts or PurePosixPath(location).is_absolute()
        if outside or PureWindowsPath(location).drive or "\\" in location:
            raise DataError(f"{self._file}: {what} is said to lie in '{location}', which is outside of its folder")
        place = self._folder.joinpath(*parts)
        if not place.resolve().is_relative_to(self._folder.resolve()):
            raise DataError(f"{self._file}: {what} is said to lie in '{location}', which leads out of its folder")
        if not place.is_file():
            raise DataError(f"{self._file}: {what} lies in '{location}', which isn't there")
        return place
