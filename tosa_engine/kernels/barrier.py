"""A barrier for threads that run compiled code, and how they wait: first spinning, then offering the processor to
others, then asleep for short times.

State is an int64 array, whose words lie on cache lines of their own: workers that arrived, how often all have, and
whether one aborted, which lets everyone out. Only imported when the JIT is on.
"""

from __future__ import annotations

import platform
import sys
from typing import Any, Final

from ._jit import inline, intrinsic, ir, jit, numba_types
from .emitting import I32, I64, declare, pointer

ARRIVED: Final = 0
GENERATION: Final = 8
ABORT: Final = 16
WORDS: Final = 24
SPINS: Final = 1000  # about 20 microseconds
PATIENCE: Final = 4000  # times that the processor is offered to others: about a millisecond when nobody wants it
NAP: Final = 50  # microseconds
OFFER, SLEEP, UNIT = ("SwitchToThread", "Sleep", 1000) if sys.platform == "win32" else ("sched_yield", "usleep", 1)
X86: Final = platform.machine() in ("x86_64", "AMD64")


def _make_add() -> Any:
    @intrinsic
    def atomic_add(typingctx: Any, state: Any, place: Any, amount: Any) -> Any:
        index = numba_types.int64

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = pointer(context, builder, signature.args[0], args[0], I64)
            return builder.atomic_rmw("add", builder.gep(data, [args[1]]), args[2], "seq_cst")

        return index(state, index, index), codegen

    return atomic_add


def _make_load() -> Any:
    @intrinsic
    def atomic_load(typingctx: Any, state: Any, place: Any) -> Any:
        index = numba_types.int64

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = pointer(context, builder, signature.args[0], args[0], I64)
            return builder.load_atomic(builder.gep(data, [args[1]]), "seq_cst", 8)

        return index(state, index), codegen

    return atomic_load


def _make_call(name: str, *arguments: int) -> Any:
    """A call of the C library, or of an LLVM intrinsic, with fixed arguments."""

    @intrinsic
    def call(typingctx: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            result = ir.VoidType() if name.startswith("llvm.") else I32
            kind = ir.FunctionType(result, [I32] * len(arguments))
            builder.call(declare(builder, kind, name), [I32(a) for a in arguments])
            return context.get_dummy_value()

        return numba_types.void(), codegen

    return call


atomic_add, atomic_load = _make_add(), _make_load()
offer, sleep = _make_call(OFFER), _make_call(SLEEP, max(1, NAP // UNIT))
# tells the processor that this thread waits
pause = _make_call("llvm.x86.sse2.pause") if X86 else offer


@inline
def wait(state: Any, workers: int) -> bool:
    """Wait for all workers. False when one of them aborted."""
    generation = atomic_load(state, GENERATION)
    if atomic_add(state, ARRIVED, 1) == workers - 1:
        atomic_add(state, ARRIVED, -workers)
        atomic_add(state, GENERATION, 1)
    tries = 0
    while atomic_load(state, GENERATION) == generation and atomic_load(state, ABORT) == 0:
        if tries < SPINS:
            pause()
        elif tries < SPINS + PATIENCE:
            offer()
        else:
            sleep()
        tries += 1
    return bool(atomic_load(state, ABORT) == 0)


@jit
def meet(state: Any, workers: int) -> bool:
    """`wait`, for Python to call."""
    return bool(wait(state, workers))


@jit
def abort(state: Any) -> None:
    atomic_add(state, ABORT, 1)
