"""How the first worker asks the others for help, and how they wait for that: without the GIL, and without a system
call while jobs follow each other closely. Only imported when the JIT is on.

They share a box of words on cache lines of their own. A helper looks at it for some microseconds after a job, then
marks itself asleep and lets Python put it to sleep; who posts a job wakes those that are marked. A helper that comes
too late for a walk finds it closed: nobody waits for helpers that aren't there.
"""

from __future__ import annotations

from typing import Final

from ._jit import inline, jit
from .atomics import LINE, atomic_add, atomic_load, exchange, load, pause, rest, store
from .walk import CLOSED, FAILED, FINISHED, OPEN, help_walk

TICKET: Final = 0  # the number of the job times KINDS, and its kind
INSIDE: Final = LINE  # helpers that look at a walk
DONE: Final = 2 * LINE  # helpers that are done with a job of Python
PROGRAM: Final = 3 * LINE  # of a walk; its state follows
STATE: Final = PROGRAM + 8
SHARED: Final = 4 * LINE  # the words that `walk` takes
SLEEPERS: Final = 6 * LINE  # from here on a line per worker: whether it sleeps, and the last ticket that it saw
SEEN: Final = 8
WALK, PYTHON, STOP, ASLEEP = 0, 1, 2, 3
KINDS: Final = 4
LOOKS: Final = 2500  # about 50 microseconds


def box_size(workers: int) -> int:
    """Words of a box."""
    return (SLEEPERS + workers * LINE) // 8


@inline
def _fall_asleep(box: int, own: int) -> bool:
    """Marks a helper as asleep unless there is a job; whoever posts one from now on wakes it."""
    exchange(own, 1)
    return atomic_load(box + TICKET) == load(own + SEEN) or exchange(own, 0) == 0


@jit
def serve(box: int, worker: int, workers: int) -> int:
    """Help until something is left for Python to do: a job of the kind PYTHON or STOP, or sleeping."""
    own = box + SLEEPERS + worker * LINE
    while True:
        looks = 0
        while atomic_load(box + TICKET) == load(own + SEEN):
            if looks >= LOOKS and _fall_asleep(box, own):
                return ASLEEP
            looks += 1
            pause()
        ticket = atomic_load(box + TICKET)
        store(own + SEEN, ticket)
        if ticket % KINDS != WALK:
            return int(ticket % KINDS)
        # what is closed after this word is set waits for it to be reset
        atomic_add(box + INSIDE, 1)
        if atomic_load(box + SHARED + OPEN) != CLOSED:
            help_walk(load(box + PROGRAM), worker, workers, load(box + STATE), box + SHARED)
        atomic_add(box + INSIDE, -1)


@inline
def _post(box: int, kind: int) -> None:
    ticket = load(box + TICKET)
    exchange(box + TICKET, ticket - ticket % KINDS + KINDS + kind)


@jit
def open_walk(box: int, program: int, state: int) -> None:
    store(box + PROGRAM, program)
    store(box + STATE, state)
    store(box + SHARED + FAILED, FINISHED)
    exchange(box + SHARED + OPEN, FINISHED)  # no row yet
    _post(box, WALK)


@jit
def close_walk(box: int) -> None:
    """No helper looks at the program or its state any more."""
    exchange(box + SHARED + OPEN, CLOSED)
    tries = 0
    while atomic_load(box + INSIDE) != 0:
        tries = rest(tries)


@jit
def post(box: int, kind: int) -> None:
    """A job for Python, which all helpers do."""
    store(box + DONE, 0)
    _post(box, kind)


@jit
def sleeps(box: int, worker: int) -> bool:
    """Whether a helper has to be woken; it counts as awake from now on."""
    return bool(exchange(box + SLEEPERS + worker * LINE, 0) == 1)


@jit
def done(box: int) -> None:
    """A helper is done with a job of Python."""
    atomic_add(box + DONE, 1)


@jit
def wait_done(box: int, helpers: int) -> None:
    """Wait until all helpers are done with a job of Python."""
    tries = 0
    while atomic_load(box + DONE) != helpers:
        tries = rest(tries)
