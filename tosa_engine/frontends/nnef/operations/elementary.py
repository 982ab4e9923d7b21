"""Elementwise functions that TOSA composes (section 4.2): trigonometry, powers, comparisons, selection."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ....lower import elementary
from ..files.variables import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ....lower.writer import Writer
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def of_x(function: Callable[[Writer, Tensor], Tensor], b: NnefWriter, operation: Operation) -> Tensor:
    return function(b, b.value(operation.arguments["x"]))


def unary(op: str, b: NnefWriter, operation: Operation) -> Tensor:
    return b.unary(op, b.value(operation.arguments["x"]))


def pow_(b: NnefWriter, operation: Operation) -> Tensor:
    return elementary.powers(b, *b.operands(operation.arguments["x"], operation.arguments["y"]))


def comparison(op: str, swapped: bool, negated: bool, b: NnefWriter, operation: Operation) -> Tensor:
    """lt is GREATER with its sides swapped; ne is EQUAL negated."""
    x, y = b.operands(operation.arguments["x"], operation.arguments["y"])
    found = elementary.compared(b, op, y, x) if swapped else elementary.compared(b, op, x, y)
    return b.unary("LOGICAL_NOT", found) if negated else found


def select(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    operands = b.operands(arguments["condition"], arguments["true_value"], arguments["false_value"])
    return elementary.chosen(b, *operands)


def cast(b: NnefWriter, operation: Operation) -> Tensor:
    """As the built-in functions do: to integer goes to the closest smaller one, to logical asks for other than 0."""
    return elementary.converted(b, b.value(operation.arguments["input"]), FORMATS[operation.type])


FUNCTIONS: Final = {
    "tan": elementary.tan, "sinh": elementary.sinh, "cosh": elementary.cosh, "asin": elementary.asin,
    "acos": elementary.acos, "atan": elementary.atan, "asinh": elementary.asinh, "acosh": elementary.acosh,
    "atanh": elementary.atanh, "sign": elementary.sign, "round": elementary.round_, "sqrt": elementary.root,
}  # fmt: skip
UNARY: Final = {
    "log": "LOG", "sin": "SIN", "cos": "COS", "floor": "FLOOR", "ceil": "CEIL", "not": "LOGICAL_NOT", "rsqrt": "RSQRT",
}  # fmt: skip
COMPARISONS: Final = {
    "lt": ("GREATER", True, False), "gt": ("GREATER", False, False), "le": ("GREATER_EQUAL", True, False),
    "ge": ("GREATER_EQUAL", False, False), "eq": ("EQUAL", False, False), "ne": ("EQUAL", False, True),
    "and": ("LOGICAL_AND", False, False), "or": ("LOGICAL_OR", False, False),
}  # fmt: skip
MAPPERS: Final[Mapping[str, Mapper]] = {
    **{name: partial(of_x, function) for name, function in FUNCTIONS.items()},
    **{name: partial(unary, op) for name, op in UNARY.items()},
    **{name: partial(comparison, *how) for name, how in COMPARISONS.items()},
    "pow": pow_,
    "select": select,
    "cast": cast,
}
