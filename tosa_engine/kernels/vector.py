"""Two pieces of vector code that numba's loops don't reach by themselves: scaling 16 accumulators, and 16 channels of a
depthwise window. Written in LLVM's portable vector types, so that one text serves every processor; below each is its
plain form with the same bytes, which also runs when the JIT is off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ._jit import JIT, jit
from .tile import NR, pointer

if JIT:
    from ._jit import intrinsic, ir, numba_types

if TYPE_CHECKING:
    from collections.abc import Sequence

# rows of the parameter arrays: one column per channel, padded to a multiple of NR
BIAS: Final = 0
MULTIPLIER: Final = 1
RIGHT: Final = 2
LEFT: Final = 3
ROUND: Final = 0
DOUBLE: Final = 1


@jit
def plain_scale(c: Any, at: int, e32: Any, e64: Any, pitch: int, channel: int, limits: Any, out: Any, to: int, count: int) -> None:
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


@jit
def plain_window(a: Any, start: int, offsets: Any, taps: int, w: Any, at: int, pitch: int, c: Any) -> None:
    """c[j] = sum over taps t of a[start + offsets[t] + j] * w[at + t * pitch + j], for NR neighbours j."""
    for j in range(NR):
        c[j] = 0
    for t in range(taps):
        for j in range(NR):
            c[j] += np.int32(a[start + offsets[t] + j]) * np.int32(w[at + t * pitch + j])


def _make_window() -> Any:
    @intrinsic
    def window(typingctx: Any, a: Any, start: Any, offsets: Any, taps: Any, w: Any, at: Any, pitch: Any, c: Any) -> Any:
        index = numba_types.int64
        sig = numba_types.void(a, index, offsets, index, w, index, index, c)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, i16, i32, i64 = signature.args, ir.IntType(16), ir.IntType(32), ir.IntType(64)
            a_data = builder.gep(pointer(context, builder, kinds[0], args[0], i16), [args[1]])
            offset_data = pointer(context, builder, kinds[2], args[2], i64)
            w_data = builder.gep(pointer(context, builder, kinds[4], args[4], i16), [args[5]])
            c_data = pointer(context, builder, kinds[7], args[7], i32)
            wide = ir.VectorType(i32, NR)
            entry, loop, done = builder.block, builder.append_basic_block("tap"), builder.append_basic_block("done")
            builder.branch(loop)
            builder.position_at_end(loop)
            tap, total = builder.phi(i64), builder.phi(wide)
            left = _row(builder, a_data, builder.load(builder.gep(offset_data, [tap])), NR, 16)
            right = _row(builder, w_data, builder.mul(tap, args[6]), NR, 16)
            new = builder.add(total, builder.mul(builder.sext(left, wide), builder.sext(right, wide)))
            following = builder.add(tap, i64(1))
            builder.cbranch(builder.icmp_signed("<", following, args[3]), loop, done)
            for phi, first, again in ((tap, i64(0), following), (total, _constant(NR, 32, 0), new)):
                phi.add_incoming(first, entry)
                phi.add_incoming(again, loop)
            builder.position_at_end(done)
            builder.store(new, builder.bitcast(c_data, wide.as_pointer())).align = 4
            return context.get_dummy_value()

        return sig, codegen

    return window


if JIT:
    native_scale, native_window = _make_scale(), _make_window()

    @jit
    def scale_row(native: bool, c: Any, at: int, e32: Any, e64: Any, pitch: int, channel: int, limits: Any, out: Any, to: int, count: int) -> None:
        """plain_scale for `count` <= NR channels; whole rows in vector code when `native`."""
        if native and count == NR:
            native_scale(c, at, e32, e64, pitch, channel, limits, out, to)
        else:
            plain_scale(c, at, e32, e64, pitch, channel, limits, out, to, count)

    @jit
    def window_row(native: bool, a: Any, start: int, offsets: Any, taps: int, w: Any, at: int, pitch: int, c: Any) -> None:
        """plain_window, in vector code when `native`."""
        if native:
            native_window(a, start, offsets, taps, w, at, pitch, c)
        else:
            plain_window(a, start, offsets, taps, w, at, pitch, c)

else:

    def scale_row(native: bool, c: Any, at: int, e32: Any, e64: Any, pitch: int, channel: int, limits: Any, out: Any, to: int, count: int) -> None:
        plain_scale(c, at, e32, e64, pitch, channel, limits, out, to, count)

    def window_row(native: bool, a: Any, start: int, offsets: Any, taps: int, w: Any, at: int, pitch: int, c: Any) -> None:
        plain_window(a, start, offsets, taps, w, at, pitch, c)
