"""The analysis against the oracle: no value outside its interval, no proved REQUIRE violated, no violated one kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import Net

from tosa_engine import oracle, types
from tosa_engine.compliance.cases import cases
from tosa_engine.compliance.cases import values as case_values
from tosa_engine.errors import RequireViolation
from tosa_engine.infer import infer
from tosa_engine.oracle import ORACLES, run_operator
from tosa_engine.ranges import PROVED, TRANSFERS, VIOLATED, Interval, analyse, transfer
from tosa_engine.spec import TABLE, bind_operator

if TYPE_CHECKING:
    from tosa_engine import graph as g
    from tosa_engine.ranges import Finding
    from tosa_engine.types import Array, DType

INTEGER_ROWS = [
    (spec.name, row.key)
    for spec in TABLE.values()
    if spec.name in TRANSFERS and spec.name in ORACLES
    for row in spec.rows
    if all(t.is_int or t.kind == "bool" for t in row.types.values())
]


def inside(value: Array, interval: Interval) -> bool:
    wide = value.astype(np.int64)
    return bool(((wide >= interval.low) & (wide <= interval.high)).all())


def confirm(found: list[Finding], error: RequireViolation | None) -> None:
    """What a run showed doesn't contradict what was said about all runs."""
    verdicts = {(f.node, f.label): f.verdict for f in found}
    if error is None:
        assert VIOLATED not in verdicts.values(), verdicts
    else:
        assert verdicts[error.node, error.label] != PROVED, (str(error), verdicts)


def random_interval(rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], kind: str) -> Interval:
    """An interval of each channel: anything, near the corners, near zero, or a single value."""
    size = shape[-1:] if rng.integers(3) else ()
    pool = case_values.corners(dtype) if dtype.is_int else np.array([0, 1])
    low, high = dtype.minimum, dtype.maximum
    if kind == "small":
        low, high = max(low, -9), min(high, 9)
    draws = [
        rng.choice(pool, size) if kind == "corners" else rng.integers(low, high, size, endpoint=True) for _ in range(2)
    ]
    ends = np.sort(np.stack([np.asarray(d, np.int64) for d in draws]), axis=0)
    if kind == "single":
        ends[1] = ends[0]
    return Interval(ends[0], ends[1])


def sample(rng: np.random.Generator, interval: Interval, dtype: DType, shape: tuple[int, ...]) -> Array:
    low, high = np.broadcast_to(interval.low, shape), np.broadcast_to(interval.high, shape)
    inner = rng.integers(low, high, endpoint=True)
    return np.asarray(np.choose(rng.integers(0, 3, shape), [low, high, inner])).astype(dtype.storage)


def check_operator(graph: g.Graph, seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    block = graph.main
    call = bind_operator(block.operators[-1], block)
    intervals = {t.name: random_interval(rng, t.dtype, t.shape or (), kind) for t in graph.inputs}
    output, findings = transfer(call, intervals)
    assert output is not None
    arguments: dict[str, Any] = {}
    for argument in call.spec.inputs:
        tensors = call.tensors[argument.name]
        arrays = [
            t.data if t.data is not None else sample(rng, intervals[t.name], t.dtype, t.shape or ())
            for t in (tensors if argument.is_list else [tensors])
        ]
        arguments[argument.name] = arrays if argument.is_list else arrays[0]
    error = None
    try:
        (value,) = run_operator(call, arguments)
        assert inside(value, output), (call.spec.name, call.operator.attributes)
    except RequireViolation as caught:
        error = caught
    confirm(findings, error)


@pytest.mark.parametrize(("op", "row"), INTEGER_ROWS, ids=lambda v: v)
def test_every_operator_is_sound(op: str, row: str) -> None:
    """Random intervals of the inputs, random values in them."""

    @settings(max_examples=25)
    @given(cases(op, row), st.integers(0, 1 << 32), st.sampled_from(["any", "corners", "small", "single"]))
    def check(case: tuple[g.Graph, dict[str, Array]], seed: int, kind: str) -> None:
        graph, _ = case
        infer(graph)
        if graph.main.operators[-1].op in TRANSFERS:
            check_operator(graph, seed, kind)

    check()


KINDS = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "ABS", "CLZ", "REDUCE_SUM", "narrow", "conv")


def chain(rng: np.random.Generator) -> g.Graph:
    """A random chain of integer operators over int32, narrow in places, with a few that leave int32."""
    net = Net(int(rng.integers(1 << 30)))
    size = int(rng.integers(1, 5))
    x = net.input("x", types.i8, 1, 3, 3, size)
    shifts = rng.integers(2, 14, size) if rng.integers(2) else [int(rng.integers(2, 14))]
    values = [net.rescale("start", x, types.i8, types.i32, shifts, zero=(int(rng.integers(-128, 127)), 0))]
    for i in range(int(rng.integers(1, 7))):
        a, b = (values[int(rng.integers(len(values)))] for _ in range(2))
        name = f"v{i}"
        kind = str(
            rng.choice(["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "ABS", "narrow", "conv", "REDUCE_SUM", "CLZ"])
        )
        if kind == "MUL":
            net.op(kind, name, types.i32, a, b, net.const(types.i8, [int(rng.choice([0, 1, 20, 31]))]))
        elif kind in ("ABS", "CLZ"):
            net.op(kind, name, types.i32, a)
        elif kind == "REDUCE_SUM":
            axis = int(rng.integers(4))
            net.op("TILE", f"{name}_back", types.i32, net.op(kind, f"{name}_sum", types.i32, a, axis=axis),
                   net.const(types.shape, [1 if d != axis else (1, 3, 3, size)[d] for d in range(4)]))  # fmt: skip
            name = f"{name}_back"
        elif kind in ("narrow", "conv"):
            zero = int(rng.integers(-20, 20))
            net.rescale(f"{name}_i8", a, types.i32, types.i8, int(rng.integers(30, 60)), zero=(0, zero))
            low, high = sorted(rng.integers(-128, 127, 2, endpoint=True).tolist())
            net.op("CLAMP", f"{name}_c", types.i8, f"{name}_i8", min_val=low, max_val=high, nan_mode="PROPAGATE")
            if kind == "conv":
                net.conv(name, f"{name}_c", net.weights(size, 3, 3, size), size)
            else:
                net.rescale(name, f"{name}_c", types.i8, types.i32, int(rng.integers(8, 30)), zero=(zero, 0))
        else:
            net.op(kind, name, types.i32, a, b, **({"nan_mode": "PROPAGATE"} if "IMUM" in kind else {}))
        values.append(name)
    return net.done(*values[1:])


@settings(max_examples=60)
@given(st.integers(0, 1 << 32))
def test_chains_are_sound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = chain(rng)
    found = analyse(graph)

    def probe(node: str, tensor: str, value: Array) -> None:
        if tensor in found.intervals:
            assert inside(value, found.intervals[tensor]), tensor

    (x,) = graph.inputs
    for flavour in ("corners", "any", "small"):
        error = None
        try:
            oracle.run(graph, {"x": case_values.values(rng, flavour, x.dtype, x.shape or ())}, probe)
        except RequireViolation as caught:
            error = caught
        confirm(list(found.findings), error)


@pytest.mark.parametrize("wrong", ["low", "high"])
def test_a_wrong_interval_is_noticed(wrong: str) -> None:
    value = np.array([[1, 5], [2, 9]], np.int8)
    good = Interval(np.array([1, 5]), np.array([2, 9]))
    assert inside(value, good)
    bad = Interval(good.low + (wrong == "low"), good.high - (wrong == "high"))
    assert not inside(value, bad)
