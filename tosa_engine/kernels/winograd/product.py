"""The products of the integer Winograd convolution, at each point: with weights that are transformed, or, for a few
tiles, with weights that are transformed in registers on the way.

Only imported when the JIT is on; `steps` has the plain twins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._jit import intrinsic, ir, numba_types
from .._jit import llvm as e
from .matrices import FACTORS, REDUCED
from .places import FEW, FEWEST_LANES, PAIRS, POINTS, TAPS, WINDOW, block_rows, columns_of
from .transforms import times, to_reduced, widened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._jit.typed import Builder, Context, Kind, Phi, Signature, Typing, Value
    from .._jit.variants import Variant

UNROLL: Final = 2  # steps along K in one turn of the loop; with 4, AVX2 needs more registers than there are
LINE: Final = 64  # bytes of a line of a cache
EACH: Final = FEW + 1  # the case of tiles of each shape; rows may be 0, where no tile is tall
DISTANCE: Final = 4096  # bytes from weights that are multiplied to those that are fetched meanwhile
AHEAD: Final = 48  # bytes of the next weights that are fetched in a step: those of a pair in WINDOW steps


def _begin(builder: Builder, m: Value, places: Sequence[Value], again: Value, lanes: int) -> Sequence[Value]:
    """What is at the places of `m` where `again`, otherwise zeros."""
    kind, entry = e.vector(e.I32, lanes), builder.block
    with builder.if_then(again):
        loaded = [e.load(builder, m, place, kind, 4) for place in places]
        inside = builder.block
    found: list[Phi] = []
    for value in loaded:
        found.append(builder.phi(kind))
        found[-1].add_incoming(e.constant(lanes, e.I32, 0), entry)
        found[-1].add_incoming(value, inside)
    return found


def _multiplied(builder: Builder, sums: Sequence[Value], factor: Value) -> Sequence[Value]:
    """The sums times a factor, which is 1 as a rule."""
    entry, lanes = builder.block, sums[0].type.count
    with builder.if_then(builder.icmp_signed("!=", factor, e.I64(1))):
        factors = e.spread(builder, builder.trunc(factor, e.I32), lanes)
        products = [builder.mul(value, factors) for value in sums]
        inside = builder.block
    found: list[Phi] = []
    for value, product in zip(sums, products, strict=True):
        found.append(builder.phi(value.type))
        found[-1].add_incoming(value, entry)
        found[-1].add_incoming(product, inside)
    return found


def emit_product(
    builder: Builder, variant: Variant, rows: int, pitch: Value, v: Value, u: Value, m: Value, chunks: Value,
    again: Value, factor: Value, fetched: Value,
) -> None:  # fmt: skip
    """m[rows, COLUMNS] = products of pairs times `factor`; `v`, `u` and `m` point to 32 bits. Before the address
    `fetched`, weights are brought to the second-level cache DISTANCE ahead.
    """
    lanes, columns = variant.lanes, columns_of(variant.lanes)
    kind, vectors = e.vector(e.I32, lanes), columns // lanes
    vnni = any("vnni" in need for need in variant.needs)
    turn = builder.mul(pitch, e.I64(PAIRS))

    def steps(v: Value, u: Value, *sums: Value) -> list[Value]:
        new = list(sums)
        # no condition that is known ahead of the loop, of which the compiler would make two
        with builder.if_then(builder.icmp_unsigned("<", builder.ptrtoint(u, e.I64), fetched)):
            for line in range(0, UNROLL * columns * 4, LINE):
                _prefetch(builder, builder.gep(u, [e.I64((DISTANCE + line) // 4)]))
        for step in range(UNROLL):
            weights = [e.load(builder, u, e.I64(step * columns + j * lanes), kind, 4) for j in range(vectors)]
            for r in range(rows):
                scalar = e.load(builder, v, e.I64(r * PAIRS + step), e.I32, 4)
                pair = e.spread(builder, scalar, lanes)
                for i, weight in enumerate(weights, r * vectors):
                    new[i] = e.multiply_pairs(builder, new[i], pair, weight, vnni=vnni, x86=variant.x86)
        return [builder.gep(v, [e.I64(UNROLL)]), builder.gep(u, [e.I64(UNROLL * columns)]), *new]

    def chunk(v: Value, u: Value, *sums: Value) -> list[Value]:
        new = e.repeat(builder, e.I64(PAIRS // UNROLL), [v, u, *sums], steps)
        return [builder.gep(v, [turn]), *new[1:]]

    places = [e.I64(i // vectors * POINTS * columns + i % vectors * lanes) for i in range(rows * vectors)]
    begin = _begin(builder, m, places, again, lanes)
    sums = e.repeat(builder, chunks, [v, u, *begin], chunk)[2:]
    for place, total in zip(places, _multiplied(builder, sums, factor), strict=True):
        e.store(builder, total, m, place, 4)


@intrinsic
def multiply(
    typingctx: Context, simd: Kind, rows: Kind, pitch: Kind, v: Kind, first: Kind, u: Kind, start: Kind, m: Kind,
    to: Kind, chunks: Kind, again: Kind, factor: Kind, fetched: Kind,
) -> Typing:  # fmt: skip
    """plain_product; weights are fetched up to the element `fetched`, 0 for none."""
    index = numba_types.int64
    sig = numba_types.void(simd, index, index, v, index, u, index, m, index, index, numba_types.boolean, index, index)

    def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
        kinds, variant = signature.args, signature.args[0].variant
        _, rows, pitch, _, first, _, start, _, to, chunks, again, factor, fetched = args
        again = builder.icmp_unsigned("!=", again, again.type(0))
        v = builder.gep(e.pointer(context, builder, kinds[3], args[3], e.I16), [first])
        u = e.pointer(context, builder, kinds[5], args[5], e.I16)
        fetched = builder.ptrtoint(builder.gep(u, [fetched]), e.I64)
        u = builder.gep(u, [start])
        m = builder.gep(e.pointer(context, builder, kinds[7], args[7], e.I32), [to])
        v, u = (builder.bitcast(data, e.I32.as_pointer()) for data in (v, u))
        done = builder.append_basic_block("multiplied")
        which = builder.switch(rows, done)
        for count in block_rows(variant.lanes):
            which.add_case(e.I64(count), builder.append_basic_block(f"rows{count}"))
            builder.position_at_end(which.cases[-1][1])
            emit_product(builder, variant, count, pitch, v, u, m, chunks, again, factor, fetched)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return sig, codegen


def _prefetch(builder: Builder, address: Value) -> None:
    """To read, into the second-level cache."""
    kind = ir.FunctionType(ir.VoidType(), [address.type, e.I32, e.I32, e.I32])
    builder.call(e.declare(builder, kind, "llvm.prefetch.p0"), [address, e.I32(0), e.I32(2), e.I32(1)])


def _sums_of_bytes(builder: Builder, w: Value, at: int, factors: tuple[int, int]) -> Value:
    """int16 from neighbouring bytes, each times its factor of 0 to 127; the bytes begin at `at`."""
    kind = e.vector(e.I8, 2 * 2 * FEWEST_LANES)
    numbers = ir.Constant(kind, list(factors) * (kind.count // 2))
    name = ir.FunctionType(e.vector(e.I16, kind.count // 2), [kind, kind])
    function = e.declare(builder, name, "llvm.x86.avx512.pmaddubs.w.512")
    return builder.call(function, [numbers, e.load(builder, w, e.I64(at), kind, 1)])


def _line_of_weights(builder: Builder, i: int, w: Value) -> list[Value]:
    """Row i of REDUCED g, for weights in the order of `prepare.for_few`."""
    first, middle, last = (int(factor) for factor in REDUCED[i])
    size = 2 * FEWEST_LANES
    found = [_sums_of_bytes(builder, w, column * 2 * size, (first, last)) for column in range(3)]
    if middle == 0:
        return found
    factor = abs(middle)
    between = [_sums_of_bytes(builder, w, 6 * size, factors) for factors in ((factor, 0), (0, factor))]
    between.append(times(builder, widened(builder, w, e.I64(8 * size), size), factor))
    step = builder.add if middle > 0 else builder.sub
    return [step(value, other) for value, other in zip(found, between, strict=True)]


def emit_few(
    builder: Builder, variant: Variant, i: int, rows: int, wide: range, pitch: Value, v: Value, point: Value, w: Value,
    ahead: Value, m: Value, chunks: Value,
) -> None:  # fmt: skip
    """m[row, point (i, j), column] for all j, a vector of columns and `rows` rows, of which `wide` ones have all j.

    `v` points to 32 bits, and `w` to the bytes of `prepare.for_few`. Meanwhile, bytes from `ahead` on are brought
    to the second-level cache.
    """
    lanes, columns = variant.lanes, columns_of(variant.lanes)
    vnni = any("vnni" in need for need in variant.needs)
    turn = builder.mul(pitch, e.I64(PAIRS))
    size = 2 * lanes
    sums_at = [(j, r) for j in range(WINDOW) for r in (range(rows) if j < WINDOW - 1 else wide)]

    def step(w: Value, ahead: Value, *carried: Value) -> list[Value]:
        lines, new = carried[:WINDOW], list(carried[WINDOW:])
        _prefetch(builder, ahead)
        if i == 0:
            for line in range(0, TAPS * size, LINE):
                _prefetch(builder, builder.gep(w, [e.I64(DISTANCE + line)]))

        weights = to_reduced(builder, _line_of_weights(builder, i, w))
        for place, (j, r) in enumerate(sums_at):
            pair = e.spread(builder, e.load(builder, lines[j], e.I64(r * PAIRS), e.I32, 4), lanes)
            new[place] = e.multiply_pairs(builder, new[place], pair, weights[j], vnni=vnni, x86=variant.x86)
        moved = [builder.gep(line, [e.I64(1)]) for line in lines]
        return [builder.gep(w, [e.I64(TAPS * size)]), builder.gep(ahead, [e.I64(AHEAD)]), *moved, *new]

    def chunk(w: Value, ahead: Value, *carried: Value) -> list[Value]:
        w, ahead, *new = e.repeat(builder, e.I64(PAIRS), [w, ahead, *carried], step)
        lines = [builder.gep(line, [turn]) for line in carried[:WINDOW]]
        return [w, ahead, *lines, *new[WINDOW:]]

    words = builder.ashr(point, e.I64(1))
    lines = [builder.gep(v, [builder.mul(words, e.I64(i * WINDOW + j))]) for j in range(WINDOW)]
    clear = [e.constant(lanes, e.I32, 0)] * len(sums_at)
    sums = e.repeat(builder, chunks, [w, ahead, *lines, *clear], chunk)[2 + WINDOW :]
    for (j, r), total in zip(sums_at, sums, strict=True):
        total = times(builder, total, FACTORS[i] * FACTORS[j])
        e.store(builder, total, m, e.I64((r * POINTS + i * WINDOW + j) * columns), 4)


def _rows_of_each(i: int) -> tuple[int, range]:
    """How many of four tiles, one of each shape, have row i of the points, and which of these are wide."""
    return (2, range(1, 2)) if i == WINDOW - 1 else (4, range(1, 3))


@intrinsic
def multiply_few(
    typingctx: Context, simd: Kind, rows: Kind, tall: Kind, each: Kind, pitch: Kind, v: Kind, point: Kind, w: Kind,
    start: Kind, m: Kind, to: Kind, chunks: Kind,
) -> Typing:  # fmt: skip
    """plain_weights and plain_product of a vector of columns and `rows` <= FEW tiles, of which the first `tall` ones
    are tall. `each` is 1 where there is one tile of each shape, which all have the points they need, and no others.
    Elsewhere points that a tile misses get any values.
    """
    index = numba_types.int64
    sig = numba_types.void(simd, index, index, index, index, v, index, w, index, m, index, index)

    def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
        kinds, variant = signature.args, signature.args[0].variant
        _, rows, tall, each, pitch, _, point, _, start, _, to, chunks = args
        if variant.lanes < FEWEST_LANES:
            return context.get_dummy_value()
        v = builder.bitcast(e.pointer(context, builder, kinds[5], args[5], e.I16), e.I32.as_pointer())
        w = builder.gep(e.pointer(context, builder, kinds[7], args[7], e.I8), [start])
        m = builder.gep(e.pointer(context, builder, kinds[9], args[9], e.I32), [to])
        following = builder.gep(w, [builder.mul(chunks, e.I64(PAIRS * TAPS * 2 * variant.lanes))])
        for i in range(WINDOW):
            ahead = builder.gep(following, [builder.mul(chunks, e.I64(i * PAIRS * AHEAD))])
            count = tall if i == WINDOW - 1 else rows
            done = builder.append_basic_block("multiplied")
            which = builder.switch(builder.select(builder.icmp_signed("!=", each, e.I64(0)), e.I64(EACH), count), done)
            for case in (*range(1, FEW + 1), EACH):
                which.add_case(e.I64(case), builder.append_basic_block(f"few{case}"))
                builder.position_at_end(which.cases[-1][1])
                tiles, wide = _rows_of_each(i) if case == EACH else (case, range(case))
                emit_few(builder, variant, i, tiles, wide, pitch, v, point, w, ahead, m, chunks)
                builder.branch(done)
            builder.position_at_end(done)
        return context.get_dummy_value()

    return sig, codegen


@intrinsic
def fetch(typingctx: Context, w: Kind, start: Kind, size: Kind) -> Typing:
    """Bring `size` bytes of an array to the second-level cache."""
    index = numba_types.int64

    def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
        data = builder.gep(e.pointer(context, builder, signature.args[0], args[0], e.I8), [args[1]])

        def line(i: Value, none: list[Value]) -> list[Value]:
            _prefetch(builder, builder.gep(data, [i]))
            return none

        e.loop(builder, e.I64(0), args[2], LINE, [], line)
        return context.get_dummy_value()

    return numba_types.void(w, index, index), codegen
