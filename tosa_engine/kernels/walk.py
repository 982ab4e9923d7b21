"""Walking the compiled steps of a plan without Python in between.

A program has a row per loop: the address of its code, where the words of its arguments lie for each worker, its units,
and who waits for whom. The workers walk it together: each takes pieces of its own part of a step's units, then what is
left of the others' parts. Only imported when the JIT is on.
"""

from __future__ import annotations

from typing import Any, Final

from ._jit import inline, intrinsic, ir, jit, numba_types
from .barrier import ABORT, BYTES, LINE, atomic_add, load, store, wait
from .emitting import I64

WORD: Final = 8  # bytes
# words of a row
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
ROW: Final = 11
SIZES: Final = (16, 32, 48, 64, 80, 96, 112, 128, 160, 192)
FINISHED: Final = -1
ABORTED: Final = -2


def state_size(rows: int, workers: int) -> int:
    """Words of the state of a run: the barrier's, and how many units of each worker's part were taken, per row."""
    return (BYTES + rows * workers * LINE) // WORD


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
        return index(index, index, index), lambda context, builder, signature, args: _emit_call(builder, *args)

    return call


call = _make_call()


@inline
def field(row: int, name: int) -> Any:
    return load(row + name * WORD)


@inline
def run(row: int, worker: int, low: int, high: int) -> Any:
    """Units low .. high - 1 of a row."""
    words = field(row, ARGUMENTS) + worker * field(row, PITCH)
    limits, block = words + field(row, RANGE) * WORD, field(row, BLOCK)
    store(limits, low * block)
    store(limits + WORD, min(high * block, field(row, COUNT)))
    return call(field(row, ENTRY), words, field(row, SIZE))


@inline
def share(row: int, worker: int, workers: int, taken: int) -> Any:
    """What this worker gets of a row's units; `taken` counts those of each worker's part."""
    units, piece = field(row, UNITS), field(row, PIECE)
    for k in range(workers):
        owner = (worker + k) % workers
        first, end = units * owner // workers, units * (owner + 1) // workers
        while True:
            low = first + atomic_add(taken + owner * LINE, piece)
            if low >= end:
                break
            status = run(row, worker, low, min(low + piece, end))
            if status != FINISHED:
                return status
    return FINISHED


@jit
def walk(program: int, first: int, end: int, worker: int, workers: int, state: int) -> int:
    """Rows first .. end - 1. FINISHED, the row that saw a REQUIRE fail, or ABORTED by another worker."""
    for i in range(first, end):
        row = program + i * ROW * WORD
        if workers == 1:
            if run(row, 0, 0, field(row, UNITS)) != FINISHED:
                return int(i)
            continue
        if field(row, BEFORE) != 0 and not wait(state, workers):
            return ABORTED
        status = FINISHED
        if field(row, PIECE) != 0:
            status = share(row, worker, workers, state + BYTES + i * workers * LINE)
        elif worker == 0:
            status = run(row, 0, 0, field(row, UNITS))
        if status != FINISHED:
            atomic_add(state + ABORT, 1)
            return int(i)
        if field(row, AFTER) != 0 and not wait(state, workers):
            return ABORTED
    return FINISHED
