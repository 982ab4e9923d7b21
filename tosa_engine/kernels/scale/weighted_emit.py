"""The vector code of `weighted`. Only imported when the JIT is on; `weighted_loops` has the loop and the plain twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._jit import intrinsic, numba_types
from .._jit import llvm as e
from .accumulators import emit_narrow
from .weighted import (  # fmt: skip
    HIGH_ADDED,
    HIGH_SHIFT,
    HIGH_WEIGHTS,
    LEAST,
    LOW_ADDED,
    LOW_BITS,
    LOW_WEIGHTS,
    MOST,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value

PART: Final = 8  # int16 in 128 bits


def _in_turns(builder: Builder, first: Value, second: Value, start: int) -> Value:
    """Of each 128-bit part, the elements from `start` on, half of them, of both vectors in turn."""
    count = first.type.count
    half = range(start, start + PART // 2)
    picked = [part + i + which for part in range(0, count, PART) for i in half for which in (0, count)]
    return builder.shuffle_vector(first, second, e.indices(picked))


def _make_weighted() -> Compiled:
    @intrinsic
    def weighted(typingctx: Context, simd: Kind, a: Kind, b: Kind, p: Kind, out: Kind, count: Kind) -> Typing:
        """`count` bytes, a multiple of twice the lanes."""
        sig = numba_types.void(simd, a, b, p, out, numba_types.int64)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds, simd = signature.args, signature.args[0].variant
            lanes, wide = simd.lanes, e.vector(e.I16, 2 * simd.lanes)
            a_data, b_data, out_data = (e.pointer(context, builder, kinds[i], args[i], e.I8) for i in (1, 2, 4))
            p_data = e.pointer(context, builder, kinds[3], args[3], e.I64)

            def number(at: int) -> Value:
                return builder.load(builder.gep(p_data, [e.I64(at)]))

            def spread(at: int) -> Value:
                return e.spread(builder, builder.trunc(number(at), e.I32), lanes)

            least, most = (e.spread(builder, builder.trunc(number(at), e.I16), 2 * lanes) for at in (LEAST, MOST))
            high, low, high_added, low_added, shift = (
                spread(at) for at in (HIGH_WEIGHTS, LOW_WEIGHTS, HIGH_ADDED, LOW_ADDED, HIGH_SHIFT)
            )
            low_bits = e.constant(lanes, e.I32, LOW_BITS)

            def sums(pairs: Value, added: Value, weights: Value) -> Value:
                return e.multiply_pairs(builder, added, pairs, weights, vnni=simd.quads, x86=simd.x86)

            def body(i: Value, none: list[Value]) -> list[Value]:
                x, y = (
                    builder.sext(e.load(builder, data, i, e.vector(e.I8, 2 * lanes), 1), wide)
                    for data in (a_data, b_data)
                )
                halves = []
                for start in (0, PART // 2):
                    pairs = _in_turns(builder, x, y, start)
                    below = builder.ashr(sums(pairs, low_added, low), low_bits)
                    halves.append(builder.ashr(builder.add(sums(pairs, high_added, high), below), shift))
                found = e.clip(builder, emit_narrow(builder, simd, *halves), least, most)
                e.store(builder, builder.trunc(found, e.vector(e.I8, 2 * lanes)), out_data, i, 1)
                return none

            e.loop(builder, e.I64(0), args[5], 2 * lanes, [], body)
            return context.get_dummy_value()

        return sig, codegen

    return weighted


weighted = _make_weighted()
