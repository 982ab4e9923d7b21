"""Values of an ONNX graph while it is mapped: known arrays, or tensors of the TOSA graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .elements import BY_STORAGE, Element

if TYPE_CHECKING:
    from ...graph import QParams, Tensor
    from ...types import Array, Shape


@dataclass(slots=True, eq=False)
class Value:
    """A value of ONNX: its element type and shape, and `data` where it is known before the graph runs.

    `tensor` carries it in the TOSA graph; a known value gets one when an operator needs it.
    """

    element: Element
    shape: Shape
    data: Array | None = None
    tensor: Tensor | None = None
    real: Tensor | None = None  # of integers that stand for real numbers, in a graph that is to become integers
    quant: QParams | None = None
    items: tuple[Value, ...] | None = None  # of a sequence

    @property
    def is_known(self) -> bool:
        return self.data is not None


def known(data: Array) -> Value:
    """A value that doesn't depend on inputs. Its element type is that of the array."""
    return Value(BY_STORAGE[data.dtype], data.shape, data)
