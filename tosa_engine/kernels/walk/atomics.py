"""Words of memory that several threads use at once, and how threads wait for each other.

Waiting is spinning first, then offering the processor to others, then sleeping for short times. Addresses are integers.
Only imported when the JIT is on.
"""

from __future__ import annotations

import platform
import sys
from typing import TYPE_CHECKING, Final

from .._jit import inline, intrinsic, ir, numba_types
from .._jit.llvm import I8, I32, I64, declare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Typing, Value

LINE: Final = 64  # bytes that processors exchange at once
SPINS: Final = 1000  # about 20 microseconds
PATIENCE: Final = 4000  # times that the processor is offered to others: about a millisecond when nobody wants it
NAP: Final = 50  # microseconds
OFFER, SLEEP, UNIT = ("SwitchToThread", "Sleep", 1000) if sys.platform == "win32" else ("sched_yield", "usleep", 1)
X86: Final = platform.machine() in ("x86_64", "AMD64")


def _make_access(emit: Callable[..., Value], values: int) -> Compiled:
    """An intrinsic on the word at an address, with some values, that returns an integer."""
    if values == 0:

        @intrinsic
        def load(typingctx: Context, address: Kind) -> Typing:
            index = numba_types.int64
            return index(index), lambda context, builder, signature, args: emit(builder, _at(builder, args[0]))

        return load

    @intrinsic
    def change(typingctx: Context, address: Kind, value: Kind) -> Typing:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            return emit(builder, _at(builder, args[0]), args[1])

        index = numba_types.int64
        return index(index, index), codegen

    return change


def _make_swap() -> Compiled:
    @intrinsic
    def swap(typingctx: Context, address: Kind, expected: Kind, value: Kind) -> Typing:
        """Store a value where the expected one is; what was there."""
        index = numba_types.int64

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            found = builder.cmpxchg(_at(builder, args[0]), args[1], args[2], "seq_cst", "seq_cst")
            return builder.extract_value(found, 0)

        return index(index, index, index), codegen

    return swap


def _at(builder: Builder, address: Value) -> Value:
    return builder.inttoptr(address, I64.as_pointer())


def _emit_store(builder: Builder, at: Value, value: Value) -> Value:
    builder.store(value, at)
    return value


def _make_call(name: str, *arguments: int) -> Compiled:
    """A call of the C library, or of an LLVM intrinsic, with fixed arguments."""

    @intrinsic
    def call(typingctx: Context) -> Typing:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            result = ir.VoidType() if name.startswith("llvm.") else I32
            kind = ir.FunctionType(result, [I32] * len(arguments))
            builder.call(declare(builder, kind, name), [I32(a) for a in arguments])
            return context.get_dummy_value()

        return numba_types.void(), codegen

    return call


def _make_copy() -> Compiled:
    @intrinsic
    def copy_bytes(typingctx: Context, source: Kind, target: Kind, size: Kind) -> Typing:
        """`size` bytes from one address to another; they don't overlap."""
        index = numba_types.int64

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            data = I8.as_pointer()
            copy = declare(builder, ir.FunctionType(data, [data, data, I64]), "memcpy")
            builder.call(copy, [builder.inttoptr(args[1], data), builder.inttoptr(args[0], data), args[2]])
            return context.get_dummy_value()

        return numba_types.void(index, index, index), codegen

    return copy_bytes


load = _make_access(lambda builder, at: builder.load(at), 0)
store = _make_access(_emit_store, 1)
atomic_load = _make_access(lambda builder, at: builder.load_atomic(at, "seq_cst", 8), 0)
atomic_add = _make_access(lambda builder, at, value: builder.atomic_rmw("add", at, value, "seq_cst"), 1)
exchange = _make_access(lambda builder, at, value: builder.atomic_rmw("xchg", at, value, "seq_cst"), 1)
swap = _make_swap()
copy_bytes = _make_copy()
offer, sleep = _make_call(OFFER), _make_call(SLEEP, max(1, NAP // UNIT))
# tells the processor that this thread waits
pause = _make_call("llvm.x86.sse2.pause") if X86 else offer


@inline
def rest(tries: int) -> int:
    """Wait a little, the longer the more often it was in vain."""
    if tries < SPINS:
        pause()
    elif tries < SPINS + PATIENCE:
        offer()
    else:
        sleep()
    return tries + 1
