"""Kernels of the comparison operators: NaN is neither equal to anything nor greater or less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .elementwise import elementwise
from .formula import Formula
from .work import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..spec.table import Call
    from .work import Work


def equal(a: Any, b: Any) -> Any:
    return a == b


def greater(a: Any, b: Any) -> Any:
    return a > b


def greater_equal(a: Any, b: Any) -> Any:
    return a >= b


def comparison(name: str, compare: Callable[[Any, Any], Any]) -> Callable[[Call], Work]:
    return lambda call: elementwise(call, Formula(name, compare, 2), 0.15)


OPERATORS = {"EQUAL": equal, "GREATER": greater, "GREATER_EQUAL": greater_equal}
KERNELS = {
    (op, key): Kernel(comparison(op.lower(), compare))
    for op, compare in OPERATORS.items()
    for key in ("i32_bool", "fp32_bool")
}
