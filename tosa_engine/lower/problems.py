"""What a lowering can't write. Front ends catch both, and say where in the model it is."""

from __future__ import annotations

from typing import Final

from ..errors import GraphError, Unsupported

MOST_MADE: Final = 1 << 26  # elements of a constant that a lowering makes up


class Misfit(GraphError):
    """Shapes, or numbers, of an operation don't fit together: the model is wrong."""


class Unlowered(Unsupported):
    """The operation is legal, but TOSA has no operators for it, or it would take too many."""


def check_made(elements: int, what: str) -> None:
    """Raises Unlowered for a constant that would be too large; `what` it is."""
    if elements > MOST_MADE:
        raise Unlowered(f"{what} of {elements} elements; at most {MOST_MADE} are made")
