"""The LLVM IR of the tile (see `micro_kernel`): K loops with accumulators in registers, and what happens to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from .._jit import intrinsic, ir, numba_types
from .._jit import llvm as e
from .._jit.variants import TILE
from ..scale import accumulators as scale
from ..scale.places import ANY, NR, ROUNDED, SATURATES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Type, Typing, Value
    from .._jit.variants import Variant

UNROLL: Final = 4  # steps between reloads of the rows' addresses, which are more than there are registers
SIGNS: Final = 0x80808080  # added to four bytes without carries, makes them unsigned: each grows by 128


@dataclass(frozen=True)
class Products:
    """What the tile multiplies: `group` elements per step, and per lane of a vector."""

    name: str
    element: Type
    group: int

    @property
    def total(self) -> Type:
        return e.I32

    def step(self, builder: Builder, simd: Variant, total: Value, row: Value, column: Value) -> Value:
        if self.name == "quads":
            return (e.multiply_signed_quads if simd.signed else e.multiply_quads)(builder, total, row, column)
        return e.multiply_pairs(builder, total, row, column, vnni=simd.quads, x86=simd.x86)

    def spread(self, builder: Builder, lanes: int, address: Value, signs: Value | None) -> Value:
        """The group at an address in all lanes."""
        value = builder.load(builder.bitcast(address, self.total.as_pointer()))
        value.align = 4 // self.group
        found = e.spread(builder, value, lanes)
        return found if signs is None else builder.xor(found, signs)


KINDS: Final = {k.name: k for k in (Products("quads", e.I8, 4), Products("pairs", e.I16, 2))}


@dataclass(frozen=True)
class Tile:
    """`rows` times `panels` panels; values are in the order row, panel, part of the panel."""

    kind: Products
    simd: Variant
    rows: int
    panels: int

    @property
    def parts(self) -> int:
        return NR // self.simd.lanes

    def sums(
        self, builder: Builder, a: Value, starts: Value, b: Value, size: Value, offsets: Value, count: Value,
        begin: Sequence[Value] | None = None,
    ) -> list[Value]:  # fmt: skip
        """The accumulators: a loop over `count` steps, unrolled as far as they go.

        `begin` is what they start with, zeros as a rule.
        """
        lanes, kind = self.simd.lanes, self.kind
        first = [builder.load(builder.gep(starts, [e.I64(r)])) for r in range(self.rows)]
        lefts = [builder.gep(a, [row]) for row in first]
        panels = [builder.gep(b, [builder.mul(size, e.I64(p))]) for p in range(self.panels)]
        unsigned = kind.name == "quads" and not self.simd.signed
        signs = e.opaque(builder, e.constant(lanes, e.I32, SIGNS)) if unsigned else None

        def steps(unrolled: int) -> e.Body:
            def body(k: Value, totals: list[Value]) -> list[Value]:
                for u in range(unrolled):
                    at = builder.add(k, e.I64(u))
                    offset = builder.load(builder.gep(offsets, [at]))
                    totals = self._step(builder, [builder.gep(x, [offset]) for x in lefts], panels, at, totals, signs)
                return totals

            return body

        clear = ir.Constant(e.vector(kind.total, lanes), [0] * lanes)
        totals = list(begin) if begin is not None else [clear] * (self.rows * self.panels * self.parts)
        k, totals = e.loop(builder, e.I64(0), count, UNROLL, totals, steps(UNROLL))
        return e.loop(builder, k, count, 1, totals, steps(1))[1]

    def _step(
        self, builder: Builder, lefts: list[Value], columns: list[Value], k: Value, totals: list[Value],
        signs: Value | None,
    ) -> list[Value]:  # fmt: skip
        lanes, kind = self.simd.lanes, self.kind
        across = e.vector(kind.element, lanes * kind.group)
        at = builder.mul(k, e.I64(NR * kind.group))
        loaded = [
            e.load(builder, panel, builder.add(at, e.I64(part * lanes * kind.group)), across, 4 * lanes)
            for panel in columns
            for part in range(self.parts)
        ]
        new = []
        for r, left in enumerate(lefts):
            row = kind.spread(builder, lanes, left, signs)
            mine = totals[r * len(loaded) : (r + 1) * len(loaded)]
            new += [kind.step(builder, self.simd, t, row, column) for t, column in zip(mine, loaded, strict=True)]
        return new

    def store_sums(self, builder: Builder, sums: list[Value], c: Value) -> None:
        """c[panel, row, NR] = the accumulators."""
        for i, value in enumerate(sums):
            row, panel, part = self._place(i)
            at = (panel * self.rows + row) * NR + part * self.simd.lanes
            e.store(builder, value, c, e.I64(at), 4)

    def biases(self, builder: Builder, target: Target) -> list[Value]:
        """What the accumulators start with: the bias where they are scaled at once, else zeros."""
        lanes = self.simd.lanes
        found = []
        for i in range(self.panels * self.parts):
            channel = builder.add(target.channel, e.I64(i * lanes))
            bias = e.load(builder, target.e32, channel, e.vector(e.I32, lanes), 4)
            found.append(builder.select(target.fused, bias, e.constant(lanes, e.I32, 0)))
        return found * self.rows

    def with_terms(self, builder: Builder, values: list[Value], terms: Value, first: Value) -> list[Value]:
        """The values plus the term of their row; the tile's first one is terms[first]."""
        rows = [builder.load(builder.gep(terms, [builder.add(first, e.I64(r))])) for r in range(self.rows)]
        across = [e.spread(builder, row, self.simd.lanes) for row in rows]
        return [builder.add(value, across[self._place(i)[0]]) for i, value in enumerate(values)]

    def store_scaled(self, builder: Builder, sums: list[Value], target: Target) -> None:
        """out[to + row * stride + panel * NR + j] = the accumulators, scaled and clipped."""
        if target.bits != 8:
            self._store_scaled(builder, sums, target)
            return
        if self.simd.masks:
            self._store_bytes(builder, sums, target)
            return
        whole = builder.icmp_signed(">=", target.count, e.I64(self.panels * NR))
        with builder.if_else(whole) as (then, otherwise):
            with then:
                self._store_bytes(builder, sums, target)
            with otherwise:
                self._store_scaled(builder, sums, target, in_part=True)

    def _store_bytes(self, builder: Builder, sums: list[Value], target: Target) -> None:
        """Saturated at once where that is the clip."""
        if target.e64 is not None:
            self._store_scaled(builder, sums, target)
            return
        flags = builder.load(builder.gep(target.limits, [e.I64(SATURATES)]))
        with builder.if_else(builder.icmp_unsigned("!=", flags, e.I64(0))) as (then, otherwise):
            with then:
                self._store_scaled(builder, sums, target, saturates=True)
            with otherwise:
                self._store_scaled(builder, sums, target)

    def _store_scaled(
        self, builder: Builder, sums: list[Value], target: Target, *, saturates: bool = False, in_part: bool = False
    ) -> None:
        """`saturates`: the bounds are those of int8. `in_part`: of units without masks, bytes of the columns that there
        are.
        """
        lanes, words = self.simd.lanes, target.how == ANY
        bounds = scale.saturated(lanes) if saturates else scale.bounds_of(builder, target.limits, lanes)
        emit: Callable[..., Value] = scale.emit_in_words
        if not words:
            emit = partial(scale.emit_in_high_words, double=target.how == ROUNDED)
        for panel in range(self.panels):
            for part in range(self.parts):
                shift = panel * NR + part * lanes
                channel = builder.add(target.channel, e.I64(shift))
                found = scale.parameters(builder, target.e32, target.e64, target.pitch, channel, lanes, words=words)
                rest = builder.sub(target.count, e.I64(shift))
                mask = e.first_lanes(builder, rest, lanes) if self.simd.masks else None
                for row in range(self.rows):
                    value = sums[(row * self.panels + panel) * self.parts + part]
                    value = emit(builder, value, found, bounds, biased=True)
                    at = builder.add(builder.add(target.to, e.I64(shift)), builder.mul(target.stride, e.I64(row)))
                    if in_part:
                        scale.emit_first_bytes(builder, value, builder.gep(target.out, [at]), rest)
                    else:
                        scale.emit_store(builder, value, target.out, at, target.bits, mask)

    def _place(self, i: int) -> tuple[int, int, int]:
        row, rest = divmod(i, self.panels * self.parts)
        return row, *divmod(rest, self.parts)


@dataclass(frozen=True)
class Target:
    """Where scaled values go, and the parameters of scaling them; e64 is there for ANY alone."""

    e32: Value
    e64: Value | None
    pitch: Value
    channel: Value
    limits: Value
    out: Value
    bits: int
    to: Value
    stride: Value
    count: Value
    fused: Value
    how: str


def tile_of(kind: str, simd: Variant, full: bool, two: bool) -> Tile:
    return Tile(KINDS[kind], simd, simd.rows if full else simd.few, 2 if two else 1)


def sums_tile(kind: str, full: bool, two: bool) -> Compiled:
    """tile(simd, a, rows, first, b, start, size, c, offsets, steps): c[panel, row, NR] = sums."""

    @intrinsic
    def tile(
        typingctx: Context, simd: Kind, a: Kind, rows: Kind, first: Kind, b: Kind, start: Kind, size: Kind, c: Kind,
        offsets: Kind, steps: Kind,
    ) -> Typing:  # fmt: skip
        index = numba_types.int64
        sig = numba_types.void(simd, a, rows, index, b, index, index, c, offsets, index)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            if simd.variant.native:
                made = tile_of(kind, simd.variant, full, two)
                sums = _sums(made, context, builder, signature.args, args, args[9])
                made.store_sums(builder, sums, e.pointer(context, builder, signature.args[7], args[7], made.kind.total))
            return context.get_dummy_value()

        return sig, codegen

    return tile


def scaled_tile(kind: str, how: str, full: bool, two: bool, terms: bool) -> Compiled:
    """The tile of some rows and one or two panels, see `_scaled_tile`."""
    return _scaled_tile(lambda simd: tile_of(kind, simd, full, two), how, terms)


def row_tile(how: str, panels: int) -> Compiled:
    """The tile of one row in quads and some panels, see `_scaled_tile`."""
    return _scaled_tile(lambda simd: Tile(KINDS["quads"], simd, 1, panels), how, terms=False)


def _scaled_tile(make: Callable[[Variant], Tile], how: str, terms: bool) -> Compiled:
    """tile(simd, a, rows, first, b, start, size, c, offsets, steps, e32, e64, pitch, channel, limits, out, to,
    stride, count, fused): where `fused`, out gets the scaled values of `count` columns, else c[panel, row, NR] sums.
    They are scaled in one of scale.places.FORMS. With `terms`, the sums of row r have c[TILE + r] added.
    """

    @intrinsic
    def tile(
        typingctx: Context, simd: Kind, a: Kind, rows: Kind, first: Kind, b: Kind, start: Kind, size: Kind, c: Kind,
        offsets: Kind, steps: Kind, e32: Kind, e64: Kind, pitch: Kind, channel: Kind, limits: Kind, out: Kind, to: Kind,
        stride: Kind, count: Kind, fused: Kind,
    ) -> Typing:  # fmt: skip
        index = numba_types.int64
        sig = numba_types.void(
            simd, a, rows, index, b, index, index, c, offsets, index, e32, e64, index, index, limits, out, index,
            index, index, numba_types.boolean,
        )  # fmt: skip

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            if not simd.variant.native:
                return context.get_dummy_value()
            kinds, made = signature.args, make(simd.variant)
            bits = kinds[15].dtype.bitwidth
            fused = builder.icmp_unsigned("!=", args[19], args[19].type(0))
            wide = e.pointer(context, builder, kinds[11], args[11], e.I64) if how == ANY else None
            target = Target(
                e.pointer(context, builder, kinds[10], args[10], e.I32), wide, args[12], args[13],
                e.pointer(context, builder, kinds[14], args[14], e.I64),
                e.pointer(context, builder, kinds[15], args[15], ir.IntType(bits)), bits, args[16], args[17], args[18],
                fused, how,
            )  # fmt: skip
            c_data = e.pointer(context, builder, kinds[7], args[7], e.I32)
            begin = made.biases(builder, target)
            if terms:
                begin = made.with_terms(builder, begin, builder.gep(c_data, [e.I64(TILE)]), args[3])
            sums = _sums(made, context, builder, kinds, args, args[9], begin)
            with builder.if_else(fused) as (then, otherwise):
                with then:
                    made.store_scaled(builder, sums, target)
                with otherwise:
                    made.store_sums(builder, sums, c_data)
            return context.get_dummy_value()

        return sig, codegen

    return tile


def _sums(
    made: Tile, context: Context, builder: Builder, kinds: Sequence[Kind], args: Sequence[Value], count: Value,
    begin: Sequence[Value] | None = None,
) -> list[Value]:  # fmt: skip
    a = e.pointer(context, builder, kinds[1], args[1], made.kind.element)
    starts = builder.gep(e.pointer(context, builder, kinds[2], args[2], e.I64), [args[3]])
    b = builder.gep(e.pointer(context, builder, kinds[4], args[4], made.kind.element), [args[5]])
    distances = e.pointer(context, builder, kinds[8], args[8], e.I64)
    return made.sums(builder, a, starts, b, args[6], distances, count, begin)
