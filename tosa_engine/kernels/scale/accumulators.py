"""Accumulators to stored values: bias, scale, zero point, clip, in vector code with a plain twin of the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .._jit import JIT, inline, native
from .places import BIAS, DOUBLE, HALF, HIGH, HIGH_WORDS, LEFT, LOW, MULTIPLIER, NR, RIGHT, ROUND, SPARE, ZERO_POINT

if JIT:
    from .._jit import intrinsic, ir, numba_types
    from .._jit import llvm as e

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...types import Array
    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Type, Typing, Value
    from .._jit.variants import Variant


I8_BITS: Final = 8
PART_BITS: Final = 128


def plain_scale_rows(
    simd: Variant, c: Array, e32: Array, e64: Array, pitch: int, channel: int, limits: Array, out: Array, to: int,
    stride: int, rows: int, count: int,
) -> None:  # fmt: skip
    """out[to + r * stride + j] = clip(scale(c[r * NR + j] + bias) + zp) for r < rows, j < count <= NR.

    The scale is numerics.scale.scale_in_words with the parameters of channel + j; `limits` holds the zero point and the
    bounds of the clip. The caller has proved the REQUIREs.
    """
    zp, low, high = limits[ZERO_POINT], limits[LOW], limits[HIGH]
    for r in range(rows):
        for j in range(count):
            i = channel + j
            value = np.int64(np.int32(np.int64(c[r * NR + j]) + np.int64(e32[BIAS * pitch + i])))
            rounding = e64[ROUND * pitch + i]
            double = e64[DOUBLE * pitch + i]
            rounding += double if value >= 0 else -double
            total = (value * np.int64(e32[MULTIPLIER * pitch + i]) + rounding) << np.int64(e32[LEFT * pitch + i])
            scaled = ((total >> 32) >> np.int64(e32[RIGHT * pitch + i])) + zp
            scaled = max(scaled, low)
            scaled = min(scaled, high)
            out[to + r * stride + j] = scaled


def emit_in_words(
    builder: Builder, value: Value, rows: Sequence[Value], bounds: Sequence[Value], *, biased: bool = False
) -> Value:
    """numerics.scale.scale_in_words on a vector of accumulators, the even and the odd lanes in 64 bits each; then zero
    point and clip. `biased`: the value has its bias already.
    """
    bias, multiplier, right, left, rounding, double = rows
    value = value if biased else builder.add(value, bias)
    lanes = value.type.count
    wide, word = e.vector(e.I64, lanes // 2), e.constant(lanes // 2, e.I64, 32)
    negative = builder.ashr(value, e.constant(lanes, e.I32, 31))
    rounding, less = builder.add(rounding, double), builder.mul(double, e.constant(lanes, e.I64, -2))
    totals = []
    for odd in (0, 1):
        every, twice = e.indices(range(odd, lanes, 2)), e.indices([i // 2 * 2 + odd for i in range(lanes)])

        def of(row: Value, every: Value = every) -> Value:
            return builder.shuffle_vector(row, row, every)

        value64, multiplier64 = builder.bitcast(value, wide), builder.bitcast(multiplier, wide)
        if not odd:
            value64, multiplier64 = builder.shl(value64, word), builder.shl(multiplier64, word)
        product = builder.mul(builder.ashr(value64, word), builder.ashr(multiplier64, word))
        sign = builder.bitcast(builder.shuffle_vector(negative, negative, twice), wide)
        total = builder.add(builder.add(product, of(rounding)), builder.and_(sign, of(less)))
        totals.append(builder.bitcast(builder.shl(total, builder.zext(of(left), wide)), value.type))
    high = e.indices([i // 2 * 2 + 1 + (lanes if i % 2 else 0) for i in range(lanes)])
    scaled = builder.add(builder.ashr(builder.shuffle_vector(totals[0], totals[1], high), right), bounds[ZERO_POINT])
    return e.clip(builder, scaled, bounds[LOW], bounds[HIGH])


def emit_in_high_words(
    builder: Builder, value: Value, rows: Sequence[Value], bounds: Sequence[Value], *, biased: bool = False,
    double: bool = False,
) -> Value:  # fmt: skip
    """numerics.scale.scale_in_high_words, then the clip.

    HALF holds the zero point, too, shifted to the left. `biased`: the value has its bias already. `double`: products
    are rounded first, which is done to those of four times the value (`emit_high_words`).
    """
    bias, multiplier, right, half = rows
    value = value if biased else builder.add(value, bias)
    if double:
        spare = e.constant(value.type.count, e.I32, SPARE)
        value, right = builder.shl(value, spare), builder.add(right, spare)
    found = emit_high_words(builder, value, (multiplier, right, half), less=2 * double)
    return e.clip(builder, found, bounds[LOW], bounds[HIGH])


def emit_high_words(builder: Builder, value: Value, rows: Sequence[Value], *, less: int = 0) -> Value:
    """One widening multiply for the even lanes, one for the odd lanes; `rows` are multiplier, right shift and HALF."""
    multiplier, right, half = rows
    lanes = value.type.count
    narrow, wide = e.vector(e.I32, lanes), e.vector(e.I64, lanes // 2)
    word = e.constant(lanes // 2, e.I64, 32)
    value64, multiplier64 = builder.bitcast(value, wide), builder.bitcast(multiplier, wide)

    def low(x: Value) -> Value:
        return builder.ashr(builder.shl(x, word), word)

    even = builder.mul(low(value64), low(multiplier64))
    odd = builder.mul(builder.ashr(value64, word), builder.ashr(multiplier64, word))
    high = e.indices([2 * (i // 2) + 1 + (lanes if i % 2 else 0) for i in range(lanes)])
    product = builder.shuffle_vector(builder.bitcast(even, narrow), builder.bitcast(odd, narrow), high)
    return emit_rounded(builder, product, right, half, less)


def emit_rounded(builder: Builder, high: Value, right: Value, half: Value, less: int) -> Value:
    """High words of products, rounded and shifted. HALF is for products that aren't negative, and `less` for others.

    DOUBLE_ROUND adds 2^30 with the product's sign first. 2^n times the value has 2^n times the product, and so 2^(n-2)
    more or less in the high word. (A product of 0 is one of a multiplier of 0, perhaps, and a negative value: the
    result is 0 with either term.)
    """
    if less:
        lanes = high.type.count
        negative = builder.icmp_signed("<", high, e.constant(lanes, e.I32, 0))
        half = builder.select(negative, builder.sub(half, e.constant(lanes, e.I32, less)), half)
    return builder.ashr(builder.add(high, half), right)


def saturated(lanes: int) -> list[Value]:
    """Bounds of int8 as constants, of which the compiler makes a saturating conversion."""
    return [e.constant(lanes, e.I32, value) for value in (0, -128, 127)]


def parameters(
    builder: Builder, e32: Value, e64: Value | None, pitch: Value, channel: Value, lanes: int, *, words: bool
) -> list[Value]:
    """What emit_in_words or emit_in_high_words needs of `lanes` channels, from `channel` on."""

    if words:
        assert e64 is not None
        narrow = rows_of_channels(builder, e32, pitch, channel, lanes, (BIAS, MULTIPLIER, RIGHT, LEFT))
        return narrow + rows_of_channels(builder, e64, pitch, channel, lanes, (ROUND, DOUBLE), e.I64)
    return rows_of_channels(builder, e32, pitch, channel, lanes, (BIAS, MULTIPLIER, RIGHT, HALF))


def rows_of_channels(
    builder: Builder, data: Value, pitch: Value, channel: Value, lanes: int, numbers: Sequence[int],
    element: Type | None = None,
) -> list[Value]:  # fmt: skip
    """Rows of a parameter array, for `lanes` channels from `channel` on."""
    element = e.I32 if element is None else element
    starts = [builder.add(builder.mul(pitch, e.I64(number)), channel) for number in numbers]
    return [e.load(builder, data, at, e.vector(element, lanes), element.width // 8) for at in starts]


def emit_narrow(builder: Builder, simd: Variant, first: Value, second: Value) -> Value:
    """Both vectors in half the bits, saturated, in turns of their 128-bit parts."""
    lanes, bits = first.type.count, first.type.element.width
    half = e.vector(ir.IntType(bits // 2), 2 * lanes)
    if simd.x86:
        name = {32: "packssdw", 16: "packsswb"}[bits]
        unit = {128: f"sse2.{name}.128", 256: f"avx2.{name}", 512: f"avx512.{name}.512"}[lanes * bits]
        function = e.declare(builder, ir.FunctionType(half, [first.type] * 2), f"llvm.x86.{unit}")
        return builder.call(function, [first, second])
    assert lanes * bits == PART_BITS
    both = builder.shuffle_vector(first, second, e.indices(range(2 * lanes)))
    low, high = (
        e.constant(2 * lanes, first.type.element, v) for v in (-1 << (bits // 2 - 1), (1 << (bits // 2 - 1)) - 1)
    )
    return builder.trunc(e.clip(builder, both, low, high), half)


def emit_clipped_store(builder: Builder, value: Value, bounds: Sequence[Value], target: Value, bits: int) -> None:
    """A vector of int32, clipped, as integers of `bits` bits. Bytes are clipped as bytes, once they are saturated."""
    if bits != I8_BITS:
        emit_store(builder, e.clip(builder, value, bounds[LOW], bounds[HIGH]), target, e.I64(0), bits, None)
        return
    _, least, most = saturated(value.type.count)
    narrow = e.vector(e.I8, value.type.count)
    low, high = (builder.trunc(bounds[i], narrow) for i in (LOW, HIGH))
    found = e.clip(builder, builder.trunc(e.clip(builder, value, least, most), narrow), low, high)
    e.store(builder, found, target, e.I64(0), 1)


def bounds_of(builder: Builder, limits: Value, lanes: int) -> list[Value]:
    """Zero point and bounds of the clip as vectors."""
    values = [builder.load(builder.gep(limits, [e.I64(i)])) for i in (ZERO_POINT, LOW, HIGH)]
    return [e.spread(builder, builder.trunc(v, e.I32), lanes) for v in values]


def emit_store(builder: Builder, value: Value, out: Value, to: Value, bits: int, mask: Value | None) -> None:
    """The lanes of `value` as integers of `bits` bits; those that `mask` has, where there is one."""
    if bits < 32:
        value = builder.trunc(value, e.vector(ir.IntType(bits), value.type.count))
    if mask is None:
        e.store(builder, value, out, to, bits // 8)
        return
    target = builder.bitcast(builder.gep(out, [to]), value.type.as_pointer())
    name = f"llvm.masked.store.v{value.type.count}i{bits}.p0"
    kind = ir.FunctionType(ir.VoidType(), [value.type, target.type, e.I32, mask.type])
    builder.call(e.declare(builder, kind, name), [value, target, e.I32(bits // 8), mask])


def emit_first_bytes(builder: Builder, value: Value, target: Value, count: Value) -> None:
    """The first `count` lanes of a vector as bytes, without a mask; all of them where there are fewer."""
    lanes = value.type.count
    word = ir.IntType(I8_BITS * lanes)
    rest = builder.bitcast(builder.trunc(value, e.vector(e.I8, lanes)), word)

    def put(part: Value) -> None:
        builder.store(part, builder.bitcast(target, part.type.as_pointer())).align = 1

    with builder.if_else(builder.icmp_signed(">=", count, e.I64(lanes))) as (then, otherwise):
        with then:
            put(rest)
        with otherwise:
            count = builder.select(builder.icmp_signed("<", count, e.I64(0)), e.I64(0), count)
            size = lanes // 2
            while size:
                chosen = builder.icmp_unsigned("!=", builder.and_(count, e.I64(size)), e.I64(0))
                with builder.if_then(chosen):
                    put(builder.trunc(rest, ir.IntType(I8_BITS * size)))
                rest = builder.select(chosen, builder.lshr(rest, word(I8_BITS * size)), rest)
                target = builder.select(chosen, builder.gep(target, [e.I64(size)]), target)
                size //= 2


def counted_rows(builder: Builder, rows: Value, body: Callable[[Value], None]) -> None:
    """body(r) for r < rows; rows is at least 1."""
    entry, loop, done = builder.block, builder.append_basic_block("row"), builder.append_basic_block("rows_done")
    builder.branch(loop)
    builder.position_at_end(loop)
    r = builder.phi(e.I64)
    body(r)
    following = builder.add(r, e.I64(1))
    builder.cbranch(builder.icmp_signed("<", following, rows), loop, done)
    r.add_incoming(e.I64(0), entry)
    r.add_incoming(following, loop)
    builder.position_at_end(done)


def _make(words: bool) -> Compiled:
    @intrinsic
    def whole_rows(
        typingctx: Context, simd: Kind, c: Kind, e32: Kind, e64: Kind, pitch: Kind, channel: Kind, limits: Kind,
        out: Kind, to: Kind, stride: Kind, rows: Kind,
    ) -> Typing:  # fmt: skip
        index = numba_types.int64
        sig = numba_types.void(simd, c, e32, e64, index, index, limits, out, index, index, index)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds, lanes = signature.args, signature.args[0].variant.lanes
            bits = kinds[7].dtype.bitwidth
            c_data = e.pointer(context, builder, kinds[1], args[1], e.I32)
            narrow = e.pointer(context, builder, kinds[2], args[2], e.I32)
            wide = e.pointer(context, builder, kinds[3], args[3], e.I64)
            bounds = bounds_of(builder, e.pointer(context, builder, kinds[6], args[6], e.I64), lanes)
            out_data = e.pointer(context, builder, kinds[7], args[7], ir.IntType(bits))
            for part in range(0, NR, lanes):
                first = builder.add(args[5], e.I64(part))
                found = parameters(builder, narrow, wide, args[4], first, lanes, words=words)

                def row(r: Value, part: int = part, found: list[Value] = found) -> None:
                    at = builder.add(builder.mul(r, e.I64(NR)), e.I64(part))
                    value = e.load(builder, c_data, at, e.vector(e.I32, lanes), 4)
                    result = (emit_in_words if words else emit_in_high_words)(builder, value, found, bounds)
                    to = builder.add(builder.add(args[8], e.I64(part)), builder.mul(r, args[9]))
                    emit_store(builder, result, out_data, to, bits, None)

                counted_rows(builder, args[10], row)
            return context.get_dummy_value()

        return sig, codegen

    return whole_rows


if JIT:
    plain = inline(plain_scale_rows)
    rows_in_words, rows_in_high_words = _make(True), _make(False)

    @inline
    def scale_rows(
        simd: Variant, c: Array, e32: Array, e64: Array, pitch: int, channel: int, limits: Array, out: Array, to: int,
        stride: int, rows: int, count: int,
    ) -> None:  # fmt: skip
        """plain_scale_rows; whole rows in vector code where the unit has any."""
        if not native(simd) or count < NR:
            plain(simd, c, e32, e64, pitch, channel, limits, out, to, stride, rows, count)
        elif limits[HIGH_WORDS] != 0:
            rows_in_high_words(simd, c, e32, e64, pitch, channel, limits, out, to, stride, rows)
        else:
            rows_in_words(simd, c, e32, e64, pitch, channel, limits, out, to, stride, rows)

else:
    scale_rows = plain_scale_rows
