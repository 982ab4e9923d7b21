"""The tile micro-kernel: some rows times one or two panels of a matrix product, all of K at once, in registers.

Rows are read in place: each has its own start in `a`, and the `steps` of K lie at the same distances `offsets` from
every row's start. Columns come in panels of NR, each packed as [step, NR, group], `size` elements; `group` is the
number of neighbours along K that one step takes:

    quads   int8, 4: bytes of a, made unsigned by adding 128 (but where a variant is `signed`), times bytes of b, four
            products added up at once. The caller takes away with the bias what 128 adds.
    pairs   int16, 2: one instruction multiplies pairs and adds them.

A matrix product of bytes with two zero points has a term for each row, too; it stands in `c`, from TILE on.

Sums wrap: the caller has proved that the result fits. Each kind has a plain twin with the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import JIT, few_of, inline, jit, masks, native, rows_of
from .._jit.variants import PANELS_OF_ONE, TILE
from ..scale.accumulators import scale_rows
from ..scale.places import FORMS, HIGH_WORD, HIGH_WORDS, NR

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Compiled
    from .._jit.variants import Variant

if JIT:
    from .micro_kernel_emit import row_tile, scaled_tile, sums_tile


@jit
def plain_quads(
    a: Array, rows: Array, first: int, count: int, b: Array, start: int, size: int, panels: int, c: Array,
    offsets: Array, steps: int,
) -> None:  # fmt: skip
    """c[panel, r, NR] = sum over K of (a + 128) * b for `count` rows."""
    for p in range(panels):
        for r in range(count):
            sums = c[(p * count + r) * NR : (p * count + r + 1) * NR]
            sums[:] = 0
            for k in range(steps):
                left, at = rows[first + r] + offsets[k], start + p * size + k * 4 * NR
                for i in range(4):
                    value = np.int32(a[left + i]) + np.int32(128)
                    for j in range(NR):
                        sums[j] += value * np.int32(b[at + 4 * j + i])


@jit
def plain_pairs(
    a: Array, rows: Array, first: int, count: int, b: Array, start: int, size: int, panels: int, c: Array,
    offsets: Array, steps: int,
) -> None:  # fmt: skip
    """c[panel, r, NR] = sum over K of a * b for `count` rows."""
    for p in range(panels):
        for r in range(count):
            sums = c[(p * count + r) * NR : (p * count + r + 1) * NR]
            sums[:] = 0
            for k in range(steps):
                left, at = rows[first + r] + offsets[k], start + p * size + k * 2 * NR
                even, odd = np.int32(a[left]), np.int32(a[left + 1])
                for j in range(NR):
                    sums[j] += even * np.int32(b[at + 2 * j]) + odd * np.int32(b[at + 2 * j + 1])


def _sums(kind: str, plain: Compiled) -> Compiled:
    if not JIT:
        full1 = full2 = few1 = few2 = plain
    else:
        full1, full2, few1, few2 = (sums_tile(kind, full, two) for full in (True, False) for two in (False, True))

    @inline
    def tile(
        simd: Variant, a: Array, rows: Array, first: int, count: int, b: Array, start: int, size: int, panels: int,
        c: Array, offsets: Array, steps: int,
    ) -> None:  # fmt: skip
        """c[panel, r, NR] = the sums of `count` rows, which are rows_of(simd) or few_of(simd)."""
        if not native(simd):
            plain(a, rows, first, count, b, start, size, panels, c, offsets, steps)
        elif count == rows_of(simd):
            if panels == 1:
                full1(simd, a, rows, first, b, start, size, c, offsets, steps)
            else:
                full2(simd, a, rows, first, b, start, size, c, offsets, steps)
        elif panels == 1:
            few1(simd, a, rows, first, b, start, size, c, offsets, steps)
        else:
            few2(simd, a, rows, first, b, start, size, c, offsets, steps)

    return tile


sums_pairs = _sums("pairs", plain_pairs)


@inline
def add_terms(c: Array, first: int, count: int, panels: int) -> None:
    """c[panel, r, NR] += the term of row first + r for `count` rows; terms are in c from TILE on."""
    for p in range(panels):
        for r in range(count):
            at = (p * count + r) * NR
            for j in range(NR):
                c[at + j] = np.int32(np.int64(c[at + j]) + np.int64(c[TILE + first + r]))


def _scaled_tile(kind: str, plain: Compiled, how: str, terms: bool) -> Compiled:
    if not JIT:
        full1 = full2 = few1 = few2 = plain
    else:
        full1, full2, few1, few2 = (
            scaled_tile(kind, how, full, two, terms) for full in (True, False) for two in (False, True)
        )

    @inline
    def tile(
        simd: Variant, a: Array, rows: Array, first: int, count: int, b: Array, start: int, size: int, panels: int,
        c: Array, offsets: Array, steps: int, e32: Array, e64: Array, pitch: int, channel: int, limits: Array,
        out: Array, to: int, stride: int, columns: int, fused: bool,
    ) -> None:  # fmt: skip
        if not native(simd):
            plain(a, rows, first, count, b, start, size, panels, c, offsets, steps)
            if terms:
                add_terms(c, first, count, panels)
        elif count == rows_of(simd):
            if panels == 1:
                full1(
                    simd, a, rows, first, b, start, size, c, offsets, steps, e32, e64, pitch, channel, limits,
                    out, to, stride, columns, fused,
                )  # fmt: skip
            else:
                full2(
                    simd, a, rows, first, b, start, size, c, offsets, steps, e32, e64, pitch, channel, limits,
                    out, to, stride, columns, fused,
                )  # fmt: skip
        elif panels == 1:
            few1(
                simd, a, rows, first, b, start, size, c, offsets, steps, e32, e64, pitch, channel, limits,
                out, to, stride, columns, fused,
            )  # fmt: skip
        else:
            few2(
                simd, a, rows, first, b, start, size, c, offsets, steps, e32, e64, pitch, channel, limits,
                out, to, stride, columns, fused,
            )  # fmt: skip

    return tile


def _scaled(kind: str, plain: Compiled, how: str, terms: bool = False) -> Compiled:
    always, tile = how != HIGH_WORD, _scaled_tile(kind, plain, how, terms)

    @inline
    def tiles(
        simd: Variant, a: Array, rows: Array, pixels: int, b: Array, start: int, size: int, panels: int, c: Array,
        offsets: Array, steps: int, e32: Array, e64: Array, pitch: int, channel: int, limits: Array, out: Array,
        to: int, stride: int, columns: int,
    ) -> None:  # fmt: skip
        """out[to + r * stride + j] = the scaled sums of `pixels` rows and `columns` columns of one or two panels.

        The last tile reaches back into rows that were done, so that it is whole; they get the same bytes again. `rows`
        goes on behind the last row as far as a tile does.
        """
        full, few = rows_of(simd), few_of(simd)
        fused = native(simd) and (always or limits[HIGH_WORDS] != 0) and pixels >= few
        fused = fused and (masks(simd) or columns == panels * NR or out.itemsize == 1)
        done = 0
        while done < pixels:
            count = full if pixels - done >= full else few
            first = max(0, min(done, pixels - count))
            at = to + first * stride
            tile(
                simd, a, rows, first, count, b, start, size, panels, c, offsets, steps, e32, e64, pitch, channel,
                limits, out, at, stride, columns, fused,
            )  # fmt: skip
            if not fused:
                for p in range(panels):
                    scale_rows(
                        simd, c[p * count * NR :], e32, e64, pitch, channel + p * NR, limits, out, at + p * NR, stride,
                        min(count, pixels - first), min(NR, columns - p * NR),
                    )  # fmt: skip
            done = first + count

    return tiles


# one for each of FORMS
tiles_quads = [_scaled("quads", plain_quads, how) for how in FORMS]
tiles_pairs = [_scaled("pairs", plain_pairs, how) for how in FORMS]
# tiles of one row and PANELS_OF_ONE panels, or one panel, for variants with masks; scales are always applied
row_tiles = [(row_tile(how, PANELS_OF_ONE), row_tile(how, 1)) for how in FORMS] if JIT else []
# and with a term for each row
tiles_terms = [_scaled("quads", plain_quads, how, terms=True) for how in FORMS]
