"""Operators and built-in functions on compile-time values (section 3.3.3): numbers, logical values, strings, arrays.

Arrays and tuples are Python tuples. Integers are exact up to 64 bits. What has no value raises `Wrong`.
"""

from __future__ import annotations

import math
import operator
import re
from typing import TYPE_CHECKING, Any, Final

from .kinds import OF_PYTHON, Primitive
from .tree import Wrong, short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .syntax import Place

MAX_INTEGER: Final = (1 << 63) - 1
MAX_ITEMS: Final = 1 << 22  # of an array or string that an expression makes, those of nested arrays counted
_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_INTEGER_LITERAL: Final = re.compile(r"-?[0-9]+")
_SCALAR_LITERAL: Final = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


def binary(sign: str, x: Any, y: Any, place: Place) -> Any:
    """`x sign y`."""
    if sign == "in":
        if not isinstance(y, tuple):
            raise Wrong("NNEF.T11", f"'in' needs an array on its right, got {_kind(y)}", place)
        return x in y
    if isinstance(x, (tuple, str)) and sign in ("+", "*"):
        return _joined(sign, x, y, place)
    if isinstance(x, bool) and isinstance(y, bool) and sign in ("&&", "||"):
        return (x and y) if sign == "&&" else (x or y)
    if type(x) is type(y) and sign in ("==", "!="):
        return _COMPARE[sign](x, y)
    if type(x) is not type(y) or type(x) not in (int, float):
        raise Wrong("NNEF.T7", f"'{sign}' can't take {_kind(x)} and {_kind(y)}", place)
    if sign in _COMPARE:
        return _COMPARE[sign](x, y)
    return _bounded(_arithmetic(sign, x, y, place), sign, place)


def _arithmetic(sign: str, x: Any, y: Any, place: Place) -> Any:
    if sign == "+":
        return x + y
    if sign == "-":
        return x - y
    if sign == "*":
        return x * y
    if sign == "/":
        if y == 0:
            raise Wrong("NNEF.E6", "division by zero", place)
        # integers: towards zero, so that (x / y) * y + remainder is x and the sign is that of the real quotient
        return x / y if isinstance(x, float) else (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)
    if sign == "^":
        return _power(x, y, place)
    raise Wrong("NNEF.T7", f"'{sign}' can't take {_kind(x)} and {_kind(y)}", place)


def _power(x: Any, y: Any, place: Place) -> Any:
    if isinstance(x, int):
        if y < 0:
            raise Wrong("NNEF.E6", f"{x} ^ {y} isn't an integer", place)
        if abs(x) > 1 and y > 64:
            raise Wrong("NNEF.E6", f"the result of '^' is beyond {MAX_INTEGER}", place)
        return x ** min(y, 64 + y % 2)
    try:
        return math.pow(x, y)
    except (ValueError, OverflowError):
        raise Wrong("NNEF.E6", f"{x} ^ {y} isn't a number", place) from None


def _bounded(value: Any, sign: str, place: Place) -> Any:
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise Wrong("NNEF.E6", f"the result of '{sign}' is beyond {MAX_INTEGER}", place)
    if isinstance(value, float) and not math.isfinite(value):
        raise Wrong("NNEF.E6", f"the result of '{sign}' is beyond double precision", place)
    return value


def _joined(sign: str, x: Any, y: Any, place: Place) -> Any:
    """Arrays or strings, one behind the other or repeated."""
    joins = sign == "+" and type(y) is type(x)
    if not joins and not (sign == "*" and type(y) is int):
        raise Wrong("NNEF.T7", f"'{sign}' can't take {_kind(x)} and {_kind(y)}", place)
    _limited(_items(x) + _items(y) if joins else _items(x) * max(y, 0), place)
    return x + y if joins else x * y


def array(items: tuple[Any, ...], place: Place) -> tuple[Any, ...]:
    """An array or tuple that a document lists."""
    if any(isinstance(item, tuple) for item in items):
        _limited(_items(items), place)
    return items


def _limited(length: int, place: Place) -> None:
    if length > MAX_ITEMS:
        raise Wrong("NNEF.LIMIT", f"more than {MAX_ITEMS} items", place)


def _items(value: Any) -> int:
    """The items of an array with those of the arrays in it, which may be one array many times."""
    if isinstance(value, str):
        return len(value)
    return sum(_items(v) if isinstance(v, tuple) else 1 for v in value)


def unary(sign: str, x: Any, place: Place) -> Any:
    if sign == "()":
        return x
    if sign == "!" and isinstance(x, bool):
        return not x
    if sign != "!" and type(x) in (int, float):
        return -x if sign == "-" else x
    raise Wrong("NNEF.T7", f"'{sign}' can't take {_kind(x)}", place)


def item(subject: Any, index: int, place: Place) -> Any:
    if not 0 <= index < len(subject):
        raise Wrong("NNEF.E1", f"index {index} is beyond an array of {len(subject)} items", place)
    return subject[index]


def section(subject: Any, start: int | None, stop: int | None, place: Place) -> Any:
    """`subject[start:stop]`; empty when it starts where it ends, or behind."""
    first, last = start if start is not None else 0, stop if stop is not None else len(subject)
    if first < last and not (0 <= first and last <= len(subject)):
        raise Wrong("NNEF.E1", f"range {first}:{last} is beyond an array of {len(subject)} items", place)
    return subject[first:last] if first < last else subject[:0]


def builtin(function: str, x: Any, place: Place) -> Any:
    """Every built-in function but `shape_of`."""
    if function in ("length_of", "range_of"):
        if not isinstance(x, (tuple, str)):
            raise Wrong("NNEF.T12", f"'{function}' needs an array or a string, got {_kind(x)}", place)
        return len(x) if function == "length_of" else tuple(range(len(x)))
    if type(x) not in OF_PYTHON:
        raise Wrong("NNEF.T12", f"'{function}' needs a value of a primitive type, got {_kind(x)}", place)
    if function == "string":
        return x if isinstance(x, str) else str(x).lower() if isinstance(x, bool) else repr(x)
    if function == "logical":
        return bool(x)
    return _number(function, x, place)


def _number(function: str, x: Any, place: Place) -> Any:
    if isinstance(x, str):
        literal = _SCALAR_LITERAL if function == "scalar" else _INTEGER_LITERAL
        if not literal.fullmatch(x) or len(x) > 400:
            raise Wrong("NNEF.E5", f"{short(repr(x))} isn't a literal of type {function}", place)
    if function == "integer":
        return _bounded(math.floor(x) if isinstance(x, float) else int(x), function, place)
    return _bounded(float(x), function, place)


def _kind(value: Any) -> str:
    kind = OF_PYTHON.get(type(value))
    if isinstance(kind, Primitive):
        return f"the {kind} {short(repr(value))}"
    return "an array" if isinstance(value, tuple) else "a tensor"
