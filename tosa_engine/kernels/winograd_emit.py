"""The vector code of the integer Winograd convolution: inputs to points, products at each point, points to outputs.

`winograd.py` derives the formulas. All additions and products wrap like int16 or int32, which keeps them exact.
Only imported when the JIT is on; `winograd_steps.py` has the plain twins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from . import emitting as e
from . import scale
from ._jit import intrinsic, ir, numba_types
from .winograd_places import CHUNK, GROUP, INVERSE_OF_9, PAIRS, POINTS, TILE, WINDOW, block_rows, columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .variants import Variant

UNROLL: Final = 2  # steps along K in one turn of the loop; with 4, AVX2 needs more registers than there are
# powers of two that `_to_outputs` leaves out of the rows of A^T
LEFT_OUT: Final = (0, 1, 2, 2)


def _counted(builder: Any, count: Any, first: Sequence[Any], body: Callable[..., list[Any]]) -> list[Any]:
    """values = body(*values), `count` times, at least once; the values that the last turn returns."""
    entry, loop, done = builder.block, builder.append_basic_block("turn"), builder.append_basic_block("turned")
    builder.branch(loop)
    builder.position_at_end(loop)
    phis = [builder.phi(kind) for kind in (e.I64, *(value.type for value in first))]
    new = body(*phis[1:])
    following = builder.add(phis[0], e.I64(1))
    end = builder.block
    builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
    for phi, start, again in zip(phis, [e.I64(0), *first], [following, *new], strict=True):
        phi.add_incoming(start, entry)
        phi.add_incoming(again, end)
    builder.position_at_end(done)
    return new


def _to_points(builder: Any, d: Sequence[Any]) -> list[Any]:
    """B^T d for six vectors."""
    two = e.constant(d[0].type.count, d[0].type.element, 2)
    add, sub = builder.add, builder.sub

    def fourfold(value: Any) -> Any:
        return builder.shl(value, two)

    a = sub(d[4], d[2])
    half = sub(d[3], d[1])
    b = add(half, half)
    c, f = sub(d[4], fourfold(d[2])), sub(d[3], fourfold(d[1]))
    first = add(fourfold(sub(d[0], d[2])), a)
    last = sub(sub(d[5], d[3]), add(b, b))
    return [first, add(c, f), sub(c, f), add(a, b), sub(a, b), last]


def _to_outputs(builder: Any, m: Sequence[Any]) -> list[Any]:
    """A^T m for six vectors, the rows divided by 2 to the powers LEFT_OUT."""
    add, sub = builder.add, builder.sub

    def double(value: Any) -> Any:
        return add(value, value)

    s, d, t, u = add(m[1], m[2]), sub(m[1], m[2]), add(m[3], m[4]), sub(m[3], m[4])
    first = add(double(add(double(add(s, m[0])), m[0])), t)
    last = add(d, double(add(u, add(double(m[5]), m[5]))))
    return [first, add(double(d), u), add(s, t), last]


def _twice(values: Sequence[Any], size: int, transform: Callable[[Sequence[Any]], list[Any]]) -> list[list[Any]]:
    """The transform of the columns, then of the rows, of values[row * size + column]."""
    columns = [transform([values[i * size + j] for i in range(size)]) for j in range(size)]
    return [transform([columns[j][i] for j in range(size)]) for i in range(len(columns[0]))]


@intrinsic
def transform_inputs(
    typingctx: Any, simd: Any, a: Any, start: Any, line: Any, pixel: Any, v: Any, to: Any, point: Any
) -> Any:
    index = numba_types.int64
    sig = numba_types.void(simd, a, index, index, index, v, index, index)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, lanes = signature.args, 2 * signature.args[0].variant.lanes
        _, _, start, line, pixel, _, to, point = args
        source = e.pointer(context, builder, kinds[1], args[1], e.I16)
        target = e.pointer(context, builder, kinds[5], args[5], e.I16)
        kind = e.vector(e.I16, lanes)
        starts = [builder.add(start, builder.mul(line, e.I64(i))) for i in range(WINDOW)]
        columns = [builder.mul(pixel, e.I64(j)) for j in range(WINDOW)]
        for part in range(0, CHUNK, lanes):
            loaded = []
            for first in starts:
                for column in columns:
                    at = builder.add(builder.add(first, column), e.I64(part))
                    loaded.append(e.load(builder, source, at, kind, 2))
            place = builder.add(to, e.I64(part))
            for row in _twice(loaded, WINDOW, lambda d: _to_points(builder, d)):
                for value in row:
                    e.store(builder, value, target, place, 2)
                    place = builder.add(place, point)
        return context.get_dummy_value()

    return sig, codegen


def emit_product(builder: Any, variant: Variant, rows: int, v: Any, u: Any, m: Any, chunks: Any) -> None:
    """m[rows, COLUMNS] = products of pairs; `v`, `u` and `m` point to 32 bits."""
    lanes, columns = variant.lanes, columns_of(variant.lanes)
    kind, vectors = e.vector(e.I32, lanes), columns // lanes
    vnni = any("vnni" in need for need in variant.needs)

    def steps(v: Any, u: Any, *sums: Any) -> list[Any]:
        new = list(sums)
        for step in range(UNROLL):
            weights = [e.load(builder, u, e.I64(step * columns + j * lanes), kind, 4) for j in range(vectors)]
            for r in range(rows):
                scalar = e.load(builder, v, e.I64(r * PAIRS + step), e.I32, 4)
                pair = e.spread(builder, scalar, lanes)
                for i, weight in enumerate(weights, r * vectors):
                    new[i] = e.multiply_pairs(builder, new[i], pair, weight, vnni=vnni, x86=variant.x86)
        return [builder.gep(v, [e.I64(UNROLL)]), builder.gep(u, [e.I64(UNROLL * columns)]), *new]

    def chunk(v: Any, u: Any, *sums: Any) -> list[Any]:
        new = _counted(builder, e.I64(PAIRS // UNROLL), [v, u, *sums], steps)
        return [builder.gep(v, [e.I64(rows * PAIRS)]), *new[1:]]

    clear = [e.constant(lanes, e.I32, 0)] * (rows * vectors)
    for i, total in enumerate(_counted(builder, chunks, [v, u, *clear], chunk)[2:]):
        e.store(builder, total, m, e.I64(i // vectors * POINTS * columns + i % vectors * lanes), 4)


@intrinsic
def multiply(
    typingctx: Any, simd: Any, rows: Any, v: Any, first: Any, u: Any, start: Any, m: Any, to: Any, chunks: Any
) -> Any:
    index = numba_types.int64
    sig = numba_types.void(simd, index, v, index, u, index, m, index, index)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, variant = signature.args, signature.args[0].variant
        _, rows, _, first, _, start, _, to, chunks = args
        v = builder.gep(e.pointer(context, builder, kinds[2], args[2], e.I16), [first])
        u = builder.gep(e.pointer(context, builder, kinds[4], args[4], e.I16), [start])
        m = builder.gep(e.pointer(context, builder, kinds[6], args[6], e.I32), [to])
        v, u = (builder.bitcast(data, e.I32.as_pointer()) for data in (v, u))
        done = builder.append_basic_block("multiplied")
        which = builder.switch(rows, done)
        for count in block_rows(variant.lanes):
            which.add_case(e.I64(count), builder.append_basic_block(f"rows{count}"))
            builder.position_at_end(which.cases[-1][1])
            emit_product(builder, variant, count, v, u, m, chunks)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return sig, codegen


def _sums(builder: Any, m: Any, at: Any, columns: Any, seed: Any, lanes: int) -> list[tuple[int, int, Any]]:
    """The sums of the 4 x 4 outputs as vectors, with their row and column."""
    loaded = []
    for p in range(POINTS):
        place = builder.add(at, builder.mul(columns, e.I64(p)))
        loaded.append(e.load(builder, m, place, e.vector(e.I32, lanes), 4))
    loaded[WINDOW + 1] = builder.add(loaded[WINDOW + 1], seed)
    found = []
    for i, row in enumerate(_twice(loaded, WINDOW, lambda values: _to_outputs(builder, values))):
        for j, value in enumerate(row):
            scaled = builder.mul(value, e.constant(lanes, e.I32, INVERSE_OF_9))
            shift = e.constant(lanes, e.I32, 6 - LEFT_OUT[i] - LEFT_OUT[j])
            found.append((i, j, builder.ashr(scaled, shift)))
    return found


@intrinsic
def transform_products(
    typingctx: Any, simd: Any, m: Any, start: Any, columns: Any, seed: Any, channel: Any, c: Any
) -> Any:
    index = numba_types.int64
    sig = numba_types.void(simd, m, index, index, seed, index, c)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, lanes = signature.args, signature.args[0].variant.lanes
        _, _, start, columns, _, channel, _ = args
        products = e.pointer(context, builder, kinds[1], args[1], e.I32)
        seeds = e.pointer(context, builder, kinds[4], args[4], e.I32)
        c = e.pointer(context, builder, kinds[6], args[6], e.I32)
        for part in range(0, GROUP, lanes):
            seed = e.load(builder, seeds, builder.add(channel, e.I64(part)), e.vector(e.I32, lanes), 4)
            for i, j, value in _sums(builder, products, builder.add(start, e.I64(part)), columns, seed, lanes):
                e.store(builder, value, c, e.I64((i * TILE + j) * GROUP + part), 4)
        return context.get_dummy_value()

    return sig, codegen


@intrinsic
def transform_and_scale(
    typingctx: Any, simd: Any, m: Any, start: Any, columns: Any, seed: Any, channel: Any, c: Any, e32: Any, pitch: Any,
    limits: Any, out: Any, to: Any, line: Any, pixel: Any, height: Any, width: Any,
) -> Any:  # fmt: skip
    index = numba_types.int64
    sig = numba_types.void(
        simd, m, index, index, seed, index, c, e32, index, limits, out, index, index, index, index, index
    )

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, lanes = signature.args, signature.args[0].variant.lanes
        _, _, start, columns, _, channel, _, _, pitch, _, _, to, line, pixel, height, width = args
        element = ir.IntType(kinds[10].dtype.bitwidth)
        products, seeds, spare, rows32 = (e.pointer(context, builder, kinds[i], args[i], e.I32) for i in (1, 4, 6, 7))
        spare = builder.bitcast(spare, element.as_pointer())
        bounds = scale.bounds_of(builder, e.pointer(context, builder, kinds[9], args[9], e.I64), lanes)
        out = e.pointer(context, builder, kinds[10], args[10], element)
        inside = [[builder.icmp_signed("<", e.I64(i), count) for i in range(TILE)] for count in (height, width)]
        for part in range(0, GROUP, lanes):
            first = builder.add(channel, e.I64(part))
            seed = e.load(builder, seeds, first, e.vector(e.I32, lanes), 4)
            found = scale.parameters(builder, rows32, None, pitch, first, lanes, words=False)
            for i, j, value in _sums(builder, products, builder.add(start, e.I64(part)), columns, seed, lanes):
                at = builder.add(to, builder.add(builder.mul(line, e.I64(i)), builder.mul(pixel, e.I64(j))))
                target = builder.gep(out, [builder.add(at, e.I64(part))])
                target = builder.select(builder.and_(inside[0][i], inside[1][j]), target, spare)
                result = scale.emit_in_high_words(builder, value, found, bounds)
                scale.emit_store(builder, result, target, e.I64(0), element.width, None)
        return context.get_dummy_value()

    return sig, codegen
