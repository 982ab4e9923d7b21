"""math: element by element."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....lower import elementary
from ....lower.composites import grouped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..writer import Call


def aligned(c: Call, at: int) -> Tensor:
    """An operand with the extents of 1 that its alignment adds."""
    x = c.x(at)
    return c.b.reshape(x, c[f"full_{c.instance.operator.inputs[at].name}"])


def of_x(function: Callable[[Any, Tensor], Tensor], c: Call) -> Tensor | None:
    x = c.x()
    return function(c.b, x) if x.dtype is types.fp32 else None


def unary(op: str, c: Call) -> Tensor:
    return c.b.unary(op, c.x())


def binary(op: str, c: Call) -> Tensor:
    return c.b.binary(op, aligned(c, 0), aligned(c, 1))


def of_floats(function: Callable[..., Tensor], c: Call) -> Tensor | None:
    """Of integers the general way knows more."""
    if c.x().dtype is not types.fp32:
        return None
    return function(c.b, *(aligned(c, i) for i in range(len(c.instance.inputs))))


def bound(op: str, c: Call) -> Tensor | None:
    if c.x().dtype is not types.fp32:
        return c.b.binary(op, aligned(c, 0), aligned(c, 1))
    return elementary.limited(c.b, op, aligned(c, 0), aligned(c, 1))


def comparison(op: str, swapped: bool, negated: bool, c: Call) -> Tensor | None:
    x, y = aligned(c, 0), aligned(c, 1)
    if x.dtype is not y.dtype or (x.dtype is types.bool_ and op not in ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR")):
        return None
    found = elementary.compared(c.b, op, y, x) if swapped else elementary.compared(c.b, op, x, y)
    return c.b.unary("LOGICAL_NOT", found) if negated else found


def select(c: Call) -> Tensor:
    return elementary.chosen(c.b, *(aligned(c, i) for i in range(3)))


def cast(c: Call) -> Tensor:
    from ..writer import FORMATS

    return elementary.converted(c.b, c.x(), FORMATS[c.instance.types["R"]])


def log2(c: Call) -> Tensor:
    return elementary.times(c.b, c.part("log", c.b.unary("LOG", c.x())), 1.0 / 0.6931471805599453)


def reciprocal_square(b: Any, x: Tensor) -> Tensor:
    found: Tensor = elementary.power(b, x, -2.0)
    return found


def square(c: Call) -> Tensor:
    return c.b.binary("MUL", c.x(), c.x())


def absolute(c: Call) -> Tensor:
    return c.b.unary("ABS", c.x())


def many(op: str, c: Call) -> Tensor | None:
    tensors = c.pack()
    if not tensors:
        return None
    total = tensors[0]
    for tensor in tensors[1:]:
        total = c.b.binary(op, total, tensor)
    return total


def sum_of_many(c: Call) -> Tensor | None:
    """x + (y + (z + 0)), as in NNEF 1."""
    if not c.pack() or c.pack()[0].dtype is not types.fp32:
        return many("ADD", c)
    tensors = c.pack()
    total = elementary.number(c.b, 0.0, tensors[0])
    for at in reversed(range(len(tensors))):
        total = c.b.binary("ADD", tensors[at], total)
        total = c.part("_".join(["add_n"] * at), total) if at else total
    return total


def many_logical(op: str, c: Call) -> Tensor | None:
    tensors = c.pack()
    if not tensors:
        return None
    total = tensors[0]
    for tensor in tensors[1:]:
        total = elementary.compared(c.b, op, total, tensor)
    return total


def product_sum(c: Call) -> Tensor:
    """a * x + b"""
    return c.b.binary("ADD", c.b.binary("MUL", aligned(c, 0), aligned(c, 1)), aligned(c, 2))


def products_sum(c: Call) -> Tensor:
    """a * x + b * y"""
    first, second = (c.b.binary("MUL", aligned(c, i), aligned(c, i + 1)) for i in (0, 2))
    return c.b.binary("ADD", first, second)


def activation(name: str, c: Call) -> Tensor:
    return grouped(c.b, name, c.x())


FUNCTIONS: Final = {
    "tan": elementary.tan, "sinh": elementary.sinh, "cosh": elementary.cosh, "asin": elementary.asin,
    "acos": elementary.acos, "atan": elementary.atan, "asinh": elementary.asinh, "acosh": elementary.acosh,
    "atanh": elementary.atanh, "sign": elementary.sign, "round": elementary.round_, "sqrt": elementary.root,
    "rsqr": reciprocal_square,
}  # fmt: skip
UNARY: Final = {
    "log": "LOG", "sin": "SIN", "cos": "COS", "floor": "FLOOR", "ceil": "CEIL", "not": "LOGICAL_NOT", "rsqrt": "RSQRT",
    "rcp": "RECIPROCAL", "exp": "EXP",
}  # fmt: skip
COMPARISONS: Final = {
    "lt": ("GREATER", True, False), "gt": ("GREATER", False, False), "le": ("GREATER_EQUAL", True, False),
    "ge": ("GREATER_EQUAL", False, False), "eq": ("EQUAL", False, False), "ne": ("EQUAL", False, True),
    "and": ("LOGICAL_AND", False, False), "or": ("LOGICAL_OR", False, False), "xor": ("LOGICAL_XOR", False, False),
}  # fmt: skip
_MATH: Final[dict[str, Callable[[Call], Any]]] = {
    **{name: partial(of_x, function) for name, function in FUNCTIONS.items()},
    **{name: partial(unary, op) for name, op in UNARY.items()},
    **{name: partial(comparison, *how) for name, how in COMPARISONS.items()},
    "iden": lambda c: c.x(),
    "neg": lambda c: c.b.negate(c.x()),
    "sqr": square,
    "abs": absolute,
    "log2": log2,
    "tanh": partial(activation, "tanh"),
    "add": partial(binary, "ADD"),
    "sub": partial(binary, "SUB"),
    "mul": partial(binary, "MUL"),
    "div": partial(of_floats, elementary.division),
    "pow": partial(of_floats, elementary.powers),
    "min": partial(bound, "MINIMUM"),
    "max": partial(bound, "MAXIMUM"),
    "clamp": partial(of_floats, elementary.clamped),
    "select": select,
    "sum_n": sum_of_many,
    "prod_n": partial(many, "MUL"),
    "min_n": partial(many, "MINIMUM"),
    "max_n": partial(many, "MAXIMUM"),
    "any_n": partial(many_logical, "LOGICAL_OR"),
    "all_n": partial(many_logical, "LOGICAL_AND"),
    "axpb": product_sum,
    "axpby": products_sum,
}
MAPPERS: Final[Mapping[str, Callable[[Call], Any]]] = {
    **{f"math.{name}": mapper for name, mapper in _MATH.items()},
    "layout.cast": cast,
}
