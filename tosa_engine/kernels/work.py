"""What a kernel makes of an operator: work that can be split, bound to buffers and run by several threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..spec.table import Call
    from ..state import Variables
    from ..types import Array, Shape

ALIGNMENT: Final = 64
BUFFER_BYTES: Final = 192 << 10  # of packed input per unit: a part of the second-level cache
LEAST_UNITS: Final = 8  # that a large step is cut into
BLOCK: Final = 1024  # elements in a unit of an elementwise loop
I32_MAX: Final = (1 << 31) - 1
DONE: Final = -1
Scratch = tuple["np.dtype[Any]", int]
Limits = tuple[float, float]  # of a CLAMP of floats that follows
if TYPE_CHECKING:
    # run(low, high, scratch) does the units low .. high - 1. It returns DONE, or a position in the output at or before
    # an element that violates a REQUIRE: `run` then asks the oracle which one it is
    Run = Callable[[int, int, Sequence[Array]], int]
    Bind = Callable[[Sequence[Array], Sequence[Array]], Run]
    BindAround = Callable[[Sequence[Array], Sequence[Array], "Around"], Run]


@dataclass(frozen=True)
class Epilogue:
    """What happens to an int32 accumulator before it is stored: RESCALE, then clip.

    multiplier and shift have one entry, or one per index of the last axis. `low` and `high` bound the result as it is
    stored (after the zero point); the caller has proved every REQUIRE for all values the accumulator can have.
    """

    multiplier: Array
    shift: Array
    double_round: bool
    output_zp: int
    low: int
    high: int


class Loop:
    """A compiled loop bound to buffers: calls function(*arguments, *scratch, low, high). The arguments are a `Variant`,
    arrays in one dimension and integers. Compiled code can call it without Python (see `kernels.walk`).

    Where `count` is given, `low` and `high` are elements, of which a unit has `BLOCK`; otherwise they are units. A loop
    of a `Chain` may take a part of the step's scratch only.
    """

    __slots__ = ("arguments", "count", "function", "takes")

    def __init__(self, function: Callable[..., int], *arguments: Any, count: int | None = None) -> None:
        self.function, self.count, self.takes = function, count, slice(None)
        # one word each in every calling convention
        self.arguments = tuple(int(a) if isinstance(a, (bool, np.bool_)) else a for a in arguments)

    def __call__(self, low: int, high: int, scratch: Sequence[Array]) -> int:
        if self.count is not None:
            low, high = low * BLOCK, min(high * BLOCK, self.count)
        return self.function(*self.arguments, *scratch[self.takes], low, high)

    def taking(self, first: int, end: int) -> Loop:
        """This loop, with the scratch arrays first .. end - 1 of its step."""
        self.takes = slice(first, end)
        return self


class Chain:
    """Loops of one step, one after the other, each with its own number of units. Where Python runs them, one worker
    does; in a walk, each loop is shared on its own.
    """

    __slots__ = ("loops",)

    def __init__(self, *loops: tuple[Loop, int]) -> None:
        self.loops = loops

    def __call__(self, low: int, high: int, scratch: Sequence[Array]) -> int:
        return next((s for s in (loop(0, units, scratch) for loop, units in self.loops) if s != DONE), DONE)


def loops_of(run: Run, units: int, first: int, scratch: int) -> list[tuple[Loop, int]]:
    """The loops of bound work inside of a chain, whose step's `scratch` arrays from `first` on are its own."""
    found = []
    for loop, own in run.loops if isinstance(run, Chain) else ((run, units),):
        assert isinstance(loop, Loop), f"{loop} is no compiled loop"
        taken = range(scratch)[loop.takes]
        found.append((loop.taking(first + taken.start, first + taken.stop), own))
    return found


def blocks(count: int) -> int:
    """The units of an elementwise loop."""
    return max(1, -(-count // BLOCK))


@dataclass(frozen=True)
class Work:
    """`units` of work that take about `cost` nanoseconds of one processor in all; each worker needs its own `scratch`.

    `bind(inputs, outputs)` gets the tensors' arrays in the order of the operator and returns the function that runs.
    Every output element is computed by one unit in a fixed order, so that splitting changes no byte. `overwritable` are
    the positions of inputs upon which an output of the same size may lie: each of their elements is read for the
    output's element at the same place only, before that is written, and no REQUIRE can fail.
    `bind` may return a `Chain`: then there is one unit, and `most_units` are those of the loop that has most. A worker
    should take `least_units` at once, since neighbours share what is prepared for them.
    """

    units: int
    cost: float
    bind: Bind
    scratch: tuple[Scratch, ...] = ()
    overwritable: tuple[int, ...] = ()
    most_units: int = 1
    least_units: int = 1

    @property
    def scratch_bytes(self) -> int:
        """The memory that `carve` needs."""
        return sum(_whole_lines(count * dtype.itemsize) for dtype, count in self.scratch)

    def carve(self, memory: Array) -> tuple[Array, ...]:
        """The scratch arrays in aligned bytes."""
        found: list[Array] = []
        at = 0
        for dtype, count in self.scratch:
            size = count * dtype.itemsize
            found.append(memory[at : at + size].view(dtype))
            at += _whole_lines(size)
        return tuple(found)


class Around(Protocol):
    """What an operator finds around it in a run: the variables, and the regions of the graph, by name."""

    variables: Variables

    def run(self, region: str, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of a region. They stay as they are until the region runs again."""


@dataclass(frozen=True)
class Effect(Work):
    """Work of an operator that does more than computing its outputs (see `OpSpec.pure`), in one unit. It is bound to
    what is around it, too, by `bind_around`.
    """

    bind_around: BindAround | None = None


def effect(bind: BindAround) -> Effect:
    def nowhere(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        raise AssertionError("an effect is bound by bind_around")

    return Effect(1, 0.0, nowhere, bind_around=bind)


@dataclass(frozen=True)
class Kernel:
    """The one implementation of a row. `constants` are the arguments whose values `prepare` needs; where they aren't
    constant, the work is prepared when they are known. `alias`: the output is the input's bytes under another shape.

    What else it can do: `epilogue`: prepare takes an Epilogue as its second argument; `clips`: the limits of a CLAMP of
    floats. `two_outputs` prepares the operator with two epilogues and two outputs, or None where that isn't possible.
    `some_inputs` prepares it for these of its inputs only, where the others are in the output already. `in_place`: its
    work may follow that of any operator, upon what this one has written.
    """

    prepare: Callable[..., Work]
    constants: tuple[str, ...] = ()
    epilogue: bool = False
    clips: bool = False
    alias: bool = False
    two_outputs: Callable[[Call, Epilogue, Epilogue], Work | None] | None = None
    some_inputs: Callable[[Call, Sequence[int]], Work] | None = None
    in_place: bool = False


def _whole_lines(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def aligned(count: int, dtype: np.dtype[Any] | type) -> Array:
    """A new one-dimensional array of zeros whose data is aligned for vector loads."""
    kind = np.dtype(dtype)
    raw = np.zeros(count * kind.itemsize + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + count * kind.itemsize].view(kind)


def flat(array: Array) -> Array:
    """A contiguous, writable array in one dimension: one compiled signature per dtype."""
    if not (array.flags.c_contiguous and array.flags.writeable):
        array = array.copy()
    return array.reshape(-1)


def bits(array: Array) -> Array:
    """An array as unsigned integers of the same size: copies need one compiled signature per size."""
    return array.view(f"u{array.itemsize}")


def dims(shape: Shape) -> Array:
    return np.array(shape, np.int64)


def constant(call: Call, argument: str) -> Array:
    found = call.constant(argument)
    assert found is not None, f"{call.spec.name}.{argument} is prepared before it is known"
    return found


def violating(index: int) -> Work:
    """Work of an operator whose constants violate a REQUIRE by themselves."""
    return Work(1, 1.0, lambda inputs, outputs: lambda low, high, scratch: index)
