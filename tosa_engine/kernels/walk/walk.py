"""Walking the compiled steps of a plan without Python in between.

A program has a row per loop: the address of its code, where the words of its arguments lie for each worker, and its
units. The first worker walks it, and opens the rows that are shared, one after the other, to whoever is there to help
(see `mailbox`). Each worker takes pieces of its own part of a row's units, then what is left of the others'
parts; the first one goes on when all pieces are done. Only imported when the JIT is on.

A worker takes half of the units that are left in a part, so that what is taken at once lies together, and the last
pieces are small. Processors read what they wrote themselves, and write where they wrote before, faster than what is in
another one's cache. So parts are the same shares of all rows, workers take their own part from its lower end on, and
helpers from its upper end. Only imported when the JIT is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._jit import inline, intrinsic, ir, jit, numba_types
from .._jit.llvm import I64
from .atomics import LINE, atomic_add, atomic_load, exchange, load, rest, store, swap

if TYPE_CHECKING:
    from .._jit.typed import Builder, Compiled, Context, Kind, Number, Typing, Value

WORD: Final = 8  # bytes
# words of a row
ENTRY: Final = 0  # address of the code
ARGUMENTS: Final = 1  # address of the first worker's words
PITCH: Final = 2  # bytes from one worker's words to the next one's
RANGE: Final = 3  # the position of `low` among the words; `high` follows
UNITS: Final = 4
BLOCK: Final = 5  # elements in a unit
COUNT: Final = 6  # elements in all
PIECE: Final = 7  # units that a worker takes at least at once; 0: all units belong to the first worker
ROW: Final = 8
FINISHED: Final = -1
# a part's word: units taken from its lower end, and times this, from its upper end
UPPER: Final = 1 << 32
# of the words that helpers look at: the row that is open, and the row where one of them saw a REQUIRE fail
OPEN: Final = 0
FAILED: Final = LINE
CLOSED: Final = -2


def state_size(rows: int, workers: int) -> int:
    """Words of the state of a run: per row, the units taken of each worker's part, and the units done."""
    return rows * (workers + 1) * LINE // WORD


def _emit_call(builder: Builder, entry: Value, words: Value) -> Value:
    """Call code, which reads the words that it needs."""
    code = builder.inttoptr(entry, ir.FunctionType(I64, [I64.as_pointer()]).as_pointer())
    result: Value = builder.call(code, [builder.inttoptr(words, I64.as_pointer())])
    return result


def _make_call() -> Compiled:
    @intrinsic
    def call(typingctx: Context, entry: Kind, words: Kind) -> Typing:
        """What the code at an address returns."""
        index = numba_types.int64
        return index(index, index), lambda context, builder, signature, args: _emit_call(builder, *args)

    return call


call = _make_call()


@inline
def field(row: int, name: int) -> Number:
    return load(row + name * WORD)


@inline
def run(row: int, worker: int, low: int, high: int) -> Number:
    """Units low .. high - 1 of a row."""
    words = field(row, ARGUMENTS) + worker * field(row, PITCH)
    limits, block = words + field(row, RANGE) * WORD, field(row, BLOCK)
    store(limits, low * block)
    store(limits + WORD, min(high * block, field(row, COUNT)))
    return call(field(row, ENTRY), words)


@inline
def take(word: int, units: int, piece: int, end: int) -> Number:
    """A share of the units of a part that are left, from its lower end on, or from its upper end where `end` is UPPER:
    the first of them, and how many: half of them in whole pieces, or a piece.

    Who changes the word owns the units that it counts now and didn't before. It counts what is taken from both ends, so
    that no unit has two owners.
    """
    while True:
        before = atomic_load(word)
        below, above = before % UPPER, before // UPPER
        left = units - below - above
        count = min(left, max(piece, left // (2 * piece) * piece))
        if count == 0 or swap(word, before, before + count * end) == before:
            return (below if end == 1 else units - above - count), count


@inline
def share(program: int, i: int, worker: int, workers: int, state: int, shared: int) -> None:
    """What this worker gets of a row's units. A failure is told before the units count as done: the first worker goes
    on when all do.
    """
    row, taken = program + i * ROW * WORD, state + i * (workers + 1) * LINE
    units, piece = field(row, UNITS), field(row, PIECE)
    done = 0
    for k in range(workers):
        owner = (worker + k) % workers
        first, end = units * owner // workers, units * (owner + 1) // workers
        while True:
            low, count = take(taken + owner * LINE, end - first, piece, 1 if k == 0 else UPPER)
            if count == 0:
                break
            if run(row, worker, first + low, first + low + count) != FINISHED:
                store(shared + FAILED, i)
            done += count
    if done > 0:
        atomic_add(taken + workers * LINE, done)


@jit
def walk(program: int, first: int, end: int, workers: int, state: int, shared: int) -> int:
    """Rows first .. end - 1, by the first worker. FINISHED, or the row that saw a REQUIRE fail.

    `shared` is the address of the words that helpers look at; with one worker, nobody does.
    """
    for i in range(first, end):
        row = program + i * ROW * WORD
        if workers == 1 or field(row, PIECE) == 0:
            if run(row, 0, 0, field(row, UNITS)) != FINISHED:
                return int(i)
            continue
        exchange(shared + OPEN, i)
        share(program, i, 0, workers, state, shared)
        tries, done = 0, state + (i * (workers + 1) + workers) * LINE
        while atomic_load(done) != field(row, UNITS):
            tries = rest(tries)
        if load(shared + FAILED) != FINISHED:
            return int(i)
    return FINISHED


@inline
def help_walk(program: int, worker: int, workers: int, state: int, shared: int) -> None:
    """Share the rows that are opened, until there are none."""
    tries, last = 0, FINISHED
    while True:
        i = atomic_load(shared + OPEN)
        if i == CLOSED:
            return
        if i == last:
            tries = rest(tries)
            continue
        tries, last = 0, i
        share(program, i, worker, workers, state, shared)
