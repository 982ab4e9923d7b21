"""Element types of StableHLO: how numpy holds them, and which number format of TOSA carries them in a graph.

Integers are computed in int32 modulo their width. Unsigned ones of 8 and 16 bits are numbers in int32, those of 32 bits
are its bits; 64-bit integers are int32 where it is proved that they fit. f64 is computed as fp32.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np

from ... import types
from ...errors import Unsupported
from ...graph import QParams

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...types import Array, DType


BYTE: Final = np.dtype(np.uint8)
WIDEST: Final = 16  # bits of a hint


@dataclass(frozen=True, eq=False)
class Element:
    """`storage` is numpy's type for arrays, `file` that of a constant's bytes, `carrier` that of the graph's tensors.

    `port` is the format at the border of a graph, where it differs from the carrier: the bits of unsigned integers.
    """

    name: str
    storage: np.dtype[Any]
    carrier: DType
    minimum: int = 0
    maximum: int = 0
    file: np.dtype[Any] = field(default=BYTE, kw_only=True)
    port: DType = field(default=types.i32, kw_only=True)

    @property
    def is_integer(self) -> bool:
        return self.maximum > 0 and not self.is_bool

    @property
    def is_bool(self) -> bool:
        return self.carrier is types.bool_

    @property
    def is_float(self) -> bool:
        return self.maximum == 0

    @property
    def is_signed(self) -> bool:
        return self.minimum < 0

    @property
    def bits(self) -> int:
        return (self.maximum - self.minimum).bit_length()

    def __str__(self) -> str:
        return self.name


def _integer(bits: int, storage: Any, carrier: DType, port: DType, *, signed: bool) -> Element:
    high = 1 << (bits - signed)
    file = np.dtype(storage) if bits >= 8 else np.dtype(np.int8 if signed else np.uint8)
    name, least = f"{'i' if signed else 'ui'}{bits}", -high if signed else 0
    return Element(name, np.dtype(storage), carrier, least, high - 1, file=file, port=port)


def _real(name: str, storage: Any, carrier: DType) -> Element:
    return Element(name, np.dtype(storage), carrier, file=np.dtype(storage), port=carrier)


BOOL: Final = Element("i1", np.dtype(bool), types.bool_, 0, 1, file=np.dtype(bool), port=types.bool_)
I8: Final = _integer(8, np.int8, types.i8, types.i8, signed=True)
I32: Final = _integer(32, np.int32, types.i32, types.i32, signed=True)
I64: Final = _integer(64, np.int64, types.i32, types.i32, signed=True)
U32: Final = _integer(32, np.uint32, types.i32, types.i32, signed=False)
F32: Final = _real("f32", np.float32, types.fp32)
F64: Final = _real("f64", np.float64, types.fp32)
F16: Final = _real("f16", np.float16, types.fp16)
BF16: Final = _real("bf16", ml_dtypes.bfloat16, types.bf16)

ELEMENTS: Final[tuple[Element, ...]] = (
    BOOL, I8, _integer(16, np.int16, types.i16, types.i16, signed=True), I32, I64,
    _integer(2, np.int8, types.i8, types.i8, signed=True), _integer(4, np.int8, types.i8, types.i8, signed=True),
    _integer(2, np.uint8, types.i8, types.i8, signed=False), _integer(4, np.uint8, types.i8, types.i8, signed=False),
    _integer(8, np.uint8, types.i32, types.i8, signed=False),
    _integer(16, np.uint16, types.i32, types.i16, signed=False), U32,
    _integer(64, np.uint64, types.i32, types.i32, signed=False),
    F32, F64, F16, BF16,
    _real("f8E4M3FN", ml_dtypes.float8_e4m3fn, types.fp8e4m3), _real("f8E5M2", ml_dtypes.float8_e5m2, types.fp8e5m2),
)  # fmt: skip
BY_NAME: Final[Mapping[str, Element]] = {element.name: element for element in ELEMENTS}


def is_wide(element: Element) -> bool:
    """Whether an element type of integers has more bits than int32."""
    return element.bits > types.i32.bits


@dataclass(frozen=True)
class Uniform:
    """A type of quantization: real = scale * (stored - zero_point), per tensor or along `axis`."""

    element: Element
    expressed: Element
    low: int
    high: int
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None

    @property
    def hint(self) -> QParams | None:
        """The QParams of the type; None for sums, which get theirs from what is summed."""
        bits = self.element.bits
        if bits > WIDEST:
            return None
        narrow = self.low == -self.high and not any(self.zero_points)
        return QParams(self.scales, self.zero_points, bits, self.element.is_signed, narrow, self.axis)

    def real(self, stored: Array) -> Array:
        """What integers stand for."""
        scales, zeros = self._along(stored.ndim)
        return np.asarray((stored.astype(np.float64) - zeros) * scales)

    def stored(self, real: Array) -> Array:
        """The integers of real numbers: halves to even, and the ends for what lies beyond."""
        scales, zeros = self._along(real.ndim)
        return np.asarray(np.clip(np.rint(real.astype(np.float64) / scales) + zeros, self.low, self.high))

    def _along(self, rank: int) -> list[Array]:
        along = [-1 if i == self.axis else 1 for i in range(rank)] if self.axis is not None else []
        return [np.asarray(n, np.float64).reshape(along) for n in (self.scales, self.zero_points)]


UNIFORM: Final = re.compile(
    r"!quant\.uniform<(?P<storage>[ui]+\d+)(?:<(?P<low>-?\d+):(?P<high>-?\d+)>)?:(?P<expressed>\w+)"
    r"(?::(?P<axis>\d+))?, (?P<scales>[^>]*)>"
)


def uniform(text: str) -> Uniform:
    """A type of quantization by its text. Raises Unsupported."""
    match = UNIFORM.match(text)
    if match is None:
        raise Unsupported(f"the type {text}")
    name = match["storage"].replace("u", "ui") if match["storage"].startswith("u") else match["storage"]
    element, expressed = BY_NAME.get(name.replace("uii", "ui")), BY_NAME.get(match["expressed"])
    if element is None or expressed is None:
        raise Unsupported(f"the type {text}")
    scales, zero_points = [], []
    for entry in match["scales"].strip("{}").split(","):
        scale, _, zero = entry.strip().partition(":")
        scales.append(float(scale))
        zero_points.append(int(zero or 0))
    low = int(match["low"]) if match["low"] is not None else element.minimum
    high = int(match["high"]) if match["high"] is not None else element.maximum
    axis = int(match["axis"]) if match["axis"] is not None else None
    return Uniform(element, expressed, low, high, tuple(scales), tuple(zero_points), axis)
