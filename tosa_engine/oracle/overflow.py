"""What a device may do where the specification has a REQUIRE that a value fits its format, and so leaves it open."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..types import Array, DType


@dataclass(frozen=True)
class Overflow:
    """Values that don't fit wrap (two's complement), or `saturate`, at every addition in the specification's order.
    Accumulators have at most `bits`.
    """

    saturate: bool = False
    bits: int | None = None

    def __str__(self) -> str:
        wide = "" if self.bits is None else f" at {self.bits} bits"
        return f"accumulators {'saturate' if self.saturate else 'wrap'}{wide}"

    def kept(self, value: Array, dtype: DType, *, accumulator: bool) -> Array:
        """What is left of integers in a format; they themselves where all fit."""
        bits = dtype.bits if self.bits is None or not accumulator else min(self.bits, dtype.bits)
        half = np.int64(1 << (bits - 1))
        if not value.size or (value.min() >= -half and value.max() < half):
            return value
        found: Array = np.clip(value, -half, half - 1) if self.saturate else ((value + half) & (2 * half - 1)) - half
        return found


_assumed: Final[ContextVar[tuple[Overflow, dict[str, int]] | None]] = ContextVar("assumed overflow", default=None)


def assumed() -> tuple[Overflow, dict[str, int]] | None:
    """What is assumed, and how many elements of each node didn't fit."""
    return _assumed.get()


@contextmanager
def assuming(overflow: Overflow | None) -> Iterator[dict[str, int]]:
    """In here the oracle computes under this assumption instead of raising RequireViolation for values that don't fit;
    None: it raises. Gives the numbers of elements that didn't fit, by node.
    """
    met: dict[str, int] = {}
    token = _assumed.set(None if overflow is None else (overflow, met))
    try:
        yield met
    finally:
        _assumed.reset(token)
