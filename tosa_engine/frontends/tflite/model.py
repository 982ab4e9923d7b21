"""A TFLite file: its tensors, inputs, outputs and operators; shapes of inputs are bound in a copy of it."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ...errors import DataError, TosaEngineError, Unsupported, UsageError, raise_all
from ...graph import QParams
from ...serialize.binary_read import Reader
from ...types import MAX_RANK
from . import schema

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ...types import DType, Shape

BITS = {"int8": 8, "uint8": 8, "int16": 16, "uint16": 16}
MOST_NODES: Final = 1 << 14  # which take the converter a few seconds


@dataclass(frozen=True)
class Held:
    """A tensor of the file. `places`: where its shape and its signature lie, for those that it has."""

    name: str
    element: str
    dtype: DType | None
    signed: bool
    shape: Shape
    signature: Shape
    quant: QParams | None
    places: tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """An operator of the main subgraph: its builtin code, its tensors by number."""

    code: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """What is known of a file. The first subgraph is the model; others are called by it."""

    name: str
    data: bytes
    tensors: list[Held]
    inputs: list[Held]
    outputs: list[Held]
    nodes: list[Node]
    places: Mapping[int, int] = field(default_factory=dict)  # of shapes, in the whole file -> tensors that have them


def read_model(path: Path) -> Model:
    """The model of a file. Raises OSError, DataError for one that is damaged."""
    return model_of(path.read_bytes(), path.name)


def model_of(data: bytes, name: str) -> Model:
    """The model of these bytes; `name` is what errors call it. Raises as `read_model`."""
    record = Reader(data, name).root(schema.MODEL, schema.IDENTIFIER, "TFLite")
    if record.get("version", 0) != 3:
        raise DataError(f"{name}: version {record.get('version', 0)} of the schema; version 3 is read")
    if not record.get("subgraphs"):
        raise DataError(f"{name}: a TFLite file without a graph")
    codes = record.get("codes", [])
    graph = record["subgraphs"][0]
    tensors = [_tensor(one, f"{name}: tensor {number}") for number, one in enumerate(graph.get("tensors", []))]
    nodes = [_node(one, number, codes, len(tensors), name) for number, one in enumerate(graph.get("operators", []))]
    if len(nodes) > MOST_NODES:
        raise Unsupported(f"{name}: {len(nodes)} operators, at most {MOST_NODES} are converted")
    places: dict[int, int] = {}
    for one in (one for subgraph in record["subgraphs"] for one in subgraph.get("tensors", [])):
        for key in ("shape_at", "signature_at"):
            if one.get(key) is not None:
                places[one[key]] = places.get(one[key], 0) + 1
    borders = [[tensors[i] for i in _numbers(graph, key, len(tensors), name)] for key in ("inputs", "outputs")]
    return Model(name, data, tensors, borders[0], borders[1], nodes, places)


def _numbers(record: Mapping[str, Any], key: str, most: int, name: str, *, optional: bool = False) -> tuple[int, ...]:
    """Numbers of tensors; -1, for a tensor that isn't given, where that may be."""
    numbers: tuple[int, ...] = record.get(key, ())
    for number in numbers:
        if not -int(optional) <= number < most:
            raise DataError(f"{name}: {key}: there is no tensor {number}; there are {most}")
    return numbers


def _code(record: Mapping[str, Any]) -> int:
    """Files of old have the code in 8 bits, those of today in both fields or in the wide one."""
    return max(int(record.get("old_code", 0)), int(record.get("code", 0)))


def _node(record: Mapping[str, Any], number: int, codes: list[Any], tensors: int, name: str) -> Node:
    opcode, place = record.get("opcode", 0), f"{name}: operator {number}"
    if opcode >= len(codes):
        raise DataError(f"{place}: there is no operator code {opcode}; there are {len(codes)}")
    inputs = _numbers(record, "inputs", tensors, place, optional=True)
    outputs = _numbers(record, "outputs", tensors, place)
    return Node(_code(codes[opcode]), inputs, outputs)


def _tensor(record: Mapping[str, Any], place: str) -> Held:
    code = record.get("type", 0)
    if code not in schema.ELEMENTS:
        raise DataError(f"{place}: there is no element type {code}")
    element, dtype, signed = schema.ELEMENTS[code]
    shape, signature = record.get("shape", ()), record.get("signature", ())
    if len(shape) > MAX_RANK:
        raise DataError(f"{place}: {len(shape)} dimensions, at most {MAX_RANK} are read")
    if signature and len(signature) != len(shape):
        raise DataError(f"{place}: shape {list(shape)} and signature {list(signature)} differ in rank")
    places = tuple(record[key] for key, extents in (("shape_at", shape), ("signature_at", signature)) if extents)
    quant = _quant(record.get("quantization", {}), element, signed=signed)
    return Held(record.get("name", ""), element, dtype, signed, shape, signature, quant, places)


def _quant(record: Mapping[str, Any], element: str, *, signed: bool) -> QParams | None:
    """The scale of a whole tensor of integers; None where it has none."""
    scales, zero_points = record.get("scale", ()), record.get("zero_point", ())
    if element not in BITS or len(scales) != 1 or len(zero_points) > 1:
        return None
    scale, zero_point = scales[0], zero_points[0] if zero_points else 0
    found = QParams((scale,), (zero_point,), BITS[element], signed=signed)
    if not (math.isfinite(scale) and scale > 0 and found.low <= zero_point <= found.high):
        return None
    return found


def bound(model: Model, shapes: Mapping[str, Shape]) -> bytes:
    """The file with the shapes of its inputs fixed: those that are given, else the file's own.

    A dimension of -1 in a signature has the extent that the shape has there, as in LiteRT. Raises UsageError for
    unknown names and shapes that can't be.
    """
    names = [one.name for one in model.inputs]
    unknown = [name for name in shapes if name not in names]
    if unknown:
        raise UsageError(f"{model.name} has no input '{unknown[0]}'; its inputs: {', '.join(names)}")
    data, problems = bytearray(model.data), list[TosaEngineError]()
    for one in model.inputs:
        try:
            _bind(data, model, one, shapes.get(one.name, one.shape))
        except TosaEngineError as problem:
            problems.append(problem)
    raise_all(problems)
    return bytes(data)


def _bind(data: bytearray, model: Model, one: Held, wanted: Shape) -> None:
    if one.dtype is None:
        raise Unsupported(f"{model.name}: input '{one.name}' is {one.element}, which TOSA doesn't have")
    if len(wanted) != len(one.shape):
        raise UsageError(f"{model.name}: input '{one.name}' has the shape {list(one.shape)}, not {list(wanted)}")
    free = one.signature or one.shape
    if any(extent > 0 and extent != other for extent, other in zip(free, wanted, strict=True)):
        raise UsageError(f"{model.name}: input '{one.name}' has the shape {list(free)}: it can't be {list(wanted)}")
    if min(wanted, default=1) < 1:
        words = ",".join("N" if extent < 1 else str(extent) for extent in wanted)
        raise UsageError(
            f"{model.name}: input '{one.name}' has the shape {list(free)}: --shape {one.name}={words} binds it"
        )
    if tuple(wanted) == one.shape and -1 not in one.signature:
        return
    if any(model.places.get(place, 0) != 1 for place in one.places):
        raise Unsupported(f"{model.name}: input '{one.name}' shares its shape with another tensor: it can't be bound")
    for place in one.places:
        struct.pack_into(f"<{len(wanted)}i", data, place, *wanted)
