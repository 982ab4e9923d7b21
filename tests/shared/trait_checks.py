"""Whether a trait agrees with what the oracle computes: one function for each trait, True or False.

Each takes the entry, one of its rows and the trait, so that tests can ask about traits that are wrong, too. An operator
that can't be used as the trait says (it refuses the shapes, or a REQUIRE fails) doesn't have it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import check, oracle
from tosa_engine.errors import TosaEngineError
from tosa_engine.graph import Operator
from tosa_engine.infer import infer
from tosa_engine.spec import bind_operator, macs_of, traits_of
from tosa_engine.spec.traits import AlongAxis, EachAxis, How, Outside, Permuted, Reshaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tosa_engine.spec import Call, OpSpec, Row
    from tosa_engine.spec.case import Case
    from tosa_engine.spec.traits import Axes, Elementwise, Moves, Weight, Window
    from tosa_engine.types import Array, DType

    Arrays = dict[str, Array]

CANT = (TosaEngineError, ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


@dataclass
class Use:
    """One case of an operator: its inputs that aren't constant get arrays, and the outputs are inferred."""

    case: Case
    seed: int = 0

    @classmethod
    def of(cls, spec: OpSpec, row: Row, seed: int = 0) -> Use:
        case = spec.example(row)
        for tensor in case.outputs.values():
            tensor.shape = None
        return cls(case, seed)

    def tensors(self, arguments: Sequence[str] | None = None) -> dict[str, Any]:
        """The tensors of some arguments, or of all that aren't constant, by their own names."""
        wanted = [self.case.inputs[name] for name in (self.case.inputs if arguments is None else arguments)]
        each = [t for entry in wanted for t in (entry if isinstance(entry, list) else [entry])]
        return {t.name: t for t in each if arguments is not None or t.data is None}

    def alike(self, operands: Sequence[str]) -> None:
        """Give operands that broadcast the shape of the first one."""
        for name in operands:
            self.case.reshape(name, *self.case.tensor(operands[0]).shape)

    def arrays(self) -> Arrays:
        rng = np.random.default_rng(self.seed)
        return {t.name: _values(rng, t.name, t.dtype, t.shape) for t in self.tensors().values()}

    def run(self, arrays: Mapping[str, Array]) -> list[Array]:
        for name, tensor in self.tensors().items():
            tensor.shape = arrays[name].shape
        feeds = {n: np.asarray(a, t.dtype.storage) for n, t in self.tensors().items() for a in [arrays[n]]}
        return list(oracle.run(self.case.graph(), feeds).values())

    def call(self) -> Call:
        graph = self.case.graph()
        infer(graph)
        (operator,) = (op for op in graph.main.operators if op.op == self.case.op)
        return bind_operator(operator, graph.main, graph)


def _values(rng: np.random.Generator, name: str, dtype: DType, shape: Any) -> Array:
    """1 to 7, which are legal shifts, divisors, bases and weights of 4 bits; indices of an axis with four elements."""
    if name == "indices":
        return np.array([rng.permutation(4)[: shape[1]] if shape[1] <= 4 else rng.integers(0, 4, shape[1])
                         for _ in range(shape[0])])  # fmt: skip
    if dtype.name == "bool":
        return rng.integers(0, 2, shape)
    found = rng.integers(1, 8, shape)
    return found if dtype.is_int else found + rng.choice([0.25, 0.5, 0.0], shape)


def is_elementwise(spec: OpSpec, row: Row, trait: Elementwise) -> bool:
    """Whether elements of the operands in another order give those of the results in this order."""
    return all(_is_elementwise(Use.of(spec, row, seed), trait) for seed in range(8))


def _is_elementwise(use: Use, trait: Elementwise) -> bool:
    own = traits_of(Operator(use.case.op, [], [])).elementwise or trait
    use.alike(own.operands)
    arrays, shape = use.arrays(), use.case.tensor(own.operands[0]).shape
    order = np.random.default_rng(use.seed).permutation(math.prod(shape))
    moved = {n: a.reshape(-1)[order].reshape(shape) if n in trait.operands else a for n, a in arrays.items()}
    pairs = zip(use.run(arrays), use.run(moved), strict=True)
    return all(a.shape == shape and np.array_equal(a.reshape(-1)[order], b.reshape(-1)) for a, b in pairs)


def moves(spec: OpSpec, row: Row, trait: Moves) -> bool:
    """Whether all results are values of the operands; of what is MOVED, whether where they go depends on no value."""
    use = Use.of(spec, row, 3)
    names = list(use.tensors(trait.operands))
    fill = use.case.tensor(trait.fill).data.reshape(-1) if trait.fill else np.empty(0)
    arrays = {n: np.asarray(a, np.float64) * (-1) ** np.arange(a.size).reshape(a.shape) if n in names else a
              for n, a in use.arrays().items()}  # fmt: skip
    (got,) = use.run(arrays)
    pool = np.concatenate([*(arrays[n].reshape(-1) for n in names), fill])
    if trait.how is How.MEAN:
        return bool((got >= pool.min()).all() and (got <= pool.max()).all())
    if trait.how is How.CHOSEN:
        return bool(np.isin(got, pool).all())
    numbers = np.split(np.arange(len(pool) - len(fill)), np.cumsum([arrays[n].size for n in names])[:-1])
    at = len(numbers[-1]) and numbers[-1][-1] // 2
    tagged = {n: k.reshape(arrays[n].shape) - at for n, k in zip(names, numbers, strict=True)}
    if trait.fill:
        use.case.const(trait.fill, use.case.tensor(trait.fill).dtype, [len(pool) - 1 - at])
    (where,) = use.run(arrays | tagged)
    inside = ((where + at) >= 0).all() and ((where + at) < len(pool)).all() and (where == np.rint(where)).all()
    return bool(inside and np.array_equal(pool[np.asarray(where + at, int)], got))


def is_view(spec: OpSpec, row: Row, view: Any) -> bool:
    use = Use.of(spec, row)
    arrays = use.arrays()
    x = np.arange(arrays["input1"].size).reshape(arrays["input1"].shape)
    seen = view(use.call())(x)
    return np.array_equal(seen, use.run({"input1": x})[0]) and np.shares_memory(x, seen)


def fits_axes(spec: OpSpec, row: Row, axes: Axes) -> bool:
    """Whether the operator does in other axes what the trait says."""
    use = Use.of(spec, row, 2)
    arrays = use.arrays()
    (got,) = use.run(arrays)
    if isinstance(axes, Permuted):
        return np.array_equal(got, arrays["input1"].transpose(use.case.attributes[axes.attribute]))
    if isinstance(axes, Reshaped):
        wanted = tuple(use.case.tensor(axes.argument).data.tolist())
        return got.shape == wanted and np.array_equal(got.reshape(-1), arrays["input1"].reshape(-1))
    rank = next(iter(arrays.values())).ndim
    perms = tuple(range(1, rank)) + (0,)
    moved = {n: a.transpose(perms) for n, a in arrays.items()}
    if isinstance(axes, AlongAxis):
        axis = use.case.attributes[axes.attribute]
        use.case.set(**{axes.attribute: perms.index(axis)})
        kept = got if axes.keeps_rank else np.expand_dims(got, axis)
        there = use.run(moved)[0] if axes.keeps_rank else np.expand_dims(use.run(moved)[0], perms.index(axis))
        return kept.ndim == rank == there.ndim and np.array_equal(kept.transpose(perms), there)
    for entries in axes.entries:
        old = use.case.tensor(entries.argument)
        rows = old.data.reshape(-1, entries.width)[list(perms)]
        use.case.const(entries.argument, old.dtype, rows.reshape(-1))
    return np.array_equal(got.transpose(perms), use.run(moved)[0])


def leave_alone(use: Use, axes: Axes | None, only: int | None = None) -> None:
    """Set what the trait calls neutral: for axis `only`, or for all."""
    shape = next(iter(use.tensors().values())).shape
    if isinstance(axes, EachAxis):
        for entries in axes.entries:
            old = use.case.tensor(entries.argument)
            rows = old.data.copy().reshape(-1, entries.width)
            for axis in range(len(shape)) if only is None else [only]:
                rows[axis] = shape[axis] if entries.neutral is None else entries.neutral
            use.case.const(entries.argument, old.dtype, rows.reshape(-1))
    elif isinstance(axes, Permuted):
        use.case.set(**{axes.attribute: (0, *reversed(range(1, len(shape))))})
    elif isinstance(axes, Reshaped):
        old = use.case.tensor(axes.argument)
        use.case.const(axes.argument, old.dtype, [shape[0], *reversed(shape[1:]), 1])


def is_neutral(spec: OpSpec, row: Row, axes: EachAxis) -> bool:
    use = Use.of(spec, row)
    leave_alone(use, axes)
    arrays = use.arrays()
    return np.array_equal(use.run(arrays)[0], next(iter(arrays.values())))


def splits(spec: OpSpec, row: Row, batch: Sequence[str], *, prepare: bool = True) -> bool:
    """Whether two runs of some samples each give the bytes of one run of all."""
    one, all_ = Use.of(spec, row, 4), Use.of(spec, row)
    for use in (one, all_):
        use.alike(spec.traits.elementwise.operands if spec.traits.elementwise is not None else ())
        if prepare:
            leave_alone(use, spec.traits.axes, only=0)
    first, second = one.arrays(), Use(one.case, 5).arrays()
    names = set(one.tensors(batch))
    fixed = {n: a for n, a in first.items() if n not in names}
    parts = [one.run(first), one.run(second | fixed)]
    both = {n: np.concatenate([first[n], second[n]]) for n in names} | fixed
    for argument in _of_sizes(spec.traits.axes):
        old = all_.case.tensor(argument)
        all_.case.const(argument, old.dtype, [2 * old.data[0], *old.data[1:]])
    whole = all_.run(both)
    return all(np.array_equal(np.concatenate(p), w) for *p, w in zip(*parts, whole, strict=True))


def _of_sizes(axes: Axes | None) -> list[str]:
    if isinstance(axes, Reshaped):
        return [axes.argument]
    return [e.argument for e in axes.entries if e.neutral is None] if isinstance(axes, EachAxis) else []


def plain_windows(use: Use, window: Window | None) -> None:
    if window is not None:
        for name in window.attributes:
            old = use.case.attributes[name]
            use.case.set(**{name: (0 if name == window.pad else 1,) * len(old)})


def counts(spec: OpSpec, row: Row, terms: Any) -> bool:
    """Whether as many elements as `terms` says have a part in one place of the results, if in none more."""
    use = Use.of(spec, row)
    plain_windows(use, spec.traits.window)
    arrays = {n: np.asarray(a, np.float64) for n, a in use.arrays().items()}
    before, found = use.run(arrays), 0
    data = spec.traits.batch[:1] if spec.traits.weight else spec.traits.batch
    reached = np.zeros(before[0].shape, int)
    for name in data:
        for i in range(arrays[name].size):
            other = arrays[name].copy()
            other.reshape(-1)[i] += 1
            after = use.run(arrays | {name: other})
            reached += np.any([a != b for a, b in zip(before, after, strict=True)], axis=0)
    found = int(reached.max())
    return found == terms(use.call())


def _of_ones(spec: OpSpec, row: Row) -> tuple[Use, list[Array]]:
    """Results where all numbers are 1 and no window looks outside."""
    use = Use.of(spec, row)
    plain_windows(use, spec.traits.window)
    weight = spec.traits.weight
    arrays = {n: np.zeros_like(a) if weight and n == weight.bias else np.ones_like(a) for n, a in use.arrays().items()}
    return use, use.run(arrays)


def is_sum(spec: OpSpec, row: Row, trait: bool) -> bool:
    """Whether ones add up to the number of terms (a mean of ones is 1)."""
    use, got = _of_ones(spec, row)
    terms = spec.traits.terms(use.call())
    return (sum(int(a.max()) for a in got) == terms) is trait


def multiplies(spec: OpSpec, row: Row) -> bool:
    """Whether all products, each of ones, add up to the number of multiply-accumulates."""
    use, got = _of_ones(spec, row)
    graph = use.case.graph()
    infer(graph)
    (operator,) = (op for op in graph.main.operators if op.op == spec.name)
    return macs_of(operator, graph.main) == int(got[0].sum())


def has_weight(spec: OpSpec, row: Row, trait: Weight) -> bool:
    """Whether each weight changes the channel of the results that its row is, where its input channel isn't 0."""
    use = Use.of(spec, row)
    arrays = use.arrays()
    before = use.run(arrays)[0]
    rows, (channel,) = spec.axes(trait.argument, *trait.rows), spec.axes(trait.argument, trait.channels)
    weight = arrays[trait.argument]
    sizes = [weight.shape[axis] for axis in rows]
    for index in np.ndindex(weight.shape):
        other = weight.copy()
        other[index] -= 1
        row_number = int(np.ravel_multi_index([index[axis] for axis in rows], sizes))
        changed = before != use.run(arrays | {trait.argument: other})[0]
        if set(np.nonzero(changed)[-1].tolist()) != {row_number}:
            return False
        silent = arrays | {spec.traits.batch[0]: arrays[spec.traits.batch[0]].copy()}
        silent[spec.traits.batch[0]][..., index[channel]] = 0
        if not np.array_equal(use.run(silent)[0], use.run(silent | {trait.argument: other})[0]):
            return False
    if not trait.bias:
        return not any(a.name == "bias" for a in spec.inputs)
    bias = arrays[trait.bias].copy()
    bias[-1] += 1
    changed = before != use.run(arrays | {trait.bias: bias})[0]
    return set(np.nonzero(changed)[-1].tolist()) == {bias.size - 1}


def slides(spec: OpSpec, row: Row, trait: Window) -> bool:
    """Whether each input position is seen by the results that the geometry says, in all legal strides and dilations."""
    tried = 0
    rank = len(trait.kernel)
    for numbers in itertools.product((1, 2), repeat=rank * (2 if trait.dilation else 1)):
        use = Use.of(spec, row)
        use.case.set(**{trait.stride: numbers[:rank]})
        if trait.dilation:
            use.case.set(**{trait.dilation: numbers[rank:]})
        if not _is_legal(use):
            continue
        tried += 1
        if not _sees(use, use.arrays(), trait):
            return False
    assert tried > 1
    return True


def _is_legal(use: Use) -> bool:
    graph = use.case.graph()
    try:
        infer(graph)
    except TosaEngineError:
        return False
    return not check.check(graph)


def _sees(use: Use, arrays: Arrays, trait: Window) -> bool:
    before, call = use.run(arrays)[0], use.call()
    kernel, pads = [call[name] for name in trait.kernel], call[trait.pad][::2]
    dilation = call[trait.dilation] if trait.dilation else (1,) * len(kernel)
    for place in np.ndindex(arrays["input"].shape[1:-1]):
        other = arrays["input"].copy()
        other[(0, *place)] = 100
        changed = (before != use.run(arrays | {"input": other})[0])[0].any(axis=-1)
        wanted = np.ones(changed.shape, bool)
        for axis, i in enumerate(place):
            taps = range(kernel[axis])
            hits = [
                any((i * s + p + k if trait.transposed else o * s - p + k * d) == (o if trait.transposed else i)
                    for k in taps)
                for s, p, d in [(call[trait.stride][axis], pads[axis], dilation[axis])]
                for o in range(changed.shape[axis])
            ]  # fmt: skip
            wanted &= np.expand_dims(np.array(hits), [a for a in range(changed.ndim) if a != axis])
        if not np.array_equal(changed, wanted):
            return False
    return True


def looks_outside(spec: OpSpec, row: Row, outside: Outside) -> bool:
    """Whether padding gives what a wider input gives that has there what the trait says."""
    use = Use.of(spec, row)
    window = spec.traits.window
    assert window is not None
    if outside is Outside.NEVER or window.transposed:
        return outside is Outside.NEVER and window.transposed
    if "input_zp" in use.case.inputs and outside is Outside.ZERO:
        use.case.const("input_zp", use.case.tensor("input_zp").dtype, [3 if row.types.get("in_t", None) else 0])
    arrays = use.arrays()
    got = use.run(arrays)[0]
    if outside is Outside.UNCOUNTED:
        ones = use.run({n: np.ones_like(a) for n, a in arrays.items()})[0]
        return bool((ones == 1).all()) and refused(looks_outside, spec, row, Outside.LEAST)
    dtype = use.case.tensor("input").dtype
    value = dtype.minimum if outside is Outside.LEAST else use.case.tensor("input_zp").data[0]
    pad = use.case.attributes[window.pad]
    around = [(0, 0), *zip(pad[::2], pad[1::2], strict=True), (0, 0)]
    use.case.set(**{window.pad: (0,) * len(pad)})
    wider = arrays | {"input": np.pad(arrays["input"], around, constant_values=value)}
    return np.array_equal(got, use.run(wider)[0])


def refused(function: Any, *arguments: Any) -> bool:
    """Whether a check says no, or can't be made at all."""
    try:
        return not function(*arguments)
    except CANT:
        return True
