"""The lock of the traits: every operator gives every one, and the oracle agrees; a wrong trait is found."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from trait_checks import (
    Use,
    counts,
    fits_axes,
    has_weight,
    is_elementwise,
    is_neutral,
    is_sum,
    is_view,
    looks_outside,
    moves,
    multiplies,
    refused,
    slides,
    splits,
)  # fmt: skip

from tosa_engine.graph import Composite, Operator
from tosa_engine.kernels import KERNELS
from tosa_engine.spec import TABLE, is_constant, macs_of, traits_of
from tosa_engine.spec.table import OpSpec
from tosa_engine.spec.traits import (
    OPAQUE,
    AlongAxis,
    EachAxis,
    Elementwise,
    How,
    Memory,
    Moves,
    Outside,
    Permuted,
    Reshaped,
    Traits,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.spec import Row

COMPUTING = [spec for spec in TABLE.values() if spec.pure and not spec.is_constant]


def having(get: Callable[[Traits], Any]) -> list[Any]:
    return [pytest.param(spec, id=spec.name) for spec in COMPUTING if get(spec.traits) not in (None, (), "")]


def a_row(spec: OpSpec, *types: str) -> Row:
    """The first row with one of the types, in their order; else the first one."""
    found = [row for name in types for row in spec.rows if next(iter(row.types.values())).name == name]
    return found[0] if found else spec.rows[0]


def test_no_operator_can_leave_a_trait_out() -> None:
    assert all(f.default is MISSING and f.default_factory is MISSING for f in fields(Traits))
    (own,) = (f for f in fields(OpSpec) if f.name == "traits")
    assert own.default is MISSING
    with pytest.raises(TypeError, match="traits"):
        OpSpec(**{f.name: getattr(TABLE["ADD"], f.name) for f in fields(OpSpec) if f.name != "traits"})
    for spec in TABLE.values():
        assert all(getattr(spec.traits, f.name, MISSING) is not MISSING for f in fields(Traits)), spec.name


@pytest.mark.parametrize("spec", TABLE.values(), ids=lambda s: s.name)
def test_traits_speak_of_arguments_and_attributes_of_the_operator(spec: OpSpec) -> None:
    t, inputs = spec.traits, {a.name for a in spec.inputs}
    attributes = {a.name for a in spec.attributes}
    named = {*t.batch}
    if t.elementwise is not None:
        named |= {*t.elementwise.operands}
        rest = [a for a in spec.inputs if a.name not in t.elementwise.operands]
        assert all(a.ctc for a in rest)
        assert {t.elementwise.by_channel} - {""} <= attributes
        assert t.batch == t.elementwise.operands
    if t.moves is not None:
        named |= {*t.moves.operands} | ({t.moves.fill} - {""})
    if t.weight is not None:
        named |= {t.weight.argument} | ({t.weight.bias} - {""})
        assert len(spec.axes(t.weight.argument, *t.weight.rows, t.weight.channels)) == len(t.weight.rows) + 1
    if t.window is not None:
        assert {*t.window.attributes} <= attributes
    assert named <= inputs
    assert (t == OPAQUE) == (not spec.pure or spec.is_constant)


@pytest.mark.parametrize("spec", COMPUTING, ids=lambda s: s.name)
def test_elementwise_are_those_and_no_others(spec: OpSpec) -> None:
    row, trait = a_row(spec, "fp32", "i8"), spec.traits.elementwise
    if trait is None:
        assert refused(is_elementwise, spec, row, Elementwise((spec.inputs[0].name,), ""))
    else:
        assert is_elementwise(spec, row, trait)
        assert refused(is_elementwise, spec, row, replace(trait, operands=trait.operands[:-1]))


NUMBERS = [spec for spec in COMPUTING if {t.name for t in spec.rows[0].types.values()} != {"bool"} or spec.traits.moves]


@pytest.mark.parametrize("spec", NUMBERS, ids=lambda s: s.name)
def test_moves_are_those_and_no_others(spec: OpSpec) -> None:
    row, trait = a_row(spec, "fp32", "i8"), spec.traits.moves
    if trait is None:
        wrong = Moves((spec.inputs[0].name,), How.MOVED, "", None)
        assert any(refused(moves, spec, one, wrong) for one in spec.rows)
    else:
        assert moves(spec, row, trait)
        stronger = {How.MEAN: How.CHOSEN, How.CHOSEN: How.MOVED}.get(trait.how)
        wrong = replace(trait, how=stronger) if stronger else replace(trait, operands=trait.operands[1:], fill="")
        assert refused(moves, spec, row, wrong)


@pytest.mark.parametrize("spec", having(lambda t: t.moves and t.moves.fill))
def test_a_fill_is_needed(spec: OpSpec) -> None:
    assert refused(moves, spec, a_row(spec, "fp32"), replace(spec.traits.moves, fill=""))


@pytest.mark.parametrize("spec", having(lambda t: t.moves and t.moves.view))
def test_views(spec: OpSpec) -> None:
    row, view = a_row(spec, "i32"), spec.traits.moves.view
    assert is_view(spec, row, view)
    assert refused(is_view, spec, row, lambda call: lambda x: view(call)(x)[::-1])


@pytest.mark.parametrize("spec", having(lambda t: t.axes))
def test_axes(spec: OpSpec) -> None:
    row, axes = a_row(spec, "fp32", "i8"), spec.traits.axes
    assert fits_axes(spec, row, axes)
    assert refused(fits_axes, spec, row, _wrong(axes))
    if isinstance(axes, EachAxis):
        assert is_neutral(spec, row, axes)
        first = replace(axes.entries[0], neutral=axes.entries[0].neutral + 1)
        assert refused(is_neutral, spec, row, replace(axes, entries=(first, *axes.entries[1:])))


def _wrong(axes: Any) -> Any:
    if isinstance(axes, AlongAxis):
        return replace(axes, keeps_rank=not axes.keeps_rank)
    if isinstance(axes, EachAxis):
        return replace(axes, entries=tuple(replace(e, width=3 - e.width) for e in axes.entries))
    return Reshaped("perms") if isinstance(axes, Permuted) else Permuted("shape")


@pytest.mark.parametrize("spec", having(lambda t: t.batch))
def test_batches_can_be_split(spec: OpSpec) -> None:
    row, batch = a_row(spec, "fp32", "i8"), spec.traits.batch
    assert splits(spec, row, batch)
    others = [a.name for a in spec.inputs if a.name not in batch and not a.ctc]
    assert refused(splits, spec, row, batch[:-1] or ("no such argument",))
    for name in others:
        assert refused(splits, spec, row, (*batch, name))


@pytest.mark.parametrize(
    ("op", "attributes"), [("REDUCE_SUM", {"axis": 0}), ("REVERSE", {"axis": 0}), ("TRANSPOSE", {"perms": (1, 0, 2)})]
)
def test_samples_meet_along_axis_0(op: str, attributes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    spec, of = TABLE[op], Use.of

    def changed(*arguments: Any) -> Use:
        use = of(*arguments)
        use.case.set(**attributes)
        return use

    monkeypatch.setattr(Use, "of", changed)
    assert refused(lambda *a: splits(*a, prepare=False), spec, a_row(spec, "i8", "i32"), spec.traits.batch)


@pytest.mark.parametrize("spec", having(lambda t: t.terms))
def test_terms(spec: OpSpec) -> None:
    row, terms = a_row(spec, "fp32"), spec.traits.terms
    assert counts(spec, row, terms)
    assert refused(counts, spec, row, lambda call: terms(call) + 1)
    assert is_sum(spec, row, spec.traits.is_sum)
    assert refused(is_sum, spec, row, not spec.traits.is_sum)


@pytest.mark.parametrize("spec", COMPUTING, ids=lambda s: s.name)
def test_multiply_accumulates(spec: OpSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each product of ones adds 1 to the sum of all results."""
    if spec.traits.weight is None:
        graph = spec.example(spec.rows[0]).graph()
        assert [macs_of(op, graph.main) for op in graph.main.operators] == [0] * len(graph.main.operators)
        return
    assert multiplies(spec, spec.rows[0])
    wrong = replace(spec.traits.weight, positions=spec.traits.weight.positions[:-1])
    monkeypatch.setitem(TABLE, spec.name, replace(spec, traits=replace(spec.traits, weight=wrong)))
    assert refused(multiplies, spec, spec.rows[0])


@pytest.mark.parametrize("spec", having(lambda t: t.weight))
def test_weights(spec: OpSpec) -> None:
    row, weight = spec.rows[0], spec.traits.weight
    assert has_weight(spec, row, weight)
    letters = spec.letters(weight.argument)
    assert refused(has_weight, spec, row, replace(weight, rows=(*weight.rows[1:], weight.rows[0], letters[-2])))
    assert refused(has_weight, spec, row, replace(weight, channels=next(a for a in letters if a != weight.channels)))
    assert refused(has_weight, spec, row, replace(weight, bias="" if weight.bias else "bias"))
    assert (weight.argument == "weight") == any("weight_t" in r.types for r in spec.rows)


@pytest.mark.parametrize("spec", having(lambda t: t.window))
def test_windows(spec: OpSpec) -> None:
    row, window = spec.rows[0] if spec.name != "AVG_POOL2D" else a_row(spec, "fp32"), spec.traits.window
    assert slides(spec, row, window)
    assert refused(slides, spec, row, replace(window, transposed=not window.transposed))
    assert refused(slides, spec, row, replace(window, kernel=(*window.kernel[:-1], window.stride)))


@pytest.mark.parametrize("spec", having(lambda t: t.window))
def test_what_is_outside_of_windows(spec: OpSpec) -> None:
    row, window = spec.rows[0] if spec.name != "AVG_POOL2D" else a_row(spec, "fp32"), spec.traits.window
    assert looks_outside(spec, row, window.outside)
    assert all(refused(looks_outside, spec, row, other) for other in Outside if other is not window.outside)


@pytest.mark.parametrize("spec", TABLE.values(), ids=lambda s: s.name)
def test_memory_that_kernels_share(spec: OpSpec) -> None:
    """Kernels write upon operands read element by element and no others; views and parts are what their traits say."""
    t = spec.traits
    view = t.moves is not None and t.moves.view is not None
    assert (t.memory is Memory.VIEW) == view
    assert (t.memory is Memory.UPON) == (t.elementwise is not None and not view)
    if t.memory is Memory.PARTS:
        assert isinstance(t.axes, AlongAxis)
        assert spec.inputs[0].is_list
    upon = {spec.position(name) for name in t.elementwise.operands} if t.elementwise is not None else set()
    for row in spec.rows if spec.inputs and spec.pure else ():
        use = Use.of(spec, row)
        kernel = KERNELS[spec.name, row.key]
        for name in {*kernel.constants} & {a.name for a in spec.inputs if not a.ctc}:
            use.case.const(name, use.case.tensor(name).dtype, np.ones(use.case.tensor(name).shape))
        assert kernel.alias or {*kernel.prepare(use.call()).overwritable} <= upon, row.key


def test_of_what_is_in_no_table_nothing_is_known() -> None:
    composite = Composite("softmax", ["x"], ["y"], {"axis": 0})
    assert traits_of(composite) is OPAQUE
    assert not is_constant(composite)
    assert is_constant(Operator("CONST", [], ["c"]))
    assert not is_constant(Operator("VARIABLE_READ", [], ["c"]))
