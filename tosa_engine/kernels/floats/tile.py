"""The float tile: some rows times some panels of a matrix product, all of K at once, in registers, stored at once.

Rows are read in place, as in `tile.micro_kernel`: each has its own start in `a`. K is cut into runs, each of `length`
neighbours, which lie at the same distances `offsets` from every row's start. Columns come in panels of NR: those of a
step are neighbours, steps lie `pitch` elements apart, panels `size`. (Packed, `pitch` is NR.)

The order of summation is that of K, from zero on, each product fused with its addition; then the bias is added, and
the result clipped. It is the same in every variant, for every shape of a tile and every split of the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import JIT, few_of, floats_on_stack, inline, jit, native, panels_of, rows_of
from .._jit.variants import PANELS_OF_ONE
from ..scale.places import NR
from .fma import exact

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Number
    from .._jit.variants import Variant

if JIT:
    from .tile_emit import native_tile


sums_of_tile = floats_on_stack(NR)


@inline
def clip(value: Number, low: Number, high: Number) -> Number:
    """CLAMP with PROPAGATE, where `high` is no zero."""
    if value < low:
        return low
    return high if high < value else value


@jit
def plain_tile(
    a: Array, rows: Array, first: int, b: Array, start: int, size: int, pitch: int, panels: int, offsets: Array,
    length: int, bias: Array, channel: int, limits: Array, out: Array, to: int, stride: int, count: int, columns: int,
) -> None:  # fmt: skip
    """out[to + r * stride + j] = the sums of row first + r and column j, plus bias[channel + j], clipped to `limits`,
    for `count` rows and `columns` columns of as many panels.
    """
    sums = sums_of_tile()
    for p in range(panels):
        for r in range(count):
            sums[:] = 0
            at = start + p * size
            for offset in offsets:
                left = rows[first + r] + offset
                for k in range(length):
                    value = a[left + k]
                    for j in range(NR):
                        sums[j] = exact(value, b[at + j], sums[j])
                    at += pitch
            for j in range(min(NR, columns - p * NR)):
                total = sums[j] + bias[channel + p * NR + j]
                out[to + r * stride + p * NR + j] = clip(total, limits[0], limits[1])


@inline
def tile(
    simd: Variant, size_of: int, a: Array, rows: Array, first: int, b: Array, start: int, size: int, pitch: int,
    panels: int, offsets: Array, length: int, bias: Array, channel: int, limits: Array, out: Array, to: int,
    stride: int, count: int, columns: int,
) -> None:  # fmt: skip
    """plain_tile, in vector code where the unit has any, of `size_of` rows; only the first `count` are stored."""
    if native(simd):
        native_tile(
            simd, size_of, panels, a, rows, first, b, start, size, pitch, offsets, length, bias, channel, limits, out,
            to, stride, count, columns,
        )  # fmt: skip
    else:
        plain_tile(
            a, rows, first, b, start, size, pitch, panels, offsets, length, bias, channel, limits, out, to, stride,
            count, columns,
        )  # fmt: skip


@inline
def tile_width(simd: Variant, pixels: int, panels: int) -> Number:
    """How many of the panels that are left the next tile takes."""
    if pixels == 1:
        return PANELS_OF_ONE if panels >= PANELS_OF_ONE else 1
    return min(panels_of(simd), panels)


@inline
def tiles(
    simd: Variant, a: Array, rows: Array, pixels: int, b: Array, start: int, size: int, pitch: int, panels: int,
    offsets: Array, length: int, bias: Array, channel: int, limits: Array, out: Array, to: int, stride: int,
    columns: int,
) -> None:  # fmt: skip
    """`tile` for `pixels` rows, by tiles of the variant's shapes. `rows` goes on behind the last one as far as a tile
    does.
    """
    done = 0
    while done < pixels:
        left = pixels - done
        size_of = rows_of(simd) if left >= rows_of(simd) else (1 if pixels == 1 else few_of(simd))
        tile(
            simd, size_of, a, rows, done, b, start, size, pitch, panels, offsets, length, bias, channel, limits, out,
            to + done * stride, stride, min(size_of, left), columns,
        )  # fmt: skip
        done += size_of
