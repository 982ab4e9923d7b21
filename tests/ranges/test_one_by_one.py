"""What depends on one tensor is computed value by value: exact where intervals aren't, and only where it is allowed."""

from __future__ import annotations

import importlib
import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import Net

from tosa_engine import oracle, types
from tosa_engine.builder import Builder
from tosa_engine.errors import RequireViolation
from tosa_engine.plan import expand, make_plan
from tosa_engine.ranges import DEPENDS, PROVED, analyse, one_by_one

from .test_soundness import confirm, inside

if TYPE_CHECKING:
    from tosa_engine import graph as g
    from tosa_engine.types import Array

SHAPE = (1, 2, 3)


def narrow(net: Net, shift: int = 20) -> str:
    """A tensor of int32 with the 256 values x * 2^(30 - shift), x of int8."""
    x = net.input("x", types.i8, *SHAPE)
    return net.rescale("v", x, types.i8, types.i32, shift, multiplier=[1 << 30])


def verdicts(graph: g.Graph, label: str) -> list[str]:
    return [f.verdict for f in analyse(graph).findings if f.label == label]


def test_twice_a_tensor_minus_the_tensor_is_the_tensor() -> None:
    net = Net()
    v = net.rescale("v", net.input("x", types.i8, *SHAPE), types.i8, types.i32, 8, multiplier=[(1 << 31) - 1])
    net.op("SUB", "y", types.i32, net.op("ADD", "twice", types.i32, v, v), v)
    found = analyse(net.done("y"))
    assert {f.verdict for f in found.findings} == {PROVED}
    assert found.intervals["y"].flat() == found.intervals["v"].flat()
    (last,) = [f for f in found.findings if f.label == "SUB.R1"]
    assert (last.low.tolist(), last.high.tolist()) == ([1 - (1 << 30)], [127 << 23])


def reciprocal(top: int) -> g.Graph:
    """top - v * table(v): of the products that intervals think of, only those along the curve occur."""
    net = Net()
    x = net.input("x", types.i8, *SHAPE)
    v = net.rescale("v", x, types.i8, types.i32, 10, multiplier=[1 << 20], zero=(-128, 0))
    entries = np.clip(8191 // (np.arange(256) + 1), 0, 127)
    r = net.rescale("r", net.op("TABLE", "t", types.i8, x, net.const(types.i8, entries)), types.i8, types.i32, 14,
                    multiplier=[1 << 20])  # fmt: skip
    net.op("MUL", "product", types.i32, v, r, net.const(types.i8, [0]))
    net.op("SUB", "y", types.i32, net.const(types.i32, np.full(SHAPE, top)), "product")
    return net.done("y")


@pytest.mark.parametrize("channels", [1, 3])
def test_scales_per_channel_that_are_all_the_same(channels: int) -> None:
    net = Net()
    x, most = net.input("x", types.i8, *SHAPE), (1 << 31) - 1
    v = net.rescale("v", x, types.i8, types.i32, [8] * channels, multiplier=[most] * channels)
    net.op("SUB", "y", types.i32, net.op("ADD", "twice", types.i32, v, v), v)
    assert {f.verdict for f in analyse(net.done("y")).findings} == {PROVED}


def test_a_product_with_a_table_of_the_same_values() -> None:
    graph = reciprocal(-(1 << 30))
    (found,) = [f for f in analyse(graph).findings if f.label == "SUB.R1"]
    assert found.verdict == PROVED
    every = np.arange(-128, 128, dtype=np.int8)
    results = [oracle.run(graph, {"x": np.full(SHAPE, x)})["y"].flat[0] for x in every]
    assert (found.low.tolist(), found.high.tolist()) == ([min(results)], [max(results)])


def test_one_value_that_violates_leaves_it_open() -> None:
    """The least top for which all values pass, and one less."""
    products = -(np.array([oracle.run(reciprocal(0), {"x": np.full(SHAPE, x, np.int8)})["y"].flat[0]
                           for x in range(-128, 128)], np.int64))  # fmt: skip
    least = -(1 << 31) + int(products.max())
    assert verdicts(reciprocal(least), "SUB.R1") == [PROVED]
    assert verdicts(reciprocal(least - 1), "SUB.R1") == [DEPENDS]
    wrong = np.full(SHAPE, int(products.argmax()) - 128, np.int8)
    with pytest.raises(RequireViolation):
        oracle.run(reciprocal(least - 1), {"x": wrong})


@pytest.mark.parametrize("between", ["REVERSE", "TRANSPOSE", "broadcast", "per channel", "other input"])
def test_other_elements_are_other_values(between: str) -> None:
    """x - x' with x' another element, or scaled in another way: nothing is proved that an input refutes."""
    net = Net()
    shape = (2, 2)
    x = net.input("x", types.i8, *shape)
    most = (1 << 31) - 1
    v = net.rescale("v", x, types.i8, types.i32, 8, multiplier=[most])
    if between == "REVERSE":
        w = net.op("REVERSE", "w", types.i32, v, axis=1)
    elif between == "TRANSPOSE":
        w = net.op("TRANSPOSE", "w", types.i32, v, perms=(1, 0))
    elif between == "broadcast":
        w = net.op("REDUCE_MAX", "w", types.i32, v, axis=1, nan_mode="PROPAGATE")
    elif between == "per channel":
        w = v
        v = net.rescale("w", x, types.i8, types.i32, [8, 30], multiplier=[most, 1])
    else:
        w = net.rescale("w", net.input("z", types.i8, *shape), types.i8, types.i32, 8, multiplier=[most])
    for name in ("y", "y2", "y3"):
        v = net.op("SUB", name, types.i32, v, w)
    graph = net.done("y3")
    assert DEPENDS in verdicts(graph, "SUB.R1")
    ends = np.array(list(itertools.product([-128, 127], repeat=4 * len(graph.inputs))), np.int8)

    def try_all() -> None:
        for values in ends.reshape(-1, len(graph.inputs), *shape):
            oracle.run(graph, {t.name: array for t, array in zip(graph.inputs, values, strict=True)})

    with pytest.raises(RequireViolation, match=r"^SUB\.R1"):
        try_all()


def test_a_table_that_is_an_input_is_no_operand() -> None:
    """Though it has the shape of what is looked up: what it holds for x + 128 isn't what stands beside x."""
    b = Builder()
    x = b.input(types.i8, (256,), "x")
    found = b.op("TABLE", x, b.op("BITWISE_NOT", x))
    y = b.op("ADD", *(b.op("CAST", t, dtype=types.i32) for t in (x, found)))
    b.output(b.op("ADD", y, b.const(np.full(256, (1 << 31) - 1 - 100), types.i32)))
    graph = expand(b.graph())
    assert verdicts(graph, "ADD.R1") == [PROVED, DEPENDS]
    feeds = {"x": np.full(256, 127, np.int8)}
    feeds["x"][255] = -128
    with pytest.raises(RequireViolation):
        oracle.run(graph, feeds)


def test_broadcasting_repeats_the_same_element() -> None:
    net = Net()
    x = net.input("x", types.i16, 2, 1)
    wide = net.op("CAST", "w", types.i32, x)
    many = net.op("ADD", "m", types.i32, wide, net.const(types.i32, np.zeros((1, 3))))
    net.op("MUL", "s", types.i32, many, wide, net.const(types.i8, [0]))
    net.op("SUB", "y", types.i32, net.const(types.i32, [[-(1 << 30)]]), "s")
    graph = net.done("y")
    assert verdicts(graph, "SUB.R1") == [PROVED]
    feeds = {"x": np.array([[-32768], [7]], np.int16)}
    assert oracle.run(graph, feeds)["y"].tolist() == [[-(1 << 31)] * 3, [-(1 << 30) - 49] * 3]


def test_graph_inputs_are_sources_in_plans_too() -> None:
    """A plan doesn't know more of them than their type."""
    net = Net()
    x = net.input("x", types.i16, 4)
    wide = net.op("CAST", "w", types.i32, x)
    square = net.op("MUL", "s", types.i32, wide, wide, net.const(types.i8, [0]))
    net.op("SUB", "y", types.i32, net.const(types.i32, np.full(4, -(1 << 30))), square)
    net.op("ABS", "z", types.i32, "y")
    graph = net.done("z")
    assert verdicts(graph, "SUB.R1") == [PROVED]
    calls = [call for step in make_plan(expand(graph)).steps for call in step.calls]
    assert [set(c.proved) for c in calls if c.spec.name == "SUB"] == [{"SUB.R1"}]
    assert verdicts(graph, "ABS.R1") == [DEPENDS]  # 2^30 + 2^30 of x = -2^15


def correlated(rng: np.random.Generator) -> g.Graph:
    """Random elementwise operators over functions of one or two narrow tensors."""
    net = Net(int(rng.integers(1 << 30)))
    values = [narrow(net, int(rng.integers(8, 26)))]
    if rng.integers(3) == 0:
        shifts = rng.integers(8, 10, 3) if rng.integers(2) else [int(rng.integers(8, 26))] * 3
        values.append(net.rescale("channels", "x", types.i8, types.i32, shifts))
    if rng.integers(3) == 0:
        z = net.input("z", types.i8, *SHAPE)
        values.append(net.rescale("u", z, types.i8, types.i32, int(rng.integers(8, 26)), multiplier=[1 << 30]))
    for i in range(int(rng.integers(2, 9))):
        a, b = (values[int(rng.integers(len(values)))] for _ in range(2))
        kind = str(rng.choice(["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "ABS", "CLAMP", "XOR", "table", "const"]))
        name = f"v{i}"
        if kind == "MUL":
            net.op(kind, name, types.i32, a, b, net.const(types.i8, [int(rng.choice([0, 1, 16, 31]))]))
        elif kind == "ABS":
            net.op(kind, name, types.i32, a)
        elif kind == "CLAMP":
            net.op(kind, f"{name}_n", types.i8, net.rescale(f"{name}_s", a, types.i32, types.i8, 50),
                   min_val=-100, max_val=int(rng.integers(-90, 127)), nan_mode="PROPAGATE")  # fmt: skip
            net.rescale(name, f"{name}_n", types.i8, types.i32, int(rng.integers(8, 30)))
        elif kind == "XOR":
            net.op("BITWISE_XOR", name, types.i32, a, b)
        elif kind == "table":
            small = net.rescale(f"{name}_s", a, types.i32, types.i8, int(rng.integers(40, 56)))
            entries = net.const(types.i8, rng.integers(-128, 128, 256))
            net.rescale(name, net.op("TABLE", f"{name}_t", types.i8, small, entries), types.i8, types.i32, 9)
        elif kind == "const":
            net.op("SUB", name, types.i32, net.const(types.i32, np.full(SHAPE, rng.integers(-(1 << 31), 1 << 31))), a)
        else:
            net.op(kind, name, types.i32, a, b, **({"nan_mode": "PROPAGATE"} if "IMUM" in kind else {}))
        values.append(name)
    return net.done(*values[1:]) if len(values) > 2 else net.done(values[-1])


def test_correlated_chains_are_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    better: list[str] = []
    refine, walk = one_by_one.refine, importlib.import_module("tosa_engine.ranges.analyse")

    def counted(call: one_by_one.Call, *more: object) -> object:
        result = refine(call, *more)  # type: ignore[arg-type]
        better.extend(a.label for a, b in zip(result[1], more[1], strict=True) if a is not b)  # type: ignore[call-overload]
        return result

    monkeypatch.setattr(walk, "refine", counted)

    @settings(max_examples=120)
    @given(st.integers(0, 1 << 32))
    def run(seed: int) -> None:
        rng = np.random.default_rng(seed)
        graph = correlated(rng)
        found = analyse(graph)

        def probe(node: str, tensor: str, value: Array) -> None:
            if tensor in found.intervals:
                assert inside(value, found.intervals[tensor]), tensor

        for _ in range(4):
            feeds = {t.name: rng.integers(-128, 128, SHAPE).astype(np.int8) for t in graph.inputs}
            error = None
            try:
                oracle.run(graph, feeds, probe)
            except RequireViolation as caught:
                error = caught
            confirm(list(found.findings), error)

    run()
    assert better
