"""The vector code of RESCALE by one scale, and of ADD, SUB and MUL between scales.

Only imported when the JIT is on; `scale_loops` has the loops, and the plain twins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from . import emitting as e
from . import scale
from ._jit import intrinsic, ir, numba_types
from .scale_numbers import FACTORS, NUMBERS, OUT, OUT_ROUND, SHIFT, WORD

if TYPE_CHECKING:
    from .variants import Variant


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


def make_rescale(high_word: bool) -> Any:
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


def make_binary(op: str, uniform: bool) -> Any:
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


def make_split_sum(one: bool) -> Any:
    @intrinsic
    def split_sum(typingctx: Any, simd: Any, a: Any, b: Any, p: Any, out: Any, count: Any) -> Any:
        """The sum in the form of `split_numbers`, `one` or both inputs shifted; `count` is a multiple of the lanes."""
        sig = numba_types.void(simd, a, b, p, out, numba_types.int64)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds, lanes = signature.args, simd.variant.lanes
            bits = [kinds[i].dtype.bitwidth for i in (1, 2, 4)]
            sources = [
                e.pointer(context, builder, kinds[i], args[i], ir.IntType(n))
                for i, n in zip((1, 2), bits, strict=False)
            ]
            out_data = e.pointer(context, builder, kinds[4], args[4], ir.IntType(bits[2]))
            p_data = e.pointer(context, builder, kinds[3], args[3], e.I64)
            numbers = [_number(builder, p_data, FACTORS + i, lanes) for i in range(7)]
            shifts = [_number(builder, p_data, i * NUMBERS + SHIFT, lanes) for i in range(2)]
            bounds = [_number(builder, p_data, OUT + i, lanes) for i in range(3)]
            last = Numbers.read(builder, p_data, 2 * NUMBERS, simd.variant)
            last = replace(last, round32=_number(builder, p_data, OUT_ROUND, lanes))

            def body(i: Any, none: list[Any]) -> list[Any]:
                total = numbers[6]
                for k, (source, width) in enumerate(zip(sources, bits, strict=False)):
                    x, (high, low, term) = _load(builder, source, i, width, lanes), numbers[3 * k : 3 * k + 3]
                    total = builder.add(total, builder.mul(x, high))
                    if k == 1 or not one:
                        rest = builder.ashr(builder.add(builder.mul(x, low), term), shifts[k])
                        total = builder.add(total, rest)
                value = last.apply(builder, total, high_word=True, zero=False)
                scale.emit_clipped_store(builder, value, bounds, builder.gep(out_data, [i]), bits[2])
                return none

            e.loop(builder, e.I64(0), args[5], lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return split_sum
