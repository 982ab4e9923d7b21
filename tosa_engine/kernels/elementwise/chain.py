"""Several formulas as one: what elementwise operators write for each other stays in registers.

Each number is rounded as it would be when it is stored, so that the bytes are those of one operator after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ... import types
from ..work import Loop, Work, blocks
from .formula import Formula, cast, view
from .prepare import Formulated, numbers, walked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...types import Array, DType, Shape
    from ..work import Run
    from .formula import Compute, Operand

WALKED: Final = 3  # inputs of more than one element that a chain can have
SINGLE: Final = 6  # inputs of one element


@dataclass(frozen=True)
class Part:
    """A formula of a chain. `operands` and `parameters` are places among the chain's inputs, its parameters and the
    results of the parts before, in this order; `kinds` say as what operands are read, `written` is the result's kind.
    """

    compute: Compute
    operands: tuple[int, ...]
    kinds: tuple[str, ...]
    parameters: tuple[int, ...]
    written: str


@dataclass(frozen=True)
class Member:
    """An operator, or several with one formula, that is to be a part of a chain: names of tensors, and its work."""

    work: Formulated
    inputs: tuple[str, ...]
    output: str

    @property
    def operands(self) -> tuple[str, ...]:
        assert self.work.formula is not None
        return self.inputs[: self.work.formula.inputs]


@dataclass(frozen=True)
class Chain:
    """Formulas in order, of which the last one's result is the chain's. `walked` and `single` are its inputs by name,
    the first of several elements; `parameters` are numbers, those of constants of one element in front.
    """

    members: tuple[Member, ...]
    walked: tuple[str, ...]
    single: tuple[str, ...]
    known: tuple[str, ...]
    parameters: Array

    @property
    def inputs(self) -> tuple[str, ...]:
        return (*self.walked, *self.single)


def kind_of(dtype: DType) -> np.dtype[np.generic]:
    """What `prepare.numbers` makes of arrays of a type."""
    return numbers(np.zeros(1, dtype.storage)).dtype


def member_of(work: Work | None, inputs: tuple[str, ...], output: str) -> Member | None:
    """An operator as a part of chains, where it is a formula that tests nothing and whose parameters are floats."""
    formula = work.formula if isinstance(work, Formulated) else None
    if formula is None or formula.tests:
        return None
    assert isinstance(work, Formulated)
    return Member(work, inputs, output) if not formula.parameters or work.parameters.dtype == np.float32 else None


def chain_of(members: Sequence[Member], shapes: Mapping[str, Shape], constants: Mapping[str, Array]) -> Chain | None:
    """The members in order as a chain, or None where it has too many inputs."""
    made = {member.output for member in members}
    outside = dict.fromkeys(name for member in members for name in member.operands if name not in made)
    single = [name for name in outside if types.count(shapes[name]) == 1]
    known = [name for name in single if name in constants and constants[name].dtype == np.float32]
    single = [name for name in single if name not in known]
    several = [name for name in outside if types.count(shapes[name]) > 1]
    if len(several) > WALKED or len(single) > SINGLE:
        return None
    found = [constants[name].reshape(-1) for name in known]
    found += [m.work.parameters for m in members if m.work.formula and m.work.formula.parameters]
    parameters = np.concatenate([np.zeros(0, np.float32), *found])
    return Chain(tuple(members), tuple(several), tuple(single), tuple(known), parameters)


def formula_of(chain: Chain, kinds: Mapping[str, DType]) -> Formula:
    """All formulas of a chain as one."""
    inputs = len(chain.inputs)
    places = {name: i for i, name in enumerate((*chain.inputs, *chain.known))}
    at, parts = inputs + len(chain.known), list[Part]()
    for member in chain.members:
        formula = member.work.formula
        assert formula is not None
        own = tuple(range(at, at + formula.parameters))
        at += formula.parameters
        read = [np.zeros(1, kinds[name].storage) for name in member.operands]
        as_kinds = tuple(member.work.read(array).dtype.str for array in read)
        operands = tuple(places[name] for name in member.operands)
        parts.append(Part(formula.compute, operands, as_kinds, own, kind_of(kinds[member.output]).str))
        places[member.output] = inputs + len(chain.parameters) + len(parts) - 1
    return Formula("chain", chained(tuple(parts)), inputs, len(chain.parameters))


def chained(parts: tuple[Part, ...]) -> Compute:
    def computed(*given: Operand) -> Operand:
        values = list(given)
        for part in parts:
            operands = [as_kind(values[i], kind) for i, kind in zip(part.operands, part.kinds, strict=True)]
            found = part.compute(*operands, *(values[i] for i in part.parameters))
            assert not isinstance(found, tuple), "formulas of chains test nothing"
            values.append(as_kind(cast(found, np.uint8) if found.dtype == np.bool_ else found, part.written))
        return values[-1]

    return computed


def as_kind(x: Operand, kind: str) -> Operand:
    return x if x.dtype == np.dtype(kind) else view(x, kind)


def alike(chain: Chain, kinds: Mapping[str, DType]) -> tuple[object, ...]:
    """The same for chains that have the same code."""
    places = {name: i for i, name in enumerate((*chain.inputs, *chain.known, *(m.output for m in chain.members)))}
    names = [member.work.formula.name if member.work.formula else "" for member in chain.members]
    operands = [tuple(places[name] for name in member.operands) for member in chain.members]
    return (*names, *operands, *(kinds[name] for name in places))


def work_of(chain: Chain, shapes: Mapping[str, Shape], kinds: Mapping[str, DType]) -> Work:
    """The work of a chain, whose inputs are `Chain.inputs`."""
    from . import chain_loops

    shape = shapes[chain.members[-1].output]
    g, count = walked(shape, [shapes[name] for name in chain.walked]), types.count(shape)
    axes = len(g) // 4
    steps = tuple(int(g[(i + 2) * axes - 1]) for i in range(len(chain.walked)))
    loop = chain_loops.loop_of(formula_of(chain, kinds), steps, count == 1)
    over = tuple(i for i, name in enumerate(chain.walked) if shapes[name] == shape)
    parameters = chain.parameters if len(chain.parameters) else np.zeros(1, np.float32)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        used, out = [numbers(x) for x in inputs], numbers(outputs[0])
        several, single = used[: len(chain.walked)], used[len(chain.walked) :]
        several += [out] * (WALKED - len(several))
        single += [out] * (SINGLE - len(single))
        return Loop(loop, *several, *single, parameters, g, out, count=count)

    return Work(blocks(count), sum(member.work.cost for member in chain.members), bind, overwritable=over)
