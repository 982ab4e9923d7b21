"""A barrier for threads that run compiled code: they wait without the GIL, first spinning, then asleep.

State is an int64 array: [arrived, generation, abort]. A worker that fails sets `abort`, which lets everyone out.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ._jit import JIT, jit

if JIT:
    from ._jit import intrinsic, ir, numba_types
    from .emitting import pointer

if TYPE_CHECKING:
    from ..types import Array

ARRIVED: Final = 0
GENERATION: Final = 1
ABORT: Final = 2
SPINS: Final = 4000
PATIENCE: Final = 200  # times the processor is offered to others before sleeping
NAP: Final = 50e-6


def new() -> Array:
    return np.zeros(8, np.int64)


if JIT:

    def _make_add() -> Any:
        @intrinsic
        def atomic_add(typingctx: Any, state: Any, place: Any, amount: Any) -> Any:
            index = numba_types.int64

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                data = pointer(context, builder, signature.args[0], args[0], ir.IntType(64))
                return builder.atomic_rmw("add", builder.gep(data, [args[1]]), args[2], "seq_cst")

            return index(state, index, index), codegen

        return atomic_add

    def _make_load() -> Any:
        @intrinsic
        def atomic_load(typingctx: Any, state: Any, place: Any) -> Any:
            index = numba_types.int64

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                data = pointer(context, builder, signature.args[0], args[0], ir.IntType(64))
                return builder.load_atomic(builder.gep(data, [args[1]]), "seq_cst", 8)

            return index(state, index), codegen

        return atomic_load

    atomic_add, atomic_load = _make_add(), _make_load()

    @jit
    def _arrive(state: Any, workers: int) -> int:
        """The generation to wait for the end of; the last worker ends it."""
        generation = atomic_load(state, GENERATION)
        if atomic_add(state, ARRIVED, 1) == workers - 1:
            atomic_add(state, ARRIVED, -workers)
            atomic_add(state, GENERATION, 1)
        return int(generation)

    @jit
    def _spin(state: Any, generation: int, limit: int) -> bool:
        for _ in range(limit):  # noqa: SIM110
            if atomic_load(state, GENERATION) != generation or atomic_load(state, ABORT) != 0:
                return True
        return False

    @jit
    def _abort(state: Any) -> None:
        atomic_add(state, ABORT, 1)

    def wait(state: Array, workers: int) -> bool:
        """Wait for all workers. False when one of them aborted."""
        generation = _arrive(state, workers)
        patience = PATIENCE
        while not _spin(state, generation, SPINS):
            patience -= 1
            time.sleep(0 if patience > 0 else NAP)
        return bool(state[ABORT] == 0)

    def abort(state: Array) -> None:
        _abort(state)

    def warm_up() -> None:
        """Compile before threads wait for each other."""
        wait(new(), 1)
        abort(new())
