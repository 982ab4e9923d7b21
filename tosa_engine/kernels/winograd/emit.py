"""The vector code of the integer Winograd convolution: inputs and weights to points, points to outputs.

`prepare` derives the formulas. All additions and products wrap like int16 or int32, which keeps them exact.
Only imported when the JIT is on; `steps` has the plain twins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import intrinsic, ir, numba_types
from .._jit import llvm as e
from ..scale import accumulators as scale
from ..scale.places import MULTIPLIER
from .places import CHUNK, GROUP, HALF_64, INVERSE_OF_9, RIGHT_64, ROUNDED, SHIFT, TAPS, TILE, WINDOW, columns_of
from .transforms import times, to_outputs, to_points, to_reduced, twice, widened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value


def _shapes(builder: Builder, tall: Value, wide: Value, emit: Callable[[int, int], None]) -> None:
    """emit(points down, points across) for the shape of a tile, which is known when it runs."""
    done = builder.append_basic_block("shaped")
    which = builder.switch(builder.or_(builder.shl(tall, e.I64(1)), wide), done)
    for shape in range(4):
        which.add_case(e.I64(shape), builder.append_basic_block(f"shape{shape}"))
        builder.position_at_end(which.cases[-1][1])
        emit(WINDOW - 1 + shape // 2, WINDOW - 1 + shape % 2)
        builder.branch(done)
    builder.position_at_end(done)


@intrinsic
def transform_inputs(
    typingctx: Context, simd: Kind, x: Kind, a: Kind, copied: Kind, start: Kind, line: Kind, pixel: Kind, v: Kind,
    to: Kind, point: Kind, tall: Kind, wide: Kind,
) -> Typing:  # fmt: skip
    """plain_inputs of the array `a` where `copied` isn't 0, else of `x`."""
    index = numba_types.int64
    sig = numba_types.void(simd, x, a, index, index, index, index, v, index, index, index, index)

    def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
        kinds, lanes = signature.args, 2 * signature.args[0].variant.lanes
        _, _, _, copied, start, line, pixel, _, to, point, tall, wide = args
        sources = [e.pointer(context, builder, kinds[i], args[i], e.I8) for i in (1, 2)]
        source = builder.select(builder.icmp_signed("!=", copied, e.I64(0)), sources[1], sources[0])
        target = e.pointer(context, builder, kinds[7], args[7], e.I16)

        def shape(height: int, width: int) -> None:
            lines = [builder.add(start, builder.mul(line, e.I64(i))) for i in range(height)]
            columns = [builder.mul(pixel, e.I64(j)) for j in range(width)]
            for part in range(0, CHUNK, lanes):
                loaded = [
                    [widened(builder, source, builder.add(builder.add(y, x), e.I64(part)), lanes) for x in columns]
                    for y in lines
                ]
                for i, row in enumerate(twice(builder, loaded, to_points)):
                    for j, value in enumerate(row):
                        at = builder.add(builder.mul(point, e.I64(i * WINDOW + j)), builder.add(to, e.I64(part)))
                        e.store(builder, value, target, at, 2)

        _shapes(builder, tall, wide, shape)
        return context.get_dummy_value()

    return sig, codegen


@intrinsic
def transform_weights(
    typingctx: Context, simd: Kind, w: Kind, start: Kind, pairs: Kind, u: Kind, to: Kind, point: Kind
) -> Typing:
    """plain_weights of a vector of columns."""
    index = numba_types.int64
    sig = numba_types.void(simd, w, index, index, u, index, index)

    def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
        kinds, lanes = signature.args, signature.args[0].variant.lanes
        _, _, start, pairs, _, to, point = args
        source = builder.gep(e.pointer(context, builder, kinds[1], args[1], e.I8), [start])
        target = builder.gep(e.pointer(context, builder, kinds[4], args[4], e.I16), [to])

        def pair(source: Value, target: Value) -> list[Value]:
            taps = [widened(builder, source, e.I64(tap * 2 * lanes), 2 * lanes) for tap in range(TAPS)]
            for i, row in enumerate(twice(builder, [taps[:3], taps[3:6], taps[6:]], to_reduced)):
                for j, value in enumerate(row):
                    e.store(builder, value, target, builder.mul(point, e.I64(i * WINDOW + j)), 2)
            return [builder.gep(source, [e.I64(TAPS * 2 * lanes)]), builder.gep(target, [e.I64(2 * columns_of(lanes))])]

        e.repeat(builder, pairs, [source, target], pair)
        return context.get_dummy_value()

    return sig, codegen


def _sums(
    builder: Builder, m: Value, at: Value, columns: Value, seed: Value, shape: Sequence[int]
) -> list[tuple[int, int, Value]]:
    """64 times the sums of a tile's outputs as vectors, with their row and column; `shape` is that of the points."""
    loaded = [
        [
            e.load(builder, m, builder.add(at, builder.mul(columns, e.I64(i * WINDOW + j))), seed.type, 4)
            for j in range(shape[1])
        ]
        for i in range(shape[0])
    ]
    loaded[1][1] = builder.add(loaded[1][1], seed)
    return [
        (i, j, times(builder, value, INVERSE_OF_9))
        for i, row in enumerate(twice(builder, loaded, to_outputs))
        for j, value in enumerate(row)
    ]


@intrinsic
def transform_products(
    typingctx: Context, simd: Kind, m: Kind, start: Kind, columns: Kind, seed: Kind, channel: Kind, c: Kind, tall: Kind,
    wide: Kind,
) -> Typing:  # fmt: skip
    """plain_outputs."""
    index = numba_types.int64
    sig = numba_types.void(simd, m, index, index, seed, index, c, index, index)

    def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
        kinds, lanes = signature.args, signature.args[0].variant.lanes
        _, _, start, columns, _, channel, _, tall, wide = args
        products, seeds, c = (e.pointer(context, builder, kinds[i], args[i], e.I32) for i in (1, 4, 6))

        def shape(*points: int) -> None:
            for part in range(0, GROUP, lanes):
                seed = e.load(builder, seeds, builder.add(channel, e.I64(part)), e.vector(e.I32, lanes), 4)
                at = builder.add(start, e.I64(part))
                for i, j, value in _sums(builder, products, at, columns, seed, points):
                    value = builder.ashr(value, e.constant(lanes, e.I32, SHIFT))
                    e.store(builder, value, c, e.I64((i * TILE + j) * GROUP + part), 4)

        _shapes(builder, tall, wide, shape)
        return context.get_dummy_value()

    return sig, codegen


def _make(double: bool) -> Compiled:
    """`double`: products are rounded first, as DOUBLE_ROUND does."""

    @intrinsic
    def transform_and_scale(
        typingctx: Context, simd: Kind, m: Kind, start: Kind, columns: Kind, seed: Kind, channel: Kind, c: Kind,
        e32: Kind, pitch: Kind, limits: Kind, out: Kind, to: Kind, line: Kind, pixel: Kind, tall: Kind, wide: Kind,
        height: Kind, width: Kind,
    ) -> Typing:  # fmt: skip
        """`winograd_steps.finish` of GROUP channels, where 64 times a sum with its bias fits int32."""
        index = numba_types.int64
        sig = numba_types.void(simd, m, index, index, seed, index, c, e32, index, limits, out, *[index] * 7)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds, lanes = signature.args, signature.args[0].variant.lanes
            _, _, start, columns, _, channel, _, _, pitch, _, _, to, line, pixel, tall, wide, height, width = args
            element = ir.IntType(kinds[10].dtype.bitwidth)
            words = (e.pointer(context, builder, kinds[i], args[i], e.I32) for i in (1, 4, 6, 7))
            products, seeds, spare, rows32 = words
            spare = builder.bitcast(spare, element.as_pointer())
            bounds = scale.bounds_of(builder, e.pointer(context, builder, kinds[9], args[9], e.I64), lanes)
            out = e.pointer(context, builder, kinds[10], args[10], element)
            inside = [[builder.icmp_signed("<", e.I64(i), count) for i in range(TILE)] for count in (height, width)]

            def shape(*points: int) -> None:
                for part in range(0, GROUP, lanes):
                    first = builder.add(channel, e.I64(part))
                    seed = e.load(builder, seeds, first, e.vector(e.I32, lanes), 4)
                    numbers = (MULTIPLIER, RIGHT_64, HALF_64)
                    found = scale.rows_of_channels(builder, rows32, pitch, first, lanes, numbers)
                    at = builder.add(start, e.I64(part))
                    for i, j, value in _sums(builder, products, at, columns, seed, points):
                        place = builder.add(builder.mul(line, e.I64(i)), builder.mul(pixel, e.I64(j)))
                        target = builder.gep(out, [builder.add(builder.add(to, place), e.I64(part))])
                        target = builder.select(builder.and_(inside[0][i], inside[1][j]), target, spare)
                        result = scale.emit_high_words(builder, value, found, less=2 * ROUNDED * double)
                        scale.emit_clipped_store(builder, result, bounds, target, element.width)

            _shapes(builder, tall, wide, shape)
            return context.get_dummy_value()

        return sig, codegen

    return transform_and_scale


transform_and_scale, transform_and_scale_rounded = _make(False), _make(True)
