"""Emits tiles of depthwise sums over quads, and what is done to them before they leave registers.

The scale from the high words of products (see `scale.accumulators`) takes the even and the odd lanes apart and leaves
the lanes of each 128-bit part in the order of PART, in which its parameters are stored, too. The zero point is in the
rounding term; narrowing saturates, which is a part of the clip. Only imported when the JIT is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import ir
from .._jit import llvm as e
from ..scale.accumulators import emit_narrow, emit_rounded
from ..scale.places import NR, SPARE
from .places import PARAMETERS, PART, PIXELS, VECTORS
from .quads import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._jit.typed import Builder, Type, Value
    from .._jit.variants import Variant


def _call(builder: Builder, name: str, kind: Type, *args: Value) -> Value:
    return builder.call(e.declare(builder, ir.FunctionType(kind, [a.type for a in args]), name), args)


def _multiply(builder: Builder, simd: Variant, total: Value, column: Value, weights: Sequence[Value]) -> Value:
    """total + the sums of the four products of each lane."""
    if len(weights) == 1:
        return (e.multiply_signed_quads if simd.signed else e.multiply_quads)(builder, total, column, weights[0])
    lanes = total.type.count
    words, byte = builder.bitcast(column, e.vector(e.I16, 2 * lanes)), e.constant(2 * lanes, e.I16, 8)
    if simd.signed:
        halves = [builder.ashr(builder.shl(words, byte), byte), builder.ashr(words, byte)]
    else:
        halves = [builder.and_(words, e.constant(2 * lanes, e.I16, 0xFF)), builder.lshr(words, byte)]
    for values, found in zip(halves, weights, strict=True):
        total = _multiply_pairs(builder, simd, total, values, found)
    return total


def _multiply_pairs(builder: Builder, simd: Variant, total: Value, first: Value, second: Value) -> Value:
    if simd.x86 and total.type.count == 4:
        return builder.add(total, _call(builder, "llvm.x86.sse2.pmadd.wd", total.type, first, second))
    return e.multiply_pairs(builder, total, first, second, vnni=simd.quads, x86=simd.x86)


def _high_words(
    builder: Builder, value: Value, multiplier: Value, right: Value, rounding: Value, *, double: bool
) -> Value:
    """numerics.scale.scale_in_high_words; the result's lanes are in the order of PART, like `right` and `rounding`.

    `double`: products are rounded first, and `rounding` and `right` are for values of SPARE more bits.
    """
    lanes = value.type.count
    if double:
        value = builder.shl(value, e.constant(lanes, e.I32, SPARE))
    wide, word = e.vector(e.I64, lanes // 2), e.constant(lanes // 2, e.I64, 32)
    odd_lanes = e.indices([i | 1 for i in range(lanes)])

    def low(x: Value) -> Value:
        return builder.ashr(builder.shl(builder.bitcast(x, wide), word), word)

    def product(x: Value, y: Value) -> Value:
        return builder.bitcast(builder.mul(low(x), low(y)), value.type)

    even = product(value, multiplier)
    odd = product(*(builder.shuffle_vector(x, x, odd_lanes) for x in (value, multiplier)))
    picked = [part + i + which for part in range(0, lanes, 4) for which in (0, lanes) for i in (1, 3)]
    high = builder.shuffle_vector(even, odd, e.indices(picked))
    return emit_rounded(builder, high, right, rounding, 2 * double)


class Tile:
    """Emits sums. `data` are the quads, distances of the taps in columns, and weights; `parts` bytes make a weight."""

    def __init__(
        self, builder: Builder, simd: Variant, width: int, parts: int, data: Sequence[Value], taps: Value
    ) -> None:
        self.builder, self.simd, self.width, self.parts, self.taps = builder, simd, width, parts, taps
        self.a, self.offsets, self.w = data
        self.lanes = width // 4

    def column(self, start: Value, number: Value) -> Value:
        at = self.builder.add(start, self.builder.mul(number, e.I64(VECTORS * self.width)))
        return e.load(self.builder, self.a, at, e.vector(e.I8, self.width), 1)

    def weights(self, vector: Value, tap: Value) -> list[Value]:
        builder, size = self.builder, self.width
        at = builder.mul(builder.add(builder.mul(vector, self.taps), tap), e.I64(size * self.parts))
        kind = e.vector(e.I8, size) if self.parts == 1 else e.vector(e.I16, size // 2)
        return [e.load(builder, self.w, builder.add(at, e.I64(k * size)), kind, 1) for k in range(self.parts)]

    def sums(self, column: Value, vector: Value, initial: Value) -> list[Value]:
        """Of each pixel, whose first column is the byte `column` (plus a column for each pixel)."""
        builder = self.builder
        start = builder.add(column, builder.mul(vector, e.I64(self.width)))

        def tap(t: Value, *found: Value) -> list[Value]:
            distance, weights = builder.load(builder.gep(self.offsets, [t])), self.weights(vector, t)
            columns = [self.column(start, builder.add(distance, e.I64(p))) for p in range(PIXELS)]
            return [_multiply(builder, self.simd, f, c, weights) for f, c in zip(found, columns, strict=True)]

        return counted(builder, self.taps, [initial] * PIXELS, tap)

    def unrolled(self, kernel: int, step: int, quads: int) -> Callable[[Value, Value, Value], list[Value]]:
        """`sums` for known taps: each column is loaded once for all pixels."""
        places = [(quad, kx) for quad in range(quads) for kx in range(kernel)]
        planes = {
            (q, p): self.builder.load(self.builder.gep(self.offsets, [e.I64(q * kernel + p)]))
            for q in range(quads)
            for p in range(step)
        }

        def sums(column: Value, vector: Value, initial: Value) -> list[Value]:
            start = self.builder.add(column, self.builder.mul(vector, e.I64(self.width)))
            found, columns = [initial] * PIXELS, {}
            for t, (quad, kx) in enumerate(places):
                weights = self.weights(vector, e.I64(t))
                for p in range(PIXELS):
                    place = (quad, kx % step, kx // step + p)
                    if place not in columns:
                        number = self.builder.add(planes[place[:2]], e.I64(place[2]))
                        columns[place] = self.column(start, number)
                    found[p] = _multiply(self.builder, self.simd, found[p], columns[place], weights)
            return found

        return sums


def _least(builder: Builder, x: Value, y: Value) -> Value:
    return builder.select(builder.icmp_signed("<", x, y), x, y)


def emit_row(
    tile: Tile, sums: Callable[..., list[Value]], numbers: Value, limits: Value, out: Value, places: Sequence[Value], *,
    double: bool,
) -> None:  # fmt: skip
    """`count` pixels of an output row, `pitch` elements apart, as bytes. The last tile overlaps the one before."""
    builder, width, lanes = tile.builder, tile.width, tile.lanes
    pitch, count = places
    low, high = (
        e.spread(builder, builder.trunc(builder.load(builder.gep(limits, [e.I64(i)])), e.I8), width) for i in (1, 2)
    )
    # where there are fewer pixels than a tile has, the last one's bytes come last to its place
    steps = [builder.mul(_least(builder, e.I64(p), builder.sub(count, e.I64(1))), pitch) for p in range(PIXELS)]
    final = builder.sub(count, e.I64(PIXELS))
    final = builder.select(builder.icmp_signed("<", final, e.I64(0)), e.I64(0), final)

    def body(t: Value) -> list[Value]:
        first = _least(builder, builder.mul(t, e.I64(PIXELS)), final)
        scaled = []
        for v in range(VECTORS):
            bias, *scale = (
                e.load(builder, numbers, e.I64((v * PARAMETERS + k) * lanes), e.vector(e.I32, lanes), 4)
                for k in range(PARAMETERS)
            )
            found = sums(builder.mul(first, e.I64(VECTORS * width)), e.I64(v), bias)
            builder.fence("seq_cst", "singlethread")  # no instruction: vectors one after the other fit the registers
            scaled.append([_high_words(builder, value, *scale, double=double) for value in found])
        for p in reversed(range(PIXELS)):
            pairs = [emit_narrow(builder, tile.simd, scaled[v][p], scaled[v + 1][p]) for v in (0, 2)]
            value = emit_narrow(builder, tile.simd, *pairs)
            value = builder.shuffle_vector(value, value, e.indices([i + k for i in range(0, width, 4) for k in PART]))
            to = builder.add(builder.mul(first, pitch), steps[p])
            e.store(builder, e.clip(builder, value, low, high), out, to, 1)
        return []

    counted(builder, builder.sdiv(builder.add(count, e.I64(PIXELS - 1)), e.I64(PIXELS)), [], body)


def emit_sums(tile: Tile, c: Value) -> None:
    """One tile into c [panel, pixel, NR]."""
    builder = tile.builder

    def body(v: Value) -> list[Value]:
        for p, value in enumerate(tile.sums(e.I64(0), v, e.constant(tile.lanes, e.I32, 0))):
            for panel in range(tile.lanes // 4):
                part = builder.shuffle_vector(value, value, e.indices(range(panel * 4, panel * 4 + 4)))
                at = builder.add(builder.mul(v, e.I64(4)), e.I64((panel * PIXELS + p) * NR))
                e.store(builder, part, c, at, 4)
        return []

    counted(builder, e.I64(VECTORS), [], body)
