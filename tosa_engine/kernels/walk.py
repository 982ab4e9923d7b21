"""Walking the compiled steps of a plan without Python in between.

A program is an int64 array with a row per loop: the address of its code, where the words of its arguments lie for each
worker, its units, and who waits for whom. The workers walk it together: each takes pieces of its own part of a step's
units, then what is left of the others' parts. Only imported when the JIT is on.
"""

from __future__ import annotations

from typing import Any, Final

from ._jit import inline, intrinsic, ir, jit, numba_types
from .barrier import ABORT, WORDS, atomic_add, atomic_load, wait
from .emitting import I64

# columns of a program
ENTRY: Final = 0  # address of the code
ARGUMENTS: Final = 1  # address of the first worker's words
PITCH: Final = 2  # bytes from one worker's words to the next one's
SIZE: Final = 3  # words that are passed: one of SIZES
RANGE: Final = 4  # the position of `low` among the words; `high` follows
UNITS: Final = 5
BLOCK: Final = 6  # elements in a unit
COUNT: Final = 7  # elements in all
PIECE: Final = 8  # units that a worker takes at once; 0: all units belong to the first worker
BEFORE: Final = 9  # 1: wait for all workers before
AFTER: Final = 10  # 1: wait for all workers behind
COLUMNS: Final = 11
SIZES: Final = (16, 32, 48, 64, 80, 96, 112, 128, 160, 192)
FINISHED: Final = -1
ABORTED: Final = -2
LINE: Final = 8  # words of a cache line


def state_size(rows: int, workers: int) -> int:
    """Words of the state of a run: the barrier's, and how many units of each worker's part were taken, per row."""
    return WORDS + rows * workers * LINE


def _emit_call(builder: Any, entry: Any, words: Any, size: Any) -> Any:
    """Call code with `size` words, which may be more than it takes: C leaves it to the caller to drop them."""
    data = builder.inttoptr(words, I64.as_pointer())
    done, unknown = builder.append_basic_block("called"), builder.append_basic_block("unknown")
    switch = builder.switch(size, unknown)
    found = []
    for count in SIZES:
        block = builder.append_basic_block(f"words{count}")
        switch.add_case(I64(count), block)
        builder.position_at_end(block)
        code = builder.inttoptr(entry, ir.FunctionType(I64, [I64] * count).as_pointer())
        found.append((builder.call(code, [builder.load(builder.gep(data, [I64(i)])) for i in range(count)]), block))
        builder.branch(done)
    builder.position_at_end(unknown)
    builder.unreachable()
    builder.position_at_end(done)
    result = builder.phi(I64)
    for value, block in found:
        result.add_incoming(value, block)
    return result


def _make_call() -> Any:
    @intrinsic
    def call(typingctx: Any, entry: Any, words: Any, size: Any) -> Any:
        """What the code at an address returns."""
        index = numba_types.int64

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _emit_call(builder, *args)

        return index(index, index, index), codegen

    return call


def _make_set() -> Any:
    @intrinsic
    def put(typingctx: Any, words: Any, place: Any, value: Any) -> Any:
        """words[place] = value, of words at an address."""
        index = numba_types.int64

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = builder.inttoptr(args[0], I64.as_pointer())
            builder.store(args[2], builder.gep(data, [args[1]]))
            return context.get_dummy_value()

        return numba_types.void(index, index, index), codegen

    return put


call, put = _make_call(), _make_set()


@inline
def run(row: Any, worker: int, low: int, high: int) -> int:
    """Units low .. high - 1 of a row."""
    words = row[ARGUMENTS] + worker * row[PITCH]
    put(words, row[RANGE], low * row[BLOCK])
    put(words, row[RANGE] + 1, min(high * row[BLOCK], row[COUNT]))
    return int(call(row[ENTRY], words, row[SIZE]))


@inline
def share(row: Any, worker: int, workers: int, state: Any, counters: int) -> int:
    """What this worker gets of a row's units."""
    units, piece = row[UNITS], row[PIECE]
    for k in range(workers):
        owner = (worker + k) % workers
        first, end = units * owner // workers, units * (owner + 1) // workers
        while True:
            low = first + atomic_add(state, counters + owner * LINE, piece)
            if low >= end:
                break
            status = run(row, worker, low, min(low + piece, end))
            if status != FINISHED:
                return status
    return -1


@jit
def walk(program: Any, first: int, end: int, worker: int, workers: int, state: Any) -> int:
    """Rows first .. end - 1. FINISHED, the row that saw a REQUIRE fail, or ABORTED by another worker."""
    for i in range(first, end):
        row = program[i]
        if workers == 1:
            if run(row, 0, 0, row[UNITS]) != FINISHED:
                return i
            continue
        if row[BEFORE] != 0 and not wait(state, workers):
            return ABORTED
        status = FINISHED
        if row[PIECE] != 0:
            status = share(row, worker, workers, state, WORDS + i * workers * LINE)
        elif worker == 0:
            status = run(row, 0, 0, row[UNITS])
        if status != FINISHED:
            atomic_add(state, ABORT, 1)
            return i
        if row[AFTER] != 0 and not wait(state, workers):
            return ABORTED
    return FINISHED
