"""What goes into a session and comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np

    from ..graph import QParams, Tensor
    from ..types import DType, Shape


SPELLED: Final = {"float32": "float", "float64": "double"}


@dataclass(frozen=True)
class Port:
    """A graph input or output: `dtype` is the numpy dtype of its arrays, `tosa_type` the number format.

    `unsigned`: RESCALE reads or writes its bits as those of an unsigned integer, which neither type says. `quant`: how
    its integers stand for real numbers, where the model says it.
    """

    name: str
    shape: Shape
    dtype: np.dtype[Any]
    tosa_type: DType
    unsigned: bool = False
    quant: QParams | None = None

    @property
    def type(self) -> str:
        """The type of its arrays as ONNX Runtime says it, `tensor(int8)`; float32 is `tensor(float)`."""
        return f"tensor({SPELLED.get(self.dtype.name, self.dtype.name)})"


def port_of(tensor: Tensor, unsigned: set[str]) -> Port:
    assert tensor.shape is not None
    quant = tensor.quant if tensor.dtype.is_int else None
    return Port(tensor.name, tensor.shape, tensor.dtype.storage, tensor.dtype, tensor.name in unsigned, quant)
