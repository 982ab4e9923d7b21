"""The compiled loop of `weighted`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import JIT, inline, jit, lanes_of, native
from ..work import BLOCK
from .exact_loops import offset
from .weighted import ADDED, FIRST, LEAST, MOST, SECOND, SHIFT

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.variants import Variant

if JIT:
    from .weighted_emit import weighted as vectors
else:

    def vectors(*arguments: object) -> None:
        raise AssertionError("plain code has no vectors")


@inline
def plain_weighted(a: Array, b: Array, p: Array, out: Array) -> None:
    first, second, added, shift, least, most = p[FIRST], p[SECOND], p[ADDED], p[SHIFT], p[LEAST], p[MOST]
    for i in range(len(out)):
        out[i] = min(max((first * a[i] + second * b[i] + added) >> shift, least), most)


@jit
def weighted(
    simd: Variant, a: Array, b: Array, dims: Array, sa: Array, sb: Array, p: Array, out: Array, low: int, high: int
) -> int:
    """Units of BLOCK elements. Along the last of `dims`, both steps are 1."""
    last, whole = len(dims) - 1, 2 * lanes_of(simd)
    at, end = low * BLOCK, min(high * BLOCK, len(out))
    while at < end:
        row = at // dims[last]
        column = at - row * dims[last]
        count = min(dims[last] - column, end - at)
        ia, ib = offset(row, dims, sa) + column, offset(row, dims, sb) + column
        first, second, target = a[ia : ia + count], b[ib : ib + count], out[at : at + count]
        done = 0
        if native(simd):
            done = count // whole * whole
            vectors(simd, first, second, p, target, done)
        plain_weighted(first[done:], second[done:], p, target[done:])
        at += count
    return -1
