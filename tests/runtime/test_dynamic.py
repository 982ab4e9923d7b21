"""EXT-DYNAMIC: compile-time constants that are known only when the graph runs; their rules are checked then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import Session, oracle, types
from tosa_engine.check import check
from tosa_engine.compare import Tolerance, compare
from tosa_engine.errors import ErrorIf, LevelError, TosaEngineError, Verdict, verdict_of
from tosa_engine.kernels.work import DONE, aligned
from tosa_engine.plan import prepare
from tosa_engine.spec import TABLE, bind_operator
from tosa_engine.target import LEVEL_8K, LEVEL_NONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph, Tensor
    from tosa_engine.spec import Check, OpSpec, Row
    from tosa_engine.spec.case import Case
    from tosa_engine.types import Array

ROWS = [(spec, row) for spec in TABLE.values() for row in spec.rows if any(a.ctc for a in spec.inputs)]
CHECKS = [(spec, rule) for spec in TABLE.values() for rule in spec.checks if any(a.ctc for a in spec.inputs)]
SHAPED = [(spec, row) for spec, row in ROWS if any(a.ctc and a.is_shape for a in spec.inputs)]


def forget(case: Case, *, shapes: bool = False) -> dict[str, Array]:
    """Make the case's compile-time constants inputs; their values."""
    found: dict[str, Array] = {}
    for argument in TABLE[case.op].inputs:
        tensor = case.inputs[argument.name]
        if argument.ctc and argument.is_shape == shapes and not isinstance(tensor, list) and tensor.data is not None:
            found[tensor.name], tensor.data = tensor.data, None
    return found


def some(tensor: Tensor) -> Array:
    return (np.arange(tensor.size) % 2).astype(tensor.dtype.storage).reshape(tensor.shape or ())


def voices(graph: Graph, feeds: dict[str, Array]) -> list[Callable[[], Array]]:
    return [
        lambda: next(iter(oracle.run(graph, feeds, level=LEVEL_8K).values())),
        lambda: Session(graph, 1).run(None, feeds)[0],
        lambda: Session(graph, 1, checked=True).run(None, feeds)[0],
    ]


@pytest.mark.parametrize(("spec", "row"), ROWS, ids=[f"{s.name}-{r.key}" for s, r in ROWS])
def test_values_known_late_give_the_same(spec: OpSpec, row: Row) -> None:
    graph = spec.example(row).graph()
    feeds = {t.name: some(t) for t in graph.inputs}
    (wanted,) = oracle.run(graph, feeds).values()
    case = spec.example(row)
    feeds |= forget(case)
    late = case.graph()
    assert check(late) == []
    for run in voices(late, feeds):
        assert compare(spec.name, run(), wanted, Tolerance(rtol=1e-5)) is None


def broken_late(spec: OpSpec, rule: Check) -> list[tuple[Graph, dict[str, Array]]]:
    """Graphs that break the rule by constants alone, which are known late."""
    found = []
    for row in spec.rows:
        case = spec.example(row)
        try:
            rule.mutate(case)
        except AssertionError:
            continue  # this rule isn't for this row
        if rule.label not in {p.label for p in check(case.graph())}:
            continue
        values = forget(case)
        graph = case.graph()
        if not check(graph):
            found.append((graph, {t.name: values.get(t.name, some(t)) for t in graph.inputs}))
    return found


LATE = {rule.label: (spec, rule) for spec, rule in CHECKS if broken_late(spec, rule)}


def test_the_rules_of_zero_points_are_among_them() -> None:
    assert {"CONV2D.E1", "NEGATE.E1", "RESCALE.E3"} <= set(LATE)


@pytest.mark.parametrize("label", LATE)
def test_rules_are_checked_when_the_values_are_known(label: str) -> None:
    for graph, feeds in broken_late(*LATE[label]):
        for run in voices(graph, feeds):
            with pytest.raises(TosaEngineError) as caught:
                run()
            problems = getattr(caught.value, "problems", [caught.value])
            assert label in {p.label for p in problems}
            assert all(isinstance(p, ErrorIf) for p in problems)
            assert verdict_of(caught.value) is Verdict.ERROR


# Shapes known late need operators on shapes, which TOSA 1.0 doesn't have; the machinery is there.


@pytest.mark.parametrize(("spec", "row"), SHAPED, ids=[f"{s.name}-{r.key}" for s, r in SHAPED])
def test_shapes_known_late(spec: OpSpec, row: Row) -> None:
    graph = spec.example(row).graph()
    feeds = {t.name: some(t) for t in graph.inputs}
    (wanted,) = oracle.run(graph, feeds).values()
    case = spec.example(row)
    constants = {t.name: t.data for t in graph.main.tensors.values() if t.data is not None}
    values = {**constants, **feeds, **forget(case, shapes=True)}
    block = case.graph().main
    call = bind_operator(block.operators[-1], block)
    np.testing.assert_array_equal(
        oracle.run_operator(call, {a.name: values[call.tensor(a.name).name] for a in spec.inputs})[0], wanted
    )
    work = prepare(call)
    output = np.zeros_like(wanted)
    run = work.bind([values[n] for n in call.operator.inputs], [output])
    assert run(0, work.units, [aligned(count, dtype) for dtype, count in work.scratch]) == DONE
    np.testing.assert_array_equal(output, wanted)


def test_a_late_shape_that_contradicts_the_output() -> None:
    spec = TABLE["RESHAPE"]
    case = spec.example(spec.rows[0])
    forget(case, shapes=True)
    block = case.graph().main
    call = bind_operator(block.operators[-1], block)
    data = np.zeros((2, 6), call.tensor("input1").dtype.storage)
    output = np.zeros((3, 4), data.dtype)
    with pytest.raises(TosaEngineError, match=r"RESHAPE\.E"):
        prepare(call).bind([data, np.array([4, 3])], [output])(0, 1, [])


def test_a_late_scale_is_checked_against_the_level() -> None:
    spec = TABLE["RESIZE"]
    case = spec.example(spec.rows[0])
    forget(case, shapes=True)
    block = case.graph().main
    call = bind_operator(block.operators[-1], block)
    scale = np.array([2000, 2, 2000, 2])
    arrays = [scale if n == "scale" else some(block.tensors[n]) for n in call.operator.inputs]
    output = np.zeros(call.shape_of("output"), call.tensor("output").dtype.storage)
    for level, wanted in ((LEVEL_8K, True), (LEVEL_NONE, False)):
        with pytest.raises(TosaEngineError) as caught:
            prepare(call, level).bind(arrays, [output])(0, 1, [])
        problems = getattr(caught.value, "problems", [caught.value])
        assert any(isinstance(p, LevelError) for p in problems) == wanted


def test_a_shape_that_nothing_writes() -> None:
    spec = TABLE["RESHAPE"]
    case = spec.example(spec.rows[0])
    forget(case, shapes=True)
    assert {p.label for p in check(case.graph())} == {"GRAPH.E4"}
    assert case.tensor("shape").dtype is types.shape
