"""What several rooms have to know of an operator beside what makes it legal.

Every entry of the op table gives its `Traits`. No field has a default, so that a new operator can't leave one out; the
functions at the end say all of them for one kind of operators. Arguments, attributes and axes have the names of the
entry: an axis is a letter of the argument's shape. `tests/spec/test_traits.py` holds every trait against the oracle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Array, Shape

    View = Callable[[Array], Array]


class Sizes(Protocol):
    """The values of letters, by their names."""

    def __getitem__(self, name: str) -> Any: ...


class Bound(Sizes, Protocol):
    """What a trait asks of a `table.Call`: the values of letters, sizes and attributes, constants, and shapes."""

    def constant(self, argument: str) -> Array | None: ...

    def shape_of(self, argument: str) -> Shape: ...


@dataclass(frozen=True, slots=True)
class Elementwise:
    """An element of the result depends on those at the same place of the `operands`, which broadcast; all other inputs
    have one element, or are tables. With the attribute `by_channel` they have one for each index of the last axis.
    """

    operands: tuple[str, ...]
    by_channel: str


class How(Enum):
    """How an operator gets its results from its operands' values: MOVED, the same values elsewhere; CHOSEN, the
    greatest or the least of some; MEAN, between the least and the greatest of some.
    """

    MOVED = "moved"
    CHOSEN = "chosen"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Moves:
    """The result holds no other values than the `operands` (a mean: none outside of theirs), and the constant `fill`
    where that isn't empty. `view` is what the operator does, where numpy can do it as a view of its first input; it
    needs the values of the inputs of type shape_t.
    """

    operands: tuple[str, ...]
    how: How
    fill: str
    view: Callable[[Bound], View] | None


@dataclass(frozen=True, slots=True)
class AlongAxis:
    """Elements meet, or move, along the axis that an attribute names. `keeps_rank`: the result has this axis, too."""

    attribute: str
    keeps_rank: bool


@dataclass(frozen=True, slots=True)
class Entries:
    """A shape_t input with `width` entries for each axis. An axis with `neutral` ones is left alone; None stands for
    the size of that axis in the result.
    """

    argument: str
    width: int
    neutral: int | None


@dataclass(frozen=True, slots=True)
class EachAxis:
    """The same is done along every axis, with amounts of its own. The data are the first input."""

    entries: tuple[Entries, ...]


@dataclass(frozen=True, slots=True)
class Permuted:
    """Axis i of the result is axis `attribute[i]` of the first input."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Reshaped:
    """The elements keep their order; `argument` holds the sizes of the result."""

    argument: str


Axes = AlongAxis | EachAxis | Permuted | Reshaped


@dataclass(frozen=True, slots=True)
class Weight:
    """The operand that holds weights. `rows`: its axes that number the result's channels, the first one slowest;
    `channels`: its axis that runs along the channels (the last axis) of the first input; `bias`: the argument that is
    added to each channel, or empty. Every weight is multiplied once at each of the `positions`, which are
    letters of any argument.
    """

    argument: str
    rows: tuple[str, ...]
    channels: str
    bias: str
    positions: tuple[str, ...]

    def products(self, weights: Shape, sizes: Sizes) -> int:
        """Multiply-accumulates: of each weight at every position."""
        return math.prod(weights) * math.prod(int(sizes[letter]) for letter in self.positions)


class Outside(Enum):
    """What stands where a window looks beyond its input: ZERO, the zero point; LEAST, what no maximum takes; UNCOUNTED,
    nothing, and a mean has a smaller count; NEVER: windows that write instead of reading only drop results.
    """

    ZERO = "zero"
    LEAST = "least"
    UNCOUNTED = "uncounted"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Window:
    """A window that slides over the axes between the first and the last one of the input. `kernel`: its sizes, by axis;
    `stride`, `pad` and `dilation` are attributes, dilation empty where there is none. Position o sees the inputs
    o * stride - pad + k * dilation; a `transposed` one writes from input i the results i * stride + pad + k.
    """

    kernel: tuple[str, ...]
    stride: str
    pad: str
    dilation: str
    outside: Outside
    transposed: bool

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(name for name in (self.pad, self.stride, self.dilation) if name)


class Memory(Enum):
    """Memory that operands and result may share: NONE; UPON, the result is written upon an operand read element by
    element; VIEW, the result is the bytes of the first input or some of them; PARTS, operands are parts of the result.
    """

    NONE = "none"
    UPON = "upon"
    VIEW = "view"
    PARTS = "parts"


@dataclass(frozen=True, slots=True)
class Traits:
    """Facts about one operator.

    `batch`: the operands that have samples along axis 0, as all results have. No sample has a part in the result of
    another, provided that all other inputs are constant and `axes` leave axis 0 alone; empty where samples meet.
    `terms`: how many values or products one element of the result adds up; None where it adds up nothing. `is_sum`: the
    result is this sum itself and not a quotient.
    """

    elementwise: Elementwise | None
    moves: Moves | None
    axes: Axes | None
    batch: tuple[str, ...]
    terms: Callable[[Bound], int] | None
    is_sum: bool
    weight: Weight | None
    window: Window | None
    memory: Memory


OPAQUE: Final = Traits(None, None, None, (), None, False, None, None, Memory.NONE)


def elementwise(*operands: str, by_channel: str = "", moves: Moves | None = None) -> Traits:
    """A function of the elements at the same place of the operands."""
    each = Elementwise(operands, by_channel)
    return Traits(each, moves, None, operands, None, is_sum=False, weight=None, window=None, memory=Memory.UPON)


def view(of: Callable[[Bound], View], axes: Axes | None) -> Traits:
    """An operator that numpy does as a view of its input1."""
    moves = Moves(("input1",), How.MOVED, "", of)
    return Traits(None, moves, axes, ("input1",), None, is_sum=False, weight=None, window=None, memory=Memory.VIEW)


def in_order(call: Bound) -> View:
    """The elements in their order, in the shape of the result."""
    shape = call.shape_of("output")
    return lambda x: x.reshape(shape)


def rearranged(
    *operands: str, batch: tuple[str, ...], axes: Axes | None = None, fill: str = "",
    memory: Memory = Memory.NONE,
) -> Traits:  # fmt: skip
    """An operator that copies elements to other places."""
    moves = Moves(operands, How.MOVED, fill, None)
    return Traits(None, moves, axes, batch, None, is_sum=False, weight=None, window=None, memory=memory)


def along_axis(how: How | None, terms: Callable[[Bound], int] | None = None, *, keeps_rank: bool = True) -> Traits:
    """A reduction of `input` along the attribute `axis`."""
    return Traits(
        elementwise=None,
        moves=Moves(("input",), how, "", None) if how is not None else None,
        axes=AlongAxis("axis", keeps_rank),
        batch=("input",),
        terms=terms,
        is_sum=terms is not None,
        weight=None,
        window=None,
        memory=Memory.NONE,
    )


def pool(how: How, outside: Outside, terms: Callable[[Bound], int] | None) -> Traits:
    """Windows over `input` that have an attribute `kernel`."""
    return Traits(
        elementwise=None,
        moves=Moves(("input",), how, "", None),
        axes=None,
        batch=("input",),
        terms=terms,
        is_sum=False,
        weight=None,
        window=Window(("kernel_y", "kernel_x"), "stride", "pad", "", outside, transposed=False),
        memory=Memory.NONE,
    )


def products(
    *batch: str, terms: Callable[[Bound], int], weight: Weight | None = None, window: Window | None = None
) -> Traits:
    """Sums of products."""
    return Traits(
        elementwise=None,
        moves=None,
        axes=None,
        batch=batch,
        terms=terms,
        is_sum=True,
        weight=weight,
        window=window,
        memory=Memory.NONE,
    )


def samples(*operands: str) -> Traits:
    """An operator of which several rooms know no more than that samples don't meet."""
    return replace(OPAQUE, batch=operands)


def sizes(*letters: str) -> Callable[[Bound], int]:
    """The product of letters or named sizes."""
    return lambda call: math.prod(int(call[letter]) for letter in letters)
