"""Panels of a matrix of bytes in quads, the form in which the tile reads them, and the sums of their columns.

Four rows of sixteen columns become 64 bytes, [column, row]. One instruction adds up what it has interleaved: products
with ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .._jit import JIT
from ..scale.places import NR

if JIT:
    from .._jit import intrinsic, numba_types
    from .._jit import llvm as e

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...types import Array
    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value
    from .._jit.variants import Variant

GROUP: Final = 4
BYTES: Final = GROUP * NR  # of a step


def plain_pack(
    simd: Variant, y: Array, source: int, width: int, depth: int, steps: int, blank: Array, b: Array, start: int,
    sums: Array, at: int,
) -> None:  # fmt: skip
    """b[start + (k * NR + j) * GROUP + r] = y[source + (GROUP * k + r) * width + j] for `steps` steps, and
    sums[at + j] = their sums. Rows from `depth` on are blank: NR zeros.
    """
    for j in range(NR):
        total = np.int64(0)
        for i in range(steps * GROUP):
            value = y[source + i * width + j] if i < depth else blank[j]
            b[start + (i // GROUP * NR + j) * GROUP + i % GROUP] = value
            total += value
        sums[at + j] = total


def emit_step(builder: Builder, rows: Sequence[Value]) -> Value:
    """Four vectors of 16 bytes as one of 64: byte 4 * j + r is element j of row r."""
    pairs = [e.indices([i // 2 + (NR if i % 2 else 0) for i in range(2 * NR)])] * 2
    low, high = (builder.shuffle_vector(rows[2 * i], rows[2 * i + 1], pairs[i]) for i in (0, 1))
    picked = [i // 4 * 2 + i % 2 + (2 * NR if i % 4 > 1 else 0) for i in range(BYTES)]
    return builder.shuffle_vector(low, high, e.indices(picked))


def emit_pack(builder: Builder, simd: Variant, data: Sequence[Value], width: Value, depth: Value, steps: Value) -> None:
    """`data` are the first byte of the columns, blank bytes, the panel and the sums."""
    y, blank, b, sums = data
    row_kind, lanes = e.vector(e.I8, NR), simd.lanes
    ones = e.constant(GROUP * lanes, e.I8, 1)

    def body(k: Value, totals: list[Value]) -> list[Value]:
        rows = []
        for r in range(GROUP):
            i = builder.add(builder.mul(k, e.I64(GROUP)), e.I64(r))
            known = builder.icmp_signed("<", i, depth)
            address = builder.select(known, builder.gep(y, [builder.mul(i, width)]), blank)
            rows.append(e.load(builder, address, e.I64(0), row_kind, 1))
        step = emit_step(builder, rows)
        e.store(builder, step, b, builder.mul(k, e.I64(BYTES)), 1)
        found = []
        for part, total in enumerate(totals):
            picked = e.indices(range(part * GROUP * lanes, (part + 1) * GROUP * lanes))
            add = e.multiply_signed_quads if simd.signed else e.multiply_quads
            found.append(add(builder, total, ones, builder.shuffle_vector(step, step, picked)))
        return found

    _, totals = e.loop(builder, e.I64(0), steps, 1, [e.constant(lanes, e.I32, 0)] * (NR // lanes), body)
    for part, total in enumerate(totals):
        e.store(builder, total, sums, e.I64(part * lanes), 4)


def _make() -> Compiled:
    @intrinsic
    def pack(
        typingctx: Context, simd: Kind, y: Kind, source: Kind, width: Kind, depth: Kind, steps: Kind, blank: Kind,
        b: Kind, start: Kind, sums: Kind, at: Kind,
    ) -> Typing:  # fmt: skip
        index = numba_types.int64
        sig = numba_types.void(simd, y, index, index, index, index, blank, b, index, sums, index)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds = signature.args
            if not kinds[0].variant.native:
                return context.compile_internal(builder, plain_pack, signature, args)
            places = ((1, args[2], e.I8), (6, e.I64(0), e.I8), (7, args[8], e.I8), (9, args[10], e.I32))
            data = [
                builder.gep(e.pointer(context, builder, kinds[i], args[i], element), [first])
                for i, first, element in places
            ]
            emit_pack(builder, kinds[0].variant, data, *args[3:6])
            return context.get_dummy_value()

        return sig, codegen

    return pack


pack = _make() if JIT else plain_pack
