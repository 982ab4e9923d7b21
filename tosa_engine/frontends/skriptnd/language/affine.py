"""Solving `a * x + b = value` for the one identifier of an expression that isn't known yet."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from .scalars import Wrong
from .syntax import Binary, Expression, Member, Name, Unary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .evaluation import Evaluator


def names_in(node: Any) -> Iterator[str]:
    """The identifiers of an expression, those in strings included."""
    if isinstance(node, (Name, Member)):
        yield node.text if isinstance(node, Name) else node.name
    elif isinstance(node, (tuple, list)):
        for item in node:
            yield from names_in(item)
    elif is_dataclass(node) and isinstance(node, Expression):
        for item in fields(node):
            if item.name != "place":
                yield from names_in(getattr(node, item.name))


def unknown(e: Expression | None, evaluator: Evaluator) -> list[str]:
    """The identifiers that aren't known yet, each once."""
    return [] if e is None else list(dict.fromkeys(n for n in names_in(e) if n not in evaluator.symbols))


def form(e: Expression, name: str, evaluator: Evaluator) -> tuple[int, int]:
    """(a, b) of a * name + b. Raises Wrong where the expression isn't affine in `name`."""
    if isinstance(e, Name) and e.text == name:
        return 1, 0
    if name not in set(names_in(e)):
        value = evaluator.value(e)
        if not isinstance(value, int) or isinstance(value, bool):
            raise Wrong(f"not an affine expression of '{name}'", "SKND.S2")
        return 0, value
    if isinstance(e, Unary) and e.op in "+-":
        a, b = form(e.value, name, evaluator)
        return (a, b) if e.op == "+" else (-a, -b)
    if isinstance(e, Binary) and e.op in "+-*":
        (a, b), (c, d) = form(e.left, name, evaluator), form(e.right, name, evaluator)
        if e.op == "+":
            return a + c, b + d
        if e.op == "-":
            return a - c, b - d
        if not a or not c:
            return a * d + c * b, b * d
    raise Wrong(f"not an affine expression of '{name}'", "SKND.S2")


def solve(e: Expression, name: str, value: int, evaluator: Evaluator) -> int:
    """The `name` for which the expression has this value. Raises Wrong where there is none."""
    a, b = form(e, name, evaluator)
    if not a or (value - b) % a:
        raise Wrong(f"{value} isn't {a} * {name} + {b} of a whole number '{name}'", "SKND.S3")
    return (value - b) // a
