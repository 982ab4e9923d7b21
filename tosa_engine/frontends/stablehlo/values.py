"""Values of a module while it is mapped: known arrays, or tensors of the TOSA graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...graph import Tensor
    from ...types import Array, Shape
    from .elements import Element, Uniform


@dataclass(slots=True, eq=False)
class Value:
    """`data` where it is known before the graph runs, else `tensor`, which carries it in the TOSA graph.

    A tensor may have an extent of 1 where the value has more: the same elements all along the axis. `parts` are those
    of a tuple. Of quantized integers the tensor is what they stand for.
    """

    element: Element
    shape: Shape
    data: Array | None = None
    tensor: Tensor | None = None
    parts: tuple[Value, ...] | None = None
    quantized: Uniform | None = None

    @property
    def is_known(self) -> bool:
        return self.data is not None


def known(element: Element, data: Array) -> Value:
    """A value that doesn't depend on inputs."""
    return Value(element, data.shape, data)
