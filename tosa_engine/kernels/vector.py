"""Two pieces of vector code that numba's loops don't reach by themselves: scaling accumulators, and the windows of a
depthwise convolution. Each has a plain form with the same bytes, which runs on other processors and when the JIT is
off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ._jit import JIT, has, inline, jit
from .tile import AVX2_INT16, LANES, NR, pointer

if JIT:
    from ._jit import intrinsic, ir, numba_types

if TYPE_CHECKING:
    from collections.abc import Sequence

# rows of the parameter arrays: one column per channel, padded to a multiple of NR
BIAS: Final = 0
MULTIPLIER: Final = 1
RIGHT: Final = 2
LEFT: Final = 3
HALF: Final = 4
# how interleaving two vectors in their 128-bit halves orders the channels
LANE_ORDER: Final = (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15)
ROUND: Final = 0
DOUBLE: Final = 1


@jit
def plain_scale(
    c: Any, at: int, e32: Any, e64: Any, pitch: int, channel: int, limits: Any, out: Any, to: int, count: int
) -> None:
    """out[to + j] = clip(scale(c[at + j] + bias) + zp) for j < count: numerics.scale.scale_in_words, per channel.

    `limits` holds the zero point and the bounds of the clip. The caller has proved the REQUIREs.
    """
    zp, low, high = limits[0], limits[1], limits[2]
    for j in range(count):
        i = channel + j
        value = np.int64(c[at + j]) + np.int64(e32[BIAS * pitch + i])
        rounding = e64[ROUND * pitch + i]
        double = e64[DOUBLE * pitch + i]
        rounding += double if value >= 0 else -double
        total = (value * np.int64(e32[MULTIPLIER * pitch + i]) + rounding) << np.int64(e32[LEFT * pitch + i])
        scaled = ((total >> 32) >> np.int64(e32[RIGHT * pitch + i])) + zp
        scaled = max(scaled, low)
        scaled = min(scaled, high)
        out[to + j] = scaled


def _row(builder: Any, data: Any, index: Any, lanes: int, bits: int) -> Any:
    vector = ir.VectorType(ir.IntType(bits), lanes)
    address = builder.bitcast(builder.gep(data, [index]), vector.as_pointer())
    loaded = builder.load(address)
    loaded.align = bits // 8
    return loaded


def _spread(builder: Any, scalar: Any, lanes: int) -> Any:
    vector = ir.VectorType(scalar.type, lanes)
    lane = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    indices = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(lane, ir.Constant(vector, ir.Undefined), indices)


def _constant(lanes: int, bits: int, value: int) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(bits), lanes), [value] * lanes)


def _emit_scale(builder: Any, value: Any, rows: Sequence[Any], limits: Sequence[Any], out_bits: int, lanes: int) -> Any:
    """The vector form of plain_scale on one vector of accumulators."""
    bias, multiplier, right, left, rounding, double = rows
    narrow, wide = ir.VectorType(ir.IntType(32), lanes), ir.VectorType(ir.IntType(64), lanes)
    value = builder.add(value, bias)
    negative = builder.icmp_signed("<", value, _constant(lanes, 32, 0))
    double = builder.select(negative, builder.sub(_constant(lanes, 64, 0), double), double)
    product = builder.mul(builder.sext(value, wide), builder.sext(multiplier, wide))
    total = builder.add(product, builder.add(rounding, double))
    total = builder.shl(total, builder.zext(left, wide))
    high = builder.trunc(builder.lshr(total, _constant(lanes, 64, 32)), narrow)
    scaled = builder.add(builder.ashr(high, right), limits[0])
    scaled = builder.select(builder.icmp_signed("<", scaled, limits[1]), limits[1], scaled)
    scaled = builder.select(builder.icmp_signed(">", scaled, limits[2]), limits[2], scaled)
    return scaled if out_bits == 32 else builder.trunc(scaled, ir.VectorType(ir.IntType(out_bits), lanes))


def _make_scale() -> Any:
    @intrinsic
    def scale(
        typingctx: Any, c: Any, at: Any, e32: Any, e64: Any, pitch: Any, channel: Any, limits: Any, out: Any, to: Any
    ) -> Any:
        index = numba_types.int64
        sig = numba_types.void(c, index, e32, e64, index, index, limits, out, index)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, i32, i64 = signature.args, ir.IntType(32), ir.IntType(64)
            bits = kinds[7].dtype.bitwidth
            c_data = pointer(context, builder, kinds[0], args[0], i32)
            narrow = pointer(context, builder, kinds[2], args[2], i32)
            wide = pointer(context, builder, kinds[3], args[3], i64)
            limit_data = pointer(context, builder, kinds[6], args[6], i64)
            out_data = pointer(context, builder, kinds[7], args[7], ir.IntType(bits))
            bounds = [
                _spread(builder, builder.trunc(builder.load(builder.gep(limit_data, [i64(i)])), i32), NR)
                for i in range(3)
            ]

            def parameter(data: Any, row: int, width: int) -> Any:
                return _row(builder, data, builder.add(builder.mul(args[4], i64(row)), args[5]), NR, width)

            rows = [parameter(narrow, r, 32) for r in (BIAS, MULTIPLIER, RIGHT, LEFT)]
            rows += [parameter(wide, r, 64) for r in (ROUND, DOUBLE)]
            value = _row(builder, c_data, args[1], NR, 32)
            result = _emit_scale(builder, value, rows, bounds, bits, NR)
            target = builder.bitcast(builder.gep(out_data, [args[8]]), result.type.as_pointer())
            builder.store(result, target).align = bits // 8
            return context.get_dummy_value()

        return sig, codegen

    return scale


def _make_scale_rows() -> Any:
    @intrinsic
    def scale_rows(
        typingctx: Any,
        c: Any,
        e32: Any,
        pitch: Any,
        channel: Any,
        limits: Any,
        out: Any,
        to: Any,
        stride: Any,
        rows: Any,
    ) -> Any:
        index = numba_types.int64
        sig = numba_types.void(c, e32, index, index, limits, out, index, index, index)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, i32, i64 = signature.args, ir.IntType(32), ir.IntType(64)
            bits = kinds[5].dtype.bitwidth
            c_data = pointer(context, builder, kinds[0], args[0], i32)
            e_data = pointer(context, builder, kinds[1], args[1], i32)
            limit_data = pointer(context, builder, kinds[4], args[4], i64)
            out_data = pointer(context, builder, kinds[5], args[5], ir.IntType(bits))
            bounds = [
                _spread(builder, builder.trunc(builder.load(builder.gep(limit_data, [i64(i)])), i32), LANES)
                for i in range(3)
            ]
            for part in range(0, NR, LANES):
                parameters = []
                for row in (BIAS, MULTIPLIER, RIGHT, HALF):
                    at = builder.add(builder.mul(args[2], i64(row)), builder.add(args[3], i64(part)))
                    parameters.append(_row(builder, e_data, at, LANES, 32))
                _emit_rows(builder, (c_data, out_data), parameters, bounds, args[6:9], part, bits)
            return context.get_dummy_value()

        return sig, codegen

    return scale_rows


def _emit_rows(
    builder: Any,
    data: Sequence[Any],
    parameters: Sequence[Any],
    bounds: Sequence[Any],
    places: Sequence[Any],
    part: int,
    bits: int,
) -> None:
    """A loop over rows of LANES accumulators each, the parameters staying in registers."""
    i64 = ir.IntType(64)
    to, stride, rows = places
    entry, loop, done = builder.block, builder.append_basic_block("row"), builder.append_basic_block("rows_done")
    builder.branch(loop)
    builder.position_at_end(loop)
    r = builder.phi(i64)
    value = _row(builder, data[0], builder.add(builder.mul(r, i64(NR)), i64(part)), LANES, 32)
    result = _emit_fast(builder, value, parameters, bounds)
    if bits < 32:
        result = builder.trunc(result, ir.VectorType(ir.IntType(bits), LANES))
    at = builder.add(builder.add(to, i64(part)), builder.mul(r, stride))
    builder.store(result, builder.bitcast(builder.gep(data[1], [at]), result.type.as_pointer())).align = bits // 8
    following = builder.add(r, i64(1))
    builder.cbranch(builder.icmp_signed("<", following, rows), loop, done)
    r.add_incoming(i64(0), entry)
    r.add_incoming(following, loop)
    builder.position_at_end(done)


def _emit_fast(builder: Any, value: Any, parameters: Sequence[Any], bounds: Sequence[Any]) -> Any:
    """numerics.scale.scale_in_high_words: one widening multiply for the even lanes, one for the odd lanes."""
    bias, multiplier, right, half = parameters
    narrow, wide = ir.VectorType(ir.IntType(32), LANES), ir.VectorType(ir.IntType(64), LANES // 2)
    word = _constant(LANES // 2, 64, 32)
    value64, multiplier64 = builder.bitcast(builder.add(value, bias), wide), builder.bitcast(multiplier, wide)

    def low(x: Any) -> Any:
        return builder.ashr(builder.shl(x, word), word)

    even = builder.mul(low(value64), low(multiplier64))
    odd = builder.mul(builder.ashr(value64, word), builder.ashr(multiplier64, word))
    high = [2 * (i // 2) + 1 + (LANES if i % 2 else 0) for i in range(LANES)]
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), high)
    product = builder.shuffle_vector(builder.bitcast(even, narrow), builder.bitcast(odd, narrow), mask)
    scaled = builder.add(builder.ashr(builder.add(product, half), right), bounds[0])
    scaled = builder.select(builder.icmp_signed("<", scaled, bounds[1]), bounds[1], scaled)
    return builder.select(builder.icmp_signed(">", scaled, bounds[2]), bounds[2], scaled)


@jit
def plain_windows(
    a: Any, rows: Any, first: int, pixels: int, channel: int, offsets: Any, taps: int, w: Any, at: int, c: Any
) -> None:
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


def _interleave(builder: Any, first: Any, second: Any, upper: bool) -> Any:
    """Pairs of both vectors' lanes, taken in each 128-bit half from its lower or upper 4 lanes."""
    start = 4 if upper else 0
    picked = [half * 8 + start + i + (NR if odd else 0) for half in range(2) for i in range(4) for odd in (False, True)]
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(ir.IntType(32), NR), picked))


def _make_windows() -> Any:
    @intrinsic
    def windows(
        typingctx: Any,
        a: Any,
        rows: Any,
        first: Any,
        pixels: Any,
        channel: Any,
        offsets: Any,
        taps: Any,
        w: Any,
        at: Any,
        c: Any,
    ) -> Any:
        index = numba_types.int64
        sig = numba_types.void(a, rows, index, index, index, offsets, index, w, index, c)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, i16, i32, i64 = signature.args, ir.IntType(16), ir.IntType(32), ir.IntType(64)
            a_data = builder.gep(pointer(context, builder, kinds[0], args[0], i16), [args[4]])
            row_data = builder.gep(pointer(context, builder, kinds[1], args[1], i64), [args[2]])
            offset_data = pointer(context, builder, kinds[5], args[5], i64)
            w_data = builder.gep(pointer(context, builder, kinds[7], args[7], i16), [args[8]])
            c_data = pointer(context, builder, kinds[9], args[9], i32)
            _emit_windows(builder, a_data, row_data, args[3], offset_data, args[6], w_data, c_data)
            return context.get_dummy_value()

        return sig, codegen

    return windows


def _emit_windows(builder: Any, a: Any, rows: Any, pixels: Any, offsets: Any, taps: Any, w: Any, c: Any) -> None:
    """Loops over pixels and pairs of taps; two accumulators hold the interleaved halves of NR channels."""
    i32, i64 = ir.IntType(32), ir.IntType(64)
    vector = ir.VectorType(i32, LANES)
    entry = builder.block
    outer, inner, done = (builder.append_basic_block(name) for name in ("pixel", "taps", "pixels_done"))
    after = builder.append_basic_block("pixel_done")
    builder.branch(outer)
    builder.position_at_end(outer)
    p = builder.phi(i64)
    start = builder.load(builder.gep(rows, [p]))
    builder.branch(inner)
    builder.position_at_end(inner)
    t = builder.phi(i64)
    totals = [builder.phi(vector) for _ in range(2)]
    loaded = []
    for k in range(2):
        distance = builder.load(builder.gep(offsets, [builder.add(t, i64(k))]))
        loaded.append(_row(builder, a, builder.add(start, distance), NR, 16))
    new = []
    for upper, total in enumerate(totals):
        lanes = _interleave(builder, loaded[0], loaded[1], bool(upper))
        weights = _row(builder, w, builder.add(builder.mul(t, i64(NR)), i64(NR * upper)), NR, 16)
        new.append(AVX2_INT16.step(builder, total, lanes, weights))
    following = builder.add(t, i64(2))
    builder.cbranch(builder.icmp_signed("<", following, taps), inner, after)
    builder.position_at_end(after)
    for half in range(2):
        picked = [half * 4 + i + (LANES if upper else 0) for upper in range(2) for i in range(4)]
        ordered = builder.shuffle_vector(new[0], new[1], ir.Constant(vector, picked))
        at = builder.add(builder.mul(p, i64(NR)), i64(half * LANES))
        builder.store(ordered, builder.bitcast(builder.gep(c, [at]), vector.as_pointer())).align = 4
    next_p = builder.add(p, i64(1))
    builder.cbranch(builder.icmp_signed("<", next_p, pixels), outer, done)
    p.add_incoming(i64(0), entry)
    p.add_incoming(next_p, after)
    t.add_incoming(i64(0), outer)
    t.add_incoming(following, inner)
    for total, value in zip(totals, new, strict=True):
        total.add_incoming(_constant(LANES, 32, 0), outer)
        total.add_incoming(value, inner)
    builder.position_at_end(done)


NATIVE: Final = has(*AVX2_INT16.needs)

if NATIVE:
    native_scale, native_scale_rows, native_windows = _make_scale(), _make_scale_rows(), _make_windows()

    @inline
    def scale_rows(
        native: bool,
        c: Any,
        e32: Any,
        e64: Any,
        pitch: int,
        channel: int,
        limits: Any,
        out: Any,
        to: int,
        stride: int,
        rows: int,
        count: int,
    ) -> None:
        """plain_scale of `count` <= NR channels for each of `rows` rows; whole rows in vector code when `native`."""
        if native and count == NR and limits[4] != 0:
            native_scale_rows(c, e32, pitch, channel, limits, out, to, stride, rows)
        elif native and count == NR:
            for r in range(rows):
                native_scale(c, r * NR, e32, e64, pitch, channel, limits, out, to + r * stride)
        else:
            for r in range(rows):
                plain_scale(c, r * NR, e32, e64, pitch, channel, limits, out, to + r * stride, count)

    @inline
    def window_rows(
        native: bool,
        a: Any,
        rows: Any,
        first: int,
        pixels: int,
        channel: int,
        offsets: Any,
        taps: int,
        w: Any,
        at: int,
        c: Any,
    ) -> None:
        """plain_windows, in vector code when `native`."""
        if native:
            native_windows(a, rows, first, pixels, channel, offsets, taps, w, at, c)
        else:
            plain_windows(a, rows, first, pixels, channel, offsets, taps, w, at, c)

else:

    @inline
    def scale_rows(
        native: bool,
        c: Any,
        e32: Any,
        e64: Any,
        pitch: int,
        channel: int,
        limits: Any,
        out: Any,
        to: int,
        stride: int,
        rows: int,
        count: int,
    ) -> None:
        """plain_scale of `count` <= NR channels for each of `rows` rows."""
        for r in range(rows):
            plain_scale(c, r * NR, e32, e64, pitch, channel, limits, out, to + r * stride, count)

    @inline
    def window_rows(
        native: bool,
        a: Any,
        rows: Any,
        first: int,
        pixels: int,
        channel: int,
        offsets: Any,
        taps: int,
        w: Any,
        at: int,
        c: Any,
    ) -> None:
        """plain_windows."""
        plain_windows(a, rows, first, pixels, channel, offsets, taps, w, at, c)
