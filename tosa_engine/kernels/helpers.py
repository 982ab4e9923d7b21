"""How the first worker asks the others for help, and how they wait for that: without the GIL, and without a system
call while runs follow each other closely. Only imported when the JIT is on.

They share a box of words on cache lines of their own. A helper looks at it for some microseconds after a run, then
marks itself asleep and lets Python put it to sleep; who posts a job wakes those that are marked.
"""

from __future__ import annotations

from typing import Final

from ._jit import inline, jit
from .barrier import LINE, atomic_add, atomic_load, exchange, load, pause, rest, store
from .walk import FINISHED, walk

TICKET: Final = 0  # how many jobs there were
KIND: Final = LINE  # of the job, and then what it is about
PROGRAM: Final = KIND + 8
END: Final = KIND + 16
STATE: Final = KIND + 24
STOPPED: Final = KIND + 32  # the row where a helper saw a REQUIRE fail, or FINISHED
DONE: Final = 2 * LINE  # helpers that are done with the job
WORKERS: Final = 3 * LINE  # from here on a line per worker: asleep, and the last ticket that it saw
SEEN: Final = 8
WALK, PYTHON, STOP, ASLEEP = 0, 1, 2, 3
LOOKS: Final = 2500  # about 50 microseconds


def box_size(workers: int) -> int:
    """Words of a box."""
    return (WORKERS + workers * LINE) // 8


@inline
def _fall_asleep(box: int, own: int) -> bool:
    """Marks a helper as asleep unless there is a job; whoever posts one from now on wakes it."""
    exchange(own, 1)
    return atomic_load(box + TICKET) == load(own + SEEN) or exchange(own, 0) == 0


@jit
def serve(box: int, worker: int, workers: int) -> int:
    """Help until something is left for Python to do: a job of the kind PYTHON or STOP, or sleeping."""
    own = box + WORKERS + worker * LINE
    while True:
        looks = 0
        while atomic_load(box + TICKET) == load(own + SEEN):
            if looks == LOOKS and _fall_asleep(box, own):
                return ASLEEP
            looks += 1
            pause()
        store(own + SEEN, load(own + SEEN) + 1)
        kind = load(box + KIND)
        if kind != WALK:
            return int(kind)
        stopped = walk(load(box + PROGRAM), 0, load(box + END), worker, workers, load(box + STATE))
        if stopped >= 0:
            store(box + STOPPED, stopped)
        done(box)


@jit
def done(box: int) -> None:
    """A helper is done with the job."""
    atomic_add(box + DONE, 1)


@jit
def post(box: int, kind: int, program: int, end: int, state: int) -> None:
    """Ask all helpers for a job; those before are done."""
    store(box + KIND, kind)
    store(box + PROGRAM, program)
    store(box + END, end)
    store(box + STATE, state)
    store(box + STOPPED, FINISHED)
    store(box + DONE, 0)
    atomic_add(box + TICKET, 1)


@jit
def sleeps(box: int, worker: int) -> bool:
    """Whether a helper has to be woken; it counts as awake from now on."""
    return bool(exchange(box + WORKERS + worker * LINE, 0) == 1)


@jit
def wait_for(box: int, helpers: int) -> int:
    """Wait until all helpers are done. The row where one of them saw a REQUIRE fail, or FINISHED."""
    tries = 0
    while atomic_load(box + DONE) != helpers:
        tries = rest(tries)
    return int(load(box + STOPPED))
