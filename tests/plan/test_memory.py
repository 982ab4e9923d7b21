"""What plans leave out: padding, copies and memory where bytes can stay where they are. The bytes: test_replay.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nets import Net, feeds_of, residual_net
from replay_tools import replay

from tosa_engine import types
from tosa_engine.plan import Plan, expand, make_plan
from tosa_engine.plan.describe import facts, text
from tosa_engine.target import Target

i8 = types.i8
POOL = {"kernel": (2, 2), "stride": (1, 1), "pad": (0, 0, 0, 0), "nan_mode": "PROPAGATE"}


def planned(net: Net, *outputs: str, keep: tuple[str, ...] = ()) -> Plan:
    graph = net.done(*outputs)
    replay(graph, feeds_of(graph))
    return make_plan(expand(graph), frozenset(keep))


def operators(plan: Plan) -> list[str]:
    return [step.operators for step in plan.steps]


def numbers(net: Net, *values: int) -> str:
    return net.const(types.shape, values)


def padded(net: Net, name: str, *sides: int, value: int = -5, channels: int = 0) -> str:
    padding = (0, 0, *sides, 0, channels)
    return net.op("PAD", "padded", i8, name, numbers(net, *padding), net.const(i8, [value]))


def padded_conv(value: int = -5, channels: int = 0, keep: tuple[str, ...] = (), op: str = "CONV2D") -> Plan:
    """-5 is the convolution's input zero point."""
    net = Net()
    x = padded(net, net.input("x", i8, 1, 6, 6, 8 - channels), 1, 2, 3, 0, value=value, channels=channels)
    weight = net.weights(3, 3, 8, 1) if op.startswith("DEPTH") else net.weights(8, 3, 3, 8)
    net.conv("c", x, weight, 8, op=op, pad=(1, 0, 0, 1))
    net.rescale("y", "c", types.i32, i8, 39)
    return planned(net, "y", keep=keep)


@pytest.mark.parametrize("op", ["CONV2D", "DEPTHWISE_CONV2D"])
def test_a_convolution_pads_by_itself(op: str) -> None:
    plan = padded_conv(op=op)
    assert operators(plan) == [f"PAD+{op}+RESCALE"]
    assert plan.steps[0].calls[1].pad == (2, 2, 3, 1)


def test_padding_with_another_value_or_of_channels_stays_a_step() -> None:
    separate = ["PAD", "CONV2D+RESCALE"]
    assert operators(padded_conv(value=0)) == separate
    assert operators(padded_conv(channels=1)) == separate
    assert operators(padded_conv(keep=("padded",))) == separate


def test_padding_is_merged_only_within_the_level() -> None:
    net = Net()
    x = padded(net, net.input("x", i8, 1, 6, 6, 8), 3, 1, 1, 1)
    net.conv("y", x, net.weights(8, 3, 3, 8), 8)
    graph = expand(net.done("y"))
    for most, wanted in ((4, ["PAD+CONV2D"]), (3, ["PAD", "CONV2D"])):
        assert operators(make_plan(graph, level=replace(Target().level, max_kernel=most))) == wanted


def test_padding_is_done_once_for_readers_that_cannot_do_it() -> None:
    net = Net()
    x = padded(net, net.input("x", i8, 1, 6, 6, 8), 1, 1, 1, 1)
    net.conv("a", x, net.weights(8, 3, 3, 8), 8)
    net.op("CLAMP", "b", i8, x, min_val=0, max_val=9, nan_mode="PROPAGATE")
    assert operators(planned(net, "a", "b")) == ["PAD", "CONV2D", "CLAMP"]


@pytest.mark.parametrize(("value", "side", "merges"), [(-128, 1, True), (-127, 1, False), (-128, 2, False)])
def test_max_pool_leaves_out_padding_of_the_least_value(value: int, side: int, merges: bool) -> None:
    """A side of 2 isn't less than the kernel, which is an ERROR_IF of MAX_POOL2D."""
    net = Net()
    x = padded(net, net.input("x", i8, 1, 6, 6, 8), side, 0, 0, 0, value=value)
    net.op("MAX_POOL2D", "y", i8, x, **POOL)
    assert operators(planned(net, "y")) == (["PAD+MAX_POOL2D"] if merges else ["PAD", "MAX_POOL2D"])


def cut_conv(op: str = "CONV2D", start: int = 0, end: int = 0) -> Plan:
    """1 x 1 with stride 2 on 5 x 5 of 6 x 6, as exporters write it."""
    net = Net()
    x = net.input("x", i8, 1, 6 + start, 6, 8)
    x = net.op("SLICE", "cut", i8, x, numbers(net, 0, start, 0, 0), numbers(net, 1, 5 - end, 5, 8))
    if op == "MAX_POOL2D":
        net.op(op, "y", i8, x, kernel=(3, 3), stride=(2, 2), pad=(0, 0, 0, 0), nan_mode="PROPAGATE")
        return planned(net, "y")
    kernel = 1 if op == "CONV2D" else 3
    weight = net.weights(8, kernel, kernel, 8) if op == "CONV2D" else net.weights(kernel, kernel, 8, 1)
    net.conv("c", x, weight, 8, op=op, stride=(2, 2), pad=(0, end, 0, 0))
    net.rescale("y", "c", types.i32, i8, 39)
    return planned(net, "y")


@pytest.mark.parametrize("op", ["CONV2D", "DEPTHWISE_CONV2D", "MAX_POOL2D"])
def test_windows_end_where_a_slice_cuts_off_the_rest(op: str) -> None:
    behind = [] if op == "MAX_POOL2D" else ["RESCALE"]
    assert operators(cut_conv(op)) == ["+".join(["SLICE", op, *behind])]


def test_a_slice_in_front_of_padding_stays_a_step() -> None:
    """What is cut off would be seen instead of the padding; and nobody begins inside of an input."""
    assert operators(cut_conv(end=1)) == ["SLICE", "CONV2D+RESCALE"]
    assert operators(cut_conv(start=1)) == ["SLICE", "CONV2D+RESCALE"]


@pytest.mark.parametrize("op", ["PAD", "SLICE"])
def test_padding_and_cuts_of_a_weight_are_its_own(op: str) -> None:
    """A kernel of the input's shape, whose last row is a border or whose fourth is cut off."""
    net = Net()
    x, part = net.input("x", i8, 8, 3, 3, 8), net.input("w", i8, 8, 2 if op == "PAD" else 4, 3, 8)
    bounds = numbers(net, 0, 0, 0, 0), numbers(net, 8, 3, 3, 8)
    weight = padded(net, part, 0, 1, 0, 0) if op == "PAD" else net.op("SLICE", "cut", i8, part, *bounds)
    net.conv("y", x, weight, 8)
    assert operators(planned(net, "y")) == [op, "CONV2D"]


def test_a_bias_that_is_cut_off_something() -> None:
    net = Net()
    x, wide = net.input("x", i8, 1, 6, 6, 8), net.input("b", types.i32, 9)
    bias = net.op("SLICE", "bias", types.i32, wide, numbers(net, 0), numbers(net, 8))
    settings = {"acc_type": types.i32, "local_bound": False, "pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1)}
    zeros = net.const(i8, [0])
    net.op("CONV2D", "y", types.i32, x, net.weights(8, 3, 3, 8), bias, zeros, zeros, **settings)
    assert operators(planned(net, "y")) == ["SLICE", "CONV2D"]


def test_transposes_that_cancel_are_none() -> None:
    net = Net()
    x = net.input("x", i8, 2, 3, 4)
    a = net.op("TRANSPOSE", "a", i8, x, perms=(2, 0, 1))
    b = net.op("RESHAPE", "b", i8, a, numbers(net, 4, 1, 2, 3))
    net.op("TRANSPOSE", "y", i8, b, perms=(2, 3, 0, 1))
    plan = planned(net, "y")
    assert operators(plan) == ["TRANSPOSE+RESHAPE+TRANSPOSE"]
    assert plan.steps[0].work is None
    assert plan.roots["y"] == plan.roots["x"]


def test_chains_of_moves_are_one_copy() -> None:
    net = Net()
    x = net.input("x", i8, 2, 3, 4)
    a = net.op("TRANSPOSE", "a", i8, x, perms=(1, 0, 2))
    b = net.op("REVERSE", "b", i8, a, axis=1)
    net.op("SLICE", "y", i8, b, numbers(net, 1, 0, 1), numbers(net, 2, 2, 2))
    plan = planned(net, "y", keep=("b",))
    assert operators(plan) == ["TRANSPOSE+REVERSE", "TRANSPOSE+SLICE"], "what has no step of its own is part of both"
    assert [step.inputs for step in plan.steps] == [("x",), ("x",)]


def test_moves_that_no_view_does_are_copied_one_by_one() -> None:
    net = Net()
    a = net.op("TRANSPOSE", "a", i8, net.input("x", i8, 3, 4), perms=(1, 0))
    b = net.op("RESHAPE", "b", i8, a, numbers(net, 2, 6))
    net.op("TRANSPOSE", "y", i8, b, perms=(1, 0))
    plan = planned(net, "y")
    assert [(step.operators, step.inputs) for step in plan.steps] == [
        ("TRANSPOSE", ("x",)),
        ("RESHAPE+TRANSPOSE", ("a",)),
    ]


@pytest.mark.parametrize(
    ("start", "size", "place"),
    [((1, 0, 0), (1, 3, 4), 12), ((0, 1, 0), (1, 2, 4), 4), ((1, 2, 1), (1, 1, 2), 21), ((0, 0, 0), (2, 2, 4), None)],
)
def test_a_contiguous_slice_is_bytes_of_its_input(start: Any, size: Any, place: int | None) -> None:
    net = Net()
    net.op("SLICE", "y", i8, net.input("x", i8, 2, 3, 4), numbers(net, *start), numbers(net, *size))
    plan = planned(net, "y")
    (step,) = plan.steps
    assert (step.work is None, plan.starts.get("y")) == ((True, place) if place is not None else (False, None))


def sides(net: Net, axis: int = 1, third: str = "b") -> Plan:
    for name in ("p", "q"):
        net.input(name, i8, 1, 4, 6)
    for name, source in (("a", "p"), ("b", "q")):
        net.op("CLAMP", name, i8, source, min_val=-9, max_val=9, nan_mode="PROPAGATE")
    net.op("CONCAT", "y", i8, "a", "b", third, axis=axis)
    return planned(net, "y")


def test_inputs_of_concat_are_written_into_it() -> None:
    plan = sides(Net(), third="p")
    concat = plan.steps[-1]
    assert (concat.operators, concat.inputs, concat.work) == ("CONCAT", (), None)
    assert [(plan.roots[n], plan.starts.get(n, 0)) for n in ("a", "b", "p")] == [("y", 0), ("y", 24), ("y", 48)]


def test_an_input_that_comes_twice_is_written_once_and_copied_once() -> None:
    plan = sides(Net())
    assert plan.steps[-1].inputs == ("b",)
    assert plan.steps[-1].work is not None


def test_inputs_of_concat_that_would_lie_apart_are_copied() -> None:
    assert sides(Net(), axis=2).steps[-1].inputs == ("a", "b", "b")


def test_concat_of_what_is_there_takes_no_step_of_work() -> None:
    net = Net()
    x = net.input("x", i8, 1, 4, 6)
    parts = [net.op("CLAMP", n, i8, x, min_val=0, max_val=m, nan_mode="PROPAGATE") for m, n in enumerate("ab")]
    inner = net.op("CONCAT", "inner", i8, *parts, axis=1)
    last = net.op("CLAMP", "c", i8, x, min_val=0, max_val=7, nan_mode="PROPAGATE")
    net.op("CONCAT", "y", i8, last, inner, axis=1)
    plan = planned(net, "y")
    assert [step.work is None for step in plan.steps] == [False, False, True, False, True]
    assert (plan.roots["b"], plan.starts["b"]) == ("y", 48)
    assert "CONCAT -> y i8[1, 12, 6] (its inputs were written into it)" in text(facts(plan))


@pytest.mark.parametrize(("size", "copied"), [(64, ("a", "b")), (8, ())])
def test_a_concat_that_would_take_more_memory_is_copied(size: int, copied: tuple[str, ...]) -> None:
    """The first part is there long before the rest, while much else lives. Few bytes more are no matter."""
    net = Net()
    a = net.op("CLAMP", "a", i8, net.input("x", i8, 1, 8 * size), min_val=0, max_val=9, nan_mode="PROPAGATE")
    wide = net.op("TILE", "w0", i8, a, numbers(net, 1, 64))
    for i in range(3):
        wide = net.op("CLAMP", f"w{i + 1}", i8, wide, min_val=0, max_val=8 - i, nan_mode="PROPAGATE")
    part = net.op("SLICE", "part", i8, wide, numbers(net, 0, 0), numbers(net, 1, 8 * size))
    b = net.op(
        "TILE", "b", i8, net.op("CLAMP", "r", i8, part, min_val=0, max_val=1, nan_mode="PROPAGATE"), numbers(net, 1, 63)
    )
    net.op("CONCAT", "y", i8, a, b, axis=1)
    plan = planned(net, "y")
    assert plan.steps[-1].inputs == copied


def test_a_residual_sum_is_written_upon_an_input_that_nobody_needs_any_more() -> None:
    plan = make_plan(expand(residual_net()))
    added = next(step for step in plan.steps if "ADD" in step.operators)
    assert plan.roots[added.output] == plan.roots["stem_relu"], "the last reader of its first input"
    kept = make_plan(expand(residual_net()), frozenset(["stem_relu", "pw_i8"]))
    assert kept.roots[next(s for s in kept.steps if "ADD" in s.operators).output] not in ("stem_relu", "pw_i8")


def test_words_are_looked_up_where_they_lie() -> None:
    net = Net()
    x = net.op(
        "CLAMP", "x", types.i16, net.input("in", types.i16, 5, 70), min_val=-9, max_val=9999, nan_mode="PROPAGATE"
    )
    net.op("TABLE", "found", types.i32, x, net.const(types.i16, np.arange(-256, 257) * 99))
    net.rescale("y", "found", types.i32, types.i16, 38)
    plan = planned(net, "y")
    assert [step.operators for step in plan.steps] == ["CLAMP+TABLE+RESCALE"]
    assert plan.roots["y"] == "in"


def overlapping(first: int, second: int) -> Plan:
    """A sum of two parts of the same buffer, each of three rows."""
    net = Net()
    x = net.op("CLAMP", "x", i8, net.input("in", i8, 6, 4), min_val=-99, max_val=99, nan_mode="PROPAGATE")
    parts = [net.op("SLICE", f"p{i}", i8, x, numbers(net, i, 0), numbers(net, 3, 4)) for i in (first, second)]
    scaled = [net.rescale(f"s{p}", p, i8, types.i32, 12) for p in parts]
    net.op("ADD", "sum", types.i32, *scaled)
    net.rescale("y", "sum", types.i32, i8, 50)
    return planned(net, "y")


def test_nothing_is_written_upon_what_is_still_to_be_read() -> None:
    assert overlapping(0, 2).roots["y"] == "y"
    assert overlapping(0, 3).roots["y"] == "y", "a buffer that is read at two places is left alone"
