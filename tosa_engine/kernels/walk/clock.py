"""A walk that notes the time behind every row: what a profile is made of. Only imported when the JIT is on."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Final

from .._jit import inline, intrinsic, ir, jit, numba_types
from .._jit.llvm import I64, declare
from .atomics import store
from .walk import FINISHED, ROW, UNITS, WORD, field, run

if TYPE_CHECKING:
    from .._jit.typed import Builder, Compiled, Context, Typing, Value

ARM: Final = platform.machine() in ("aarch64", "arm64")


def _emit_ticks(builder: Builder) -> Value:
    """The time stamp counter of x86, the virtual counter of Arm, which programs may read."""
    if ARM:
        read = ir.InlineAsm(ir.FunctionType(I64, []), "mrs $0, cntvct_el0", "=r", side_effect=True)
        return builder.call(read, [])
    return builder.call(declare(builder, ir.FunctionType(I64, []), "llvm.readcyclecounter"), [])


def _make_ticks() -> Compiled:
    @intrinsic
    def ticks(typingctx: Context) -> Typing:
        return numba_types.int64(), lambda context, builder, signature, args: _emit_ticks(builder)

    return ticks


counter = _make_ticks()


@jit
def ticks() -> int:
    """Now, in units that only the processor knows."""
    return int(counter())


@inline
def note(stamps: int, i: int) -> None:
    store(stamps + i * WORD, counter())


@jit
def walk_and_note(program: int, first: int, end: int, stamps: int) -> int:
    """Rows first .. end - 1 by one worker, with the time before the first of them and behind each. FINISHED, or the row
    that saw a REQUIRE fail.
    """
    note(stamps, 0)
    for i in range(first, end):
        row = program + i * ROW * WORD
        if run(row, 0, 0, field(row, UNITS)) != FINISHED:
            return int(i)
        note(stamps, i - first + 1)
    return FINISHED
