"""Values of `variable` operations: their tensor files as arrays of the TOSA format that holds their data type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....errors import DataError
from .dat import Item, TensorFile, dequantized, read_dat

if TYPE_CHECKING:
    from ....graph import QParams
    from ....types import Array, DType, Shape
    from ..language.flat import Document, Operation
    from .quantfile import Decoder

FORMATS: Final = {"scalar": types.fp32, "integer": types.i32, "logical": types.bool_}
_ITEMS: Final = {
    "scalar": (Item.FLOAT, Item.QUANTIZED_UINT, Item.QUANTIZED_INT),
    "integer": (Item.INT, Item.UINT),
    "logical": (Item.BOOL,),
}


def read_variable(
    document: Document, operation: Operation, quant: QParams | None, decoder: Decoder | None = None
) -> Array:
    """The value of a variable, in `FORMATS[operation.type].storage`.

    Stored codes of a quantization become real numbers by `decoder`, else by `quant`, or by the deprecated range in the
    file's header.
    Raises DataError when the file is missing or damaged, or its shape or item type disagrees with the document.
    """
    stored, file = read_stored(document, operation)
    if stored.item in (Item.QUANTIZED_UINT, Item.QUANTIZED_INT):
        return to_storage(_dequantized(stored, quant, decoder, file), FORMATS["scalar"], file)
    return to_storage(stored.array, FORMATS[operation.type], file)


def data_file(operation: Operation) -> str:
    """The name of a variable's tensor file in its container (section 5.1). A label that begins with a slash, as those
    of nodes in ONNX do, is one in the container, too.
    """
    label: str = operation.arguments["label"]
    return label.removeprefix("/").replace("\\", "/") + ".dat"


def read_stored(document: Document, operation: Operation) -> tuple[TensorFile, str]:
    """The tensor file of a variable, and what errors call it. Raises DataError as `read_variable` does."""
    if document.container is None:
        raise DataError(f"variable '{operation.result}': the document has no tensor files")
    name = data_file(operation)
    file = f"{document.container.label}/{name}"
    stored = read_dat(document.container.read(name), file)
    if stored.parameters:
        document.warn(f"{file}: parameters of an item type are deprecated: graph.quant is the place for quantization")
    shape: Shape = operation.arguments["shape"]
    if stored.array.shape != shape:
        where = f"{document.text.file}:{operation.place.line}"
        raise DataError(f"{file}: shape {list(stored.array.shape)}, but {where} says {list(shape)}")
    if stored.item not in _ITEMS[operation.type]:
        raise DataError(f"{file}: {stored.item.name} items can't hold a tensor of type {operation.type}")
    return stored, file


def to_storage(array: Array, dtype: DType, name: str) -> Array:
    """Values rounded to the format `dtype`. Raises DataError for values beyond it."""
    if array.dtype == dtype.storage:
        return array
    if dtype.is_float:
        with np.errstate(over="ignore"):
            converted = array.astype(dtype.storage)
        beyond = np.isinf(converted) & np.isfinite(array)
    else:
        beyond = (array < dtype.minimum) | (array > dtype.maximum)
        converted = array.astype(dtype.storage)
    if beyond.any():
        raise DataError(f"{name}: the value {array[beyond].flat[0]} is beyond {dtype}")
    return converted


def _dequantized(stored: TensorFile, quant: QParams | None, decoder: Decoder | None, file: str) -> Array:
    if stored.range is not None:  # the quantization in the tensor file is what its data mean (section 7.1)
        return dequantized(stored)
    codes = stored.array.astype(np.float64)
    if decoder is not None:
        axis = None if quant is None else quant.axis
        try:
            return decoder(stored, lambda values: along(values, axis, codes.shape))
        except DataError as problem:
            raise DataError(f"{file}: {problem.message}") from None
    if quant is None:
        raise DataError(f"{file}: quantized items need an entry of the tensor in the quantization file")
    scale = along(np.asarray(quant.scale, np.float64), quant.axis, codes.shape)
    zero_point = along(np.asarray(quant.zero_point, np.float64), quant.axis, codes.shape)
    return (codes - zero_point) * scale


def along(values: Array, axis: int | None, shape: Shape) -> Array:
    """One-dimensional `values` shaped to broadcast along `axis` of a tensor of `shape`."""
    if values.size == 1 or axis is None:
        return values.reshape((1,) * len(shape))
    return values.reshape(tuple(-1 if i == axis else 1 for i in range(len(shape))))
