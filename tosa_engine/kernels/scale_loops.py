"""RESCALE by one scale, and ADD, SUB or MUL between scales, as vector loops. The caller has proved every REQUIRE.

Their numbers are those of `scale_numbers`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._jit import JIT, inline, jit, lanes_of, native
from .ewise_loops import offset
from .scale_numbers import (
    DOUBLE,
    HIGH_WORD,
    MULTIPLIER,
    NUMBERS,
    OUT,
    PRODUCT,
    ROUND,
    SHIFT,
    SIGN_FIRST,
    SIGN_SECOND,
    VECTORS,
    WORD,
    ZERO_IN,
)  # fmt: skip
from .work import BLOCK

if TYPE_CHECKING:
    from .variants import Variant

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
        total = first * second if product else p[SIGN_FIRST] * first + p[SIGN_SECOND] * second
        out[i] = plain_finish(plain_scale(total, p, 2 * NUMBERS), p, OUT)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a scale in all lanes of vectors."""

    x86: bool
    multiplier: Any
    shift64: Any
    shift32: Any
    round64: Any
    round32: Any
    zero_in: Any

    @staticmethod
    def read(builder: Any, p: Any, at: int, simd: Variant) -> Numbers:
        lanes = simd.lanes
        multiplier, shift, rounding, zero_in = (builder.load(builder.gep(p, [e.I64(at + i)])) for i in range(4))
        return Numbers(
            simd.x86,
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
        # extended here, not ahead of the loop, the multiplier is known to be a word: one instruction multiplies words
        multiplier = e.opaque_in_loop(builder, self.multiplier) if self.x86 else self.multiplier
        multiplier = builder.ashr(builder.shl(multiplier, word), word)
        return builder.mul(even, multiplier), builder.mul(odd, multiplier)

    def apply(self, builder: Any, value: Any, *, high_word: bool, zero: bool = True) -> Any:
        """apply_scale of a vector of int32; the results are values of int32. `zero`: the zero point isn't always 0."""
        value = builder.sub(value, self.zero_in) if zero else value
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


def finish_vector(builder: Any, value: Any, p: Any, at: int, out: Any, index: Any, bits: int) -> None:
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
            numbers = Numbers.read(builder, p_data, 0, simd.variant)

            def body(i: Any, none: list[Any]) -> list[Any]:
                value = numbers.apply(builder, _load(builder, x_data, i, bits[0], lanes), high_word=high_word)
                finish_vector(builder, value, p_data, NUMBERS, out_data, i, bits[1])
                return none

            e.loop(builder, e.I64(0), args[4], lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return rescale


def _make_binary(op: str, uniform: bool) -> Any:
    """`op` is add, sub or mul of the first and the second value, or rsub, the second minus the first."""

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
            scales = [Numbers.read(builder, p_data, i * NUMBERS, simd.variant) for i in range(3)]

            def second(i: Any) -> Any:
                if uniform:
                    value = builder.load(b_data)
                    found = e.spread(builder, builder.sext(value, e.I32) if bits[1] < WORD else value, lanes)
                else:
                    found = _load(builder, b_data, i, bits[1], lanes)
                return scales[1].apply(builder, found, high_word=False)

            once = second(None) if uniform else None

            def body(i: Any, none: list[Any]) -> list[Any]:
                first = scales[0].apply(builder, _load(builder, a_data, i, bits[0], lanes), high_word=False)
                other = once if uniform else second(i)
                pair = (other, first) if op == "rsub" else (first, other)
                total = getattr(builder, op.removeprefix("r"))(*pair)
                value = scales[2].apply(builder, total, high_word=True, zero=False)
                finish_vector(builder, value, p_data, OUT, out_data, i, bits[2])
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


if JIT:
    add_vector, sub_vector, mul_vector = (_make_binary(op, uniform=False) for op in ("add", "sub", "mul"))
    add_uniform, sub_uniform, mul_uniform = (_make_binary(op, uniform=True) for op in ("add", "sub", "mul"))
    rsub_uniform = _make_binary("rsub", uniform=True)


@inline
def sums(simd: Any, a: Any, b: Any, step: int, p: Any, out: Any, count: int) -> None:
    if step != 0:
        if p[SIGN_SECOND] > 0:
            add_vector(simd, a, b, p, out, count)
        else:
            sub_vector(simd, a, b, p, out, count)
    elif p[SIGN_FIRST] < 0:
        rsub_uniform(simd, a, b, p, out, count)
    elif p[SIGN_SECOND] < 0:
        sub_uniform(simd, a, b, p, out, count)
    else:
        add_uniform(simd, a, b, p, out, count)


@inline
def products(simd: Any, a: Any, b: Any, step: int, p: Any, out: Any, count: int) -> None:
    if step != 0:
        mul_vector(simd, a, b, p, out, count)
    else:
        mul_uniform(simd, a, b, p, out, count)


@jit
def rescaled(simd: Any, a: Any, b: Any, dims: Any, sa: Any, sb: Any, p: Any, out: Any, low: int, high: int) -> int:
    """A binary operator in units of BLOCK elements. Along the last of `dims` the step sa is 1, and sb 1 or 0."""
    last, product = len(dims) - 1, p[PRODUCT] != 0
    at, end = low * BLOCK, min(high * BLOCK, len(out))
    while at < end:
        row = at // dims[last]
        column = at - row * dims[last]
        count = min(dims[last] - column, end - at)
        ia, ib = offset(row, dims, sa) + column, offset(row, dims, sb) + column * sb[last]
        first, second, target = a[ia : ia + count], b[ib:], out[at : at + count]
        done = 0
        if native(simd) and p[VECTORS] != 0:
            done = count // lanes_of(simd) * lanes_of(simd)
            if product:
                products(simd, first, second, sb[last], p, target, done)
            else:
                sums(simd, first, second, sb[last], p, target, done)
        plain_binary(product, first[done:], second[done * sb[last] :], sb[last], p, target[done:])
        at += count
    return -1
