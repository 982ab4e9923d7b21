"""What a lowering can't write. Front ends catch both, and say where in the model it is."""

from __future__ import annotations

from ..errors import GraphError, Unsupported


class Misfit(GraphError):
    """Shapes, or numbers, of an operation don't fit together: the model is wrong."""


class Unlowered(Unsupported):
    """The operation is legal, but TOSA has no operators for it, or it would take too many."""
