"""Neighbouring steps on a few integers as one: operations against the oracle, what fails, and what stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tosa_engine import Session, oracle, types
from tosa_engine.builder import Builder
from tosa_engine.errors import RequireViolation

if TYPE_CHECKING:
    from tosa_engine.graph import Graph, Tensor
    from tosa_engine.types import Array

TWO = ["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "LOGICAL_LEFT_SHIFT", "LOGICAL_RIGHT_SHIFT", "ARITHMETIC_RIGHT_SHIFT"]
ONE = ["CLZ", "RESCALE", "NARROW", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM", "SHORT", "BYTE"]


def rescale(b: Builder, x: Tensor, to: types.DType, shift: int, zeros: tuple[int, int] = (0, 0)) -> Tensor:
    return b.op(
        "RESCALE", x, np.array([(1 << 30) + 12345], np.int32), np.array([shift], np.int8),
        np.array([zeros[0]], x.dtype.storage), np.array([zeros[1]], to.storage), dtype=to, scale32=True,
        rounding_mode="DOUBLE_ROUND" if shift > 31 else "SINGLE_ROUND", per_channel=False, input_unsigned=False,
        output_unsigned=False,
    )  # fmt: skip


def one(b: Builder, op: str, x: Tensor, rng: np.random.Generator) -> Tensor:
    """An operation on int32, back in int32."""
    if op.startswith("REDUCE"):
        found: dict[str, Any] = {"nan_mode": "PROPAGATE"} if op != "REDUCE_SUM" else {}
        return b.op(op, x, axis=1, **found)
    if op == "RESCALE":
        return rescale(b, x, types.i32, int(rng.integers(33, 40)))
    if op == "NARROW":
        low = rescale(b, x, types.i8, 50, (0, int(rng.integers(-9, 9))))
        low = b.op("CLAMP", low, min_val=-100, max_val=90, nan_mode="PROPAGATE")
        return rescale(b, b.op("TABLE", low, rng.integers(-128, 128, 256).astype(np.int8)), types.i32, 20, (3, 0))
    if op == "SHORT":
        return b.op("TABLE", rescale(b, x, types.i16, 42), np.sort(rng.integers(-32768, 32768, 513)).astype(np.int16))
    if op == "BYTE":
        return b.op("CAST", b.op("CAST", x, dtype=types.i8), dtype=types.i32)
    return b.op(op, x)


def two(b: Builder, op: str, x: Tensor, y: Tensor, rng: np.random.Generator) -> Tensor:
    if "SHIFT" in op:
        found: dict[str, Any] = {"round": bool(rng.integers(2))} if op.startswith("ARI") else {}
        return b.op(op, x, np.array([[rng.integers(0, 32)]], np.int32), **found)
    if op == "MUL":
        return b.op(op, x, y, np.array([rng.choice([0, 20, 31, 40])], np.int8))
    return b.op(op, x, y)


def drawn(seed: int, operations: list[str], width: int) -> tuple[Graph, Array]:
    """A chain of operations of all kinds on int32, some with an operand from further in front."""
    rng, b = np.random.default_rng(seed), Builder()
    x = b.input(types.i8, (1, width), "x")
    found = [rescale(b, x, types.i32, int(rng.integers(10, 30)), (5, 0))]
    for op in operations:
        last = found[-1]
        if op in ONE:
            found.append(one(b, op, last, rng))
            continue
        others = [t for t in found if t.shape == last.shape or 1 in (t.size, last.size)]
        found.append(two(b, op, last, others[rng.integers(len(others))], rng))
    b.output(found[-1])
    return b.graph(), rng.integers(-128, 128, (1, width)).astype(np.int8)


def outcome(run: Any) -> Any:
    try:
        return run().tolist()
    except RequireViolation as found:
        return found.label, found.node


@settings(max_examples=60)
@given(st.integers(0, 1 << 16), st.lists(st.sampled_from(TWO + ONE), min_size=3, max_size=10), st.integers(1, 64))
def test_operations_agree_with_the_oracle(seed: int, operations: list[str], width: int) -> None:
    """And where a REQUIRE fails, it is the same one of the same operator."""
    graph, x = drawn(seed, operations, width)
    name = graph.main.outputs[0]
    wanted = outcome(lambda: oracle.run(graph, {"x": x})[name])
    for threads in (1, 3):
        assert outcome(lambda: Session(graph, threads).run(None, {"x": x})[0]) == wanted  # noqa: B023


def joined(graph: Graph) -> list[int]:
    """How many operators each step has that was joined."""
    steps = Session(graph, 1).plan().steps
    return [len(s.calls) for s in steps if s.work is not None and s.work.bind.__qualname__.startswith("small_work.")]


def test_a_chain_is_one_step() -> None:
    graph, _ = drawn(1, ["CLZ", "ADD", "LOGICAL_LEFT_SHIFT", "MUL", "MAXIMUM", "REDUCE_SUM"], 10)
    assert joined(graph) == [7]


@pytest.mark.parametrize(("width", "operations"), [(65, ["CLZ", "ADD", "MUL"]), (8, ["CLZ"])])
def test_what_is_large_or_short_stays_as_it_is(width: int, operations: list[str]) -> None:
    graph, _ = drawn(2, operations, width)
    assert joined(graph) == []


def test_what_is_read_elsewhere_is_stored() -> None:
    b = Builder()
    x = b.input(types.i32, (1, 9), "x")
    first = b.op("CLZ", x)
    second = b.op("CLZ", first)
    third = b.op("MAXIMUM", second, first)
    b.output(second)
    b.output(b.op("MINIMUM", third, b.op("CLZ", third)))
    graph, feeds = b.graph(), {"x": np.arange(9, dtype=np.int32).reshape(1, 9) << 20}
    got, wanted = Session(graph, 1).run(None, feeds), oracle.run(graph, feeds)
    for array, name in zip(got, graph.main.outputs, strict=True):
        np.testing.assert_array_equal(array, wanted[name])
