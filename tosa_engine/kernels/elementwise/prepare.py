"""Preparing elementwise operators: a formula, the fewest axes that broadcasting needs, and arrays of known kinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ... import types
from ..bounds import holds
from ..work import Kernel, Loop, Work, bits, blocks, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...spec.table import Call
    from ...types import Array, Shape
    from ..work import Run
    from .formula import Formula

NONE = np.zeros(1, np.int64)  # parameters of a formula that has none


@dataclass(frozen=True)
class Formulated(Work):
    """Work of one formula on the first inputs of an operator, which may become a part of a chain (`chain`)."""

    formula: Formula | None = None
    parameters: Array = field(default_factory=lambda: NONE)
    read: Callable[[Array], Array] = flat


def collapse(shape: Shape, *inputs: Shape) -> tuple[list[int], ...]:
    """The fewest axes that broadcasting needs, then the strides of each input (0 along axes that repeat)."""
    dims: list[int] = []
    kinds: list[tuple[bool, ...]] = []
    for axis, size in enumerate(shape):
        kind = tuple(x[axis] == size for x in inputs)
        if size == 1:
            continue
        if kinds and kinds[-1] == kind:
            dims[-1] *= size
        else:
            dims.append(size)
            kinds.append(kind)
    if not dims:
        return ([1],) * (len(inputs) + 1)

    def strides(which: int) -> list[int]:
        found, step = [0] * len(dims), 1
        for axis in range(len(dims) - 1, -1, -1):
            if kinds[axis][which]:
                found[axis] = step
                step *= dims[axis]
        return found

    return dims, *(strides(i) for i in range(len(inputs)))


def walked(shape: Shape, inputs: Sequence[Shape]) -> Array:
    """The geometry of `loops`: two axes or more, and three inputs."""
    dims, *strides = collapse(shape, *inputs)
    strides += [[0] * len(dims)] * (3 - len(strides))
    if len(dims) == 1:
        dims, strides = [1, *dims], [[0, *own] for own in strides]
    return np.array([*dims, *(step for own in strides for step in own)], np.int64)


def numbers(array: Array) -> Array:
    """An array in one dimension as the kinds that formulas know: integers, float32, float64, the bits of all else."""
    line = flat(array)
    return line if line.dtype.kind in "iu" or line.dtype in (np.float32, np.float64) else bits(line)


def unsigned(array: Array) -> Array:
    """An array in one dimension as unsigned integers, for formulas that don't ask what the bits mean."""
    return bits(flat(array))


def elementwise(
    call: Call, formula: Formula, cost: float, parameters: Array = NONE, read: Callable[[Array], Array] = numbers
) -> Work:
    """The work of a formula on the first inputs of an operator; `cost` is nanoseconds per element."""
    from . import loops

    shape = call.shape_of("output")
    names = [argument.name for argument in call.spec.inputs[: formula.inputs]]
    g = walked(shape, [call.shape_of(name) for name in names])
    loop, count = loops.loop_of(formula), types.count(shape)
    over = () if formula.tests else tuple(i for i, name in enumerate(names) if call.shape_of(name) == shape)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        used = [read(x) for x in inputs[: formula.inputs]]
        arrays: list[Array] = [*used, *[used[0]] * (3 - len(used))]
        return Loop(loop, *arrays, parameters, g, read(outputs[0]), count=count)

    return Formulated(
        blocks(count), cost * count, bind, overwritable=over, formula=formula, parameters=parameters, read=read
    )


def converting(formula: Formula, x: Array, out: Array, parameters: Array = NONE) -> tuple[Loop, int]:
    """A loop of a chain, without scratch, over all elements of two arrays; and its units."""
    from . import loops

    g, a = walked((x.size,), [(x.size,)]), numbers(x)
    loop = Loop(loops.loop_of(formula), a, a, a, parameters, g, numbers(out), count=x.size)
    return loop.taking(0, 0), blocks(x.size)


def by_formula(
    formula: Formula, cost: float, *rules: str, read: Callable[[Array], Array] = numbers, constants: Sequence[str] = ()
) -> Kernel:
    """The kernel of rows that are one formula; it tests nothing where it is proved that the rules hold."""

    def prepare(call: Call) -> Work:
        proved = bool(rules) and holds(call, *rules)
        return elementwise(call, formula.untested() if proved else formula, cost, read=read)

    prepare.__name__ = formula.name
    return Kernel(prepare, tuple(constants))
