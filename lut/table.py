"""A table with what it was made from: sampled or fitted, its function, its scales and its errors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .analysis import error_8, error_16
from .builders import FRACTION_BITS, TableRangeError, lookup_16, table_8, table_16
from .fit import fit_16
from .truth import truth_8, truth_16

if TYPE_CHECKING:
    from collections.abc import Callable

    from .analysis import TableError

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]

SAMPLED: Final = "sampled"
FITTED: Final = "fitted"


@dataclass(frozen=True)
class Quantization:
    """A stored q stands for scale * (q - zero_point); a scale is the real size of one step."""

    in_scale: float
    out_scale: float
    in_zero_point: int = 0
    out_zero_point: int = 0


@dataclass(frozen=True)
class Table:
    """`entries`: int8 [256] or int16 [513], as TABLE takes them; `kind`: "sampled" or "fitted"."""

    function: str
    kind: str
    quantization: Quantization
    entries: np.ndarray[Any, Any]
    error: TableError

    @property
    def inputs(self) -> FloatArray:
        """The real numbers that the inputs stand for, in order: float64 [256] or [65536]."""
        half = 128 if len(self.entries) == 256 else 32768
        steps = np.arange(-half, half, dtype=np.float64) - self.quantization.in_zero_point
        return steps * np.float64(self.quantization.in_scale)

    def results(self) -> FloatArray:
        """The real numbers that TABLE gives for all inputs, in their order."""
        q = self.quantization
        if len(self.entries) == 256:
            return (self.entries.astype(np.float64) - q.out_zero_point) * q.out_scale
        every = np.arange(-32768, 32768).astype(np.int16)
        return lookup_16(self.entries, every).astype(np.float64) * (q.out_scale / (1 << FRACTION_BITS))

    def truth(self, function: Callable[[float], float]) -> FloatArray:
        """The real numbers that an exact table would give, clipped to the entries' range."""
        q = self.quantization
        if len(self.entries) == 256:
            return (truth_8(function, q.in_scale, q.in_zero_point, q.out_scale, q.out_zero_point)
                    - q.out_zero_point) * q.out_scale  # fmt: skip
        return truth_16(function, q.in_scale, q.out_scale) * q.out_scale

    def to_json(self) -> dict[str, Any]:
        return {
            "function": self.function,
            "kind": self.kind,
            "quantization": asdict(self.quantization),
            "dtype": str(self.entries.dtype),
            "error": asdict(self.error),
            "entries": self.entries.tolist(),
        }


def build(
    name: str, function: Callable[[float], float], quantization: Quantization, *, bits: int = 8, kind: str = SAMPLED
) -> Table:
    """A table of 8 or 16 bits for any function of one real number; `name` is only what it is called.

    Raises TableRangeError where no such table exists: zero points with 16 bits, a scale that isn't finite and positive,
    NaN for an input, or neighbours too far apart (TABLE.R1).
    """
    q = quantization
    if bits == 8:
        if not all(-128 <= zero <= 127 for zero in (q.in_zero_point, q.out_zero_point)):
            raise TableRangeError(f"zero points of int8 are -128 to 127, got {q.in_zero_point} and {q.out_zero_point}")
        entries = table_8(function, q.in_scale, q.in_zero_point, q.out_scale, q.out_zero_point)
        error = error_8(entries, function, q.in_scale, q.in_zero_point, q.out_scale, q.out_zero_point)
        return Table(name, kind, q, entries, error)
    if q.in_zero_point or q.out_zero_point:
        raise TableRangeError("tables of int16 have zero points 0")
    make = fit_16 if kind == FITTED else table_16
    wide = make(function, q.in_scale, q.out_scale)
    return Table(name, kind, q, wide, error_16(wide, function, q.in_scale, q.out_scale))
