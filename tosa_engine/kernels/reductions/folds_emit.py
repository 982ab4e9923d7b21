"""The LLVM IR of `folds`: vectors of LANES neighbours in registers along whole axes. Only imported when the JIT is on.

The vectors have LANES lanes whatever the processor has, so that the order of a sum is the same everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._jit import intrinsic, ir, numba_types
from .._jit import llvm as e
from .places import IGNORED, KINDS, LANES, MAXIMUM, SUM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value

    Emit = Callable[[int], Value]

SIDE_BY_SIDE: Final = (4, 2, 1)  # vectors that are folded at once
VECTOR: Final = e.vector(e.FLOAT, LANES)


def fold(builder: Builder, kind: int, a: Value, b: Value) -> Value:
    """Of vectors: a + b; the larger, the first of equals; or the smaller, the last of equals. A NaN is passed on, or
    ignored: then every number is taken for it.
    """
    if kind == SUM:
        return builder.fadd(a, b)
    if kind in IGNORED:
        compare, join = builder.fcmp_ordered, builder.or_
        known = builder.fcmp_unordered("uno", a, a)
    else:
        compare, join = builder.fcmp_unordered, builder.and_
        known = builder.fcmp_ordered("ord", a, a)
    return builder.select(join(compare(">" if kind in MAXIMUM else "<=", b, a), known), b, a)


def start(kind: int) -> Value:
    number = 0.0 if kind == SUM else float("nan") if kind in IGNORED else float("-inf" if kind in MAXIMUM else "inf")
    made: Value = ir.Constant(VECTOR, [number] * LANES)
    return made


def load(builder: Builder, data: Value, at: Value, mask: Value | None) -> Value:
    if mask is None:
        return e.load(builder, data, at, VECTOR, 4)
    place = builder.bitcast(builder.gep(data, [at]), VECTOR.as_pointer())
    kind = ir.FunctionType(VECTOR, [VECTOR.as_pointer(), e.I32, mask.type, VECTOR])
    function = e.declare(builder, kind, f"llvm.masked.load.v{LANES}f32.p0")
    return builder.call(function, [place, e.I32(4), mask, ir.Constant(VECTOR, [0.0] * LANES)])


def store(builder: Builder, value: Value, data: Value, at: Value, mask: Value | None) -> None:
    if mask is None:
        e.store(builder, value, data, at, 4)
        return
    place = builder.bitcast(builder.gep(data, [at]), VECTOR.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [VECTOR, VECTOR.as_pointer(), e.I32, mask.type])
    builder.call(e.declare(builder, kind, f"llvm.masked.store.v{LANES}f32.p0"), [value, place, e.I32(4), mask])


def by_kind(builder: Builder, kind: Value, emit: Emit) -> Value:
    """What `emit` gives for the kind that `kind` says, of which there is code for each."""
    end, unknown = builder.append_basic_block("folded"), builder.append_basic_block("unknown")
    switch, results = builder.switch(kind, unknown), []
    for number in KINDS:
        block = builder.append_basic_block("fold")
        switch.add_case(e.I64(number), block)
        builder.position_at_end(block)
        results.append((emit(number), builder.block))
        builder.branch(end)
    builder.position_at_end(unknown)
    builder.unreachable()
    builder.position_at_end(end)
    found = builder.phi(results[0][0].type)
    for value, block in results:
        found.add_incoming(value, block)
    return found


class Window:
    """Folds `rows` rows of `columns` columns of neighbours, which lie `row` and `column` elements apart."""

    def __init__(self, builder: Builder, kind: int, data: Value, places: Sequence[Value], out: Value) -> None:
        self.builder, self.kind, self.data, self.out = builder, kind, data, out
        self.at, self.rows, self.row, self.columns, self.column, self.to = places

    def vectors(self, c: Value, count: int, mask: Value | None = None) -> None:
        """`count` vectors from channel c on."""
        builder, first = self.builder, self.builder.add(self.at, c)

        def row(y: Value, found: list[Value]) -> list[Value]:
            left = builder.add(first, builder.mul(y, self.row))

            def tap(x: Value, found: list[Value]) -> list[Value]:
                at = builder.add(left, builder.mul(x, self.column))
                places = [builder.add(at, e.I64(v * LANES)) for v in range(count)]
                loaded = [load(builder, self.data, place, mask) for place in places]
                return [fold(builder, self.kind, a, b) for a, b in zip(found, loaded, strict=True)]

            return e.loop(builder, e.I64(0), self.columns, 1, found, tap)[1]

        found = e.loop(builder, e.I64(0), self.rows, 1, [start(self.kind)] * count, row)[1]
        for v, value in enumerate(found):
            store(builder, value, self.out, builder.add(builder.add(self.to, c), e.I64(v * LANES)), mask)

    def emit(self, channels: Value) -> Value:
        """All channels; how many those are."""
        builder, c = self.builder, e.I64(0)
        for count in SIDE_BY_SIDE:

            def block(c: Value, _: list[Value], count: int = count) -> list[Value]:
                self.vectors(c, count)
                return []

            c = e.loop(builder, c, channels, count * LANES, [], block)[0]
        rest = builder.sub(channels, c)
        with builder.if_then(builder.icmp_signed(">", rest, e.I64(0))):
            self.vectors(c, 1, e.first_lanes(builder, rest, LANES))
        return channels


def emit_line(builder: Builder, kind: int, data: Value, at: Value, count: Value) -> Value:
    """The fold of neighbours: of every LANES-th element each, then of their halves."""

    def step(i: Value, found: list[Value]) -> list[Value]:
        return [fold(builder, kind, found[0], load(builder, data, builder.add(at, i), None))]

    i, (whole,) = e.loop(builder, e.I64(0), count, LANES, [start(kind)], step)
    rest = builder.sub(count, i)
    before = builder.block
    with builder.if_then(builder.icmp_signed(">", rest, e.I64(0))):
        mask = e.first_lanes(builder, rest, LANES)
        more = fold(builder, kind, whole, load(builder, data, builder.add(at, i), mask))
        more = builder.select(mask, more, whole)
        inside = builder.block
    found = builder.phi(VECTOR)
    found.add_incoming(whole, before)
    found.add_incoming(more, inside)
    folded: Value = found
    half = LANES // 2
    while half:
        low, high = (builder.shuffle_vector(folded, folded, e.indices(range(i, i + half))) for i in (0, half))
        folded = fold(builder, kind, low, high)
        half //= 2
    return builder.extract_element(folded, e.I32(0))


def _make_windows() -> Compiled:
    @intrinsic
    def fold_window(
        typingctx: Context, kind: Kind, x: Kind, at: Kind, rows: Kind, row: Kind, columns: Kind, column: Kind,
        out: Kind, to: Kind, channels: Kind,
    ) -> Typing:  # fmt: skip
        """See `folds.fold_window`."""
        index = numba_types.int64
        sig = numba_types.void(index, x, index, index, index, index, index, out, index, index)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            data, target = (e.pointer(context, builder, signature.args[i], args[i], e.FLOAT) for i in (1, 7))

            def emit(number: int) -> Value:
                return Window(builder, number, data, [*args[2:7], args[8]], target).emit(args[9])

            by_kind(builder, args[0], emit)
            return context.get_dummy_value()

        return sig, codegen

    return fold_window


def _make_lines() -> Compiled:
    @intrinsic
    def fold_line(typingctx: Context, kind: Kind, x: Kind, at: Kind, count: Kind) -> Typing:
        """See `folds.fold_line`."""
        index = numba_types.int64
        sig = numba_types.float32(index, x, index, index)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            data = e.pointer(context, builder, signature.args[1], args[1], e.FLOAT)
            return by_kind(builder, args[0], lambda number: emit_line(builder, number, data, args[2], args[3]))

        return sig, codegen

    return fold_line


fold_window, fold_line = _make_windows(), _make_lines()
