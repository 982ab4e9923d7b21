"""Quads: four input rows with their bytes side by side, the form in which a depthwise window reads its input.

One instruction multiplies the four unsigned bytes of a lane by four signed weights and adds the products to the lane,
so a quad holds what up to four rows of a kernel need of a column, and of one row of outputs or several. Bytes are
value + 128; the bias makes up for it. (Units that multiply signed bytes read the values themselves.)

Columns of `width` neighbouring channels (16, 32 or 64) are VECTORS vectors of width bytes each. Rows are interleaved in
128-bit parts, as vector units do: lane l of vector v belongs to channel 16 * (l // 4) + 4 * v + l % 4. Narrowing two
pairs of vectors puts the channels back in order. With a step between windows, columns that leave the same rest on
division by the step (a plane) are neighbours, so that neighbouring outputs find neighbouring columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import JIT
from .places import ROWS, VECTORS, WIDTHS

if JIT:
    from .._jit import intrinsic, numba_types
    from .._jit import llvm as e

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...types import Array
    from .._jit.typed import Builder, Compiled, Context, Kind, Phi, Signature, Typing, Value
    from .._jit.variants import Variant


def plain_interleave(
    simd: Variant, x: Array, pad: Array, rows: Array, first: int, shift: int, step: int, a: Array, at: int, width: int,
    counts: tuple[int, ...],
) -> None:  # fmt: skip
    """One quad: column i, vector v, lane l, row r = 128 + x[rows[first + r] + shift + i * step + channel].

    `counts` are the columns before the input, inside it and after it, then the number of planes and the columns of
    one. Outside there is `pad`, and where rows[...] is negative.
    """
    before, inside, after, planes, size = counts
    for i in range(before + inside + after):
        place = at + (i % planes * size + i // planes) * VECTORS * width
        column = a[place : place + VECTORS * width]
        for r in range(ROWS):
            padding = rows[first + r] < 0 or i < before or i >= before + inside
            start = 0 if padding else rows[first + r] + shift + (i - before) * step
            values = pad[:width] if padding else x[start : start + width]
            for j in range(width):
                column[(j >> 2 & 3) * width + (j & -16) + (j & 3) * ROWS + r] = values[j] ^ -128


def counted(
    builder: Builder, count: Value, values: Sequence[Value], body: Callable[..., Sequence[Value]]
) -> list[Value]:
    """values = body(i, *values) for i < count, which may be 0."""
    entry = builder.block
    loop, inside, done = (builder.append_basic_block(name) for name in ("loop", "inside", "done"))
    builder.branch(loop)
    builder.position_at_end(loop)
    i = builder.phi(e.I64)
    found: list[Phi] = [builder.phi(value.type) for value in values]
    builder.cbranch(builder.icmp_signed("<", i, count), inside, done)
    builder.position_at_end(inside)
    new = body(i, *found)
    i.add_incoming(e.I64(0), entry)
    i.add_incoming(builder.add(i, e.I64(1)), builder.block)
    for phi, first, again in zip(found, values, new, strict=True):
        phi.add_incoming(first, entry)
        phi.add_incoming(again, builder.block)
    builder.branch(loop)
    builder.position_at_end(done)
    return list(found)


def _unpack(builder: Builder, first: Value, second: Value, upper: bool) -> Value:
    """Elements of both in turn, of each 128-bit part its lower or upper half."""
    count = first.type.count
    part = 128 // first.type.element.width
    start = part // 2 if upper else 0
    picked = [p + start + i + which for p in range(0, count, part) for i in range(part // 2) for which in (0, count)]
    return builder.shuffle_vector(first, second, e.indices(picked))


def _column(builder: Builder, simd: Variant, rows: Sequence[Value]) -> list[Value]:
    """The vectors of a column from its channels in four rows."""
    width = rows[0].type.count
    shifted = rows if simd.signed else [builder.xor(row, e.constant(width, e.I8, 0x80)) for row in rows]
    halves = [
        builder.bitcast(_unpack(builder, shifted[k], shifted[k + 1], upper), e.vector(e.I16, width // 2))
        for upper in (False, True)
        for k in (0, 2)
    ]
    return [
        builder.bitcast(_unpack(builder, halves[k], halves[k + 1], upper), rows[0].type)
        for k in (0, 2)
        for upper in (False, True)
    ]


def emit_interleave(
    builder: Builder, simd: Variant, width: int, data: Sequence[Value], shift: Value, step: Value,
    counts: Sequence[Value],
) -> None:  # fmt: skip
    x, pad, rows, a = data
    kind = e.vector(e.I8, width)
    before, inside, after, planes, size = counts
    sources = []
    for r in range(ROWS):
        start = builder.load(builder.gep(rows, [e.I64(r)]))
        known = builder.icmp_signed(">=", start, e.I64(0))
        address = builder.select(known, builder.gep(x, [builder.add(start, shift)]), pad)
        sources.append((address, builder.select(known, step, e.I64(0))))
    blank = _column(builder, simd, [e.load(builder, pad, e.I64(0), kind, 1)] * ROWS)
    back = builder.sub(builder.mul(size, builder.sub(planes, e.I64(1))), e.I64(1))

    def put(vectors: Sequence[Value], place: Value, plane: Value) -> list[Value]:
        """Store a column at `place`; the place of the next one."""
        at = builder.mul(place, e.I64(VECTORS * width))
        for v, value in enumerate(vectors):
            e.store(builder, value, a, builder.add(at, e.I64(v * width)), 16)
        plane = builder.add(plane, e.I64(1))
        last = builder.icmp_signed("==", plane, planes)
        place = builder.select(last, builder.sub(place, back), builder.add(place, size))
        return [place, builder.select(last, e.I64(0), plane)]

    def outside(i: Value, place: Value, plane: Value) -> list[Value]:
        return put(blank, place, plane)

    def interleaved(i: Value, place: Value, plane: Value) -> list[Value]:
        loaded = [e.load(builder, address, builder.mul(i, by), kind, 1) for address, by in sources]
        return put(_column(builder, simd, loaded), place, plane)

    state: Sequence[Value] = [e.I64(0), e.I64(0)]
    for count, body in ((before, outside), (inside, interleaved), (after, outside)):
        state = counted(builder, count, state, body)


def emit_for(builder: Builder, simd: Kind, width: Value, body: Callable[[int], None]) -> None:
    """body(w) for the one of WIDTHS that `width` is, of those that a vector unit has."""
    for known in WIDTHS:
        if known <= VECTORS * simd.variant.lanes:
            with builder.if_then(builder.icmp_signed("==", width, e.I64(known))):
                body(known)


def _make() -> Compiled:
    @intrinsic
    def interleave(
        typingctx: Context, simd: Kind, x: Kind, pad: Kind, rows: Kind, first: Kind, shift: Kind, step: Kind, a: Kind,
        at: Kind, width: Kind, counts: Kind,
    ) -> Typing:  # fmt: skip
        index = numba_types.int64
        sig = numba_types.void(simd, x, pad, rows, index, index, index, a, index, index, counts)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            kinds = signature.args
            if not kinds[0].variant.native:
                return context.compile_internal(builder, plain_interleave, signature, args)
            x_data, pad_data = (e.pointer(context, builder, kinds[k], args[k], e.I8) for k in (1, 2))
            row_data = builder.gep(e.pointer(context, builder, kinds[3], args[3], e.I64), [args[4]])
            a_data = builder.gep(e.pointer(context, builder, kinds[7], args[7], e.I8), [args[8]])
            counts = [builder.extract_value(args[10], k) for k in range(5)]

            def body(width: int) -> None:
                emit_interleave(
                    builder, kinds[0].variant, width, (x_data, pad_data, row_data, a_data), args[5], args[6], counts
                )

            emit_for(builder, kinds[0], args[9], body)
            return context.get_dummy_value()

        return sig, codegen

    return interleave


interleave = _make() if JIT else plain_interleave
