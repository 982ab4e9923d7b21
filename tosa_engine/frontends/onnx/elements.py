"""Element types of ONNX: how numpy holds them, and which number format of TOSA carries them in a graph.

Formats that TOSA lacks are carried by others: uint8, uint16 and 64-bit integers by i32, double by fp32. Whoever
computes with integers keeps the values in the element's range (`call.wrapped`) or proves that they are (`narrowing`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np

from ... import types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...types import DType


@dataclass(frozen=True)
class Element:
    """`code` is TensorProto's; `carrier` is None where a graph can't hold such values."""

    name: str
    code: int
    storage: np.dtype[Any]
    carrier: DType | None
    minimum: int = 0
    maximum: int = 0

    @property
    def is_integer(self) -> bool:
        return self.maximum > 0

    @property
    def is_float(self) -> bool:
        return self.storage.kind == "f" or self.name.startswith(("float", "bfloat"))

    def __str__(self) -> str:
        return self.name


def _integer(name: str, code: int, storage: Any, carrier: DType | None) -> Element:
    bits, signed = int(name.lstrip("uint")), not name.startswith("u")
    high = 1 << (bits - signed)
    return Element(name, code, np.dtype(storage), carrier, -high if signed else 0, high - 1)


def _real(name: str, code: int, storage: Any, carrier: DType | None) -> Element:
    return Element(name, code, np.dtype(storage), carrier)


FLOAT: Final = _real("float", 1, np.float32, types.fp32)
INT8: Final = _integer("int8", 3, np.int8, types.i8)
UINT8: Final = _integer("uint8", 2, np.uint8, types.i32)
INT16: Final = _integer("int16", 5, np.int16, types.i16)
INT32: Final = _integer("int32", 6, np.int32, types.i32)
INT64: Final = _integer("int64", 7, np.int64, types.i32)
BOOL: Final = Element("bool", 9, np.dtype(bool), types.bool_)
DOUBLE: Final = _real("double", 11, np.float64, types.fp32)

ELEMENTS: Final[tuple[Element, ...]] = (
    FLOAT, UINT8, INT8, _integer("uint16", 4, np.uint16, types.i32), INT16, INT32, INT64,
    Element("string", 8, np.dtype(object), None), BOOL, _real("float16", 10, np.float16, types.fp16), DOUBLE,
    _integer("uint32", 12, np.uint32, types.i32), _integer("uint64", 13, np.uint64, types.i32),
    Element("complex64", 14, np.dtype(np.complex64), None), Element("complex128", 15, np.dtype(np.complex128), None),
    _real("bfloat16", 16, ml_dtypes.bfloat16, types.bf16),
    _real("float8e4m3fn", 17, ml_dtypes.float8_e4m3fn, types.fp8e4m3),
    _real("float8e4m3fnuz", 18, ml_dtypes.float8_e4m3fnuz, None),
    _real("float8e5m2", 19, ml_dtypes.float8_e5m2, types.fp8e5m2),
    _real("float8e5m2fnuz", 20, ml_dtypes.float8_e5m2fnuz, None),
    _integer("uint4", 21, ml_dtypes.uint4, types.i8), _integer("int4", 22, ml_dtypes.int4, types.i8),
    _real("float4e2m1", 23, ml_dtypes.float4_e2m1fn, None), _real("float8e8m0", 24, ml_dtypes.float8_e8m0fnu, None),
    _integer("uint2", 25, ml_dtypes.uint2, types.i8), _integer("int2", 26, ml_dtypes.int2, types.i8),
)  # fmt: skip
BY_CODE: Final[Mapping[int, Element]] = {element.code: element for element in ELEMENTS}
BY_STORAGE: Final[Mapping[np.dtype[Any], Element]] = {element.storage: element for element in ELEMENTS}
BY_CARRIER: Final[Mapping[DType, Element]] = {
    element.carrier: element for element in reversed(ELEMENTS) if element.carrier is not None and element is not INT64
} | {types.fp32: FLOAT, types.i8: INT8, types.i16: INT16, types.i32: INT32, types.bool_: BOOL}
