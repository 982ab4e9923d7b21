"""A table with what it was made from: sampled or fitted, its function, its scales and its errors."""

from __future__ import annotations

import math
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
MOST_SATURATED: Final = 0.99


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
            "error": asdict(self.error) | ({} if math.isfinite(self.error.beyond) else {"beyond": None}),
            "entries": self.entries.tolist(),
        }


def build(
    name: str, function: Callable[[float], float], quantization: Quantization, *, bits: int = 8, kind: str = SAMPLED
) -> Table:
    """A table of 8 or 16 bits for any function of one real number; `name` is only what it is called.

    Raises ValueError for other bits and kinds, and for a fitted table of 8 bits, which has nothing to fit;
    TableRangeError where no such table exists: zero points that aren't integers of int8, or aren't 0 with 16 bits, a
    scale that isn't finite and positive, a function that raises or gives NaN or no number for an input, neighbours too
    far apart (TABLE.R1), and scales that leave nothing: entries that are all the same, or all but one in a hundred at
    an end of the range.
    """
    _check(bits, kind, quantization)
    q, function = quantization, _guarded(name, function, quantization)
    entries: np.ndarray[Any, Any]
    if bits == 8:
        entries = table_8(function, q.in_scale, q.in_zero_point, q.out_scale, q.out_zero_point)
        error = error_8(entries, function, q.in_scale, q.in_zero_point, q.out_scale, q.out_zero_point)
    else:
        make = fit_16 if kind == FITTED else table_16
        entries = make(function, q.in_scale, q.out_scale)
        error = error_16(entries, function, q.in_scale, q.out_scale)
    _check_use(entries, error, q)
    return Table(name, kind, q, entries, error)


def _check(bits: int, kind: str, q: Quantization) -> None:
    if bits not in (8, 16):
        raise ValueError(f"tables have 8 or 16 bits, got {bits!r}")
    if kind not in (SAMPLED, FITTED):
        raise ValueError(f"a table is '{SAMPLED}' or '{FITTED}', got {kind!r}")
    if bits == 8 and kind == FITTED:
        raise ValueError("a table of 8 bits has nothing to fit: every input has an entry of its own")
    if math.isinf(q.in_scale * (1 << 16)) and math.isfinite(q.in_scale):
        raise TableRangeError(f"an input scale of {q.in_scale!r} leads beyond all numbers")
    zeros = (q.in_zero_point, q.out_zero_point)
    if bits == 8 and not all(zero == int(zero) and -128 <= zero <= 127 for zero in zeros):
        raise TableRangeError(f"zero points of int8 are -128 to 127, got {q.in_zero_point} and {q.out_zero_point}")
    if bits == 16 and any(zeros):
        raise TableRangeError("tables of int16 have zero points 0")


def _guarded(name: str, function: Callable[[float], float], q: Quantization) -> Callable[[float], float]:
    def guarded(x: float) -> float:
        try:
            return float(function(x))
        except Exception as problem:  # whatever a function of the user raises
            at = round(x / q.in_scale) + q.in_zero_point
            reason = f"{type(problem).__name__}: {problem}"
            raise TableRangeError(f"{name} has no value at the input {at}, which is {x!r}: {reason}") from problem

    return guarded


def _check_use(entries: np.ndarray[Any, Any], error: TableError, q: Quantization) -> None:
    scales = f"input scale {q.in_scale!r}, output scale {q.out_scale!r}"
    if entries.min() == entries.max():
        raise TableRangeError(f"every entry is {entries[0]}: nothing is left of the function ({scales})")
    if error.saturated > MOST_SATURATED * error.inputs:
        counted = f"{error.saturated:,} of {error.inputs:,} inputs saturate"
        raise TableRangeError(f"{counted}: next to nothing is left of the function ({scales})")
