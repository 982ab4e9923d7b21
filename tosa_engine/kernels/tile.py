"""The tile micro-kernel: MR rows times NR columns of a matrix product, all of K at once, accumulators in registers.

Rows are read in place: each has its own start in `a`, and K comes in `segments` runs of `length` steps that start at
the same distances `offsets` from every row's start (the kernel rows of a convolution). Columns are packed as
[segment, step, NR, group], `group` being the number of neighbours along K that one step takes: 2 for int16 (one
instruction multiplies pairs and adds them), 1 for float32.

`emit` writes the LLVM IR for a kind of vector unit; the generic forms below it are plain code with the same bytes. A
new variant (VNNI, NEON) is one more `Unit`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..numerics.fma import fma32
from ._jit import JIT, inline, jit, native

if JIT:
    from . import emitting as e
    from ._jit import intrinsic, ir, numba_types

if TYPE_CHECKING:
    from collections.abc import Callable

MR: Final = 6
NR: Final = 16
LANES: Final = 8


@dataclass(frozen=True)
class Unit:
    """How one vector unit multiplies and adds: `group` elements of `element` bits per step and lane."""

    name: str
    needs: tuple[str, ...]
    element: str  # "i16" or "f32"
    group: int
    step: Callable[[Any, Any, Any, Any], Any]


def _declare(module: Any, kind: Any, name: str) -> Any:
    return module.globals[name] if name in module.globals else ir.Function(module, kind, name)


def _pmaddwd(builder: Any, accumulator: Any, row: Any, column: Any) -> Any:
    wide, pairs = ir.VectorType(ir.IntType(32), LANES), ir.VectorType(ir.IntType(16), 2 * LANES)
    multiply = _declare(builder.module, ir.FunctionType(wide, [pairs, pairs]), "llvm.x86.avx2.pmadd.wd")
    return builder.add(accumulator, builder.call(multiply, [builder.bitcast(row, pairs), column]))


def _fma(builder: Any, accumulator: Any, row: Any, column: Any) -> Any:
    vector = ir.VectorType(ir.FloatType(), LANES)
    fused = _declare(builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{LANES}f32")
    return builder.call(fused, [row, column, accumulator])


AVX2_INT16 = Unit("avx2", ("avx2",), "i16", 2, _pmaddwd)
AVX2_FLOAT = Unit("avx2", ("avx2", "fma"), "f32", 1, _fma)


@jit
def generic_tile_int16(
    a: Any, rows: Any, first: int, b: Any, start: int, c: Any, offsets: Any, segments: int, length: int
) -> None:
    """The int32 tile c[MR * NR] of a (int16) and b (int16 pairs)."""
    for i in range(MR * NR):
        c[i] = 0
    at = start
    for s in range(segments):
        for k in range(length):
            for i in range(MR):
                left = rows[first + i] + offsets[s] + 2 * k
                even, odd = np.int32(a[left]), np.int32(a[left + 1])
                for j in range(NR):
                    c[i * NR + j] += even * np.int32(b[at + 2 * j]) + odd * np.int32(b[at + 2 * j + 1])
            at += 2 * NR


fma = jit(fma32)


@jit
def generic_tile_float(
    a: Any, rows: Any, first: int, b: Any, start: int, c: Any, offsets: Any, segments: int, length: int
) -> None:
    """The float32 tile c[MR * NR] of a and b, each product fused with its addition, in the order of K."""
    for i in range(MR * NR):
        c[i] = np.float32(0.0)
    at = start
    for s in range(segments):
        for k in range(length):
            for i in range(MR):
                left = a[rows[first + i] + offsets[s] + k]
                for j in range(NR):
                    c[i * NR + j] = fma(left, b[at + j], c[i * NR + j])
            at += NR


def _emit_tile(unit: Unit, builder: Any, a: Any, rows: Any, b: Any, c: Any, offsets: Any, counts: Any) -> None:
    """The two loops over segments and steps, with MR x 2 vector accumulators as phi nodes."""
    segments, length = counts
    whole = ir.FloatType() if unit.element == "f32" else ir.IntType(32)
    i64 = ir.IntType(64)
    vector = ir.VectorType(whole, LANES)
    panel = vector if unit.group == 1 else ir.VectorType(ir.IntType(16), 2 * LANES)
    vectors = NR // LANES
    zero, one = ir.Constant(i64, 0), ir.Constant(i64, 1)
    clear = ir.Constant(vector, [0] * LANES)
    columns = builder.bitcast(b, panel.as_pointer())
    starts = [builder.load(builder.gep(rows, [ir.Constant(i64, i)])) for i in range(MR)]
    entry = builder.block
    outer, inner, after, done = (builder.append_basic_block(name) for name in ("segment", "step", "next", "done"))
    builder.branch(outer)

    builder.position_at_end(outer)
    segment, base = builder.phi(i64, "segment"), builder.phi(i64, "base")
    sums = [builder.phi(vector) for _ in range(MR * vectors)]
    offset = builder.load(builder.gep(offsets, [segment]))
    lefts = []
    for start in starts:
        address = builder.gep(a, [builder.add(start, offset)])
        lefts.append(builder.bitcast(address, whole.as_pointer()))
    builder.branch(inner)

    builder.position_at_end(inner)
    k = builder.phi(i64, "k")
    partial = [builder.phi(vector) for _ in range(MR * vectors)]
    at = builder.add(base, builder.mul(k, ir.Constant(i64, vectors)))
    loaded = []
    for j in range(vectors):
        column = builder.load(builder.gep(columns, [builder.add(at, ir.Constant(i64, j))]))
        column.align = 32
        loaded.append(column)
    new = []
    for i in range(MR):
        scalar = builder.load(builder.gep(lefts[i], [k]))
        scalar.align = 2 if unit.group == 2 else 4
        lane = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
        spread = builder.shuffle_vector(
            lane, ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        )
        new += [unit.step(builder, partial[i * vectors + j], spread, loaded[j]) for j in range(vectors)]
    following = builder.add(k, one)
    builder.cbranch(builder.icmp_signed("<", following, length), inner, after)

    builder.position_at_end(after)
    next_segment = builder.add(segment, one)
    next_base = builder.add(base, builder.mul(length, ir.Constant(i64, vectors)))
    builder.cbranch(builder.icmp_signed("<", next_segment, segments), outer, done)

    for phi, first, again in ((segment, zero, next_segment), (base, zero, next_base)):
        phi.add_incoming(first, entry)
        phi.add_incoming(again, after)
    k.add_incoming(zero, outer)
    k.add_incoming(following, inner)
    for total, part, result in zip(sums, partial, new, strict=True):
        total.add_incoming(clear, entry)
        total.add_incoming(result, after)
        part.add_incoming(total, outer)
        part.add_incoming(result, inner)

    builder.position_at_end(done)
    for i, value in enumerate(new):
        target = builder.gep(c, [ir.Constant(i64, i * LANES)])
        builder.store(value, builder.bitcast(target, vector.as_pointer())).align = 4


def emit(unit: Unit) -> Any:
    """The intrinsic tile(a, rows, first, b, start, c, offsets, segments, length) for a vector unit.

    `a` and `b` are arrays of the unit's element, b aligned to 32 bytes with `start` a multiple of a whole step; `rows`
    (MR of them from `first`) and `offsets` are int64 arrays of element distances in `a`; `c` has MR * NR accumulators.
    """

    @intrinsic
    def tile(
        typingctx: Any,
        simd: Any,
        a: Any,
        rows: Any,
        first: Any,
        b: Any,
        start: Any,
        c: Any,
        offsets: Any,
        segments: Any,
        length: Any,
    ) -> Any:
        index = numba_types.int64
        sig = numba_types.void(simd, a, rows, index, b, index, c, offsets, index, index)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = signature.args
            element = ir.IntType(16) if unit.element == "i16" else ir.FloatType()
            whole = ir.IntType(32) if unit.element == "i16" else ir.FloatType()
            i64 = ir.IntType(64)
            a_data = e.pointer(context, builder, kinds[1], args[1], element)
            row_data = builder.gep(e.pointer(context, builder, kinds[2], args[2], i64), [args[3]])
            b_data = builder.gep(e.pointer(context, builder, kinds[4], args[4], element), [args[5]])
            c_data = e.pointer(context, builder, kinds[6], args[6], whole)
            offset_data = e.pointer(context, builder, kinds[7], args[7], i64)
            _emit_tile(unit, builder, a_data, row_data, b_data, c_data, offset_data, (args[8], args[9]))
            return context.get_dummy_value()

        return sig, codegen

    return tile


if JIT:
    native_tile_int16, native_tile_float = emit(AVX2_INT16), emit(AVX2_FLOAT)


@inline
def tile_int16(
    simd: Any, a: Any, rows: Any, first: int, b: Any, start: int, c: Any, offsets: Any, segments: int, length: int
) -> None:
    """The unit's tile, or the generic one."""
    if native(simd):
        native_tile_int16(simd, a, rows, first, b, start, c, offsets, segments, length)
    else:
        generic_tile_int16(a, rows, first, b, start, c, offsets, segments, length)


@inline
def tile_float(
    simd: Any, a: Any, rows: Any, first: int, b: Any, start: int, c: Any, offsets: Any, segments: int, length: int
) -> None:
    """The unit's tile, or the generic one."""
    if native(simd):
        native_tile_float(simd, a, rows, first, b, start, c, offsets, segments, length)
    else:
        generic_tile_float(a, rows, first, b, start, c, offsets, segments, length)
