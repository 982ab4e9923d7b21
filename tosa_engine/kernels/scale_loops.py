"""RESCALE by one scale, and ADD, SUB or MUL between scales, as vector loops. The caller has proved every REQUIRE.

Their numbers are those of `scale_numbers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._jit import JIT, inline, jit, lanes_of, native
from .ewise_loops import offset
from .scale_numbers import (
    DOUBLE,
    HIGH_WORD,
    MULTIPLIER,
    NUMBERS,
    OUT,
    PLAIN,
    ROUND,
    SHIFT,
    SIGN_SECOND,
    SIGN_TOTAL,
    WORD,
    ZERO_IN,
)  # fmt: skip
from .work import BLOCK

if JIT:
    from . import emitting as e
    from ._jit import intrinsic, ir, numba_types


@inline
def plain_scale(value: Any, p: Any, at: int) -> Any:
    """apply_scale of value - zero point, by the scale whose numbers start at `at`."""
    difference = np.int64(value) - p[at + ZERO_IN]
    rounding = p[at + ROUND] + (p[at + DOUBLE] if difference >= 0 else -p[at + DOUBLE])
    return (difference * p[at + MULTIPLIER] + rounding) >> p[at + SHIFT]


@inline
def plain_finish(value: Any, p: Any, at: int) -> Any:
    """Zero point and clip."""
    return min(max(value + p[at], p[at + 1]), p[at + 2])


@inline
def plain_rescale(x: Any, p: Any, out: Any) -> None:
    for i in range(len(out)):
        out[i] = plain_finish(plain_scale(x[i], p, 0), p, NUMBERS)


@inline
def plain_binary(product: bool, a: Any, b: Any, step: int, p: Any, out: Any) -> None:
    """out = scaled(scaled(a) op scaled(b)); b is one value where `step` is 0."""
    for i in range(len(out)):
        first, second = plain_scale(a[i], p, 0), plain_scale(b[i * step], p, NUMBERS)
        total = first * second if product else p[SIGN_TOTAL] * (first + p[SIGN_SECOND] * second)
        out[i] = plain_finish(plain_scale(total, p, 2 * NUMBERS), p, OUT)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a scale in all lanes of vectors."""

    multiplier: Any
    shift64: Any
    shift32: Any
    round64: Any
    round32: Any
    zero_in: Any

    @staticmethod
    def read(builder: Any, p: Any, at: int, lanes: int) -> Numbers:
        multiplier, shift, rounding, zero_in = (builder.load(builder.gep(p, [e.I64(at + i)])) for i in range(4))
        return Numbers(
            e.spread(builder, multiplier, lanes // 2),
            e.spread(builder, shift, lanes // 2),
            e.spread(builder, builder.trunc(builder.sub(shift, e.I64(WORD)), e.I32), lanes),
            e.spread(builder, rounding, lanes // 2),
            e.spread(builder, builder.trunc(builder.ashr(rounding, e.I64(WORD)), e.I32), lanes),
            e.spread(builder, builder.trunc(zero_in, e.I32), lanes),
        )

    def products(self, builder: Any, value: Any) -> tuple[Any, Any]:
        """64-bit products of the even and of the odd lanes."""
        lanes = value.type.count // 2
        word = e.constant(lanes, e.I64, WORD)
        wide = builder.bitcast(value, e.vector(e.I64, lanes))
        even, odd = builder.ashr(builder.shl(wide, word), word), builder.ashr(wide, word)
        # a multiplier is an int32 that isn't negative: its sign is extended, so that one instruction multiplies words
        multiplier = builder.ashr(builder.shl(self.multiplier, word), word)
        return builder.mul(even, multiplier), builder.mul(odd, multiplier)

    def apply(self, builder: Any, value: Any, *, high_word: bool) -> Any:
        """apply_scale of a vector of int32; the results are values of int32."""
        value = builder.sub(value, self.zero_in)
        even, odd = self.products(builder, value)
        lanes = value.type.count
        narrow = value.type
        if high_word:
            picked = e.indices([2 * (i // 2) + 1 + (lanes if i % 2 else 0) for i in range(lanes)])
            high = builder.shuffle_vector(builder.bitcast(even, narrow), builder.bitcast(odd, narrow), picked)
            return builder.ashr(builder.add(high, self.round32), self.shift32)
        even, odd = (builder.ashr(builder.add(x, self.round64), self.shift64) for x in (even, odd))
        picked = e.indices([2 * (i // 2) + (lanes if i % 2 else 0) for i in range(lanes)])
        return builder.shuffle_vector(builder.bitcast(even, narrow), builder.bitcast(odd, narrow), picked)


def _number(builder: Any, p: Any, at: int, lanes: int) -> Any:
    return e.spread(builder, builder.trunc(builder.load(builder.gep(p, [e.I64(at)])), e.I32), lanes)


def _finish(builder: Any, value: Any, p: Any, at: int, out: Any, index: Any, bits: int) -> None:
    """Zero point, clip, store."""
    lanes = value.type.count
    zero, low, high = (_number(builder, p, at + i, lanes) for i in range(3))
    value = e.clip(builder, builder.add(value, zero), low, high)
    if bits < WORD:
        value = builder.trunc(value, e.vector(ir.IntType(bits), lanes))
    e.store(builder, value, out, index, bits // 8)


def _load(builder: Any, data: Any, index: Any, bits: int, lanes: int) -> Any:
    found = e.load(builder, data, index, e.vector(ir.IntType(bits), lanes), bits // 8)
    return builder.sext(found, e.vector(e.I32, lanes)) if bits < WORD else found


def _make_rescale(high_word: bool) -> Any:
    @intrinsic
    def rescale(typingctx: Any, simd: Any, x: Any, p: Any, out: Any, count: Any) -> Any:
        """`count` values, a multiple of the lanes."""
        sig = numba_types.void(simd, x, p, out, numba_types.int64)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, lanes = signature.args, simd.variant.lanes
            bits = [kinds[i].dtype.bitwidth for i in (1, 3)]
            x_data, out_data = (
                e.pointer(context, builder, kinds[i], args[i], ir.IntType(b)) for i, b in zip((1, 3), bits, strict=True)
            )
            p_data = e.pointer(context, builder, kinds[2], args[2], e.I64)
            numbers = Numbers.read(builder, p_data, 0, lanes)

            def body(i: Any, none: list[Any]) -> list[Any]:
                value = numbers.apply(builder, _load(builder, x_data, i, bits[0], lanes), high_word=high_word)
                _finish(builder, value, p_data, NUMBERS, out_data, i, bits[1])
                return none

            e.loop(builder, e.I64(0), args[4], lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return rescale


def _make_binary(product: bool, uniform: bool, high_word: bool) -> Any:
    @intrinsic
    def binary(typingctx: Any, simd: Any, a: Any, b: Any, p: Any, out: Any, count: Any) -> Any:
        """`count` values, a multiple of the lanes; b is one value where it is `uniform`."""
        sig = numba_types.void(simd, a, b, p, out, numba_types.int64)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, lanes = signature.args, simd.variant.lanes
            bits = [kinds[i].dtype.bitwidth for i in (1, 2, 4)]
            a_data, b_data, out_data = (
                e.pointer(context, builder, kinds[i], args[i], ir.IntType(n))
                for i, n in zip((1, 2, 4), bits, strict=True)
            )
            p_data = e.pointer(context, builder, kinds[3], args[3], e.I64)
            scales = [Numbers.read(builder, p_data, i * NUMBERS, lanes) for i in range(3)]
            signs = [_number(builder, p_data, i, lanes) for i in (SIGN_SECOND, SIGN_TOTAL)]

            def second(i: Any) -> Any:
                if uniform:
                    value = builder.sext(builder.load(b_data), e.I32) if bits[1] < WORD else builder.load(b_data)
                    found = e.spread(builder, value, lanes)
                else:
                    found = _load(builder, b_data, i, bits[1], lanes)
                found = scales[1].apply(builder, found, high_word=False)
                return found if product else builder.mul(found, signs[0])

            once = second(None) if uniform else None

            def body(i: Any, none: list[Any]) -> list[Any]:
                first = scales[0].apply(builder, _load(builder, a_data, i, bits[0], lanes), high_word=False)
                other = once if uniform else second(i)
                total = builder.mul(first, other) if product else builder.mul(builder.add(first, other), signs[1])
                value = scales[2].apply(builder, total, high_word=high_word)
                _finish(builder, value, p_data, OUT, out_data, i, bits[2])
                return none

            e.loop(builder, e.I64(0), args[5], lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return binary


if JIT:
    rescale_high, rescale_wide = _make_rescale(True), _make_rescale(False)


@jit
def rescale(simd: Any, x: Any, p: Any, out: Any, low: int, high: int) -> int:
    """RESCALE of int8, int16 or int32 in units of BLOCK elements; p: a scale, then output zero point and bounds."""
    low, high = low * BLOCK, min(high * BLOCK, len(out))
    source, target = x[low:high], out[low:high]
    done = 0
    if native(simd) and p[DOUBLE] == 0:
        done = len(target) // lanes_of(simd) * lanes_of(simd)
        if p[HIGH_WORD] != 0:
            rescale_high(simd, source, p, target, done)
        else:
            rescale_wide(simd, source, p, target, done)
    plain_rescale(source[done:], p, target[done:])
    return -1


def _binary(product: bool) -> Any:
    if JIT:
        high, wide, high_uniform, wide_uniform = (
            _make_binary(product, uniform, high_word) for uniform in (False, True) for high_word in (True, False)
        )

    @inline
    def run(simd: Any, a: Any, b: Any, step: int, p: Any, out: Any) -> None:
        done = 0
        if native(simd) and p[PLAIN] == 0:
            done = len(out) // lanes_of(simd) * lanes_of(simd)
            if step != 0:
                if p[2 * NUMBERS + HIGH_WORD] != 0:
                    high(simd, a, b, p, out, done)
                else:
                    wide(simd, a, b, p, out, done)
            elif p[2 * NUMBERS + HIGH_WORD] != 0:
                high_uniform(simd, a, b, p, out, done)
            else:
                wide_uniform(simd, a, b, p, out, done)
        plain_binary(product, a[done:], b[done * step :], step, p, out[done:])

    @jit
    def binary(simd: Any, a: Any, b: Any, dims: Any, sa: Any, sb: Any, p: Any, out: Any, low: int, high: int) -> int:
        """In units of BLOCK elements. Along the last of `dims` the step sa is 1, and sb 1 or 0 (see `collapse`)."""
        last = len(dims) - 1
        at, end = low * BLOCK, min(high * BLOCK, len(out))
        while at < end:
            row = at // dims[last]
            column = at - row * dims[last]
            count = min(dims[last] - column, end - at)
            ia, ib = offset(row, dims, sa) + column, offset(row, dims, sb) + column * sb[last]
            run(simd, a[ia : ia + count], b[ib:], sb[last], p, out[at : at + count])
            at += count
        return -1

    return binary


rescaled_sum, rescaled_product = _binary(False), _binary(True)
