"""What is proved spares tests, not results: the same bytes, and the same verdict where nothing is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import Net

from tosa_engine import oracle, types
from tosa_engine.builder import Builder
from tosa_engine.compliance.cases import cases
from tosa_engine.compliance.cases import values as case_values
from tosa_engine.errors import RequireViolation
from tosa_engine.infer import bind_values
from tosa_engine.kernels import KERNELS, bounds, work
from tosa_engine.kernels.elementwise import loops as elementwise_loops
from tosa_engine.kernels.scale import exact_loops
from tosa_engine.plan import expand, make_plan, prepare
from tosa_engine.plan.proofs import prove, prove_alone
from tosa_engine.runtime.session import Session
from tosa_engine.spec import TABLE, bind_operator

from ..kernels.test_kernels import arguments, values_of
from ..ranges.test_soundness import chain

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine import graph as g
    from tosa_engine.kernels.elementwise.formula import Formula
    from tosa_engine.spec.table import Call
    from tosa_engine.types import Array

ROWS = sorted(
    (op, key)
    for op, key in KERNELS
    if TABLE[op].pure and TABLE[op].requires and not any(t.is_float for t in TABLE[op].row(key).types.values())
)


def result(prepared: work.Work, call: Call, values: dict[str, Array]) -> tuple[Array, int]:
    """The output and the status of all units."""
    tensor = call.tensor(call.spec.outputs[0].name)
    out = np.full(tensor.shape or (), 1, tensor.dtype.storage)
    run = prepared.bind([values[n] for n in call.operator.inputs], [out])
    scratch = [work.aligned(count, dtype) for dtype, count in prepared.scratch]
    return out, run(0, prepared.units, scratch)


@pytest.mark.parametrize(("op", "row"), ROWS)
def test_what_is_said_to_be_proved_isnt_tested_and_changes_no_byte(op: str, row: str) -> None:
    """Where these inputs violate nothing, it is as true as a kernel can tell that no inputs do."""

    @settings(max_examples=40)
    @given(cases(op, row))
    def run(case: tuple[g.Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        call, values = bind_operator(graph.main.operators[-1], graph.main), values_of(graph, feeds)
        try:
            (wanted,) = oracle.run_operator(call, arguments(call, values))
        except RequireViolation:
            return
        kernel = KERNELS[op, row]
        names = {call.tensor(name).name for name in kernel.constants}
        call = bind_values(call, {name: values[name] for name in names})
        anything = (np.asarray(-(1 << 31)), np.asarray((1 << 31) - 1))
        call.proved = {require.label: anything for require in call.spec.requires}
        got, status = result(kernel.prepare(call), call, values)
        assert status == work.DONE
        np.testing.assert_array_equal(got, wanted)

    run()


def end_of(session: Session, feeds: dict[str, Array]) -> list[Array] | str:
    """The outputs, or the verdict with its label, node, element and values."""
    try:
        return session.run(None, feeds)
    except RequireViolation as violation:
        return str(violation)


@settings(max_examples=40)
@given(st.integers(0, 1 << 32))
def test_planned_chains_end_as_without_any_proof(seed: int) -> None:
    """Fused and with tests dropped, against every kernel on its own, and the oracle."""
    rng = np.random.default_rng(seed)
    graph = chain(rng)
    planned, unfused = Session(graph, threads=1), Session(graph, threads=1, checked=True)
    (x,) = graph.inputs
    for flavour in ("corners", "any", "small"):
        feeds = {"x": case_values.values(rng, flavour, x.dtype, x.shape or ())}
        got, wanted = end_of(planned, feeds), end_of(unfused, feeds)
        if isinstance(got, str) or isinstance(wanted, str):
            assert got == wanted
            with pytest.raises(RequireViolation):
                oracle.run(graph, feeds)
        else:
            for a, b, c in zip(got, wanted, oracle.run(graph, feeds).values(), strict=True):
                np.testing.assert_array_equal(a, b)
                np.testing.assert_array_equal(a, c)


def sums(shift: int) -> g.Graph:
    """x of int8, scaled (per channel) to about x * 2^(31 - shift), times 3; 7 is too little for RESCALE, 8 for ADD."""
    net = Net()
    x = net.input("x", types.i8, 1, 2, 2, 3)
    wide = net.rescale("wide", x, types.i8, types.i32, [shift] * 3, multiplier=[(1 << 31) - 1] * 3)
    net.op("ADD", "double", types.i32, wide, wide)
    net.op("ADD", "sum", types.i32, "double", wide)
    net.op("ABS", "y", types.i32, "sum")
    return net.done("y")


def loops_of(graph: g.Graph, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The compiled loops that a plan calls, by name."""
    called: list[str] = []

    def noting(name: str, loop: Callable[..., int]) -> Callable[..., int]:
        def noted(*arguments: object) -> int:
            called.append(name)
            return loop(*arguments)

        return noted

    def loop_of(formula: Formula, right: Callable[[Formula], Callable[..., int]] = elementwise_loops.loop_of) -> object:
        return noting(formula.name + " with a test" * formula.tests, right(formula))

    monkeypatch.setattr(elementwise_loops, "loop_of", loop_of)
    for name in ("rescale", "rescale_untested"):
        monkeypatch.setattr(exact_loops, name, noting(name, getattr(exact_loops, name)))
    end_of(Session(graph, threads=1), {"x": np.full((1, 2, 2, 3), -128, np.int8)})
    return called


def test_the_analysis_chooses_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loops_of(sums(10), monkeypatch) == ["rescale_untested", "add", "add", "abs"]


@pytest.mark.parametrize(("shift", "loops"), [(8, ["rescale_untested", "add", "add with a test"]), (7, ["rescale"])])
def test_without_a_proof_the_loop_tests(shift: int, loops: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """And its REQUIRE fails: nothing runs after it."""
    assert loops_of(sums(shift), monkeypatch) == loops


@pytest.mark.parametrize(("shift", "label"), [(10, ""), (8, "ADD.R1"), (7, "RESCALE.R3")])
def test_an_input_that_violates_what_is_not_proved_is_told(shift: int, label: str) -> None:
    graph = sums(shift)
    feeds = {"x": np.zeros((1, 2, 2, 3), np.int8)}
    for value, wrong in ((1, ""), (-128, label)):
        feeds["x"][0, 1, 0, 2] = value
        ends = [end_of(Session(graph, threads=1, checked=checked), feeds) for checked in (False, True)]
        if wrong:
            assert ends[0] == ends[1]
            assert str(ends[0]).startswith(f"{label}: ")
        else:
            for array in ends:
                np.testing.assert_array_equal(array[0], oracle.run(graph, feeds)["y"])


def test_proofs_of_a_plan_use_what_comes_before() -> None:
    graph = expand(sums(10))
    calls = [bind_operator(op, graph.main) for op in graph.main.operators]
    prove(calls)
    found = {call.spec.name: set(call.proved) for call in calls if call.spec.requires}
    assert found["ADD"] == {"ADD.R1"}
    assert found["ABS"] == {"ABS.R1"}
    alone = prove_alone(next(call for call in calls if call.spec.name == "ADD"))
    assert not alone.proved


def test_range_of_an_accumulator_is_that_of_its_sums_and_its_result() -> None:
    """x + 2y with bias 1000, by channels: partial sums from 0 on, the result with its bias."""
    b = Builder()
    x = b.input(types.i8, (1, 1, 1, 2), "x")
    b.output(
        b.op(
            "CONV2D", x, np.array([[[[1, 2]]], [[[0, -1]]]], np.int8), np.array([1000, 0], np.int32), np.int8([-128]),
            np.int8([0]), pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=types.i32, local_bound=False,
        )
    )  # fmt: skip
    graph = expand(b.graph())
    call = prove_alone(bind_operator(graph.main.operators[-1], graph.main))
    low, high = bounds.accumulator_range(call)
    assert (low.tolist(), high.tolist()) == ([0, -255], [1000 + 3 * 255, 0])
    assert bounds.accumulator_bound(call).tolist() == [1765, 255]
    assert bounds.fits_output(call)


@pytest.mark.parametrize("op", ["CONV2D", "MATMUL"])
def test_without_a_proof_every_partial_sum_is_tested(op: str) -> None:
    """By kernels that nobody told anything."""

    @settings(max_examples=10)
    @given(cases(op, "i8_i8_i32_acci32" if op == "CONV2D" else "i8_i32"))
    def run(case: tuple[g.Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        call, values = bind_operator(graph.main.operators[-1], graph.main), values_of(graph, feeds)
        assert call.row is not None
        kernel = KERNELS[op, call.row.key]
        names = {call.tensor(name).name for name in kernel.constants}
        known = bind_values(call, {name: values[name] for name in names})
        untold, _ = result(kernel.prepare(known), call, values)
        told, _ = result(prepare(call), call, values)
        np.testing.assert_array_equal(untold, told)

    run()


def test_regions_are_proved_from_their_inputs_types() -> None:
    """The same ADD: of int8 values before the region, of all of int32 in it."""
    b = Builder()
    then, other = b.region("then"), b.region("other")
    for region, op in ((then, "ADD"), (other, "SUB")):
        u, v = region.input(types.i32, (4,), "u"), region.input(types.i8, (4,), "v")
        w = region.op("CAST", v, dtype=types.i32)
        region.output(region.op(op, region.op("ADD", w, w), u))
    cond = b.input(types.bool_, (1,), "cond")
    u, v = b.input(types.i32, (4,), "u"), b.input(types.i8, (4,), "v")
    b.output(*b.op("COND_IF", cond, [u, v], then_graph="then", else_graph="other"))
    graph = b.graph()
    plan = make_plan(expand(graph))
    for name in ("then", "other"):
        calls = [call for step in plan.regions[name].steps for call in step.calls if call.spec.name != "CAST"]
        assert [bool(call.proved) for call in calls] == [True, False]
    session, checked = (Session(graph, threads=1, checked=c) for c in (False, True))
    v_values = np.array([-128, 127, 1, 0], np.int8)
    for flag in (True, False):
        for u_values in (np.array([5, -6, 7, 8]), np.array([0, (1 << 31) - 1, 0, 0]), np.array([1 << 31, 0, 0, 0]) - 1):
            feeds = {"cond": np.array([flag]), "u": u_values.astype(np.int32), "v": v_values}
            got, wanted = end_of(session, feeds), end_of(checked, feeds)
            if isinstance(wanted, str):
                assert got == wanted
            else:
                np.testing.assert_array_equal(got[0], wanted[0])
                np.testing.assert_array_equal(got[0], next(iter(oracle.run(graph, feeds).values())))
