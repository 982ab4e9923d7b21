"""Emits table look-ups in vectors: 256 entries of int8, and interpolation between 513 entries of int16.

Where there is VBMI, two permutations find bytes in half a table each, and the index's highest bit chooses. Other x86
units shuffle bytes in 16 tables of 16: adding 0x70 with saturation to the index, less the table's number, keeps the
highest bit clear for this table's entries only, and a shuffle gives zeros for the others. Entries of int16 are two
bytes each where there is VBMI, and four permutations find a byte among 512 for 64 values; other units of 512 bits take
eight permutations of 64 entries for 32 values. Only imported when the JIT is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._jit import has, ir
from .._jit import llvm as e

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._jit.typed import Builder, Type, Value
    from .._jit.variants import Variant

ENTRIES: Final = 256
SEGMENTS: Final = 512  # of a table of int16
LOADED: Final = 64  # entries of int16 that one permutation chooses from


def _call(builder: Builder, name: str, kind: Type, *args: Value) -> Value:
    return builder.call(e.declare(builder, ir.FunctionType(kind, [a.type for a in args]), name), args)


def bytes_at_once(simd: Variant) -> int:
    return 4 * simd.lanes


def byte_tables(builder: Builder, simd: Variant, table: Value, *, permutes: bool | None = None) -> list[Value]:
    """Parts of a table whose entries are in the order of the index's bits: 0 .. 127, -128 .. -1. `permutes`: whether
    there is VBMI, None asks the host.
    """
    size = bytes_at_once(simd)
    if permutes is None:
        permutes = has("avx512vbmi")
    if permutes and size == 64:
        return [e.load(builder, table, e.I64((128 + i * 64) % ENTRIES), e.vector(e.I8, 64), 1) for i in range(4)]
    found = []
    for i in range(16):
        part = e.load(builder, table, e.I64((128 + i * 16) % ENTRIES), e.vector(e.I8, 16), 1)
        found.append(builder.shuffle_vector(part, part, e.indices([k % 16 for k in range(size)])))
    return found


def emit_bytes(builder: Builder, tables: Sequence[Value], index: Value) -> Value:
    """The entries for a vector of int8."""
    size, kind = index.type.count, index.type
    if len(tables) == 4:
        name = "llvm.x86.avx512.vpermi2var.qi.512"
        low, high = (_call(builder, name, kind, tables[i], index, tables[i + 1]) for i in (0, 2))
        return builder.select(builder.icmp_signed("<", index, e.constant(size, e.I8, 0)), high, low)
    shuffle = "llvm.x86.avx512.pshuf.b.512" if size == 64 else "llvm.x86.avx2.pshuf.b"
    found = e.constant(size, e.I8, 0)
    for number, table in enumerate(tables):
        ours = builder.xor(index, e.constant(size, e.I8, number << 4))
        ours = _call(builder, f"llvm.uadd.sat.v{size}i8", kind, ours, e.constant(size, e.I8, 0x70))
        found = builder.or_(found, _call(builder, shuffle, kind, table, ours))
    return found


def emit_byte_run(builder: Builder, simd: Variant, table: Value, x: Value, out: Value, count: Value) -> None:
    """out = the entries for x, for `count` elements, a multiple of 16."""
    tables, size = byte_tables(builder, simd, table), bytes_at_once(simd)

    def whole(i: Value, none: list[Value]) -> list[Value]:
        index = e.load(builder, x, i, e.vector(e.I8, size), 1)
        e.store(builder, emit_bytes(builder, tables, index), out, i, 1)
        return none

    def part(i: Value, none: list[Value]) -> list[Value]:
        index = e.load(builder, x, i, e.vector(e.I8, 16), 1)
        index = builder.shuffle_vector(index, index, e.indices([k % 16 for k in range(size)]))
        found = emit_bytes(builder, tables, index)
        e.store(builder, builder.shuffle_vector(found, found, e.indices(range(16))), out, i, 1)
        return none

    done, _ = e.loop(builder, e.I64(0), count, size, [], whole)
    e.loop(builder, done, count, 16, [], part)


def interpolates_bytes(simd: Variant, *, permutes: bool | None = None) -> bool:
    """Whether entries of int16 are found as two bytes; `permutes` as in `byte_tables`."""
    return simd.lanes == 16 and (has("avx512vbmi") if permutes is None else permutes)


def _of_segments(builder: Builder, table: Value, value: Value, index: Value) -> Value:
    """table[index] of 512 entries of int16, index being the upper bits of the value, which is unsigned."""
    kind, lanes = value.type, value.type.count
    parts = [e.load(builder, table, e.I64(i * lanes), kind, 2) for i in range(SEGMENTS // lanes)]
    name = "llvm.x86.avx512.vpermi2var.hi.512"
    found = [_call(builder, name, kind, parts[i], index, parts[i + 1]) for i in range(0, len(parts), 2)]
    for bit in (13, 14, 15):
        moved = builder.shl(value, e.constant(lanes, e.I16, 15 - bit))
        upper = builder.icmp_signed("<", moved, e.constant(lanes, e.I16, 0))
        found = [builder.select(upper, found[i + 1], found[i]) for i in range(0, len(found), 2)]
    return found[0]


def _of_bytes(builder: Builder, table: Value, index: Value, negative: Value) -> Value:
    """Bytes of a table of 512: `index` are the lower eight bits, `negative` says for which values the highest is 0."""
    kind = index.type
    parts = [e.load(builder, table, e.I64(i * 64), kind, 1) for i in range(SEGMENTS // 64)]
    name = "llvm.x86.avx512.vpermi2var.qi.512"
    found = [_call(builder, name, kind, parts[i], index, parts[i + 1]) for i in range(0, len(parts), 2)]
    upper = builder.icmp_signed("<", index, e.constant(64, e.I8, 0))
    low, high = (builder.select(upper, found[i + 1], found[i]) for i in (0, 2))
    return builder.select(negative, low, high)


def _chosen_as_bytes(builder: Builder, table: Value, first: Value, second: Value) -> list[tuple[Value, Value]]:
    """Entries and slopes of two vectors: the first one's indices are the even bytes, the second one's the odd ones."""
    words, octets = first.type, e.vector(e.I8, 64)
    low, high, eight = (e.constant(words.count, e.I16, n) for n in (0xFF, 0xFF00, 8))

    def join(even: Value, odd: Value) -> Value:
        return builder.or_(builder.and_(even, low), builder.and_(odd, high))

    seven, one = (e.constant(words.count, e.I16, n) for n in (7, 1))
    index = builder.bitcast(join(builder.lshr(first, seven), builder.shl(second, one)), octets)
    top = builder.bitcast(join(builder.lshr(first, eight), second), octets)
    negative = builder.icmp_signed("<", top, e.constant(64, e.I8, 0))
    planes = builder.bitcast(builder.gep(table, [e.I64(2 * SEGMENTS)]), e.I8.as_pointer())
    found = [
        builder.bitcast(_of_bytes(builder, builder.gep(planes, [e.I64(i * SEGMENTS)]), index, negative), words)
        for i in range(4)
    ]
    even = [join(found[i], builder.shl(found[i + 1], eight)) for i in (0, 2)]
    odd = [join(builder.lshr(found[i], eight), found[i + 1]) for i in (0, 2)]
    return [(even[0], even[1]), (odd[0], odd[1])]


def _chosen(builder: Builder, table: Value, value: Value) -> tuple[Value, Value]:
    """Entries and slopes of a vector."""
    lanes = value.type.count
    value = builder.xor(value, e.constant(lanes, e.I16, -32768))
    index = builder.lshr(value, e.constant(lanes, e.I16, 7))
    entry, slope = (_of_segments(builder, builder.gep(table, [e.I64(i * SEGMENTS)]), value, index) for i in range(2))
    return entry, slope


def emit_interpolated(
    builder: Builder, simd: Variant, table: Value, values: Sequence[Value], **how: bool
) -> list[Value]:
    """entry * 128 + slope * fraction for one or two vectors of int16: two vectors of int32 for each.

    `table` is that of `entries_and_slopes`, `how` says whether it `permutes` as in `byte_tables`.
    """
    lanes = values[0].type.count
    if interpolates_bytes(simd, **how):
        chosen = _chosen_as_bytes(builder, table, values[0], values[-1])
    else:
        chosen = [_chosen(builder, table, value) for value in values]
    unit, found = e.constant(lanes, e.I16, 128), []
    for value, (entry, slope) in zip(values, chosen, strict=False):
        fraction = builder.and_(value, e.constant(lanes, e.I16, 127))
        for first in (0, lanes // 2):
            turns = e.indices([i + k for i in range(first, first + lanes // 2) for k in (0, lanes)])
            pairs = builder.shuffle_vector(entry, slope, turns), builder.shuffle_vector(unit, fraction, turns)
            found.append(e.multiply_pairs(builder, e.constant(lanes // 2, e.I32, 0), *pairs, vnni=False))
    return found
