"""The LLVM IR of the float tile (see `tile`): accumulators in registers, then bias, clip and store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .._jit import intrinsic, ir, numba_types
from .._jit import llvm as e
from .._jit.variants import PANELS_OF_ONE
from ..scale.places import NR
from .halves_emit import finished, format_of, pointer, store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Type, Typing, Value
    from .._jit.variants import Variant

UNROLL: Final = 4  # steps between reloads of the rows' addresses, which are more than there are registers
WIDTH: Final = 4  # bytes of an element


def fma(builder: Builder, a: Value, b: Value, c: Value) -> Value:
    """a * b + c of vectors, rounded once."""
    kind = a.type
    name = f"llvm.fma.v{kind.count}f32"
    return builder.call(e.declare(builder, ir.FunctionType(kind, [kind] * 3), name), [a, b, c])


@dataclass(frozen=True)
class Target:
    """Where a tile goes: out[to + row * stride + column] for the first `count` rows and `columns` columns."""

    bias: Value
    channel: Value
    limits: Value
    out: Value
    to: Value
    stride: Value
    count: Value
    columns: Value


@dataclass(frozen=True)
class FloatTile:
    """`rows` times `panels` panels, the last one's first half alone where it is `half`; values are in the order row,
    vector. `written` is the format of results.
    """

    simd: Variant
    rows: int
    panels: int
    half: bool = False
    written: str = "fp32"

    @property
    def columns(self) -> int:
        return self.panels * NR - self.half * NR // 2

    @property
    def starts(self) -> list[int]:
        """The first column of each vector."""
        return list(range(0, self.columns, self.simd.lanes))

    @property
    def vectors(self) -> int:
        return len(self.starts)

    def kind(self, start: int) -> Type:
        """Of the vector that begins with a column."""
        return e.vector(e.FLOAT, min(self.simd.lanes, self.columns - start))

    def sums(
        self, builder: Builder, a: Value, starts: Value, b: Value, size: Value, pitch: Value, offsets: Value,
        runs: Value, length: Value,
    ) -> list[Value]:  # fmt: skip
        """The accumulators: `runs` runs of `length` steps along K, each from its distance in `offsets` on. Steps of b
        lie `pitch` elements apart, panels `size`.
        """
        first = [builder.load(builder.gep(starts, [e.I64(r)])) for r in range(self.rows)]
        lefts = [builder.gep(a, [row]) for row in first]
        places = [builder.add(builder.mul(size, e.I64(start // NR)), e.I64(start % NR)) for start in self.starts]
        columns = [builder.gep(b, [place]) for place in places]

        def run(i: Value, totals: list[Value]) -> list[Value]:
            offset = builder.load(builder.gep(offsets, [i]))
            here = [builder.gep(left, [offset]) for left in lefts]
            base = builder.mul(i, length)
            k = e.I64(0)
            for unrolled in (UNROLL, 1):
                k, totals = e.loop(builder, k, length, unrolled, totals, steps(here, base, unrolled))
            return totals

        def steps(here: list[Value], base: Value, unrolled: int) -> e.Body:
            def body(k: Value, totals: list[Value]) -> list[Value]:
                for u in range(unrolled):
                    step = builder.add(k, e.I64(u))
                    at = builder.mul(builder.add(base, step), pitch)
                    totals = self._step(builder, here, columns, step, at, totals)
                return totals

            return body

        clear = [ir.Constant(kind, [0.0] * kind.count) for kind in map(self.kind, self.starts)]
        return e.loop(builder, e.I64(0), runs, 1, clear * self.rows, run)[1]

    def _step(
        self, builder: Builder, lefts: Sequence[Value], columns: Sequence[Value], k: Value, at: Value,
        totals: list[Value],
    ) -> list[Value]:  # fmt: skip
        kinds = [self.kind(start) for start in self.starts]
        loaded = [e.load(builder, column, at, kind, WIDTH) for column, kind in zip(columns, kinds, strict=True)]
        new = []
        for r, left in enumerate(lefts):
            value = builder.load(builder.gep(left, [k]))
            across = {lanes: e.spread(builder, value, lanes) for lanes in dict.fromkeys(kind.count for kind in kinds)}
            mine = totals[r * self.vectors : (r + 1) * self.vectors]
            new += [fma(builder, across[t.type.count], column, t) for t, column in zip(mine, loaded, strict=True)]
        return new

    def store(self, builder: Builder, sums: Sequence[Value], target: Target) -> None:
        """The sums plus bias, clipped; whole vectors where all columns count."""
        least, most = (builder.load(builder.gep(target.limits, [e.I64(i)])) for i in range(2))
        sizes = [self.kind(start).count for start in self.starts]
        widths = dict.fromkeys(sizes)
        bounds = {lanes: (e.spread(builder, least, lanes), e.spread(builder, most, lanes)) for lanes in widths}
        biases = [
            e.load(builder, target.bias, builder.add(target.channel, e.I64(start)), self.kind(start), WIDTH)
            for start in self.starts
        ]

        def rows(masks: list[Value] | None) -> None:
            for r in range(self.rows):
                with builder.if_then(builder.icmp_signed(">", target.count, e.I64(r))):
                    row = zip(sums[r * self.vectors : (r + 1) * self.vectors], biases, sizes, strict=True)
                    values = [
                        finished(builder, builder.fadd(total, bias), *bounds[lanes], self.written)
                        for total, bias, lanes in row
                    ]
                    self._store_row(builder, values, r, target, masks)

        whole = builder.icmp_signed(">=", target.columns, e.I64(self.columns))
        with builder.if_else(whole) as (then, otherwise):
            with then:
                rows(None)
            with otherwise:
                rests = [builder.sub(target.columns, e.I64(start)) for start in self.starts]
                rows([e.first_lanes(builder, rest, lanes) for rest, lanes in zip(rests, sizes, strict=True)])

    def _store_row(
        self, builder: Builder, values: list[Value], r: int, target: Target, masks: list[Value] | None
    ) -> None:
        to = builder.add(target.to, builder.mul(target.stride, e.I64(r)))
        for v, value in enumerate(values):
            at = builder.add(to, e.I64(self.starts[v]))
            store(builder, value, target.out, at, None if masks is None else masks[v])


def shapes(simd: Variant) -> list[tuple[int, int, bool]]:
    """Rows and panels of the tiles that there are, and whether the last panel is a half."""
    across = range(1, simd.panels + 1)
    found = [(rows, panels, False) for rows in (simd.rows, simd.few) for panels in across]
    return [*found, *((simd.rows, panels, True) for panels in across), (1, 1, False), (1, PANELS_OF_ONE, False)]


def _make_tile() -> Compiled:
    @intrinsic
    def native_tile(
        typingctx: Context, simd: Kind, rows: Kind, panels: Kind, a: Kind, row_starts: Kind, first: Kind, b: Kind,
        start: Kind, size: Kind, pitch: Kind, offsets: Kind, length: Kind, bias: Kind, channel: Kind, limits: Kind,
        out: Kind, to: Kind, stride: Kind, count: Kind, columns: Kind,
    ) -> Typing:  # fmt: skip
        """`tile.plain_tile` of `rows` times `panels`, one of `shapes`, whose first `count` rows are stored."""
        index = numba_types.int64
        sig = numba_types.void(
            simd, index, index, a, row_starts, index, b, index, index, index, offsets, index, bias, index, limits, out,
            index, index, index, index,
        )  # fmt: skip

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            if not simd.variant.native:
                return context.get_dummy_value()
            kinds = signature.args

            def data(i: int, element: Type) -> Value:
                return e.pointer(context, builder, kinds[i], args[i], element)

            runs = context.make_array(kinds[10])(context, builder, args[10]).nitems
            starts, panel = builder.gep(data(4, e.I64), [args[5]]), builder.gep(data(6, e.FLOAT), [args[7]])
            operands = (data(3, e.FLOAT), starts, panel, args[8], args[9], data(10, e.I64), runs, args[11])
            places = (
                data(12, e.FLOAT),
                args[13],
                data(14, e.FLOAT),
                pointer(context, builder, kinds[15], args[15]),
                *args[16:],
            )
            unused = builder.sub(builder.mul(args[2], e.I64(NR)), args[19])
            full = builder.icmp_signed("==", args[1], e.I64(simd.variant.rows))
            half = builder.and_(full, builder.icmp_signed(">=", unused, e.I64(NR // 2)))
            for shape in shapes(simd.variant):
                chosen = builder.and_(*[builder.icmp_signed("==", args[i], e.I64(shape[i - 1])) for i in (1, 2)])
                with builder.if_then(builder.and_(chosen, half if shape[2] else builder.not_(half))):
                    made = FloatTile(simd.variant, *shape, format_of(kinds[15]))
                    made.store(builder, made.sums(builder, *operands), Target(*places))
            return context.get_dummy_value()

        return sig, codegen

    return native_tile


native_tile = _make_tile()
