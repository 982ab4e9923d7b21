"""What a lowering can't write. Front ends catch both, and say where in the model it is."""

from __future__ import annotations

from typing import Final

from ..errors import GraphError, Unsupported
from ..types import MAX_RANK

MOST_MADE: Final = 1 << 26  # elements of a constant that a lowering makes up


class Misfit(GraphError):
    """Shapes, or numbers, of an operation don't fit together: the model is wrong."""


class Unlowered(Unsupported):
    """The operation is legal, but TOSA has no operators for it, or it would take too many."""


def check_made(elements: int, what: str) -> None:
    """Raises Unlowered for a constant that would be too large; `what` it is."""
    if elements > MOST_MADE:
        raise Unlowered(f"{what} of {elements} elements; at most {MOST_MADE} are made")


def check_rank(rank: int) -> None:
    """Raises Unlowered for more dimensions than arrays have."""
    if rank > MAX_RANK:
        raise Unlowered(f"a tensor of {rank} dimensions; at most {MAX_RANK} are made")
