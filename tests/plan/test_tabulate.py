"""Operators that compute a function of one int8 tensor are one TABLE: the same bytes, where nobody can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nets import Net, feeds_of
from replay_tools import replay, run_plan, unfused

from tosa_engine import Session, types
from tosa_engine.errors import RequireViolation
from tosa_engine.plan import expand, make_plan
from tosa_engine.plan.rewrite.tabulate import FAILURES, MOST

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

i8, i16, i32 = types.i8, types.i16, types.i32
BYTES = np.arange(-128, 128, dtype=np.int8)
EXACT = np.array([1 << 30], np.int32)


def operators(graph: Graph, keep: frozenset[str] = frozenset()) -> list[str]:
    return [step.operators for step in make_plan(expand(graph), keep).steps]


def same_for_every_byte(graph: Graph) -> None:
    """The graph's one input takes all values, in the plan and in the one without any fusion."""
    feeds = {tensor.name: np.resize(BYTES, tensor.shape) for tensor in graph.inputs}
    found = run_plan(make_plan(expand(graph)), feeds).values
    assert found is not None
    wanted = unfused(graph, feeds)
    assert wanted is not None
    assert found == {name: wanted[name] for name in found}


def table(net: Net, name: str, x: str, seed: int = 1) -> str:
    entries = np.random.default_rng(seed).integers(-128, 128, 256)
    return net.op("TABLE", name, i8, x, net.const(i8, entries))


def product(net: Net, name: str, first: str, second: str, shift: int = 38) -> str:
    """The product of two bytes, each less a zero point, as a byte."""
    wide = [
        net.rescale(f"{name}_{i}", x, i8, i32, 30, zero=(zero, 0), multiplier=EXACT)
        for i, (x, zero) in enumerate(((first, 3), (second, -128)))
    ]
    net.op("MUL", f"{name}_product", i32, *wide, net.const(i8, [0]))
    return net.rescale(name, f"{name}_product", i32, i8, shift, zero=(0, -7))


def gated(*outputs: str, shape: tuple[int, ...] = (1, 4, 8, 8)) -> Graph:
    """y = x * f(x)."""
    net = Net()
    x = net.input("x", i8, *shape)
    product(net, "y", x, table(net, "f", x))
    return net.done("y", *outputs)


GATED = "TABLE(TABLE+RESCALE+RESCALE+MUL+RESCALE)"


def test_a_product_with_a_function_of_the_same_tensor() -> None:
    graph = gated()
    assert operators(graph) == [GATED]
    replay(graph, feeds_of(graph))
    same_for_every_byte(graph)


def test_it_ends_the_convolution_in_front_also_through_a_reshape() -> None:
    net = Net()
    x = net.input("x", i8, 1, 5, 7, 6)
    net.conv("sums", x, net.weights(20, 3, 3, 6), 20)
    net.rescale("small", "sums", i32, i8, np.full(20, 40), zero=(0, 4))
    net.op("RESHAPE", "flat", i8, "small", net.const(types.shape, [35, 20]))
    product(net, "y", "flat", table(net, "f", "flat"))
    graph = net.done("y")
    assert operators(graph) == [f"CONV2D+RESCALE+{GATED}", "RESHAPE"]
    replay(graph, feeds_of(graph))


@pytest.mark.parametrize("size", [1, 3])
def test_constants_of_one_element_are_part_of_a_function(size: int) -> None:
    """Of others, elements at different places get different results."""
    net = Net()
    x = net.input("x", i8, 4, 5, 3)
    net.rescale("wide", x, i8, i32, 20, zero=(9, 0))
    net.op("ADD", "sum", i32, "wide", net.const(i32, np.arange(7000, 7000 + size).reshape(1, 1, size)))
    net.rescale("y", "sum", i32, i8, 50, zero=(0, 5))
    graph = net.done("y")
    assert operators(graph) == ["TABLE(RESCALE+ADD+RESCALE)" if size == 1 else "RESCALE+ADD+RESCALE"]
    replay(graph, feeds_of(graph))


def test_what_is_wanted_on_the_way_is_computed() -> None:
    kept = operators(gated(), frozenset({"y_product"}))
    assert kept == ["TABLE", "RESCALE", "RESCALE", "MUL", "RESCALE"]
    assert operators(gated("f")) == ["TABLE", "RESCALE+RESCALE+MUL+RESCALE"]


def test_the_rest_of_a_function_is_one_where_its_beginning_is_wanted() -> None:
    """y = g(x * f(x)) with the product an output: two tables."""
    net = Net()
    x = net.input("x", i8, 3, 40)
    product(net, "z", x, table(net, "f", x))
    product(net, "y", "z", table(net, "g", "z", 2))
    graph = net.done("z", "y")
    assert operators(graph) == [GATED, GATED]
    same_for_every_byte(graph)


def test_two_tensors_are_no_function_of_one() -> None:
    net = Net()
    x, other = net.input("x", i8, 3, 40), net.input("other", i8, 3, 40)
    product(net, "y", table(net, "f", x), other)
    graph = net.done("y")
    assert operators(graph) == ["TABLE", "RESCALE+RESCALE+MUL+RESCALE"]
    replay(graph, feeds_of(graph))


def test_elements_that_are_broadcast_are_no_function_of_their_place() -> None:
    net = Net()
    x = net.input("x", i8, 1, 40)
    net.op("TILE", "wide", i8, x, net.const(types.shape, [3, 1]))
    product(net, "y", "wide", table(net, "f", x))
    graph = net.done("y")
    assert "TABLE" in operators(graph)
    replay(graph, feeds_of(graph))


@pytest.mark.parametrize(("unsigned", "expected"), [(True, ["TABLE(RESCALE)"]), (False, ["RESCALE"])])
def test_unsigned_bytes_are_looked_up(unsigned: bool, expected: list[str]) -> None:
    """A RESCALE between signed bytes is vector code as it is."""
    net = Net()
    x = net.input("x", i8, 1, 300)
    numbers = net.const(i32, EXACT), net.const(i8, [30])
    zeros = net.const(i8, [-128 if unsigned else 0]), net.const(i8, [0])
    settings: dict[str, Any] = {"scale32": True, "per_channel": False, "output_unsigned": False}
    net.op("RESCALE", "y", i8, x, *numbers, *zeros, rounding_mode="SINGLE_ROUND", input_unsigned=unsigned, **settings)
    graph = net.done("y")
    assert operators(graph) == expected
    same_for_every_byte(graph)


def test_a_clamp_and_a_table_are_left_to_the_step_in_front() -> None:
    net = Net()
    x = net.input("x", i8, 1, 5, 7, 6)
    net.conv("sums", x, net.weights(20, 3, 3, 6), 20)
    net.rescale("small", "sums", i32, i8, 40)
    net.op("CLAMP", "clamped", i8, "small", min_val=-50, max_val=60, nan_mode="PROPAGATE")
    graph = net.done(table(net, "y", "clamped"))
    assert operators(graph) == ["CONV2D+RESCALE+CLAMP+TABLE"]


def test_a_function_with_a_violated_require_is_left_alone() -> None:
    """Shifts by 32 and more are unpredictable: only a run knows whether there are any."""
    net = Net()
    x = net.input("x", i8, 1, 70)
    wide = net.rescale("wide", x, i8, i32, 30, multiplier=EXACT)
    net.op("LOGICAL_LEFT_SHIFT", "shifted", i32, net.const(i32, [[1]]), wide)
    net.rescale("y", "shifted", i32, i8, 50)
    graph = net.done("y")
    assert not any("TABLE" in text for text in operators(graph))
    session = Session(graph)
    assert np.array_equal(session.run(None, {"x": np.zeros((1, 70), np.int8)})[0], np.zeros((1, 70)))
    with pytest.raises(RequireViolation, match=r"LOGICAL_LEFT_SHIFT\.R1"):
        session.run(None, {"x": np.full((1, 70), 32, np.int8)})


def lengths(graph: Graph) -> list[int]:
    """How many operators the TABLEs of a plan stand for."""
    found = [len(call.stands_for) for step in make_plan(expand(graph)).steps for call in step.calls]
    return [length for length in found if length]


@pytest.mark.slow("the oracle tries long functions, and their failures")
@pytest.mark.parametrize(("failing", "expected"), [(FAILURES, [5]), (0, [11, MOST]), (FAILURES - 1, [6, MOST, 5])])
def test_long_functions_are_cut_and_few_failures_are_tried(failing: int, expected: list[int]) -> None:
    """A file of thousands of operators must not take minutes to plan."""
    net = Net()
    x, zero = net.input("x", i8, 5, 60), net.const(i8, [0])
    for i in range(MOST + 6):
        x = net.op("BITWISE_NOT" if i % 3 else "NEGATE", f"t{i}", i8, x, *(() if i % 3 else (zero, zero)))
    for i in range(failing):
        wide = net.rescale(f"w{i}", x, i8, i32, 30, multiplier=EXACT)
        net.op("LOGICAL_LEFT_SHIFT", f"s{i}", i32, net.const(i32, [[1]]), wide)
        net.block.outputs.append(net.rescale(f"y{i}", f"s{i}", i32, i8, 50))
    graph = net.done(product(net, "y", x, table(net, "f", x)))
    assert lengths(graph) == expected
    replay(graph, {"x": np.resize(BYTES, (5, 60))})


# name, format of the result, and of what it takes
UNARY = {
    "ABS": (i32, i32), "NEGATE": (i8, i8), "BITWISE_NOT": (i8, i8), "CLZ": (i32, i32), "CLAMP": (i8, i8),
    "TABLE": (i8, i8), "WIDER": (i8, i32), "NARROWER": (i32, i8), "MUL": (i32, i32), "MAXIMUM": (i32, i32),
    "GREATER": (i32, i32), "RESHAPE": (i8, i8), "WORD": (i32, i16), "INTERPOLATED": (i16, i32),
}  # fmt: skip


def apply(net: Net, op: str, name: str, x: str, of: int) -> str:
    """One operator more, which takes `x`, and in some cases x twice."""
    dtype = UNARY[op][1]
    if op == "NEGATE":
        return net.op(op, name, dtype, x, net.const(i8, [of % 3]), net.const(i8, [-1]))
    if op == "CLAMP":
        return net.op(op, name, dtype, x, min_val=-100 + of, max_val=90, nan_mode="PROPAGATE")
    if op == "TABLE":
        return table(net, name, x, of)
    if op == "INTERPOLATED":
        return net.op("TABLE", name, dtype, x, net.const(i16, np.arange(-256, 257) * (of % 100 + 1)))
    if op in ("WIDER", "NARROWER", "WORD"):
        source = UNARY[op][0]
        zero = (of % 5, 0) if source is i8 else (0, 0)
        return net.rescale(name, x, source, dtype, {"WIDER": 29, "NARROWER": 31 + of % 8, "WORD": 31}[op], zero=zero)
    if op == "MUL":
        net.op("ARITHMETIC_RIGHT_SHIFT", f"{name}_less", i32, x, net.const(i32, [[17]]), round=True)
        return net.op(op, name, dtype, f"{name}_less", f"{name}_less", net.const(i8, [0]))
    if op == "MAXIMUM":
        return net.op(op, name, dtype, x, net.const(i32, [[of - 50]]), nan_mode="PROPAGATE")
    if op == "GREATER":
        net.op(op, f"{name}_is", types.bool_, x, net.const(i32, [[of]]))
        return net.op("SELECT", name, dtype, f"{name}_is", x, net.const(i32, [[-of]]))
    if op == "RESHAPE":
        shape = (8, 32) if of % 2 else (256, 1)
        return net.op(op, name, dtype, x, net.const(types.shape, shape))
    return net.op(op, name, dtype, x)


@settings(max_examples=60)
@given(st.data())
def test_random_functions(data: st.DataObject) -> None:
    net = Net()
    x, dtype, wanted = net.input("x", i8, 16, 16), i8, []
    for i in range(data.draw(st.integers(1, 6))):
        op = data.draw(st.sampled_from([name for name, (taken, _) in UNARY.items() if taken is dtype]))
        x, dtype = apply(net, op, f"t{i}", x, data.draw(st.integers(0, 120))), UNARY[op][1]
        if data.draw(st.integers(0, 3)) == 0:
            wanted.append(x)
    graph = net.done(*dict.fromkeys([*wanted, x]))
    replay(graph, {"x": np.random.default_rng(0).permutation(BYTES).reshape(16, 16)})
