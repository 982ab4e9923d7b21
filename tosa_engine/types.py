"""Number formats of TOSA: the specification's table "Supported Number Formats", and how each is held in numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np

from .versions import V1_0, V1_1

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .versions import Version

MAX_RANK: Final = 32  # of every numpy that we support, and MAX_RANK of level none
MAX_ELEMENTS: Final = 1 << 48  # of an array; sizes of 0 count as 1, as numpy has it
Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DType:
    """One number format.

    `name` is the specification's name without `_t`; `schema` its name in the flatbuffer schema and `code` its number
    there; `bits` the width of one element; `storage` the numpy dtype that holds one element in memory (int48 in
    int64, int4 in int8, as the reference model does; bf16 and fp8 as dtypes of `ml_dtypes`); the formats of
    microscaling are held as their bits. `since` is the first version of the specification that has the format.
    """

    name: str
    schema: str
    code: int
    bits: int
    storage: np.dtype[Any]
    kind: str  # "bool", "int", "float", "shape"
    minimum: int = 0
    maximum: int = 0
    since: Version = V1_0

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_int(self) -> bool:
        return self.kind == "int"

    @property
    def itemsize(self) -> int:
        """Bytes per element for the tensor size limit: 1 for elements of fewer than 8 bits (section 1.7.2)."""
        return max(1, self.bits // 8)

    @property
    def is_narrow(self) -> bool:
        """An integer format of fewer bits than its storage, so that not every stored value is a value of it."""
        return self.is_int and self.bits < 8 * self.storage.itemsize

    @property
    def stored_minimum(self) -> int:
        """The least two's-complement value of the width. int4_t excludes it from weights; the format can hold it."""
        return -(1 << (self.bits - 1))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are the format itself: formats are compared by identity, in other processes too."""
        return _by_name, (self.name,)

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


def _by_name(name: str) -> DType:
    return BY_NAME[name]


def _int(name: str, schema: str, code: int, bits: int, storage: str, since: Version = V1_0) -> DType:
    low = -(1 << (bits - 1))
    return DType(name, schema, code, bits, np.dtype(storage), "int", low, -low - 1, since)


def _float(name: str, schema: str, code: int, bits: int, storage: str | type, since: Version = V1_0) -> DType:
    return DType(name, schema, code, bits, np.dtype(storage), "float", since=since)


bool_: Final = DType("bool", "BOOL", 1, 1, np.dtype("bool"), "bool", 0, 1)
# int4_t excludes -8, so that weights are symmetric about zero
i4: Final = DType("i4", "INT4", 2, 4, np.dtype("int8"), "int", -7, 7)
i8: Final = _int("i8", "INT8", 3, 8, "int8")
i16: Final = _int("i16", "INT16", 4, 16, "int16")
i32: Final = _int("i32", "INT32", 5, 32, "int32")
i48: Final = _int("i48", "INT48", 6, 48, "int64")
fp32: Final = _float("fp32", "FP32", 7, 32, "float32")
fp16: Final = _float("fp16", "FP16", 8, 16, "float16")
bf16: Final = _float("bf16", "BF16", 9, 16, ml_dtypes.bfloat16)
shape: Final = DType("shape", "SHAPE", 10, 64, np.dtype("int64"), "shape", -(1 << 63), (1 << 63) - 1)
fp8e4m3: Final = _float("fp8e4m3", "FP8E4M3", 11, 8, ml_dtypes.float8_e4m3fn)
fp8e5m2: Final = _float("fp8e5m2", "FP8E5M2", 12, 8, ml_dtypes.float8_e5m2)
fp6e2m3: Final = _float("fp6e2m3", "FP6E2M3", 13, 6, "uint8", V1_1)
fp6e3m2: Final = _float("fp6e3m2", "FP6E3M2", 14, 6, "uint8", V1_1)
fp4e2m1: Final = _float("fp4e2m1", "FP4E2M1", 15, 4, "uint8", V1_1)
fp8ue8m0: Final = _float("fp8ue8m0", "FP8UE8M0", 16, 8, "uint8", V1_1)
i64: Final = _int("i64", "INT64", 17, 64, "int64", V1_1)
mxint8: Final = _float("mxint8", "MXINT8", 18, 8, "int8", V1_1)

ALL: Final[tuple[DType, ...]] = (
    bool_, i4, i8, i16, i32, i48, fp32, fp16, bf16, shape, fp8e4m3, fp8e5m2,
    fp6e2m3, fp6e3m2, fp4e2m1, fp8ue8m0, i64, mxint8,
)  # fmt: skip
BY_NAME: Final[Mapping[str, DType]] = {t.name: t for t in ALL}
BY_SCHEMA: Final[Mapping[str, DType]] = {t.schema: t for t in ALL}
BY_CODE: Final[Mapping[int, DType]] = {t.code: t for t in ALL}
_FROM_NUMPY: Final[Mapping[np.dtype[Any], DType]] = {
    np.dtype("bool"): bool_, np.dtype("int8"): i8, np.dtype("int16"): i16, np.dtype("int32"): i32,
    np.dtype("float32"): fp32, np.dtype("float16"): fp16, bf16.storage: bf16, fp8e4m3.storage: fp8e4m3,
    fp8e5m2.storage: fp8e5m2,
}  # fmt: skip

_ML_FLOATS: Final = frozenset({bf16.storage, fp8e4m3.storage, fp8e5m2.storage})


def from_numpy(dtype: np.dtype[Any]) -> DType | None:
    """The format whose natural numpy storage is `dtype`, or None where numpy's type doesn't name one (int64, uint8)."""
    return _FROM_NUMPY.get(np.dtype(dtype))


def holds_floats(array: Array) -> bool:
    """Whether an array's elements are floats: numpy's kind doesn't tell for those of `ml_dtypes`."""
    return array.dtype.kind == "f" or array.dtype in _ML_FLOATS


def of_bits(array: Array, dtype: DType) -> Array:
    """An array as files hold it, in the format's storage: `.npy` files have no name for bf16 and fp8, which come as
    elements without a type (`V1`, `V2`) or as unsigned integers of the same width. Any other array stays as it is.
    """
    return array.view(dtype.storage) if are_bits(array.dtype, dtype) else array


def are_bits(found: np.dtype[Any], dtype: DType) -> bool:
    """Whether elements of a file are the bits of a format that numpy has no name for."""
    nameless = found.kind in "uV" and found.itemsize == dtype.storage.itemsize
    return nameless and dtype.storage in _ML_FLOATS


def count(dims: Shape) -> int:
    """Number of elements of a tensor; 1 for a scalar. Exact for any sizes."""
    n = 1
    for d in dims:
        n *= d
    return n


def impossible(dims: Shape) -> str:
    """Why numpy can't have an array of these sizes (each at least 0), however few bytes it has; or nothing."""
    if len(dims) > MAX_RANK:
        return f"{len(dims)} dimensions, at most {MAX_RANK} are possible"
    if 0 in dims and count(tuple(d for d in dims if d)) > MAX_ELEMENTS:
        return f"shape {list(dims)} is beyond any array"
    return ""
