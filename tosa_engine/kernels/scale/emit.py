"""The vector code of RESCALE by one scale, and of ADD, SUB and MUL between scales.

A product of 64 bits becomes a number of 32 in one of three ways. `WIDE`: rounded and shifted in 64 bits. `HIGH`: the
high word decides, for shifts of more than 32. `ANY` also has what DOUBLE_ROUND adds, which depends on the sign: rounded
in 64 bits, shifted to the left for shifts below 32, and the high word is shifted to the right for those above.

Only imported when the JIT is on; `loops` has the loops, and the plain twins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from .._jit import intrinsic, ir, numba_types
from .._jit import llvm as e
from . import accumulators as scale
from .numbers import (
    ADDED,
    ALL_FACTORS,
    DOUBLE,
    EXACT,
    FACTORS,
    NEGATIVE,
    NUMBERS,
    ONE,
    OUT,
    OUT_ROUND,
    SHIFT,
    SIGN_FIRST,
    SIGN_SECOND,
    WORD,
    ZERO_IN,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value
    from .._jit.variants import Variant

WIDE: Final = "wide"
HIGH: Final = "high"
ANY: Final = "any"


@dataclass(frozen=True)
class Numbers:
    """The numbers of a scale in all lanes of vectors."""

    x86: bool
    multiplier: Value
    shift64: Value
    shift32: Value
    round64: Value
    round32: Value
    zero_in: Value
    how: str
    left64: Value  # of ANY: beside `shift32`, one of both is 0
    negative64: Value  # of ANY: the rounding term of a negative product; `round64` is that of the others

    @staticmethod
    def read(builder: Builder, p: Value, at: int, simd: Variant, how: str) -> Numbers:
        lanes, zero = simd.lanes, e.I64(0)
        multiplier, shift, rounding, zero_in = (builder.load(builder.gep(p, [e.I64(at + i)])) for i in range(4))
        double = builder.load(builder.gep(p, [e.I64(at + DOUBLE)])) if how == ANY else zero
        beyond = builder.sub(shift, e.I64(WORD))
        right = builder.select(builder.icmp_signed("<", beyond, zero), zero, beyond) if how == ANY else beyond
        return Numbers(
            simd.x86,
            e.spread(builder, multiplier, lanes // 2),
            e.spread(builder, shift, lanes // 2),
            e.spread(builder, builder.trunc(right, e.I32), lanes),
            e.spread(builder, builder.add(rounding, double), lanes // 2),
            e.spread(builder, builder.trunc(builder.ashr(rounding, e.I64(WORD)), e.I32), lanes),
            e.spread(builder, builder.trunc(zero_in, e.I32), lanes),
            how,
            e.spread(builder, builder.sub(right, beyond), lanes // 2),
            e.spread(builder, builder.sub(rounding, double), lanes // 2),
        )

    def products(self, builder: Builder, value: Value) -> tuple[Value, Value]:
        """64-bit products of the even and of the odd lanes."""
        lanes = value.type.count // 2
        word = e.constant(lanes, e.I64, WORD)
        wide = builder.bitcast(value, e.vector(e.I64, lanes))
        even, odd = builder.ashr(builder.shl(wide, word), word), builder.ashr(wide, word)
        # extended here, not ahead of the loop, the multiplier is known to be a word: one instruction multiplies words
        multiplier = e.opaque_in_loop(builder, self.multiplier) if self.x86 else self.multiplier
        multiplier = builder.ashr(builder.shl(multiplier, word), word)
        return builder.mul(even, multiplier), builder.mul(odd, multiplier)

    def apply(self, builder: Builder, value: Value, *, zero: bool = True) -> Value:
        """apply_scale of a vector of int32; the results are values of int32. `zero`: the zero point isn't always 0."""
        value = builder.sub(value, self.zero_in) if zero else value
        even, odd = self.products(builder, value)
        if self.how == HIGH:
            high = self.words(builder, even, odd, 1)
            return builder.ashr(builder.add(high, self.round32), self.shift32)
        if self.how == WIDE:
            even, odd = (builder.ashr(builder.add(x, self.round64), self.shift64) for x in (even, odd))
            return self.words(builder, even, odd, 0)
        even, odd = (builder.shl(builder.add(x, self.rounding(builder, x)), self.left64) for x in (even, odd))
        return builder.ashr(self.words(builder, even, odd, 1), self.shift32)

    def rounding(self, builder: Builder, product: Value) -> Value:
        """A product of 0 is of a multiplier of 0, perhaps, and a negative value: the result is 0 with either term."""
        none = e.constant(product.type.count, e.I64, 0)
        return builder.select(builder.icmp_signed("<", product, none), self.negative64, self.round64)

    @staticmethod
    def words(builder: Builder, even: Value, odd: Value, which: int) -> Value:
        """The low (0) or high (1) words of even and odd lanes, in their order."""
        lanes = 2 * even.type.count
        narrow = e.vector(e.I32, lanes)
        picked = e.indices([2 * (i // 2) + which + (lanes if i % 2 else 0) for i in range(lanes)])
        return builder.shuffle_vector(builder.bitcast(even, narrow), builder.bitcast(odd, narrow), picked)


def _number(builder: Builder, p: Value, at: int, lanes: int) -> Value:
    return e.spread(builder, builder.trunc(builder.load(builder.gep(p, [e.I64(at)])), e.I32), lanes)


def finish_vector(builder: Builder, value: Value, p: Value, at: int, out: Value, index: Value, bits: int) -> None:
    """Zero point, clip, store."""
    lanes = value.type.count
    zero, low, high = (_number(builder, p, at + i, lanes) for i in range(3))
    value = e.clip(builder, builder.add(value, zero), low, high)
    if bits < WORD:
        value = builder.trunc(value, e.vector(ir.IntType(bits), lanes))
    e.store(builder, value, out, index, bits // 8)


def _load(builder: Builder, data: Value, index: Value, bits: int, lanes: int) -> Value:
    found = e.load(builder, data, index, e.vector(ir.IntType(bits), lanes), bits // 8)
    return builder.sext(found, e.vector(e.I32, lanes)) if bits < WORD else found


def make_rescale(how: str) -> Compiled:
    @intrinsic
    def rescale(typingctx: Context, simd: Kind, x: Kind, p: Kind, out: Kind, count: Kind) -> Typing:
        """`count` values, a multiple of the lanes."""
        sig = numba_types.void(simd, x, p, out, numba_types.int64)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds, lanes = signature.args, simd.variant.lanes
            bits = [kinds[i].dtype.bitwidth for i in (1, 3)]
            x_data, out_data = (
                e.pointer(context, builder, kinds[i], args[i], ir.IntType(b)) for i, b in zip((1, 3), bits, strict=True)
            )
            p_data = e.pointer(context, builder, kinds[2], args[2], e.I64)
            numbers = Numbers.read(builder, p_data, 0, simd.variant, how)

            def body(i: Value, none: list[Value]) -> list[Value]:
                value = numbers.apply(builder, _load(builder, x_data, i, bits[0], lanes))
                finish_vector(builder, value, p_data, NUMBERS, out_data, i, bits[1])
                return none

            e.loop(builder, e.I64(0), args[4], lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return rescale


def make_binary(op: str, uniform: bool, inner: str = WIDE, last: str = HIGH) -> Compiled:
    """`op` is add, sub or mul of the first and the second value, rsub, the second minus the first, or sum, of which
    the numbers say the signs. The inputs are scaled the `inner` way, the result the `last` way.
    """

    @intrinsic
    def binary(typingctx: Context, simd: Kind, a: Kind, b: Kind, p: Kind, out: Kind, count: Kind) -> Typing:
        """`count` values, a multiple of the lanes; b is one value where it is `uniform`."""
        sig = numba_types.void(simd, a, b, p, out, numba_types.int64)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds, lanes = signature.args, simd.variant.lanes
            bits = [kinds[i].dtype.bitwidth for i in (1, 2, 4)]
            a_data, b_data, out_data = (
                e.pointer(context, builder, kinds[i], args[i], ir.IntType(n))
                for i, n in zip((1, 2, 4), bits, strict=True)
            )
            p_data = e.pointer(context, builder, kinds[3], args[3], e.I64)
            ways = enumerate((inner, inner, last))
            scales = [Numbers.read(builder, p_data, i * NUMBERS, simd.variant, how) for i, how in ways]
            signs = [_number(builder, p_data, at, lanes) for at in (SIGN_FIRST, SIGN_SECOND)]

            def second(i: Value) -> Value:
                if uniform:
                    value = builder.load(b_data)
                    found = e.spread(builder, builder.sext(value, e.I32) if bits[1] < WORD else value, lanes)
                else:
                    found = _load(builder, b_data, i, bits[1], lanes)
                return scales[1].apply(builder, found)

            once = second(e.I64(0)) if uniform else None

            def body(i: Value, none: list[Value]) -> list[Value]:
                first = scales[0].apply(builder, _load(builder, a_data, i, bits[0], lanes))
                pair = [first, second(i) if once is None else once]
                if op == "rsub":
                    pair.reverse()
                if op == "sum":
                    pair = [builder.mul(one, sign) for one, sign in zip(pair, signs, strict=True)]
                total = getattr(builder, {"sum": "add", "rsub": "sub"}.get(op, op))(*pair)
                value = scales[2].apply(builder, total, zero=False)
                finish_vector(builder, value, p_data, OUT, out_data, i, bits[2])
                return none

            e.loop(builder, e.I64(0), args[5], lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return binary


def make_split(form: int, how: str = HIGH) -> Compiled:
    """A form of `split_numbers`, the result scaled in a way."""

    @intrinsic
    def split(typingctx: Context, simd: Kind, a: Kind, b: Kind, p: Kind, out: Kind, count: Kind) -> Typing:
        """`count` values, a multiple of the lanes."""
        sig = numba_types.void(simd, a, b, p, out, numba_types.int64)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds, lanes = signature.args, simd.variant.lanes
            bits = [kinds[i].dtype.bitwidth for i in (1, 2, 4)]
            sources = [
                e.pointer(context, builder, kinds[i], args[i], ir.IntType(n))
                for i, n in zip((1, 2), bits, strict=False)
            ]
            out_data = e.pointer(context, builder, kinds[4], args[4], ir.IntType(bits[2]))
            p_data = e.pointer(context, builder, kinds[3], args[3], e.I64)
            combined = (
                _product(builder, p_data, lanes) if form == EXACT else _sum(builder, p_data, lanes, form, how == ANY)
            )
            bounds = [_number(builder, p_data, OUT + i, lanes) for i in range(3)]
            last = Numbers.read(builder, p_data, 2 * NUMBERS, simd.variant, how)
            last = replace(last, round32=_number(builder, p_data, OUT_ROUND, lanes))  # and the zero point

            def body(i: Value, none: list[Value]) -> list[Value]:
                pair = [_load(builder, data, i, width, lanes) for data, width in zip(sources, bits, strict=False)]
                value = last.apply(builder, combined(pair), zero=False)
                if how == ANY:
                    value = builder.add(value, bounds[0])
                scale.emit_clipped_store(builder, value, bounds, builder.gep(out_data, [i]), bits[2])
                return none

            e.loop(builder, e.I64(0), args[5], lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return split


def _sum(builder: Builder, p: Value, lanes: int, form: int, signed: bool) -> Callable[[list[Value]], Value]:
    """`signed`: what is added to a product depends on its sign."""
    added, zeros = _number(builder, p, ADDED, lanes), _zeros(builder, p, lanes)
    numbers = [
        [_number(builder, p, FACTORS + k * ALL_FACTORS + i, lanes) for i in range(ALL_FACTORS)] for k in range(2)
    ]
    shifts = [_number(builder, p, i * NUMBERS + SHIFT, lanes) for i in range(2)]

    def combined(pair: list[Value]) -> Value:
        total = added
        for k, x in enumerate(pair):
            high, low, term = numbers[k][:NEGATIVE]
            total = builder.add(total, builder.mul(x, high))
            if k == 1 or form != ONE:
                if signed:
                    term = builder.select(builder.icmp_signed("<", x, zeros[k]), numbers[k][NEGATIVE], term)
                total = builder.add(total, builder.ashr(builder.add(builder.mul(x, low), term), shifts[k]))
        return total

    return combined


def _zeros(builder: Builder, p: Value, lanes: int) -> list[Value]:
    return [_number(builder, p, i * NUMBERS + ZERO_IN, lanes) for i in range(2)]


def _product(builder: Builder, p: Value, lanes: int) -> Callable[[list[Value]], Value]:
    zeros = _zeros(builder, p, lanes)
    return lambda pair: builder.mul(*(builder.sub(x, zero) for x, zero in zip(pair, zeros, strict=True)))
