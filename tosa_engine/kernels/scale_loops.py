"""RESCALE by one scale, and ADD or SUB between scales, as vector loops. The caller has proved every REQUIRE.

Their numbers are those of `scale_numbers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._jit import JIT, inline, jit, lanes_of, native
from .scale_numbers import BLOCK, HIGH_WORD, MULTIPLIER, NUMBERS, ROUND, SHIFT, WORD, ZERO_IN

if JIT:
    from . import emitting as e
    from ._jit import intrinsic, ir, numba_types


@inline
def plain_scale(value: Any, p: Any, at: int) -> Any:
    """apply_scale of value - zero point, by the scale whose numbers start at `at`."""
    difference = np.int64(value) - p[at + ZERO_IN]
    return (difference * p[at + MULTIPLIER] + p[at + ROUND]) >> p[at + SHIFT]


@inline
def plain_rescale(x: Any, p: Any, out: Any, low: int, high: int) -> None:
    source, target = x[low:high], out[low:high]
    for i in range(len(target)):
        target[i] = min(max(plain_scale(source[i], p, 0) + p[NUMBERS], p[NUMBERS + 1]), p[NUMBERS + 2])


@inline
def plain_add(sign: int, a: Any, b: Any, p: Any, out: Any, low: int, high: int) -> None:
    left, right, target = a[low:high], b[low:high], out[low:high]
    at = 3 * NUMBERS
    for i in range(len(target)):
        total = plain_scale(left[i], p, 0) + sign * plain_scale(right[i], p, NUMBERS)
        target[i] = min(max(plain_scale(total, p, 2 * NUMBERS) + p[at], p[at + 1]), p[at + 2])


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


def _finish(builder: Any, value: Any, p: Any, at: int, out: Any, index: Any, bits: int) -> None:
    """Zero point, clip, store."""
    lanes = value.type.count
    zero, low, high = (
        e.spread(builder, builder.trunc(builder.load(builder.gep(p, [e.I64(at + i)])), e.I32), lanes) for i in range(3)
    )
    value = e.clip(builder, builder.add(value, zero), low, high)
    if bits < WORD:
        value = builder.trunc(value, e.vector(ir.IntType(bits), lanes))
    e.store(builder, value, out, index, bits // 8)


def _load(builder: Any, data: Any, index: Any, bits: int, lanes: int) -> Any:
    found = e.load(builder, data, index, e.vector(ir.IntType(bits), lanes), bits // 8)
    return builder.sext(found, e.vector(e.I32, lanes)) if bits < WORD else found


def _make_rescale(high_word: bool) -> Any:
    @intrinsic
    def rescale(typingctx: Any, simd: Any, x: Any, p: Any, out: Any, low: Any, high: Any) -> Any:
        index = numba_types.int64
        sig = numba_types.void(simd, x, p, out, index, index)

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

            e.loop(builder, args[4], args[5], lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return rescale


def _make_add(subtract: bool, high_word: bool) -> Any:
    @intrinsic
    def add(typingctx: Any, simd: Any, a: Any, b: Any, p: Any, out: Any, low: Any, high: Any) -> Any:
        index = numba_types.int64
        sig = numba_types.void(simd, a, b, p, out, index, index)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, lanes = signature.args, simd.variant.lanes
            bits = [kinds[i].dtype.bitwidth for i in (1, 2, 4)]
            a_data, b_data, out_data = (
                e.pointer(context, builder, kinds[i], args[i], ir.IntType(n))
                for i, n in zip((1, 2, 4), bits, strict=True)
            )
            p_data = e.pointer(context, builder, kinds[3], args[3], e.I64)
            scales = [Numbers.read(builder, p_data, i * NUMBERS, lanes) for i in range(3)]

            def body(i: Any, none: list[Any]) -> list[Any]:
                first = scales[0].apply(builder, _load(builder, a_data, i, bits[0], lanes), high_word=False)
                second = scales[1].apply(builder, _load(builder, b_data, i, bits[1], lanes), high_word=False)
                total = (builder.sub if subtract else builder.add)(first, second)
                value = scales[2].apply(builder, total, high_word=high_word)
                _finish(builder, value, p_data, 3 * NUMBERS, out_data, i, bits[2])
                return none

            e.loop(builder, args[5], args[6], lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return add


if JIT:
    rescale_high, rescale_wide = _make_rescale(True), _make_rescale(False)
    add_high, add_wide = _make_add(False, True), _make_add(False, False)
    sub_high, sub_wide = _make_add(True, True), _make_add(True, False)


@jit
def rescale(simd: Any, x: Any, p: Any, out: Any, low: int, high: int) -> int:
    """RESCALE of int8, int16 or int32 in units of BLOCK elements; p: a scale, then output zero point and bounds."""
    low, high = low * BLOCK, min(high * BLOCK, len(out))
    end = low
    if native(simd):
        end += (high - low) // lanes_of(simd) * lanes_of(simd)
        if p[HIGH_WORD] != 0:
            rescale_high(simd, x, p, out, low, end)
        else:
            rescale_wide(simd, x, p, out, low, end)
    plain_rescale(x, p, out, end, high)
    return -1


@jit
def rescaled_add(simd: Any, sign: int, a: Any, b: Any, p: Any, out: Any, low: int, high: int) -> int:
    """ADD (sign 1) or SUB (sign -1) of scaled inputs, scaled again, in units of BLOCK elements.

    p: three scales, then output zero point and bounds.
    """
    low, high = low * BLOCK, min(high * BLOCK, len(out))
    end = low
    if native(simd):
        end += (high - low) // lanes_of(simd) * lanes_of(simd)
        if p[2 * NUMBERS + HIGH_WORD] != 0:
            if sign > 0:
                add_high(simd, a, b, p, out, low, end)
            else:
                sub_high(simd, a, b, p, out, low, end)
        elif sign > 0:
            add_wide(simd, a, b, p, out, low, end)
        else:
            sub_wide(simd, a, b, p, out, low, end)
    plain_add(sign, a, b, p, out, end, high)
    return -1
