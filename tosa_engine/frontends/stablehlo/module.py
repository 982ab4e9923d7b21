"""A module as plain data: functions, blocks and operations, with types and attributes that need no MLIR to read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import DataError, Unsupported
from ...types import MAX_RANK
from .elements import BY_NAME, Element, Uniform, uniform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...types import Array, Shape

MOST_ELEMENTS: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Kind:
    """A type: of a tensor, or of something else, which `text` says."""

    text: str
    element: Element | None = None
    shape: Shape = ()
    quantized: Uniform | None = None

    @property
    def is_token(self) -> bool:
        return self.text == "!stablehlo.token"


@dataclass(slots=True)
class Operation:
    """`results` are the numbers of the values with their types; `label` is the name that the module gives the place."""

    name: str
    operands: list[int]
    results: list[tuple[int, Kind]]
    attributes: dict[str, Any]
    regions: list[Body]
    label: str = ""
    line: int = 0


@dataclass(slots=True)
class Body:
    """A block: its arguments, and operations of which the last one says what it gives."""

    arguments: list[tuple[int, Kind]]
    operations: list[Operation]

    @property
    def results(self) -> list[int]:
        return self.operations[-1].operands if self.operations else []


@dataclass(slots=True)
class Function:
    names: list[str]
    results: list[str]
    body: Body


@dataclass(slots=True)
class Module:
    functions: dict[str, Function] = field(default_factory=dict)
    entry: str = "main"

    @property
    def main(self) -> Function:
        return self.functions[self.entry]


def module_of(plain: Mapping[str, Any], blob: bytes) -> Module:
    """The module that the reading process says. Raises Unsupported for types that no array has."""
    parser = _Parser(blob)
    functions = {
        name: Function(one["names"], one["results"], parser.body(one["body"]))
        for name, one in plain["functions"].items()
    }
    return Module(functions, plain["entry"])


class _Parser:
    def __init__(self, blob: bytes) -> None:
        self.blob = blob
        self.kinds: dict[str, Kind] = {}

    def kind(self, text: str) -> Kind:
        if text not in self.kinds:
            self.kinds[text] = kind_of(text)
        return self.kinds[text]

    def body(self, plain: Mapping[str, Any]) -> Body:
        arguments = [(number, self.kind(text)) for number, text in plain["args"]]
        return Body(arguments, [self.operation(one) for one in plain["ops"]])

    def operation(self, plain: Mapping[str, Any]) -> Operation:
        results = [(number, self.kind(text)) for number, text in plain["out"]]
        attributes = {name: self.attribute(value) for name, value in plain["attrs"].items()}
        regions = [self.body(one) for one in plain.get("regions", ())]
        return Operation(plain["op"], plain["in"], results, attributes, regions, *plain["loc"])

    def attribute(self, plain: Any) -> Any:
        if isinstance(plain, dict) and "dense" in plain:
            return self.array(plain)
        if isinstance(plain, dict):
            return {name: self.attribute(value) for name, value in plain.items()}
        if isinstance(plain, list):
            return [self.attribute(one) for one in plain]
        return plain

    def array(self, plain: Mapping[str, Any]) -> Array | None:
        """A constant; None where numpy has no type for it."""
        element, shape = BY_NAME.get(plain["dense"]), tuple(plain["shape"])
        if element is None or plain["at"] < 0:
            return None
        stored = np.dtype(np.bool_) if element.is_bool else element.file
        data = np.frombuffer(self.blob, stored, plain["size"] // stored.itemsize, plain["at"])
        if data.size == 1:
            return np.broadcast_to(data.reshape(()).astype(element.storage), shape)
        return data.astype(element.storage, copy=False).reshape(shape)


def kind_of(text: str) -> Kind:
    """A type by its text. Raises Unsupported for dynamic shapes and ranks that no array has."""
    if not text.startswith("tensor<"):
        return Kind(text)
    inner = text[len("tensor<") : -1]
    match = re.match(r"(?:(?:\d+|\?)x)*", inner)
    assert match is not None
    extents, rest = match[0].split("x")[:-1], inner[match.end() :]
    if "?" in extents or rest.startswith("*"):
        raise Unsupported(f"the type {text} has no fixed shape: --shape INPUT=N,... says those of the inputs")
    if len(extents) > MAX_RANK:
        raise Unsupported(f"the type {text} has {len(extents)} dimensions, at most {MAX_RANK} are read")
    shape = tuple(int(extent) for extent in extents)
    if rest.startswith("!quant.uniform<"):
        quantized = uniform(rest)
        return Kind(text, quantized.expressed, shape, quantized)
    return Kind(text, BY_NAME.get(rest.partition(",")[0]), shape)


FIELD: Final = re.compile(r"(\w+) = (\[[^\]]*\]|-?\d+)")


def fields(text: str) -> dict[str, Any]:
    """What an attribute like `#stablehlo.gather<offset_dims = [1], index_vector_dim = 2>` says."""
    found: dict[str, Any] = {}
    for name, value in FIELD.findall(text):
        found[name] = [int(n) for n in re.findall(r"-?\d+", value)] if value.startswith("[") else int(value)
    return found


def word(text: Any) -> str:
    """The word of an attribute like `#stablehlo<comparison_direction EQ>`."""
    found = re.search(r"(\w+)>$", str(text))
    if found is None:
        raise DataError(f"the attribute {text} isn't known here")
    return found[1]
