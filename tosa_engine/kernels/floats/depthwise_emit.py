"""The LLVM IR of depthwise windows of float32: neighbouring pixels times neighbouring channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._jit import intrinsic, ir, numba_types
from .._jit import llvm as e
from .halves_emit import finished, format_of, load_wide, pointer, store
from .tile_emit import fma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Type, Typing, Value
    from .._jit.variants import Variant


@dataclass(frozen=True)
class Place:
    """Elements of an array: from `at` on, and the distances between rows and columns of a window, and of pixels."""

    data: Value
    at: Value
    row: Value
    column: Value
    pixel: Value | None = None


@dataclass(frozen=True)
class Windows:
    """`pixels` windows of `vectors` vectors of channels. Where `columns` isn't 0 it is the width of the kernel, and
    pixels are `step` times as far from each other as columns of a window: those they share are read once. `read` and
    `written` are the formats of the input and of results.
    """

    simd: Variant
    pixels: int
    vectors: int
    columns: int = 0
    step: int = 0
    read: str = "fp32"
    written: str = "fp32"

    @property
    def kind(self) -> Type:
        return e.vector(e.FLOAT, self.simd.lanes)

    def emit(
        self, builder: Builder, a: Value, at: Value, row: Value, column: Value, pixel: Value, height: Value,
        width: Value, w: Value, w_at: Value, w_row: Value, w_column: Value, bias: Value, channel: Value, limits: Value,
        out: Value, to: Value, stride: Value, channels: Value,
    ) -> None:  # fmt: skip
        source, weights = Place(a, at, row, column, pixel), Place(w, w_at, w_row, w_column)
        sums = self.sums(builder, source, weights, height, width)
        self.store(builder, sums, self._load(builder, bias, channel), limits, out, to, stride, channels)

    def sums(self, builder: Builder, a: Place, w: Place, height: Value, width: Value) -> list[Value]:
        """In the order pixel, vector."""

        def row(ky: Value, totals: list[Value]) -> list[Value]:
            left = builder.add(a.at, builder.mul(ky, a.row))
            weights = builder.add(w.at, builder.mul(ky, w.row))
            if self.columns:
                return self._known_row(builder, a, left, w, weights, totals)
            return e.loop(
                builder, e.I64(0), width, 1, totals, lambda kx, t: self._tap(builder, a, left, w, weights, kx, t)
            )[1]

        clear = ir.Constant(self.kind, [0.0] * self.simd.lanes)
        return e.loop(builder, e.I64(0), height, 1, [clear] * (self.pixels * self.vectors), row)[1]

    def _known_row(
        self, builder: Builder, a: Place, left: Value, w: Place, weights: Value, totals: list[Value]
    ) -> list[Value]:
        seen: dict[int, list[Value]] = {}
        for kx in range(self.columns):
            found = self._load(builder, w.data, builder.add(weights, builder.mul(w.column, e.I64(kx))))
            for p in range(self.pixels):
                number = p * self.step + kx
                if number not in seen:
                    at = builder.add(left, builder.mul(a.column, e.I64(number)))
                    seen[number] = self._load(builder, a.data, at, self.read)
                totals = self._add(builder, totals, p, seen[number], found)
        return totals

    def _tap(
        self, builder: Builder, a: Place, left: Value, w: Place, weights: Value, kx: Value, totals: list[Value]
    ) -> list[Value]:
        found = self._load(builder, w.data, builder.add(weights, builder.mul(w.column, kx)))
        first = builder.add(left, builder.mul(a.column, kx))
        assert a.pixel is not None
        for p in range(self.pixels):
            values = self._load(builder, a.data, builder.add(first, builder.mul(a.pixel, e.I64(p))), self.read)
            totals = self._add(builder, totals, p, values, found)
        return totals

    def _load(self, builder: Builder, data: Value, at: Value, format: str = "fp32") -> list[Value]:
        lanes = self.simd.lanes
        starts = [builder.add(at, e.I64(v * lanes)) for v in range(self.vectors)]
        return [load_wide(builder, data, start, lanes, format) for start in starts]

    def _add(
        self, builder: Builder, totals: list[Value], p: int, values: list[Value], weights: list[Value]
    ) -> list[Value]:
        first = p * self.vectors
        mine = totals[first : first + self.vectors]
        new = [fma(builder, x, w, t) for x, w, t in zip(values, weights, mine, strict=True)]
        return [*totals[:first], *new, *totals[first + self.vectors :]]

    def store(
        self, builder: Builder, sums: list[Value], biases: list[Value], limits: Value, out: Value, to: Value,
        stride: Value, channels: Value,
    ) -> None:  # fmt: skip
        """Plus bias, clipped; no more than `channels` of the last vector where it is alone."""
        lanes = self.simd.lanes
        low, high = (e.spread(builder, builder.load(builder.gep(limits, [e.I64(i)])), lanes) for i in range(2))
        mask = e.first_lanes(builder, channels, lanes) if self.vectors == 1 else None
        for p in range(self.pixels):
            for v in range(self.vectors):
                total = builder.fadd(sums[p * self.vectors + v], biases[v])
                value = finished(builder, total, low, high, self.written)
                at = builder.add(builder.add(to, builder.mul(stride, e.I64(p))), e.I64(v * lanes))
                if mask is None:
                    store(builder, value, out, at, None)
                    continue
                with builder.if_else(builder.icmp_signed(">=", channels, e.I64(lanes))) as (then, otherwise):
                    with then:
                        store(builder, value, out, at, None)
                    with otherwise:
                        store(builder, value, out, at, mask)


def windows(pixels: int, vectors: int, known: Sequence[tuple[int, int]] = ()) -> Compiled:
    """windows(simd, code, a, at, row, column, pixel, height, width, w, w_at, w_row, w_column, bias, channel, limits,
    out, to, stride, channels). `code` counts the pairs `known` of kernel width and step from 1; 0 is any other.
    """

    @intrinsic
    def found(
        typingctx: Context, simd: Kind, code: Kind, a: Kind, at: Kind, row: Kind, column: Kind, pixel: Kind,
        height: Kind, width: Kind, w: Kind, w_at: Kind, w_row: Kind, w_column: Kind, bias: Kind, channel: Kind,
        limits: Kind, out: Kind, to: Kind, stride: Kind, channels: Kind,
    ) -> Typing:  # fmt: skip
        index = numba_types.int64
        sig = numba_types.void(
            simd, index, a, index, index, index, index, index, index, w, index, index, index, bias, index, limits, out,
            index, index, index,
        )  # fmt: skip

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            if not simd.variant.native:
                return context.get_dummy_value()

            def data(i: int) -> Value:
                return pointer(context, builder, signature.args[i], args[i])

            arguments = [data(i) if i in (2, 9, 13, 15, 16) else args[i] for i in range(len(args))]
            formats = format_of(signature.args[2]), format_of(signature.args[16])
            done = builder.append_basic_block("windows_done")
            for number, (columns, step) in enumerate(known, 1):
                with builder.if_then(builder.icmp_signed("==", args[1], e.I64(number))):
                    Windows(simd.variant, pixels, vectors, columns, step, *formats).emit(builder, *arguments[2:])
                    builder.branch(done)
            Windows(simd.variant, pixels, vectors, 0, 0, *formats).emit(builder, *arguments[2:])
            builder.branch(done)
            builder.position_at_end(done)
            return context.get_dummy_value()

        return sig, codegen

    return found
