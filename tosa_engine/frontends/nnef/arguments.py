"""Arguments of an invocation against the declaration of its operation (section 3.3, types and invocations)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .standard import EXTENTS, REQUIRED, Declaration, Parameter
from .syntax import Literal, Name, Sequence, literal_value, names_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .syntax import Argument, Expression, Invocation, Text

MAX_INTEGER: Final = (1 << 31) - 1
_PYTHON: Final = {"integer": int, "scalar": float, "logical": bool, "string": str}
_NAMES: Final = {int: "integer", float: "scalar", bool: "logical", str: "string"}


def bind_arguments(
    declaration: Declaration, invocation: Invocation, text: Text, types: Mapping[str, str]
) -> dict[str, Any]:
    """Parameter name -> value, defaults included (see `document.Operation`).

    `types` are the data types of the tensors defined so far. Raises ParseError at the first wrong argument.
    """
    values: dict[str, Any] = {}
    named_seen = False
    for number, argument in enumerate(invocation.arguments):
        parameter = _parameter(declaration, argument, number, text, named_seen)
        named_seen = named_seen or bool(argument.name)
        if parameter.name in values:
            raise text.error(f"argument '{parameter.name}' of '{declaration.name}' is given twice", argument.place)
        convert = _tensor_value if parameter.is_tensor else _attribute_value
        values[parameter.name] = convert(parameter, argument.value, text, types)
    missing = [p.name for p in declaration.parameters if p.name not in values and p.default is REQUIRED]
    if missing:
        shown = ", ".join(f"'{name}'" for name in missing)
        raise text.error(f"'{declaration.name}' needs {shown}", invocation.place)
    return {p.name: values.get(p.name, p.default) for p in declaration.parameters}


def _parameter(declaration: Declaration, argument: Argument, number: int, text: Text, named_seen: bool) -> Parameter:
    if argument.name:
        parameter = declaration.parameter(argument.name)
        if parameter is None:
            known = ", ".join(p.name for p in declaration.parameters)
            message = f"'{declaration.name}' has no argument '{argument.name}'; it has: {known}"
            raise text.error(message, argument.place)
        return parameter
    if named_seen:
        raise text.error("a positional argument stands after a named one", argument.place)
    if number >= len(declaration.parameters):
        message = f"'{declaration.name}' takes {len(declaration.parameters)} arguments, this is number {number + 1}"
        raise text.error(message, argument.place)
    parameter = declaration.parameters[number]
    if not parameter.is_tensor:
        raise text.error(f"attribute '{parameter.name}' of '{declaration.name}' must be named", argument.place)
    return parameter


def _tensor_value(parameter: Parameter, value: Expression, text: Text, types: Mapping[str, str]) -> Any:
    if parameter.type.endswith("[]"):
        if not isinstance(value, Sequence) or value.is_tuple or not value.items:
            raise text.error(f"argument '{parameter.name}' must be an array of tensors", value.place)
        return tuple(_one_tensor(parameter, item, text, types) for item in value.items)
    return _one_tensor(parameter, value, text, types)


def _one_tensor(parameter: Parameter, value: Expression, text: Text, types: Mapping[str, str]) -> Any:
    if isinstance(value, Sequence) or (isinstance(value, Literal) and isinstance(value.value, str)):
        raise text.error(f"argument '{parameter.name}' must be a tensor", value.place)
    if isinstance(value, Name):
        if value.text not in types:
            raise text.error(f"'{value.text}' isn't defined before this use", value.place)
        kind = types[value.text]
    else:
        kind = _NAMES[type(value.value)]
    if "scalar" in parameter.type and kind not in ("scalar", ""):
        raise text.error(f"argument '{parameter.name}' must be a tensor of scalars, not of type {kind}", value.place)
    return value if isinstance(value, Name) else value.value


def _attribute_value(parameter: Parameter, value: Expression, text: Text, _: Mapping[str, str]) -> Any:
    for name in names_in(value):
        raise text.error(f"attribute '{parameter.name}' must be a literal, not the tensor '{name.text}'", name.place)
    if not _has_type(value, parameter.type):
        message = f"argument '{parameter.name}' must be {_article(parameter.type)}, got {_shown(value)}"
        raise text.error(message, value.place)
    result = literal_value(value)
    for number in _integers(result):
        if abs(number) > MAX_INTEGER:
            raise text.error(f"argument '{parameter.name}': {number} is beyond 32 bits"[:200], value.place)
    return result


def _integers(value: Any) -> Iterator[int]:
    if isinstance(value, tuple):
        for item in value:
            yield from _integers(item)
    elif isinstance(value, int):
        yield value


def _has_type(value: Expression, type_name: str) -> bool:
    if type_name.endswith("[]"):
        item = type_name[:-2]
        return isinstance(value, Sequence) and not value.is_tuple and all(_has_type(v, item) for v in value.items)
    if type_name == EXTENTS[:-2]:
        pair = isinstance(value, Sequence) and value.is_tuple and len(value.items) == 2
        return pair and all(_has_type(v, "integer") for v in value.items)  # type: ignore[union-attr]
    if not isinstance(value, Literal):
        return False
    return type_name == "?" or type(value.value) is _PYTHON[type_name]


def _article(type_name: str) -> str:
    item = "values" if type_name == "?[]" else f"{type_name[:-2]}s" if type_name.endswith("[]") else ""
    if type_name == EXTENTS:
        return "an array of pairs of integers like [(1, 1), (0, 0)]"
    if item:
        return f"an array of {item}"
    words = {"integer": "an integer", "scalar": "a scalar (like 1.0)", "logical": "true or false", "string": "a string"}
    return words[type_name]


def _shown(value: Expression) -> str:
    if isinstance(value, Sequence):
        return "a tuple" if value.is_tuple else "an array"
    assert isinstance(value, Literal)
    return f"the {_NAMES[type(value.value)]} {value.value!r}"[:60]


def data_type(
    declaration: Declaration,
    invocation: Invocation,
    arguments: Mapping[str, Any],
    text: Text,
    types: Mapping[str, str],
) -> str:
    """The data type of the results; "" when it depends on a tensor whose type is unknown. Raises ParseError."""
    written = invocation.type_name
    if not declaration.generic:
        if written:
            raise text.error(f"'{declaration.name}' isn't generic: it takes no type name", invocation.place)
        return "scalar"
    if written in ("?", "string"):
        raise text.error(f"tensors of type '{written}' don't exist in a graph", invocation.place)
    found = set()
    for parameter in declaration.parameters:
        if parameter.is_tensor:
            value = arguments[parameter.name]
            for item in value if isinstance(value, tuple) else (value,):
                found.add(types[item.text] if isinstance(item, Name) else _NAMES[type(item)])
    if declaration.name == "constant":
        found = {_NAMES[type(v)] for v in arguments["value"]}
    found.discard("")
    if written:
        found.add(written)
    if declaration.name == "constant" and not written:
        found.add("scalar")
    if len(found) > 1:
        shown = " and ".join(sorted(found))
        raise text.error(f"'{declaration.name}' mixes the data types {shown}", invocation.place)
    default = "" if any(p.is_tensor for p in declaration.parameters) else "scalar"
    return found.pop() if found else default
