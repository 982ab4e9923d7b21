"""Interval analysis: exact values of small cases, the three verdicts, whole models, the flag of the command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net

from tosa_engine import oracle, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.errors import RequireViolation
from tosa_engine.load import load
from tosa_engine.plan import expand, make_plan
from tosa_engine.plan.describe import describe
from tosa_engine.ranges import DEPENDS, PROVED, TRANSFERS, VIOLATED, analyse, witness
from tosa_engine.runtime.session import Session
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine import graph as g
    from tosa_engine.ranges import Finding

MODELS = Path(__file__).parents[3] / "shared" / "models" / "tosa"
# floats and shapes, state and control flow, and what users add: the range of their outputs' types
WITHOUT = {
    "CEIL", "COND_IF", "CONST_SHAPE", "COS", "CUSTOM", "ERF", "EXP", "FFT2D", "FLOOR", "LOG", "POW", "RECIPROCAL",
    "REDUCE_PRODUCT", "RFFT2D", "RSQRT", "SIGMOID", "SIN", "TANH", "VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE",
    "WHILE_LOOP",
}  # fmt: skip


def test_every_integer_operator_has_a_transfer_function() -> None:
    assert set(TABLE) - set(TRANSFERS) == WITHOUT
    assert set(TRANSFERS) <= set(TABLE)


def finding(graph: g.Graph, label: str) -> Finding:
    (found,) = [f for f in analyse(graph).findings if f.label == label]
    return found


def conv(weight: Any, bias: Any, zero: int = 0, pad: tuple[int, ...] = (0, 0, 0, 0), size: int = 1) -> g.Graph:
    """A CONV2D of an int8 graph input x [1, size, size, IC]."""
    net = Net()
    weights = np.asarray(weight)
    x = net.input("x", types.i8, 1, size, size, weights.shape[-1])
    net.op(
        "CONV2D", "y", types.i32, x, net.const(types.i8, weights), net.const(types.i32, bias),
        net.const(types.i8, [zero]), net.const(types.i8, [0]), pad=pad, stride=(1, 1), dilation=(1, 1),
        acc_type=types.i32, local_bound=False,
    )  # fmt: skip
    return net.done("y")


def test_the_bound_of_a_pointwise_convolution_is_its_worst_case() -> None:
    """Every sign-matching input is reached: x - 3 is in -131 .. 124."""
    graph = conv([[[[2, -3]]], [[[0, 5]]]], [10, -20], zero=3)
    found = analyse(graph)
    partial, total = [f for f in found.findings if f.node == "y"]
    assert (partial.low.tolist(), partial.high.tolist()) == ([-131 * 2 - 124 * 3, -131 * 5], [124 * 2 + 131 * 3, 620])
    assert (total.low.tolist(), total.high.tolist()) == ([-624, -675], [651, 600])
    assert found.intervals["y"].low.tolist() == [-624, -675]
    reached = [oracle.run(graph, {"x": np.array(x, np.int8).reshape(1, 1, 1, 2)})["y"].reshape(-1).tolist()
               for x in ([127, -128], [-128, 127])]  # fmt: skip
    assert reached == [[651, -675], [-624, 600]]


def test_partial_sums_count_in_their_order() -> None:
    """x is 100 .. 127 after a CLAMP: the first product is always positive, the sum may be small."""
    net = Net()
    x = net.input("x", types.i8, 1, 1, 1, 2)
    net.op("CLAMP", "c", types.i8, x, min_val=100, max_val=127, nan_mode="PROPAGATE")
    net.op(
        "CONV2D", "y", types.i32, "c", net.const(types.i8, [[[[1, -1]]]]), net.const(types.i32, [0]),
        net.const(types.i8, [0]), net.const(types.i8, [0]), pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1),
        acc_type=types.i32, local_bound=False,
    )  # fmt: skip
    graph = net.done("y")
    assert (finding(graph, "CONV2D.R1").low.tolist(), finding(graph, "CONV2D.R1").high.tolist()) == ([-27], [127])
    assert analyse(graph).intervals["y"].high.tolist() == [27]


def test_padding_adds_nothing() -> None:
    """With zero point -128 products are never negative, but may be missing; without padding they may not."""
    weight = np.ones((1, 2, 2, 1))
    assert finding(conv(weight, [0], -128, (0, 1, 0, 1), 2), "CONV2D.R2").high.tolist() == [4 * 255]
    net_low = finding(conv(weight, [7], -128, (0, 1, 0, 1), 2), "CONV2D.R2").low.tolist()
    assert net_low == [7]


def test_margin_in_bits_per_channel() -> None:
    found = finding(conv([[[[1]]], [[[64]]]], [0, 0]), "CONV2D.R1")
    assert found.verdict == PROVED
    assert found.margins.tolist() == [24.0, 18.0]
    assert found.worst == (1, 18.0)


def two_inputs(op: str, *constants: tuple[types.DType, Any], **attributes: Any) -> g.Graph:
    net = Net()
    a, b = net.input("a", types.i32, 1, 3), net.input("b", types.i32, 1, 3)
    net.op(op, "y", types.i32, a, b, *(net.const(t, v) for t, v in constants), **attributes)
    return net.done("y")


def test_three_verdicts_of_a_sum() -> None:
    assert finding(two_inputs("ADD"), "ADD.R1").verdict == DEPENDS
    high = (1 << 31) - 1
    for value, verdict in ((0, PROVED), (1, DEPENDS), (high, DEPENDS)):
        net = Net()
        net.op("ADD", "y", types.i32, net.input("a", types.i32, 1, 2), net.const(types.i32, [[0, value]]))
        found = finding(net.done("y"), "ADD.R1")
        assert found.verdict == verdict
        assert found.high.tolist() == [high, high + value]
    net = Net()
    net.op("ADD", "y", types.i32, net.const(types.i32, [[1, 2]]), net.const(types.i32, [[0, high]]))
    graph = net.done("y")
    assert finding(graph, "ADD.R1").verdict == VIOLATED
    assert finding(graph, "ADD.R1").worst[0] == 1
    with pytest.raises(RequireViolation):
        oracle.run(graph, {})


def test_what_passes_a_require_goes_on() -> None:
    """ABS of a sum that fits int32 can only fail for the least value."""
    net = Net()
    a = net.input("a", types.i32, 2)
    net.op("ABS", "m", types.i32, a)
    net.op("SUB", "y", types.i32, "m", net.const(types.i32, [5]))
    found = analyse(net.done("y"))
    assert [f.verdict for f in found.findings] == [DEPENDS, PROVED]
    assert found.intervals["m"].low.min() == 0


def test_table_reaches_only_the_entries_of_its_range() -> None:
    net = Net()
    x = net.input("x", types.i8, 1, 2)
    net.op("CLAMP", "c", types.i8, x, min_val=-3, max_val=4, nan_mode="PROPAGATE")
    entries = np.arange(-128, 128)
    entries[0] = 127
    net.op("TABLE", "t", types.i8, "c", net.const(types.i8, entries))
    found = analyse(net.done("t")).intervals["t"]
    assert (int(found.low.min()), int(found.high.max())) == (-3, 4)


def accumulators(found: list[Finding]) -> list[Finding]:
    return [f for f in found if f.label.split(".")[0] in ("CONV2D", "DEPTHWISE_CONV2D", "MATMUL", "AVG_POOL2D")]


@pytest.mark.parametrize("model", ["mobilenet_v2_w100_224.int8", "resnet18_224.int8"])
def test_shared_models_are_proved(model: str) -> None:
    path = MODELS / model / "model.tosa"
    if not path.exists():
        pytest.skip(f"{model} isn't there: the shared models are not part of the repository")
    found = analyse(load(path))
    assert len(accumulators(list(found.findings))) > 40
    assert {f.verdict for f in found.findings} == {PROVED}


def test_the_digits_model_is_proved(digits: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    model = tmp_path / "digits.tosa"
    quant = tmp_path / "graph.quant"
    data = digits / "digits_data.npz"
    assert command("calibrate", digits / "digits.nnef", "--data", data, "-o", quant, "--samples", 50).code == 0
    assert command("quantize", digits / "digits.nnef", "--quant", quant, "-o", model).code == 0
    found = analyse(load(model))
    assert len(accumulators(list(found.findings))) >= 4
    assert {f.verdict for f in found.findings} == {PROVED}


def test_the_planner_drops_tests_that_only_the_analysis_can_spare() -> None:
    """For all of int8 the accumulator would be beyond what shift 12 allows, for what CLAMP leaves it isn't."""
    net = Net()
    x = net.input("x", types.i8, 1, 1, 1, 8)
    net.op("CLAMP", "c", types.i8, x, min_val=-1, max_val=1, nan_mode="PROPAGATE")
    net.op(
        "CONV2D", "acc", types.i32, "c", net.const(types.i8, np.full((2, 1, 1, 8), 100)), net.const(types.i32, [0]),
        net.const(types.i8, [0]), net.const(types.i8, [0]), pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1),
        acc_type=types.i32, local_bound=False,
    )  # fmt: skip
    net.rescale("y", "acc", types.i32, types.i8, 12, multiplier=[400])
    graph = net.done("y")
    assert {f.verdict for f in analyse(graph).findings} == {PROVED}
    assert "CONV2D+RESCALE" in describe(make_plan(expand(graph)))
    feeds = {"x": np.full((1, 1, 1, 8), 127, np.int8)}
    np.testing.assert_array_equal(Session(graph).run(None, feeds)[0], oracle.run(graph, feeds)["y"])
    (clamp,) = [op for op in graph.main.operators if op.op == "CLAMP"]
    clamp.attributes.update(min_val=-128, max_val=127)
    assert "CONV2D+RESCALE" not in describe(make_plan(expand(graph)))


def branches() -> g.Graph:
    """v + v in one region, an ADD that no input survives in the other; what comes out is a REDUCE_MAX of either."""
    b = Builder()
    then, other = b.region("then"), b.region("other")
    u = then.input(types.i32, (2, 3), "u")
    then.output(then.op("ADD", u, u, output="doubled"))
    other.input(types.i32, (2, 3), "u")
    high = other.const(np.full((2, 3), (1 << 31) - 1, np.int32))
    other.output(other.op("ADD", high, other.const(np.ones((2, 3), np.int32)), output="beyond"))
    cond, x = b.input(types.bool_, (1,), "cond"), b.input(types.i8, (2, 3), "x")
    (found,) = b.op("COND_IF", cond, [b.op("CAST", x, dtype=types.i32)], then_graph="then", else_graph="other")
    b.output(b.op("SUB", found, found, output="y"))
    return b.graph()


def test_regions_start_from_their_inputs_types_and_may_not_run() -> None:
    """Though int8 values arrive, and though all inputs violate what one of them does."""
    found = analyse(branches())
    verdicts = {(f.node, f.label): f.verdict for f in found.findings if f.label != "CAST.R1"}
    assert verdicts == {("y", "SUB.R1"): DEPENDS, ("doubled", "ADD.R1"): DEPENDS, ("beyond", "ADD.R1"): DEPENDS}
    doubled = next(f for f in found.findings if f.node == "doubled")
    assert (doubled.low.tolist(), doubled.high.tolist()) == ([-(1 << 32)], [(1 << 32) - 2])
    assert set(found.intervals) >= {"x", "y"}
    assert "doubled" not in found.intervals
    feeds = {"cond": np.array([True]), "x": np.full((2, 3), -128, np.int8)}
    assert oracle.run(branches(), feeds)["y"].max() == 0
    with pytest.raises(RequireViolation, match=r"^ADD\.R1: .*'beyond'"):
        oracle.run(branches(), {**feeds, "cond": np.array([False])})


def test_outputs_of_a_loop_have_the_range_of_their_types() -> None:
    """Whatever the body's own interval: it runs again on what it gave."""
    b = Builder()
    cond, body = b.region("cond"), b.region("body")
    n = cond.input(types.i32, (), "n")
    cond.output(cond.op("GREATER", n, 0))
    m = body.input(types.i32, (), "n")
    body.output(body.op("INTDIV", m, 2))
    x = b.input(types.i8, (), "x")
    (y,) = b.op("WHILE_LOOP", [b.op("CAST", x, dtype=types.i32)], cond_graph="cond", body_graph="body")
    b.output(b.op("ABS", y, output="z"))
    graph = b.graph()
    found = analyse(graph)
    assert {f.label: f.verdict for f in found.findings} == {
        "ABS.R1": DEPENDS, "INTDIV.R1": PROVED, "INTDIV.R2": PROVED
    }  # fmt: skip
    assert oracle.run(graph, {"x": np.array(-128, np.int8)})["z"] == 128


def test_what_is_said_of_a_region_by_the_command(tmp_path: Path, command: Callable[..., Any]) -> None:
    path = tmp_path / "m.tosa"
    serialize.write(branches(), path)
    outcome = command("check", path, "--ranges")
    assert outcome.code == 0
    assert outcome.out.count("no input was tried: the operator belongs to a region of control flow") == 2


def overflowing() -> g.Graph:
    """A bias so near to the limit that only a sign-matching input reaches beyond it."""
    weight = np.array([[[[3, -4, 5]]]])
    return conv(weight, [(1 << 31) - 1 - 1525])


def test_a_concrete_input_for_what_cannot_be_proved() -> None:
    graph = overflowing()
    found = finding(graph, "CONV2D.R2")
    assert found.verdict == DEPENDS
    part = witness.part_of(graph, found)
    assert part is not None
    first = next(witness.candidates(part, found))
    with pytest.raises(RequireViolation, match=r"^CONV2D\.R2"):
        oracle.run(graph, first.feeds)


def test_flag_of_the_command(tmp_path: Path, command: Callable[..., Any]) -> None:
    path = tmp_path / "m.tosa"
    serialize.write(overflowing(), path)
    text = command("check", path, "--ranges")
    assert (text.code, text.err) == (0, "")
    assert (
        "violated when 'x' is, under the kernel at output position 0, 0, 127 where the weights of channel 0" in text.out
    )
    assert text.out.endswith(
        "REQUIREs: 2; proved for all inputs: 1; depends on the input: 1; violated for all inputs: 0\n"
    )
    found = json.loads(command("check", path, "--ranges", "--format", "json").out)
    assert found["counts"] == {"proved": 1, "depends": 1, "violated": 0}
    assert found["findings"][0]["witness"] is None
    feeds = {name: np.array(w["values"], w["dtype"]) for name, w in found["findings"][1]["witness"].items()}
    assert feeds["x"].shape == tuple(found["findings"][1]["witness"]["x"]["shape"]) == (1, 1, 1, 3)
    with pytest.raises(RequireViolation, match=r"^CONV2D\.R2"):
        oracle.run(overflowing(), feeds)
    assert found["findings"][1]["high"] == [(1 << 31) - 1 - 1525 + 381 + 512 + 635]
    assert math.isclose(found["findings"][0]["margin_bits"][0], math.log2((1 << 31) / (384 + 508 + 640)), abs_tol=1e-6)
    assert command("check", path, "--format", "json").code == 2


def test_a_witness_that_is_the_same_everywhere(tmp_path: Path, command: Callable[..., Any]) -> None:
    net = Net()
    x = net.input("x", types.i32, 2, 3)
    net.op("ABS", "y", types.i32, x)
    path = tmp_path / "m.tosa"
    serialize.write(net.done("y"), path)
    (found,) = json.loads(command("check", path, "--ranges", "--format", "json").out)["findings"]
    assert found["witness"] == {"x": {"dtype": "int32", "shape": [2, 3], "values": -(1 << 31)}}
    assert found["note"].startswith("violated when 'x' is -2147483648 everywhere: ")


def test_the_exit_code_says_that_all_inputs_violate(tmp_path: Path, command: Callable[..., Any]) -> None:
    net = Net()
    high = net.const(types.i32, [(1 << 31) - 1])
    net.op("ADD", "s", types.i32, high, net.const(types.i32, [1]))
    net.op("ADD", "y", types.i32, "s", net.input("x", types.i32, 1))
    path = tmp_path / "m.tosa"
    serialize.write(net.done("y"), path)
    outcome = command("check", path, "--ranges")
    assert outcome.code == 4
    assert "violated for all inputs: 1" in outcome.out
