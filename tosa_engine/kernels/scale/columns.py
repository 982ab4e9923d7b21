"""`accumulators.scale_rows` for any number of a panel's columns: vectors of them, the last one under a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import JIT, inline, lanes_of, masks, native
from . import accumulators as scale
from .accumulators import scale_rows
from .places import HIGH_WORDS, NR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...types import Array
    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value
    from .._jit.variants import Variant

if JIT:
    from .._jit import intrinsic, ir, numba_types
    from .._jit import llvm as e


def _make(words: bool) -> Compiled:
    @intrinsic
    def columns(
        typingctx: Context, simd: Kind, c: Kind, e32: Kind, e64: Kind, pitch: Kind, channel: Kind, limits: Kind,
        out: Kind, to: Kind, stride: Kind, rows: Kind, count: Kind,
    ) -> Typing:  # fmt: skip
        """scale.plain_scale_rows of a vector of columns, of which `count` are left."""
        index = numba_types.int64
        sig = numba_types.void(simd, c, e32, e64, index, index, limits, out, index, index, index, index)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds, simd = signature.args, signature.args[0].variant
            lanes, bits = simd.lanes, kinds[7].dtype.bitwidth
            sums, narrow, wide, limits, target = (
                e.pointer(context, builder, kinds[i], args[i], ir.IntType(kinds[i].dtype.bitwidth))
                for i in (1, 2, 3, 6, 7)
            )
            bounds = scale.bounds_of(builder, limits, lanes)
            found = scale.parameters(builder, narrow, wide, args[4], args[5], lanes, words=words)
            mask = e.first_lanes(builder, args[11], lanes) if simd.masks else None

            def row(r: Value) -> None:
                value = e.load(builder, sums, builder.mul(r, e.I64(NR)), e.vector(e.I32, lanes), 4)
                scaled = (scale.emit_in_words if words else scale.emit_in_high_words)(builder, value, found, bounds)
                to = builder.add(args[8], builder.mul(r, args[9]))
                scale.emit_store(builder, scaled, target, to, bits, mask)

            scale.counted_rows(builder, args[10], row)
            return context.get_dummy_value()

        return sig, codegen

    return columns


if JIT:
    plain = inline(scale.plain_scale_rows)
    in_words, in_high_words = _make(True), _make(False)

    @inline
    def scale_columns(
        simd: Variant, c: Array, e32: Array, e64: Array, pitch: int, channel: int, limits: Array, out: Array, to: int,
        stride: int, rows: int, count: int,
    ) -> None:  # fmt: skip
        """plain_scale_rows."""
        if count == NR:
            scale_rows(simd, c, e32, e64, pitch, channel, limits, out, to, stride, rows, count)
            return
        j = 0
        while native(simd) and (count - j >= lanes_of(simd) or (masks(simd) and j < count)):
            if limits[HIGH_WORDS] != 0:
                in_high_words(
                    simd, c[j:], e32, e64, pitch, channel + j, limits, out, to + j, stride, rows, count - j
                )  # fmt: skip
            else:
                in_words(simd, c[j:], e32, e64, pitch, channel + j, limits, out, to + j, stride, rows, count - j)
            j += lanes_of(simd)
        if j < count:
            plain(simd, c[j:], e32, e64, pitch, channel + j, limits, out, to + j, stride, rows, count - j)

else:
    scale_columns = scale.plain_scale_rows
