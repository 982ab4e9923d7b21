"""What this machine allows one thread: products of each pair of formats, and bytes.

Products are bounded by the fastest matrix product of ours, bytes by a copy inside of the cache. Both are measured when
they are first asked for, so that a bound holds for the machine as it is now.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import numpy as np

from ..builder import Builder
from ..runtime.session import Session

if TYPE_CHECKING:
    from ..graph import Graph
    from ..types import DType

PIXELS, DEPTH, CHANNELS = 128, 1024, 256  # of the product: its operands fit a second-level cache
SECONDS: Final = 0.1
COPIED: Final = 128 << 10  # bytes
COPIES: Final = 200


class Machine:
    """Rates of one thread, by pair of formats. In products and bytes per nanosecond."""

    def __init__(self) -> None:
        self.products: dict[tuple[str, str], float] = {}
        self._bytes = 0.0

    @property
    def bytes(self) -> float:
        """Bytes that a copy inside of the cache reads and writes."""
        if not self._bytes:
            self._bytes = 2 * COPIED / min(_copy() for _ in range(COPIES))
        return self._bytes

    def rate(self, values: DType, weights: DType) -> float:
        """Products of a 1 x 1 convolution of these formats."""
        key = (values.name, weights.name)
        if key not in self.products:
            found = Session(_product(values, weights), 1).profile(seconds=SECONDS)
            self.products[key] = PIXELS * DEPTH * CHANNELS / found.in_steps
        return self.products[key]


def _copy() -> int:
    source = np.zeros(COPIED, np.uint8)
    target = source.copy()
    begin = time.perf_counter_ns()
    np.copyto(target, source)
    return time.perf_counter_ns() - begin


def _product(values: DType, weights: DType) -> Graph:
    b = Builder("a matrix product")
    x = b.input(values, (1, 1, PIXELS, DEPTH))
    weight = b.const(np.ones((CHANNELS, 1, 1, DEPTH)), weights)
    y = b.op(
        "CONV2D", x, weight, [0], 0, 0, pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), local_bound=False
    )  # fmt: skip
    b.output(y)
    return b.graph()
