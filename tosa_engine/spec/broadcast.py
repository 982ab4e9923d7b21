"""Broadcasting (specification 2.2.5, broadcast_shape): the rules of operators whose inputs broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .table import Call, Check

if TYPE_CHECKING:
    from ..types import Shape
    from .case import Case


def broadcast_shape(shape1: Shape, shape2: Shape) -> Shape | None:
    """The shape that two shapes of one rank broadcast to, or None where they don't."""
    if len(shape1) != len(shape2) or any(a != b and 1 not in (a, b) for a, b in zip(shape1, shape2, strict=True)):
        return None
    return tuple(b if a == 1 else a for a, b in zip(shape1, shape2, strict=True))


def _rank_mismatch(case: Case) -> None:
    case.reshape("input2", 3)


def _unbroadcastable(case: Case) -> None:
    case.reshape("input2", 2, 2)


def _wrong_output(case: Case) -> None:
    case.reshape("output", 2, 4)


def broadcast_checks(op: str) -> tuple[Check, ...]:
    """The three ways in which `shape != broadcast_shape(shape1, shape2)` can fail."""

    def ranks(c: Call) -> bool:
        return len(c.shape1) != len(c.shape2)

    return (
        Check(
            f"{op}.E1", ranks, "inputs must have one rank, got shapes {shape1} and {shape2}", _rank_mismatch, "input2"
        ),
        Check(
            f"{op}.E2",
            lambda c: not ranks(c) and broadcast_shape(c.shape1, c.shape2) is None,
            "shapes {shape1} and {shape2} don't broadcast: sizes must be equal or 1",
            _unbroadcastable,
            "input2",
        ),
        Check(
            f"{op}.E3",
            lambda c: (
                c.has("shape")
                and broadcast_shape(c.shape1, c.shape2) is not None
                and broadcast_shape(c.shape1, c.shape2) != c["shape"]
            ),
            "output must have the shape that {shape1} and {shape2} broadcast to, got {shape}",
            _wrong_output,
            "output",
        ),
    )


def broadcast_shapes(c: Call) -> list[Shape]:
    """The shape of the output of two inputs that broadcast."""
    shape = broadcast_shape(c.shape1, c.shape2)
    assert shape is not None
    return [shape]
