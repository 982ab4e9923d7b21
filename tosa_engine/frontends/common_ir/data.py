"""Values of documents as arrays, and back: lists of numbers, base64 of little-endian bytes, sparse tensors."""

from __future__ import annotations

import base64
import binascii
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .kinds import BY_NAME, HANDLE, ListKind, MapKind, ScalarKind, TensorKind, TupleKind, called
from .rules import FORM, TYPE, RuleError

if TYPE_CHECKING:
    from ...types import Array
    from ..onnx.elements import Element
    from .kinds import Kind

MOST_ELEMENTS: Final = 1 << 28
SHORT: Final = 16  # elements that are written as numbers
SPECIAL: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def value_of(kind: Kind, said: Any, place: str) -> Any:
    """A literal: an array for a tensor, lists, tuples and dictionaries of values. Raises RuleError."""
    match kind:
        case TensorKind():
            return array_of(kind, said, place)
        case ListKind(item) if isinstance(said, list):
            return [value_of(item, one, place) for one in said]
        case TupleKind(items) if isinstance(said, list) and len(said) == len(items):
            return tuple(value_of(item, one, place) for item, one in zip(items, said, strict=True))
        case MapKind(key, value) if isinstance(said, dict):
            for one in said:
                if key != "string":
                    _scalar(key, int(one) if one.removeprefix("-").isdigit() else one, place)
            return {k: array_of(TensorKind(value, ()), [v], place) for k, v in said.items()}
        case ScalarKind(name):
            return _scalar(name, said, place)
    raise RuleError(TYPE, place, f"the value is no {called(kind)}")


def array_of(kind: TensorKind, said: Any, place: str) -> Array:
    shape = kind.shape
    if shape is None or not all(isinstance(one, int) for one in shape):
        raise RuleError(TYPE, place, f"a {called(kind)} has no values: its shape isn't known")
    extents = tuple(int(one) for one in shape)
    if math.prod(extents) > MOST_ELEMENTS:
        raise RuleError(FORM, place, f"shape {list(extents)} has more than {MOST_ELEMENTS} elements")
    element = BY_NAME.get(kind.element)
    if element is None:
        raise RuleError(TYPE, place, f"'{kind.element}' is no element type of a value")
    if kind.sparse:
        return _dense(kind, extents, said, place)
    found = _elements(element, said, kind.element, place)
    if found.size != math.prod(extents):
        raise RuleError(TYPE, place, f"{found.size} elements for shape {list(extents)}")
    return found.reshape(extents)


def _elements(element: Element, said: Any, name: str, place: str) -> Array:
    """The elements in a row."""
    if isinstance(said, list):
        return _numbers(element, said, name, place)
    if not isinstance(said, dict) or set(said) != {"base64"} or not isinstance(said["base64"], str):
        raise RuleError(FORM, place, "data is a list, or an object with base64")
    if name == "string":
        raise RuleError(FORM, place, "strings are a list")
    try:
        content = base64.b64decode(said["base64"], validate=True)
    except binascii.Error as problem:
        raise RuleError(FORM, place, f"base64 is damaged: {problem}") from None
    storage = element.storage
    if len(content) % storage.itemsize:
        raise RuleError(FORM, place, f"{len(content)} bytes hold no whole number of {name}")
    found = np.frombuffer(content, storage.newbyteorder("<") if storage.isbuiltin == 1 else storage)
    if name == "bool" and found.size and found.view(np.uint8).max() > 1:
        raise RuleError(FORM, place, "a byte of bool is neither 0 nor 1")
    return found.astype(storage)


def _numbers(element: Element, said: list[Any], name: str, place: str) -> Array:
    values = [_scalar(name, one, place) for one in said]
    return np.array(values, object).astype(element.storage)


def _scalar(name: str, said: Any, place: str) -> Any:
    if name == HANDLE:
        raise RuleError(TYPE, place, "a handle has no value in a document")
    element = BY_NAME[name]
    if name in ("string", "bool"):
        if not isinstance(said, str if name == "string" else bool):
            raise RuleError(TYPE, place, f"{said!r} is no {name}")
        return said
    if element.is_integer:
        if isinstance(said, bool) or not isinstance(said, int) or not element.minimum <= said <= element.maximum:
            raise RuleError(TYPE, place, f"{str(said)[:40]} is no {name}")
        return said
    if name.startswith("complex"):
        parts = said if isinstance(said, list) and len(said) == 2 else [said, 0]
        return complex(*(_real(name, one, place) for one in parts))
    return _real(name, said, place)


def _real(name: str, said: Any, place: str) -> float:
    if isinstance(said, str) and said in SPECIAL:
        return SPECIAL[said]
    if isinstance(said, bool) or not isinstance(said, int | float):
        raise RuleError(TYPE, place, f"{str(said)[:40]!r} is no {name}")
    with np.errstate(over="ignore"):
        if not name.startswith("complex") and not np.isfinite(np.array(said, BY_NAME[name].storage).astype(np.float64)):
            raise RuleError(TYPE, place, f"{said} is beyond {name}")
    return float(said)


def _dense(kind: TensorKind, extents: tuple[int, ...], said: Any, place: str) -> Array:
    """A sparse tensor: `indices` have a row of coordinates for each of `values`."""
    if not isinstance(said, dict) or set(said) != {"values", "indices"} or not isinstance(said["indices"], list):
        raise RuleError(FORM, place, "a sparse tensor has values and indices")
    element = BY_NAME[kind.element]
    found = np.zeros(extents, element.storage)
    values = _elements(element, said["values"], kind.element, place)
    if len(said["indices"]) != values.size:
        raise RuleError(FORM, place, f"{len(said['indices'])} indices for {values.size} values")
    seen: set[tuple[int, ...]] = set()
    for at, value in zip(said["indices"], values, strict=True):
        whole = isinstance(at, list) and len(at) == len(extents) and all(type(one) is int for one in at)
        if not whole or not all(0 <= one < extent for one, extent in zip(at, extents, strict=True)):
            raise RuleError(FORM, place, f"{at} is no index of shape {list(extents)}")
        if tuple(at) in seen:
            raise RuleError(FORM, place, f"index {at} has two values")
        seen.add(tuple(at))
        found[tuple(at)] = value
    return found


def data_of(array: Array) -> Any:
    """An array as a document holds it: a short one as numbers, others in base64."""
    row = np.ascontiguousarray(array).reshape(-1)
    if array.dtype == object:
        return [one.decode() if isinstance(one, bytes) else str(one) for one in row.tolist()]
    if row.size <= SHORT and row.dtype.kind in "iubf" and row.dtype.isbuiltin == 1:
        return [scalar_text(one) for one in row.tolist()]
    if row.dtype.isbuiltin == 1:
        row = row.astype(row.dtype.newbyteorder("<"))
    return {"base64": base64.b64encode(row.tobytes()).decode()}


def scalar_text(value: Any) -> Any:
    """A scalar as JSON holds it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value
