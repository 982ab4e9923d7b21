"""What operators and functions compute of single values: int, real, bool, str.

Decisions where the draft is silent: `/` of integers rounds down and `\\` up, `%` has the sign of the divisor, halves
are rounded up (as in NNEF 1), a real number becomes the integer below it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

INT_MAX: Final = (1 << 31) - 1
INT_MIN: Final = -(1 << 31)
MOST_BITS: Final = 256


class Wrong(Exception):
    """An expression can't be evaluated. The evaluator says where."""

    def __init__(self, message: str, label: str) -> None:
        self.message, self.label = message, label
        super().__init__(message)


_KINDS: Final[Mapping[type, str]] = {int: "int", float: "real", str: "str"}


def kind_of(value: Any) -> str:
    """The type of a single value; a tensor's is that of its items."""
    if isinstance(value, bool):
        return "bool"
    plain = _KINDS.get(type(value))
    return plain if plain is not None else str(getattr(value, "dtype", "?"))


def single(value: Any) -> str:
    """The type of a single value, which a tensor isn't."""
    return "tensor" if hasattr(value, "shape") else kind_of(value)


def bound_of(name: str, value: Any) -> int:
    """The bound of a loop, as its number of turns. Raises Wrong."""
    if single(value) != "int":
        raise Wrong(f"the bound of '{name}' must be int, not {single(value)}", "SKND.Y6")
    return int(value)


def _numbers(op: str, a: Any, b: Any) -> None:
    kinds = single(a), single(b)
    if kinds[0] != kinds[1] or kinds[0] not in ("int", "real"):
        raise Wrong(f"'{op}' of {kinds[0]} and {kinds[1]}", "SKND.Y2")


def _divided(op: str, a: Any, b: Any) -> Any:
    if not b:
        if isinstance(a, float):
            return math.nan if not a or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
        raise Wrong(f"{a} {op} 0", "SKND.E2")
    if op == "%":
        return a % b if isinstance(a, int) or math.isfinite(a) else math.nan
    if op == "\\":
        return -(-a // b)
    return a // b if isinstance(a, int) else a / b


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int):
        if b < 0:
            raise Wrong(f"{a} ** {b}: an integer to a negative power", "SKND.E2")
        if a.bit_length() * b > MOST_BITS:
            raise Wrong(f"{a} ** {b} is too large", "SKND.E3")
        return a**b
    try:
        found = math.pow(a, b)
    except (ValueError, OverflowError):
        return math.nan if a < 0 else math.inf
    return found


def _limited(value: Any) -> Any:
    if type(value) is int and value.bit_length() > MOST_BITS:
        raise Wrong("an integer grows too large", "SKND.E3")
    return value


_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": lambda a, b: _limited(a + b),
    "-": lambda a, b: _limited(a - b),
    "*": lambda a, b: _limited(a * b),
    "/": lambda a, b: _divided("/", a, b),
    "\\": lambda a, b: _divided("\\", a, b),
    "%": lambda a, b: _divided("%", a, b),
    "**": _power,
    "<?": min,
    ">?": max,
}
_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_MIXED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    **_ORDER,  # numbers of any type are compared as such
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_LOGIC: Final[Mapping[str, Callable[[bool, bool], bool]]] = {
    "&&": lambda a, b: a and b,
    "||": lambda a, b: a or b,
    "^": lambda a, b: a != b,
    "=>": lambda a, b: not a or b,
}


def binary(op: str, a: Any, b: Any) -> Any:
    """Raises Wrong."""
    if op in _ARITHMETIC:
        _numbers(op, a, b)
        return _ARITHMETIC[op](a, b)
    if op in _MIXED and {single(a), single(b)} <= {"int", "real", "bool"}:
        return _MIXED[op](a, b)
    if op in ("is", "==", "!="):
        if op != "is" and single(a) != single(b):
            raise Wrong(f"'{op}' of {single(a)} and {single(b)}", "SKND.Y2")
        same = a is b if hasattr(a, "shape") or hasattr(b, "shape") else single(a) == single(b) and a == b
        return same != (op == "!=")
    if op in _ORDER:
        if single(a) != single(b):
            raise Wrong(f"'{op}' of {single(a)} and {single(b)}", "SKND.Y2")
        return _ORDER[op](a, b)
    if not isinstance(a, bool) or not isinstance(b, bool):
        raise Wrong(f"'{op}' of {single(a)} and {single(b)}", "SKND.Y2")
    return _LOGIC[op](a, b)


def unary(op: str, a: Any) -> Any:
    kind = single(a)
    if kind not in (("bool",) if op == "!" else ("int", "real")):
        raise Wrong(f"'{op}' of {kind}", "SKND.Y2")
    return not a if op == "!" else -a if op == "-" else a


def cast(wanted: str, a: Any) -> Any:
    kind = single(a)
    if wanted == kind:
        return a
    if "str" in (kind, wanted) or kind not in ("int", "real", "bool"):
        raise Wrong(f"{kind} can't become {wanted}", "SKND.Y3")
    if wanted == "int" and kind == "real":
        if a != a:
            raise Wrong("not a number can't become an integer", "SKND.E2")
        return INT_MAX if a == math.inf else INT_MIN if a == -math.inf else _limited(math.floor(a))
    return {"int": int, "real": float, "bool": bool}[wanted](a)


def default(kind: str) -> Any:
    return {"int": 0, "real": 0.0, "bool": False, "str": ""}[kind]


def _safe(function: Callable[[float], float]) -> Callable[[float], float]:
    def inner(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return -math.inf if x == 0 else math.nan

    return inner


FUNCTIONS: Final[Mapping[str, Callable[[float], float]]] = {
    **{
        name: _safe(getattr(math, name))
        for name in (
            "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
            "atanh", "erf",
        )
    },
    "ceil": lambda x: float(math.ceil(x)) if math.isfinite(x) else x,
    "floor": lambda x: float(math.floor(x)) if math.isfinite(x) else x,
    "round": lambda x: float(math.floor(x + 0.5)) if math.isfinite(x) else x,
    "frac": lambda x: x - math.floor(x) if math.isfinite(x) else math.nan,
}  # fmt: skip


def function(name: str, a: Any) -> Any:
    kind = single(a)
    if name in ("abs", "sign"):
        if kind not in ("int", "real"):
            raise Wrong(f"{name} of {kind}", "SKND.Y2")
        return abs(a) if name == "abs" else type(a)((a > 0) - (a < 0))
    if kind != "real":
        raise Wrong(f"{name} of {kind}", "SKND.Y2")
    return FUNCTIONS[name](a)


def shown(value: Any) -> str:
    """As strings have it."""
    if value is None:
        return "~"
    if isinstance(value, list):
        return "[" + ",".join(map(shown, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
