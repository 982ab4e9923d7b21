"""Types of Common IR: tensors, lists, tuples, maps, and the scalars that attributes have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..onnx.elements import ELEMENTS
from .rules import FORM, RuleError, is_identifier
from .shapes import pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ..onnx.elements import Element
    from .shapes import Pattern

RENAMED: Final = {"float": "float32", "double": "float64"}
# those of the text, and the additional ones that ONNX has
BY_NAME: Final[Mapping[str, Element]] = {RENAMED.get(one.name, one.name): one for one in ELEMENTS}
NAME_OF: Final[Mapping[int, str]] = {element.code: name for name, element in BY_NAME.items()}
HANDLE: Final = "handle"
DEEPEST: Final = 16


@dataclass(frozen=True)
class TensorKind:
    element: str  # or a type variable of the declaration
    shape: Pattern | None = None
    sparse: bool = False


@dataclass(frozen=True)
class ListKind:
    item: Kind


@dataclass(frozen=True)
class TupleKind:
    items: tuple[Kind, ...]


@dataclass(frozen=True)
class MapKind:
    key: str
    value: str


@dataclass(frozen=True)
class ScalarKind:
    name: str


@dataclass(frozen=True)
class AnyKind:
    """A type variable that stands for any type: of what takes collections apart."""

    name: str


Kind = TensorKind | ListKind | TupleKind | MapKind | ScalarKind | AnyKind


def kind_of(said: Any, place: str, variables: Collection[str] = (), depth: int = 0) -> Kind:
    """A type as a document says it. Raises RuleError."""
    if depth > DEEPEST:
        raise RuleError(FORM, place, f"types are nested more than {DEEPEST} deep")
    if isinstance(said, str):
        return _scalar(said, place, variables)
    if not isinstance(said, dict) or not said:
        raise RuleError(FORM, place, "a type is a name, or one of tensor, sparse_tensor, list, tuple and map")
    keys = set(said)
    for word in ("tensor", "sparse_tensor"):
        if keys in ({word}, {word, "shape"}):
            shape = pattern(said["shape"], f"{place}.shape") if "shape" in said else None
            return TensorKind(_element(said[word], place, variables), shape, word == "sparse_tensor")
    if keys == {"list"}:
        return ListKind(kind_of(said["list"], place, variables, depth + 1))
    if keys == {"tuple"} and isinstance(said["tuple"], list):
        return TupleKind(tuple(kind_of(one, place, variables, depth + 1) for one in said["tuple"]))
    if keys == {"map"} and isinstance(said["map"], list) and len(said["map"]) == 2:
        return _map(said["map"], place)
    raise RuleError(FORM, place, f"'{', '.join(sorted(keys))}' says no type")


def _scalar(name: str, place: str, variables: Collection[str]) -> Kind:
    if name in variables:
        return AnyKind(name)
    if name not in BY_NAME and name != HANDLE:
        raise RuleError(FORM, place, f"'{name}' is no type")
    return ScalarKind(name)


def _element(name: Any, place: str, variables: Collection[str]) -> str:
    if not isinstance(name, str) or (name not in BY_NAME and name not in variables):
        raise RuleError(FORM, place, f"'{name}' is no element type")
    return name


def _map(said: list[Any], place: str) -> Kind:
    for one, what in zip(said, ("key", "value"), strict=True):
        if isinstance(one, dict):
            raise RuleError("CIR.M17", place, f"the {what} of a map is a collection")
        _element(one, place, ())
    return MapKind(said[0], said[1])


def written(kind: Kind) -> Any:
    """A type as a document says it."""
    match kind:
        case TensorKind(element, shape, sparse):
            word = "sparse_tensor" if sparse else "tensor"
            return {word: element} | ({} if shape is None else {"shape": list(shape)})
        case ListKind(item):
            return {"list": written(item)}
        case TupleKind(items):
            return {"tuple": [written(one) for one in items]}
        case MapKind(key, value):
            return {"map": [key, value]}
        case ScalarKind(name) | AnyKind(name):
            return name


def called(kind: Kind) -> str:
    """A type as messages call it."""
    match kind:
        case TensorKind(element, shape, sparse):
            extents = "" if shape is None else f"[{', '.join(str(one) for one in shape)}]"
            return f"{'sparse ' if sparse else ''}tensor of {element}{extents}"
        case ListKind(item):
            return f"list of {called(item)}"
        case TupleKind(items):
            return f"tuple of {len(items)}"
        case MapKind(key, value):
            return f"map from {key} to {value}"
        case ScalarKind(name) | AnyKind(name):
            return name


def is_variable(name: str) -> bool:
    return is_identifier(name) and name not in BY_NAME and name != HANDLE
