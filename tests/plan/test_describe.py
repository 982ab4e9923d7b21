"""`inspect --plan`: every step with its operators, kernel, costs and bytes, and the memory that the plan takes."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net, residual_net

from tosa_engine import serialize, types
from tosa_engine.builder import Builder
from tosa_engine.plan import expand, make_plan
from tosa_engine.plan.describe import facts, text

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return facts(make_plan(expand(residual_net())))


def test_a_step_says_what_it_computes_where_and_at_what_cost(found: dict[str, Any]) -> None:
    first = found["steps"][0]
    assert (first["number"], first["operators"], first["node"]) == (0, ["CONV2D", "RESCALE", "CLAMP"], "stem_relu")
    assert first["outputs"] == [{"name": "stem_relu", "type": "i8", "shape": [2, 12, 12, 24]}]
    assert first["rows"][0] == "i8_i8_i32_acci32"
    assert first["units"] >= 1
    assert first["nanoseconds"] > 0
    assert found["nanoseconds"] == pytest.approx(sum(s.get("nanoseconds", 0) for s in found["steps"]), abs=20)


def test_bytes_are_those_of_inputs_constants_and_outputs(found: dict[str, Any]) -> None:
    size = found["steps"][0]["bytes"]
    positions = 2 * 12 * 12
    weight, bias, zeros = 24 * 3 * 3 * 3, 4 * 24, 2
    multiplier, shift, rescale_zeros = 4 * 24, 24, 4 + 1
    assert (size["read"], size["written"]) == (positions * 3, positions * 24)
    assert size["constant"] == weight + bias + zeros + multiplier + shift + rescale_zeros
    added = next(s for s in found["steps"] if "ADD" in s["operators"])
    assert added["bytes"]["read"] == 2 * added["bytes"]["written"], "two tensors of the output's size"


def test_the_kernel_is_a_function_that_exists(found: dict[str, Any]) -> None:
    names = {s["kernel"] for s in found["steps"] if s["kernel"] is not None}
    assert len(names) >= 6
    for name in names:
        family, function = name.split(".")
        folder = importlib.import_module(f"tosa_engine.kernels.{family}")
        inside = [m.name for m in pkgutil.iter_modules(getattr(folder, "__path__", []), f"{folder.__name__}.")]
        modules = [folder, *(sys.modules[m] for m in inside if m in sys.modules)]
        assert any(callable(getattr(module, function, None)) for module in modules), name


def test_another_kernel_of_the_same_row_is_told() -> None:
    """Sums that may leave int32 on the way are tested one by one."""
    net = Net()
    x = net.input("x", types.i8, 1, 4, 4, 2)
    bias = net.const(types.i32, [(1 << 31) - 1])
    zeros = net.const(types.i8, [0]), net.const(types.i8, [0])
    settings: dict[str, Any] = {"pad": (0, 0, 0, 0), "stride": (1, 1), "dilation": (1, 1), "local_bound": False}
    net.op("CONV2D", "y", types.i32, x, net.weights(1, 1, 1, 2), bias, *zeros, acc_type=types.i32, **settings)
    (step,) = facts(make_plan(expand(net.done("y"))))["steps"]
    assert step["kernel"] == "wide.conv2d_wide"


def test_shared_bytes_have_no_kernel(found: dict[str, Any]) -> None:
    (step,) = (s for s in found["steps"] if s["operators"] == ["RESHAPE"])
    assert (step["kernel"], step["shares"]) == (None, "pooled")
    assert "RESHAPE -> rows i8[2, 36, 24] (the bytes of pooled)" in text(found)


def test_memory_beside_its_bounds(found: dict[str, Any]) -> None:
    arena = found["arena"]
    assert arena["lower_bound"] <= arena["size"] < arena["buffers"] < arena["unfused"]
    assert arena["ratio"] == pytest.approx(arena["size"] / arena["lower_bound"], abs=1e-3)
    last = text(found).splitlines()[-1]
    assert last.startswith(f"arena: {arena['size']:,} bytes, {arena['ratio']:.2f} x ")
    assert last.endswith(f"all buffers: {arena['buffers']:,}; all tensors, unfused: {arena['unfused']:,}")


def test_columns_stand_below_their_heads(found: dict[str, Any]) -> None:
    head, *lines = text(found).splitlines()[:-1]
    for step, line in zip(found["steps"], lines, strict=True):
        at = head.index("operators")
        assert line[at:].startswith("+".join(step["operators"]) + " -> ")
        if step["kernel"] is not None:
            assert line[: head.index("read") + 4].split()[-1] == f"{step['bytes']['read']:,}"


def test_a_plan_without_steps() -> None:
    b = Builder()
    b.output(b.const(np.arange(3, dtype=np.int32)))
    plan = facts(make_plan(expand(b.graph())))
    assert (plan["steps"], plan["arena"]["size"], plan["arena"]["ratio"]) == ([], 0, 1.0)
    assert text(plan).startswith("arena: 0 bytes")


def test_inspect_shows_the_plan_when_asked(command, tmp_path: Path, found: dict[str, Any]) -> None:
    serialize.write(residual_net(), tmp_path / "net.tosa")
    plain = command("inspect", tmp_path / "net.tosa")
    shown = command("inspect", tmp_path / "net.tosa", "--plan")
    assert (plain.code, shown.code, shown.err) == (0, 0, "")
    assert shown.out == plain.out + "plan\n" + text(found) + "\n"
    assert json.loads(command("inspect", tmp_path / "net.tosa", "--plan", "--format", "json").out)["plan"] == found
    assert "plan" not in json.loads(command("inspect", tmp_path / "net.tosa", "--format", "json").out)


def test_an_illegal_graph_has_no_plan(command, tmp_path: Path) -> None:
    graph = residual_net()
    next(op for op in graph.main.operators if op.op == "CLAMP").attributes["max_val"] = -100
    serialize.write(graph, tmp_path / "net.tosa")
    assert command("inspect", tmp_path / "net.tosa").code == 0
    outcome = command("inspect", tmp_path / "net.tosa", "--plan")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith("error: CLAMP.E1: ")
