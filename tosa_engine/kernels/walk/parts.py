"""A part of the batch as a unit of work: a worker walks the whole plan for it, in memory of its own.

Only imported when the JIT is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .._jit import inline, jit
from .atomics import copy_bytes
from .walk import FINISHED, walk

if TYPE_CHECKING:
    from ...types import Array

# words of a worker: its program, the rows of it, then where each port lies in its memory
PROGRAM: Final = 0
ROWS: Final = 1
PORTS: Final = 2
# words of a port: the array of all parts (0: nobody wants it), the bytes of a part, and whether it is an output
WHOLE: Final = 0
BYTES: Final = 1
OUTPUT: Final = 2
PORT: Final = 3


@inline
def exchange_part(ports: Array, own: Array, part: int, output: int) -> None:
    """Copy a part of all inputs into the worker's memory, or of all outputs out of it."""
    for i in range(len(ports) // PORT):
        whole, size = ports[PORT * i + WHOLE], ports[PORT * i + BYTES]
        if whole == 0 or ports[PORT * i + OUTPUT] != output:
            continue
        outside, inside = whole + part * size, own[PORTS + i]
        if output != 0:
            copy_bytes(inside, outside, size)
        else:
            copy_bytes(outside, inside, size)


@jit
def walk_parts(ports: Array, own: Array, low: int, high: int) -> int:
    """Parts low .. high - 1. FINISHED, or the part in which a step saw a REQUIRE fail."""
    for part in range(low, high):
        exchange_part(ports, own, part, 0)
        if walk(own[PROGRAM], 0, own[ROWS], 1, 0, 0) != FINISHED:
            return part
        exchange_part(ports, own, part, 1)
    return FINISHED


def warm_up() -> None:
    """Compile, or read from the disk, what walks of parts need."""
    walk_parts(np.zeros(PORT, np.int64), np.zeros(PORTS + 1, np.int64), 0, 0)
