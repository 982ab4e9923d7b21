"""Sums of depthwise windows over quads: a tile of PIXELS neighbouring outputs times `width` neighbouring channels.

Weights of a vector and a tap (a column of the kernel in one quad) are `width` elements: bytes [lane, row] for units
that multiply quads; or int16, [lane, row 0 or 2] and [lane, row 1 or 3], for units that multiply pairs and for weights
that don't fit a byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import JIT
from ..scale.places import NR
from .places import COLUMNS_OF_CODE, PIXELS, ROWS, TAPS, UNROLLED, VECTORS

if JIT:
    from .._jit import intrinsic, numba_types
    from .._jit import llvm as e
    from .quad_tiles import Tile, emit_row, emit_sums
    from .quads import emit_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...types import Array
    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value
    from .._jit.variants import Variant


def plain_sums(
    simd: Variant, a: Array, at: int, offsets: Array, taps: int, w: Array, start: int, width: int, c: Array
) -> None:  # fmt: skip
    """c[panel, pixel, channel % NR] = sums over taps and rows, which wrap like int32; of int16 weights.

    Byte `at` is the first one of the first pixel's columns, `start` the first weight.
    """
    lanes = width // VECTORS
    for v in range(VECTORS):
        weights = w[start + v * taps * width : start + (v + 1) * taps * width]
        for p in range(PIXELS):
            columns = a[at + (p * VECTORS + v) * width :]
            for lane in range(lanes):
                total = np.int64(0)
                for t in range(taps):
                    quad, even = offsets[t] * VECTORS * width + lane * ROWS, t * width + lane * 2
                    odd = even + lanes * 2
                    total += (np.int64(columns[quad]) & 255) * weights[even]
                    total += (np.int64(columns[quad + 1]) & 255) * weights[odd]
                    total += (np.int64(columns[quad + 2]) & 255) * weights[even + 1]
                    total += (np.int64(columns[quad + 3]) & 255) * weights[odd + 1]
                wrapped = ((total + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)
                c[((lane >> 2) * PIXELS + p) * NR + 4 * v + (lane & 3)] = np.int32(wrapped)


def _operands(
    context: Context, builder: Builder, kinds: Sequence[Kind], args: Sequence[Value]
) -> tuple[list[Value], int]:
    """Quads from `at` on, distances and weights from `start` on; and the bytes of a weight."""
    a = builder.gep(e.pointer(context, builder, kinds[0], args[0], e.I8), [args[1]])
    offsets = e.pointer(context, builder, kinds[2], args[2], e.I64)
    parts = kinds[4].dtype.bitwidth // 8
    start = builder.mul(args[5], e.I64(parts))
    return [a, offsets, builder.gep(e.pointer(context, builder, kinds[4], args[4], e.I8), [start])], parts


def _make_sums() -> Compiled:
    @intrinsic
    def tile_sums(
        typingctx: Context, simd: Kind, a: Kind, at: Kind, offsets: Kind, taps: Kind, w: Kind, start: Kind, width: Kind,
        c: Kind,
    ) -> Typing:  # fmt: skip
        """plain_sums, in vector code where the unit has any."""
        index = numba_types.int64
        sig = numba_types.void(simd, a, index, offsets, index, w, index, index, c)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds = signature.args
            if not kinds[0].variant.native:
                return context.compile_internal(builder, plain_sums, signature, args)
            data, parts = _operands(context, builder, kinds[1:7], args[1:7])
            c_data = e.pointer(context, builder, kinds[8], args[8], e.I32)

            def body(width: int) -> None:
                emit_sums(Tile(builder, kinds[0].variant, width, parts, data, args[4]), c_data)

            emit_for(builder, kinds[0], args[7], body)
            return context.get_dummy_value()

        return sig, codegen

    return tile_sums


def _make_row(columns: int, double: bool) -> Compiled:
    codes = [code for code, known in enumerate(COLUMNS_OF_CODE) if known == columns]

    @intrinsic
    def output_row(
        typingctx: Context, simd: Kind, a: Kind, g: Kind, offsets: Kind, w: Kind, start: Kind, channel: Kind,
        width: Kind, numbers: Kind, place: Kind, e64: Kind, limits: Kind, out: Kind, to: Kind, c: Kind, pitch: Kind,
        count: Kind, kind: Kind,
    ) -> Typing:  # fmt: skip
        """`count` pixels of a row of bytes, from sums in registers, with the scales numbers[place:]; `kind` is one of
        `codes`. It is called like a row by way of `c`, which it doesn't need.
        """
        index = numba_types.int64
        sig = numba_types.void(
            simd, a, g, offsets, w, index, index, index, numbers, index, e64, limits, out, index, c, index, index, index
        )

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds = signature.args
            assert kinds[0].variant.native
            assert kinds[12].dtype.bitwidth == 8
            shape = e.pointer(context, builder, kinds[2], args[2], e.I64)
            taps = builder.load(builder.gep(shape, [e.I64(TAPS)]))
            operands = (args[1], e.I64(0), args[3], taps, args[4], args[5])
            data, parts = _operands(context, builder, (kinds[1], None, kinds[3], None, kinds[4]), operands)
            found = builder.gep(e.pointer(context, builder, kinds[8], args[8], e.I32), [args[9]])
            limit_data = e.pointer(context, builder, kinds[11], args[11], e.I64)
            out_data = builder.gep(e.pointer(context, builder, kinds[12], args[12], e.I8), [args[13]])

            def body(width: int) -> None:
                for code in codes:
                    with builder.if_then(builder.icmp_signed("==", args[17], e.I64(code))):
                        tile = Tile(builder, kinds[0].variant, width, parts, data, taps)
                        sums = tile.unrolled(*UNROLLED[code - 1]) if code else tile.sums
                        emit_row(tile, sums, found, limit_data, out_data, args[15:17], double=double)

            emit_for(builder, kinds[0], args[7], body)
            return context.get_dummy_value()

        return sig, codegen

    return output_row


if JIT:
    tile_sums = _make_sums()
else:
    tile_sums = plain_sums


def row_in_registers(columns: int, double: bool) -> Compiled:
    """Code for kernels of UNROLLED with so many columns; with 0, for all others. `double`: for DOUBLE_ROUND."""
    if JIT:
        return _make_row(columns, double)

    def output_row(*arguments: object) -> None:
        raise AssertionError("plain code has no registers")

    return output_row
