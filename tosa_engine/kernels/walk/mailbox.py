"""How the first worker asks the others for help, and how they wait for that: without the GIL, and without a system
call while walks follow each other closely. Only imported when the JIT is on.

They share a box of words on cache lines of their own. A helper looks at it for some microseconds after a walk, then
marks itself asleep and lets Python put it to sleep; who opens a walk wakes those that are marked. A helper that comes
too late finds the walk closed: nobody waits for helpers that aren't there.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from .._jit import inline, jit
from .atomics import LINE, atomic_add, atomic_load, exchange, load, pause, rest, store
from .walk import CLOSED, FAILED, FINISHED, OPEN, help_walk, walk

TICKET: Final = 0  # how many walks there were, or STOP
INSIDE: Final = LINE  # helpers that look at a walk
PROGRAM: Final = 2 * LINE  # of a walk; its state follows
STATE: Final = PROGRAM + 8
SHARED: Final = 3 * LINE  # the words that `walk` takes
SLEEPERS: Final = 5 * LINE  # from here on a line per worker: whether it sleeps, and the last ticket that it saw
SEEN: Final = 8
STOP: Final = -1
LOOKS: Final = 10000  # about 200 microseconds


def box_size(workers: int) -> int:
    """Words of a box."""
    return (SLEEPERS + workers * LINE) // 8


@inline
def _fall_asleep(box: int, own: int) -> bool:
    """Marks a helper as asleep unless there is a walk; whoever opens one from now on wakes it."""
    exchange(own, 1)
    return bool(atomic_load(box + TICKET) == load(own + SEEN) or exchange(own, 0) == 0)


@jit
def serve(box: int, worker: int, workers: int) -> bool:
    """Help until there is nothing to do for a while: True to sleep until woken, False to stop."""
    own = box + SLEEPERS + worker * LINE
    while True:
        looks = 0
        while atomic_load(box + TICKET) == load(own + SEEN):
            if looks >= LOOKS and _fall_asleep(box, own):
                return True
            looks += 1
            pause()
        ticket = atomic_load(box + TICKET)
        store(own + SEEN, ticket)
        if ticket == STOP:
            return False
        # who closes a walk after this word is set waits for it to be reset
        atomic_add(box + INSIDE, 1)
        if atomic_load(box + SHARED + OPEN) != CLOSED:
            help_walk(load(box + PROGRAM), worker, workers, load(box + STATE), box + SHARED)
        atomic_add(box + INSIDE, -1)


@jit
def open_walk(box: int, program: int, state: int) -> None:
    store(box + PROGRAM, program)
    store(box + STATE, state)
    store(box + SHARED + FAILED, FINISHED)
    exchange(box + SHARED + OPEN, FINISHED)  # no row yet
    atomic_add(box + TICKET, 1)


@jit
def close_walk(box: int) -> None:
    """No helper looks at the program or its state any more."""
    exchange(box + SHARED + OPEN, CLOSED)
    tries = 0
    while atomic_load(box + INSIDE) != 0:
        tries = rest(tries)


@jit
def stop(box: int) -> None:
    exchange(box + TICKET, STOP)


@jit
def sleeps(box: int, worker: int) -> bool:
    """Whether a helper has to be woken; it counts as awake from now on."""
    return bool(exchange(box + SLEEPERS + worker * LINE, 0) == 1)


def warm_up() -> None:
    """Compile, or read from the disk, what walks need."""
    box = np.zeros(box_size(1), np.int64)
    address = box.ctypes.data
    open_walk(address, 0, 0)
    walk(0, 0, 0, 1, 0, 0)
    close_walk(address)
    sleeps(address, 0)
    stop(address)
    serve(address, 0, 1)
