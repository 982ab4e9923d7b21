"""The windows of a depthwise convolution: NR neighbouring channels, two taps at a time as int16 pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .._jit import JIT, inline, native
from ..scale.places import NR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...types import Array
    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value
    from .._jit.variants import Variant

if JIT:
    from .._jit import intrinsic, numba_types
    from .._jit import llvm as e

LANES: Final = 8


def plain_window_rows(
    simd: Variant, a: Array, rows: Array, first: int, pixels: int, channel: int, offsets: Array, taps: int, w: Array,
    at: int, c: Array,
) -> None:  # fmt: skip
    """c[p * NR + j] = sum over taps t of a[rows[first + p] + offsets[t] + channel + j] * w, for NR neighbours j.

    Weights come in pairs of taps, [taps / 2, NR, 2] from `at` on, with the channels in LANE_ORDER; `taps` is even.
    """
    for p in range(pixels):
        start = rows[first + p] + channel
        for j in range(NR):
            total = np.int32(0)
            lane = j if j < 4 or j >= 12 else (j + 4 if j < 8 else j - 4)
            for t in range(taps):
                total += np.int32(a[start + offsets[t] + j]) * np.int32(w[at + (t // 2 * NR + lane) * 2 + t % 2])
            c[p * NR + j] = total


def _interleave(builder: Builder, first: Value, second: Value, upper: bool) -> Value:
    """Pairs of both vectors' lanes, taken in each 128-bit half from its lower or upper 4 lanes."""
    start = 4 if upper else 0
    picked = [half * 8 + start + i + (NR if odd else 0) for half in range(2) for i in range(4) for odd in (False, True)]
    return builder.shuffle_vector(first, second, e.indices(picked))


def _make_windows() -> Compiled:
    @intrinsic
    def windows(
        typingctx: Context, simd: Kind, a: Kind, rows: Kind, first: Kind, pixels: Kind, channel: Kind, offsets: Kind,
        taps: Kind, w: Kind, at: Kind, c: Kind,
    ) -> Typing:  # fmt: skip
        index = numba_types.int64
        sig = numba_types.void(simd, a, rows, index, index, index, offsets, index, w, index, c)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds = signature.args
            a_data = builder.gep(e.pointer(context, builder, kinds[1], args[1], e.I16), [args[5]])
            row_data = builder.gep(e.pointer(context, builder, kinds[2], args[2], e.I64), [args[3]])
            offset_data = e.pointer(context, builder, kinds[6], args[6], e.I64)
            w_data = builder.gep(e.pointer(context, builder, kinds[8], args[8], e.I16), [args[9]])
            c_data = e.pointer(context, builder, kinds[10], args[10], e.I32)
            x86 = simd.variant.x86
            _emit_windows(builder, a_data, row_data, args[4], offset_data, args[7], w_data, c_data, x86=x86)
            return context.get_dummy_value()

        return sig, codegen

    return windows


def _emit_windows(
    builder: Builder, a: Value, rows: Value, pixels: Value, offsets: Value, taps: Value, w: Value, c: Value, *,
    x86: bool,
) -> None:  # fmt: skip
    """Loops over pixels and pairs of taps; two accumulators hold the interleaved halves of NR channels."""
    total_kind, loaded_kind = e.vector(e.I32, LANES), e.vector(e.I16, NR)
    entry = builder.block
    outer, inner, done = (builder.append_basic_block(name) for name in ("pixel", "taps", "pixels_done"))
    after = builder.append_basic_block("pixel_done")
    builder.branch(outer)
    builder.position_at_end(outer)
    p = builder.phi(e.I64)
    start = builder.load(builder.gep(rows, [p]))
    builder.branch(inner)
    builder.position_at_end(inner)
    t = builder.phi(e.I64)
    totals = [builder.phi(total_kind) for _ in range(2)]
    loaded = []
    for k in range(2):
        distance = builder.load(builder.gep(offsets, [builder.add(t, e.I64(k))]))
        loaded.append(e.load(builder, a, builder.add(start, distance), loaded_kind, 2))
    new = []
    for upper, total in enumerate(totals):
        lanes = _interleave(builder, loaded[0], loaded[1], bool(upper))
        at = builder.add(builder.mul(t, e.I64(NR)), e.I64(NR * upper))
        weights = e.load(builder, w, at, loaded_kind, 2)
        new.append(e.multiply_pairs(builder, total, lanes, weights, vnni=False, x86=x86))
    following = builder.add(t, e.I64(2))
    builder.cbranch(builder.icmp_signed("<", following, taps), inner, after)
    builder.position_at_end(after)
    for half in range(2):
        picked = [half * 4 + i + (LANES if upper else 0) for upper in range(2) for i in range(4)]
        ordered = builder.shuffle_vector(new[0], new[1], e.indices(picked))
        e.store(builder, ordered, c, builder.add(builder.mul(p, e.I64(NR)), e.I64(half * LANES)), 4)
    next_p = builder.add(p, e.I64(1))
    builder.cbranch(builder.icmp_signed("<", next_p, pixels), outer, done)
    p.add_incoming(e.I64(0), entry)
    p.add_incoming(next_p, after)
    t.add_incoming(e.I64(0), outer)
    t.add_incoming(following, inner)
    for total, value in zip(totals, new, strict=True):
        total.add_incoming(e.constant(LANES, e.I32, 0), outer)
        total.add_incoming(value, inner)
    builder.position_at_end(done)


if JIT:
    plain, native_windows = inline(plain_window_rows), _make_windows()

    @inline
    def window_rows(
        simd: Variant, a: Array, rows: Array, first: int, pixels: int, channel: int, offsets: Array, taps: int,
        w: Array, at: int, c: Array,
    ) -> None:  # fmt: skip
        """plain_window_rows, in vector code where the unit has any."""
        if native(simd):
            native_windows(simd, a, rows, first, pixels, channel, offsets, taps, w, at, c)
        else:
            plain(simd, a, rows, first, pixels, channel, offsets, taps, w, at, c)

else:
    window_rows = plain_window_rows
