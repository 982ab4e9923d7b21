"""Declarations of operators from the schemas of the package `onnx`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ...errors import Unsupported
from .flatten import OWN
from .kinds import BY_NAME, RENAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

_TENSOR: Final = re.compile(r"tensor\((\w+)\)")
ANY: Final = "AnyElement"
KINDS: Final = {"INT": "int64", "FLOAT": "float32", "STRING": "string"}


def signature_of(domain: str, operator: str, version: int, place: str) -> dict[str, Any]:
    """An operator of a set. Raises Unsupported where `onnx` knows none, or operands that are no tensors."""
    from onnx import defs

    try:
        schema = defs.get_schema(operator, version, "" if domain == OWN else domain)
    except defs.SchemaError:
        raise Unsupported(f"{place}: the package onnx says nothing of the operands of {operator} {version}") from None
    variables = {
        one.type_param_str: elements
        for one in schema.type_constraints
        if (elements := _elements(one.allowed_type_strs))
    }
    found: dict[str, Any] = {
        "name": operator,
        "inputs": [_port(one, variables, place) for one in schema.inputs],
        "outputs": [_port(one, variables, place) for one in schema.outputs],
    }
    attributes = [_attribute(one, variables) for _, one in sorted(schema.attributes.items())]
    if kept := [one for one in attributes if one is not None]:
        found["attributes"] = kept
    if variables:
        found["type_variables"] = variables
    return found


def _elements(words: Sequence[str]) -> list[str]:
    names = [RENAMED.get(match.group(1), match.group(1)) for one in words if (match := _TENSOR.fullmatch(one))]
    return sorted(name for name in names if name in BY_NAME)


def _port(one: Any, variables: dict[str, list[str]], place: str) -> dict[str, Any]:
    match = _TENSOR.fullmatch(one.type_str)
    element = RENAMED.get(match.group(1), match.group(1)) if match else one.type_str
    if element not in variables and element not in BY_NAME:
        raise Unsupported(f"{place}: its operand '{one.name}' is a {one.type_str}; Common IR declares tensors here")
    count = {"Single": "one", "Optional": "optional", "Variadic": "repeated"}[one.option.name]
    if count == "repeated" and not one.is_homogeneous:
        raise Unsupported(f"{place}: its operand '{one.name}' has several types")
    found: dict[str, Any] = {"name": one.name, "type": {"tensor": element, "shape": ["*"]}}
    return found if count == "one" else {**found, "count": count}


def _attribute(one: Any, variables: dict[str, list[str]]) -> dict[str, Any] | None:
    """None for a kind that Common IR has no word for: a node that gives such an attribute is refused."""
    word = one.type.name
    if word in KINDS:
        kind: Any = KINDS[word]
    elif word.removesuffix("S") in KINDS:
        kind = {"list": KINDS[word.removesuffix("S")]}
    elif word == "TENSOR":
        variables.setdefault(ANY, sorted(BY_NAME))
        kind = {"tensor": ANY, "shape": ["*"]}
    else:
        return None
    found = {"name": one.name, "type": kind}
    return {**found, "required": True} if one.required else found
