"""Compiled loops of TABLE, the one of int16 with the RESCALE and the CLAMP behind it. Tables are constant.

The caller has proved every REQUIRE.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from .._jit import JIT, inline, jit, lanes_of, native
from ..scale.loops import plain_finish, plain_scale
from ..scale.numbers import HIGH_WORD, NUMBERS
from ..work import BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...types import Array
    from .._jit.typed import Builder, Compiled, Context, Kind, Number, Signature, Typing, Value
    from .._jit.variants import Variant

if JIT:
    from .._jit import intrinsic, ir, numba_types
    from .._jit import llvm as e
    from ..scale.emit import ANY, HIGH, WIDE, Numbers, finish_vector
    from .emit import emit_byte_run, emit_interpolated, interpolates_bytes

SEGMENTS: Final = 512  # of a table of int16


@inline
def plain_bytes(x: Array, table: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = table[np.int64(x[i]) + 128]


@inline
def interpolated(value: Number, table: Array) -> Number:
    """`table` is that of `entries_and_slopes`."""
    index = (np.int64(value) + 32768) >> 7
    return np.int64(table[index]) * 128 + np.int64(table[SEGMENTS + index]) * (np.int64(value) & 127)


@inline
def plain_table(x: Array, table: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = interpolated(x[i], table)


@inline
def plain_table_scaled(x: Array, table: Array, p: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = plain_finish(plain_scale(interpolated(x[i], table), p, 0), p, NUMBERS)


def _make_bytes() -> Compiled:
    @intrinsic
    def vector_bytes(typingctx: Context, simd: Kind, x: Kind, table: Kind, out: Kind, count: Kind) -> Typing:
        """`count` elements, a multiple of 16, where the unit has shuffles of bytes."""
        sig = numba_types.void(simd, x, table, out, numba_types.int64)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            variant, kinds = simd.variant, signature.args
            if variant.native and variant.x86 and kinds[3].dtype.bitwidth == 8:
                data = [e.pointer(context, builder, kinds[i], args[i], e.I8) for i in (1, 2, 3)]
                emit_byte_run(builder, variant, data[1], data[0], data[2], args[4])
            return context.get_dummy_value()

        return sig, codegen

    return vector_bytes


def _make_table(how: str) -> Compiled:
    @intrinsic
    def vector_table(typingctx: Context, simd: Kind, x: Kind, table: Kind, p: Kind, out: Kind, count: Kind) -> Typing:
        """`count` elements, a multiple of 32, of a unit of 16 lanes."""
        sig = numba_types.void(simd, x, table, p, out, numba_types.int64)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            variant, kinds = simd.variant, signature.args
            if variant.lanes != 16:
                return context.get_dummy_value()
            bits = kinds[4].dtype.bitwidth
            source, entries = (e.pointer(context, builder, kinds[i], args[i], e.I16) for i in (1, 2))
            numbers = e.pointer(context, builder, kinds[3], args[3], e.I64)
            target = e.pointer(context, builder, kinds[4], args[4], ir.IntType(bits))
            scales = Numbers.read(builder, numbers, 0, variant, how) if how else None

            lanes = variant.lanes

            def part(vectors: int, i: Value, none: list[Value]) -> list[Value]:
                kind = e.vector(e.I16, 2 * lanes)
                values = [
                    e.load(builder, source, builder.add(i, e.I64(k * kind.count)), kind, 2) for k in range(vectors)
                ]
                for k, found in enumerate(emit_interpolated(builder, variant, entries, values)):
                    at = builder.add(i, e.I64(k * lanes))
                    if scales is None:
                        e.store(builder, found, target, at, 4)
                    else:
                        scaled = scales.apply(builder, found, zero=False)
                        finish_vector(builder, scaled, numbers, NUMBERS, target, at, bits)
                return none

            done = e.I64(0)
            for vectors in (2, 1) if interpolates_bytes(variant) else (1,):
                done, _ = e.loop(builder, done, args[5], vectors * 2 * lanes, [], partial(part, vectors))
            return context.get_dummy_value()

        return sig, codegen

    return vector_table


if JIT:
    vector_bytes, vector_table = _make_bytes(), _make_table("")
    vector_high, vector_wide, vector_any = (_make_table(how) for how in (HIGH, WIDE, ANY))


@inline
def shuffles(simd: Variant) -> bool:
    """Whether the unit has code for tables of bytes."""
    return bool(native(simd) and lanes_of(simd) >= 8)


@inline
def look_up(simd: Variant, x: Array, table: Array, out: Array) -> None:
    """Entries of a table of 256 for int8 values; `out` may be `x`."""
    done = 0
    if shuffles(simd):
        done = len(out) // 16 * 16
        vector_bytes(simd, x, table, out, done)
    plain_bytes(x[done:], table, out[done:])


@jit
def table_int8(simd: Variant, x: Array, table: Array, out: Array, low: int, high: int) -> int:
    look_up(simd, x[low:high], table, out[low:high])
    return -1


@jit
def table_int16(simd: Variant, x: Array, table: Array, out: Array, low: int, high: int) -> int:
    source, target, done = x[low:high], out[low:high], 0
    if native(simd) and lanes_of(simd) == 16:
        done = len(target) // 32 * 32
        vector_table(simd, source, table, table, target, done)
    plain_table(source[done:], table, target[done:])
    return -1


@inline
def simple_scale(simd: Variant, x: Array, table: Array, p: Array, out: Array, count: int) -> None:
    """A scale that doesn't round twice."""
    if p[HIGH_WORD] != 0:
        vector_high(simd, x, table, p, out, count)
    else:
        vector_wide(simd, x, table, p, out, count)


@inline
def any_scale(simd: Variant, x: Array, table: Array, p: Array, out: Array, count: int) -> None:
    vector_any(simd, x, table, p, out, count)


def scaled_by(vectors: Compiled) -> Compiled:
    """The loop of a TABLE and a RESCALE by one scale of the kind that `vectors` knows."""

    @jit
    def table_scaled(simd: Variant, x: Array, table: Array, p: Array, out: Array, low: int, high: int) -> int:
        """Of int16, in units of BLOCK elements; p: a scale, then output zero point and bounds."""
        low, high = low * BLOCK, min(high * BLOCK, len(out))
        source, target, done = x[low:high], out[low:high], 0
        if native(simd) and lanes_of(simd) == 16:
            done = len(target) // 32 * 32
            vectors(simd, source, table, p, target, done)
        plain_table_scaled(source[done:], table, p, target[done:])
        return -1

    return table_scaled


table_scaled, table_scaled_by_any_scale = scaled_by(simple_scale), scaled_by(any_scale)
