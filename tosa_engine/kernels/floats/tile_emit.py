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
    """`rows` times `panels` panels; values are in the order row, vector. `written` is the format of results."""

    simd: Variant
    rows: int
    panels: int
    written: str = "fp32"

    @property
    def vectors(self) -> int:
        return self.panels * NR // self.simd.lanes

    @property
    def kind(self) -> Type:
        return e.vector(e.FLOAT, self.simd.lanes)

    def sums(
        self, builder: Builder, a: Value, starts: Value, b: Value, size: Value, pitch: Value, offsets: Value,
        runs: Value, length: Value,
    ) -> list[Value]:  # fmt: skip
        """The accumulators: `runs` runs of `length` steps along K, each from its distance in `offsets` on. Steps of b
        lie `pitch` elements apart, panels `size`.
        """
        first = [builder.load(builder.gep(starts, [e.I64(r)])) for r in range(self.rows)]
        lefts = [builder.gep(a, [row]) for row in first]
        per_panel = NR // self.simd.lanes
        columns = []
        for v in range(self.vectors):
            panel, lane = v // per_panel, v % per_panel * self.simd.lanes
            columns.append(builder.gep(b, [builder.add(builder.mul(size, e.I64(panel)), e.I64(lane))]))

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

        clear = ir.Constant(self.kind, [0.0] * self.simd.lanes)
        return e.loop(builder, e.I64(0), runs, 1, [clear] * (self.rows * self.vectors), run)[1]

    def _step(
        self, builder: Builder, lefts: Sequence[Value], columns: Sequence[Value], k: Value, at: Value,
        totals: list[Value],
    ) -> list[Value]:  # fmt: skip
        loaded = [e.load(builder, column, at, self.kind, WIDTH) for column in columns]
        new = []
        for r, left in enumerate(lefts):
            value = e.spread(builder, builder.load(builder.gep(left, [k])), self.simd.lanes)
            mine = totals[r * self.vectors : (r + 1) * self.vectors]
            new += [fma(builder, value, column, t) for t, column in zip(mine, loaded, strict=True)]
        return new

    def store(self, builder: Builder, sums: Sequence[Value], target: Target) -> None:
        """The sums plus bias, clipped; whole vectors where all columns count."""
        lanes = self.simd.lanes
        low, high = (e.spread(builder, builder.load(builder.gep(target.limits, [e.I64(i)])), lanes) for i in range(2))
        biases = [
            e.load(builder, target.bias, builder.add(target.channel, e.I64(v * lanes)), self.kind, WIDTH)
            for v in range(self.vectors)
        ]

        def rows(masks: list[Value] | None) -> None:
            for r in range(self.rows):
                with builder.if_then(builder.icmp_signed(">", target.count, e.I64(r))):
                    row = zip(sums[r * self.vectors : (r + 1) * self.vectors], biases, strict=True)
                    values = [
                        finished(builder, builder.fadd(total, bias), low, high, self.written) for total, bias in row
                    ]
                    self._store_row(builder, values, r, target, masks)

        whole = builder.icmp_signed(">=", target.columns, e.I64(self.panels * NR))
        with builder.if_else(whole) as (then, otherwise):
            with then:
                rows(None)
            with otherwise:
                rests = [builder.sub(target.columns, e.I64(v * lanes)) for v in range(self.vectors)]
                rows([e.first_lanes(builder, rest, lanes) for rest in rests])

    def _store_row(
        self, builder: Builder, values: list[Value], r: int, target: Target, masks: list[Value] | None
    ) -> None:
        to = builder.add(target.to, builder.mul(target.stride, e.I64(r)))
        for v, value in enumerate(values):
            at = builder.add(to, e.I64(v * self.simd.lanes))
            store(builder, value, target.out, at, None if masks is None else masks[v])


def shapes(simd: Variant) -> list[tuple[int, int]]:
    """Rows and panels of the tiles that there are."""
    found = [(rows, panels) for rows in (simd.rows, simd.few) for panels in range(1, simd.panels + 1)]
    return [*found, (1, 1), (1, PANELS_OF_ONE)]


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
            for shape in shapes(simd.variant):
                chosen = [builder.icmp_signed("==", args[i], e.I64(shape[i - 1])) for i in (1, 2)]
                with builder.if_then(builder.and_(*chosen)):
                    made = FloatTile(simd.variant, *shape, format_of(kinds[15]))
                    made.store(builder, made.sums(builder, *operands), Target(*places))
            return context.get_dummy_value()

        return sig, codegen

    return native_tile


native_tile = _make_tile()
