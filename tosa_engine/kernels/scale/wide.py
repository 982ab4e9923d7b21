"""int48 sums to stored values: bias and apply_scale_16, zero point, clip, in vector code with a plain twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .._jit import JIT, inline, native
from .places import NR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...types import Array
    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value
    from .._jit.variants import Variant

if JIT:
    from .._jit import intrinsic, ir, numba_types
    from .._jit import llvm as e
    from .accumulators import counted_rows, emit_store

# places of `numbers`: 1 if results are scaled; then zero point and bounds
SCALES: Final = 0
ZERO_POINT: Final = 1
LOW: Final = 2
HIGH: Final = 3
FIRST: Final = 4  # behind them a bias for each channel, then a multiplier, then a shift


def plain_wide_rows(
    simd: Variant, sums: Array, numbers: Array, channels: int, channel: int, out: Array, to: int, stride: int,
    rows: int, count: int,
) -> None:  # fmt: skip
    """out[to + r * stride + j] = clip(apply_scale_16(sums[r * NR + j] + bias) + zp) for r < rows, j < count <= NR, or
    the sums with the bias. The caller has proved the REQUIREs.
    """
    zero, low, high = numbers[ZERO_POINT], numbers[LOW], numbers[HIGH]
    for r in range(rows):
        for j in range(count):
            i = FIRST + channel + j
            value = sums[r * NR + j] + numbers[i]
            if numbers[SCALES] != 0:
                shift = numbers[i + 2 * channels]
                value = (value * numbers[i + channels] + (np.int64(1) << (shift - 1))) >> shift
                value = min(max(value + zero, low), high)
            out[to + r * stride + j] = value


def _make() -> Compiled:
    @intrinsic
    def whole_rows(
        typingctx: Context, simd: Kind, sums: Kind, numbers: Kind, channels: Kind, channel: Kind, out: Kind, to: Kind,
        stride: Kind, rows: Kind,
    ) -> Typing:  # fmt: skip
        """plain_wide_rows of NR columns that are scaled."""
        index = numba_types.int64
        sig = numba_types.void(simd, sums, numbers, index, index, out, index, index, index)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds, lanes = signature.args, signature.args[0].variant.lanes
            bits = min(kinds[5].dtype.bitwidth, 32)  # int48 isn't scaled
            sums_data, number_data = (e.pointer(context, builder, kinds[i], args[i], e.I64) for i in (1, 2))
            out_data = e.pointer(context, builder, kinds[5], args[5], ir.IntType(bits))
            limits = [builder.load(builder.gep(number_data, [e.I64(i)])) for i in (ZERO_POINT, LOW, HIGH)]
            zero, low, high = (e.spread(builder, builder.trunc(v, e.I32), lanes) for v in limits)
            wide = e.vector(e.I64, lanes)
            for part in range(0, NR, lanes):
                first = builder.add(args[4], e.I64(FIRST + part))
                bias, multiplier, shift = (
                    e.load(builder, number_data, builder.add(first, builder.mul(args[3], e.I64(k))), wide, 8)
                    for k in range(3)
                )
                half = builder.shl(e.constant(lanes, e.I64, 1), builder.sub(shift, e.constant(lanes, e.I64, 1)))

                def row(r: Value, part: int = part, found: Sequence[Value] = (bias, multiplier, shift, half)) -> None:
                    bias, multiplier, shift, half = found
                    at = builder.add(builder.mul(r, e.I64(NR)), e.I64(part))
                    value = builder.add(e.load(builder, sums_data, at, wide, 8), bias)
                    value = builder.ashr(builder.add(builder.mul(value, multiplier), half), shift)
                    value = builder.add(builder.trunc(value, e.vector(e.I32, lanes)), zero)
                    to = builder.add(builder.add(args[6], e.I64(part)), builder.mul(r, args[7]))
                    emit_store(builder, e.clip(builder, value, low, high), out_data, to, bits, None)

                counted_rows(builder, args[8], row)
            return context.get_dummy_value()

        return sig, codegen

    return whole_rows


if JIT:
    plain, whole = inline(plain_wide_rows), _make()

    @inline
    def wide_rows(
        simd: Variant, sums: Array, numbers: Array, channels: int, channel: int, out: Array, to: int, stride: int,
        rows: int, count: int,
    ) -> None:  # fmt: skip
        """plain_wide_rows; whole rows that are scaled in vector code where the unit has any."""
        if native(simd) and count == NR and numbers[SCALES] != 0:
            whole(simd, sums, numbers, channels, channel, out, to, stride, rows)
        else:
            plain(simd, sums, numbers, channels, channel, out, to, stride, rows, count)

else:
    wide_rows = plain_wide_rows
