"""Runs before kernels are compiled: the same bytes, the same errors, and when there are none."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nets import Net, feeds_of, residual_net

from tosa_engine import oracle, types
from tosa_engine.errors import RequireViolation, UsageError
from tosa_engine.kernels import _jit
from tosa_engine.numerics.fma import fma32
from tosa_engine.plan import expand
from tosa_engine.runtime import first, plain, plain_floats
from tosa_engine.runtime.session import Session
from tosa_engine.serialize import write
from tosa_engine.spec.case import Case

ROOT = Path(__file__).parents[2]
needs_jit = pytest.mark.skipif(not _jit.JIT, reason="nothing is compiled without the JIT")


@pytest.mark.parametrize(
    ("size", "kernel", "pad", "stride", "dilation"),
    [
        ((5, 7), (3, 3), (1, 1, 1, 1), (1, 1), (1, 1)),
        ((9, 6), (3, 2), (2, 0, 0, 1), (2, 1), (1, 3)),
        ((4, 4), (1, 1), (0, 0, 0, 0), (3, 1), (1, 1)),
        ((2, 3), (4, 5), (3, 4, 4, 4), (1, 2), (1, 1)),  # positions at the edges that meet nothing but padding
    ],
)
@pytest.mark.parametrize(("in_t", "out_t"), [(types.i8, types.i32), (types.i16, types.i48)])
def test_convolutions_are_those_of_the_oracle(
    in_t: types.DType, out_t: types.DType, size: tuple[int, int], kernel: tuple[int, int], pad: Any, stride: Any,
    dilation: Any,
) -> None:  # fmt: skip
    numbers = np.random.default_rng(0)
    weight = numbers.choice([-128, 127, 3], (4, *kernel, 5))
    case = Case("CONV2D").input("input", in_t, (2, *size, 5)).const("weight", types.i8, weight)
    case.const("bias", out_t, [9, -9, 1 << 20, 0]).const("input_zp", in_t, [-7 if in_t is types.i8 else 0])
    case.const("weight_zp", types.i8, [0]).set(pad=pad, stride=stride, dilation=dilation, acc_type=out_t)
    graph = expand(case.set(local_bound=False).output("output", out_t, None).graph())
    x = numbers.choice([in_t.minimum, in_t.maximum, 1], (2, *size, 5)).astype(in_t.storage)
    call = plain.PlainRuns(graph)._calls[-1]
    assert plain.conv2d(call, x, weight.astype(np.int8), *(constant(call, n) for n in ARGUMENTS)) is not None
    (found,) = plain.PlainRuns(graph).run({"input": x}, ["output"])
    wanted = oracle.run(graph, {"input": x})["output"]
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype


ARGUMENTS = ("bias", "input_zp", "weight_zp")


def constant(call: Any, name: str) -> Any:
    return call.constant(name)


@pytest.mark.parametrize("depth", [3, 1030])  # sums that float32 holds, and sums that it doesn't
def test_products_are_those_of_the_oracle(depth: int) -> None:
    case = Case("MATMUL").input("A", types.i8, (2, 3, depth)).input("B", types.i8, (2, depth, 4))
    case.const("A_zp", types.i8, [-128]).const("B_zp", types.i8, [127])
    graph = expand(case.output("output", types.i32, None).graph())
    numbers = np.random.default_rng(0)
    a, b = (numbers.choice([-128, 127, 126], s).astype(np.int8) for s in ((2, 3, depth), (2, depth, 4)))
    (found,) = plain.PlainRuns(graph).run({"A": a, "B": b}, ["output"])
    np.testing.assert_array_equal(found, oracle.run(graph, {"A": a, "B": b})["output"])


def test_sums_that_could_overflow_are_the_oracles() -> None:
    """A partial sum leaves int32, the whole sum doesn't: a REQUIRE fails that BLAS would never see."""
    net = Net()
    x = net.input("x", types.i16, 1, 1, 3)
    y = net.const(types.i16, [[[32767]] * 3])
    zero = net.const(types.i16, [0])
    net.op("MATMUL", "y", types.i48, x, y, zero, zero)
    graph = expand(net.done("y"))
    assert plain.PlainRuns(graph).run({"x": np.array([[[3, -2, 1]]], np.int16)}, ["y"])[0].tolist() == [[[65534]]]
    case = Case("CONV2D").input("input", types.i8, (1, 1, 1, 2)).const("weight", types.i8, [[[[127, -127]]]])
    case.const("bias", types.i32, [(1 << 31) - 1]).const("input_zp", types.i8, [0]).const("weight_zp", types.i8, [0])
    case.set(pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=types.i32, local_bound=False)
    graph = expand(case.output("output", types.i32, None).graph())
    runs = plain.PlainRuns(graph)
    assert runs.run({"input": np.array([[[[1, 2]]]], np.int8)}, ["output"])[0].tolist() == [[[[(1 << 31) - 128]]]]
    with pytest.raises(RequireViolation, match="accumulator with bias"):
        runs.run({"input": np.array([[[[2, 1]]]], np.int8)}, ["output"])


def test_a_whole_network_has_the_bytes_of_its_oracle() -> None:
    graph = expand(residual_net())
    feeds = feeds_of(graph)
    wanted = oracle.run(graph, feeds)
    names = graph.main.outputs
    for found, name in zip(plain.PlainRuns(graph).run(feeds, names), names, strict=True):
        np.testing.assert_array_equal(found, wanted[name])


def test_what_has_no_exact_form_has_no_plain_runs() -> None:
    for op, wanted in (("ABS", True), ("SIGMOID", True), ("EXP", False)):
        net = Net()
        net.op(op, "y", types.fp32, net.input("x", types.fp32, 3))
        assert plain.can_run(expand(net.done("y"))) == wanted
    net = Net()
    net.op("ABS", "y", types.fp16, net.input("x", types.fp16, 3))
    assert not plain.can_run(expand(net.done("y")))
    assert plain.can_run(expand(residual_net()))


def test_a_fused_product_is_rounded_once() -> None:
    """Ties that a product just misses, and results that have fewer bits, which a rounding of float64 would miss."""
    numbers = np.random.default_rng(0)
    a = np.float32([1 + 2**-23, 1 - 2**-24, 2.0**-70, 3 * 2.0**-75, 1e30, *numbers.standard_normal(300)])
    b = np.float32([1 + 2**-23, 1 + 2**-23, 2.0**-70, 2.0**-74, 1e30, *numbers.standard_normal(300)])
    c = np.float32([2.0**-60, 2.0**-54, 2.0**-126, 2.0**-149, -np.inf, *numbers.standard_normal(300) * 2.0**-20])
    x, y, z = (n.astype(np.float64) for n in (np.repeat(a, 305), np.tile(b, 305), np.tile(c[::-1], 305)))
    with np.errstate(all="ignore"):
        found = plain_floats.fused(x, y, z)
        wanted = np.array([fma32(*np.float32(n)) for n in zip(x, y, z, strict=True)], np.float64)
        halfway = np.float64([1.0]), np.float64([1.0 + 2**-23]), np.float64([2.0**-24])
        assert plain_floats.fused(*halfway)[0] == fma32(*(np.float32(n[0]) for n in halfway))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("op", ["CONV2D", "DEPTHWISE_CONV2D"])
def test_float_sums_have_the_order_of_the_kernels(op: str) -> None:
    numbers = np.random.default_rng(0)
    shape = (2, 3, 2, 4) if op == "CONV2D" else (3, 2, 4, 1)
    x, weight = (numbers.standard_normal(s).astype(np.float32) for s in ((1, 4, 5, 4), shape))
    case = Case(op).input("input", types.fp32, x.shape).const("weight", types.fp32, weight)
    bias = numbers.standard_normal(2 if op == "CONV2D" else 4).astype(np.float32)
    case.const("bias", types.fp32, bias).const("input_zp", types.fp32, [0]).const("weight_zp", types.fp32, [0])
    case.set(pad=(1, 1, 0, 1), stride=(1, 2), dilation=(1, 1), acc_type=types.fp32, local_bound=False)
    graph = expand(case.output("output", types.fp32, None).graph())
    (found,) = plain.PlainRuns(graph).run({"input": x}, ["output"])
    padded = np.pad(x, ((0, 0), (1, 1), (0, 1), (0, 0)))
    for _, oy, ox, channel in np.ndindex(found.shape):
        total = np.float32(0)
        for ky, kx in np.ndindex(3, 2):
            pixel = padded[0, oy + ky, 2 * ox + kx]
            line = weight[channel, ky, kx] if op == "CONV2D" else weight[ky, kx, channel]
            for value, factor in zip(pixel if op == "CONV2D" else pixel[channel : channel + 1], line, strict=True):
                total = fma32(value, factor, total)
        assert found[0, oy, ox, channel] == total + bias[channel]


class Pretended:
    """Processes that compile for as long as the test wants."""

    started: list[Pretended] = []  # noqa: RUF012

    def __init__(self, *arguments: object) -> None:
        self.done = False
        self.started.append(self)

    def ended(self) -> bool:
        return self.done


@needs_jit
def test_runs_are_plain_until_others_have_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(first.VARIABLE, "plain")
    monkeypatch.setattr("tosa_engine.runtime.ahead.Compiling", Pretended)
    monkeypatch.setattr(plain.PlainRuns, "run", lambda self, feeds, wanted: [np.full((7, 3), -1, np.int32)])
    Pretended.started.clear()
    net = Net()
    net.op("ADD", "y", types.i32, net.input("x", types.i32, 7, 3), net.const(types.i32, [[5]]))
    session, feeds = Session(net.done("y"), 1), {"x": np.arange(21, dtype=np.int32).reshape(7, 3)}

    def not_kept() -> None:
        raise _jit.NotKept("add")

    with monkeypatch.context() as patched:
        patched.setattr(session._planner, "get_code", not_kept)
        for _ in range(2):
            assert np.all(session.run(None, feeds)[0] == -1)
        assert np.all(session.run_each(None, {"x": np.stack([feeds["x"]] * 2)})[0] == -1)
        assert not session.is_compiled
    assert len(Pretended.started) == 1
    Pretended.started[0].done = True
    assert session.is_compiled
    assert session.run(None, feeds)[0].tolist() == (feeds["x"] + 5).tolist()


def test_whoever_wants_compiled_runs_alone_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = expand(residual_net())
    monkeypatch.setenv(first.VARIABLE, "plain")
    assert (Session(graph, 1)._first is not None) == _jit.JIT
    assert Session(graph, 1, compiled=True)._first is None
    assert Session(graph, 1, checked=True)._first is None
    monkeypatch.setenv(first.VARIABLE, "compiled")
    assert Session(graph, 1)._first is None
    monkeypatch.setenv(first.VARIABLE, "later")
    if _jit.JIT:
        with pytest.raises(UsageError, match="unknown value 'later'; choose from: plain, compiled"):
            Session(graph, 1)


SHORT = """
import sys, numpy as np
from tosa_engine import Session
session = Session(sys.argv[1], 2)
session.run(None, {p.name: np.zeros(p.shape, p.dtype) for p in session.inputs})
print(session.is_compiled, "numba" in sys.modules)
"""


@needs_jit
@pytest.mark.slow("processes compile")
def test_short_processes_leave_more_code_each_time_until_all_is_there(tmp_path: Path) -> None:
    net = Net()
    x = net.input("x", types.i32, 7, 3)
    y = net.op("ADD", "y", types.i32, x, net.const(types.i32, [[5]]))
    net.op("REVERSE", "z", types.i32, net.op("SUB", "s", types.i32, y, net.const(types.i32, [[5, 1, 2]])), axis=1)
    write(net.done("z"), tmp_path / "net.tosa")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), first.VARIABLE: "plain", "TOSA_ENGINE_JIT": "1"}
    environment["TOSA_ENGINE_CACHE_DIR"] = str(tmp_path / "cache")
    found, kept = [], []
    for _ in range(8):
        command = [sys.executable, "-c", SHORT, str(tmp_path / "net.tosa")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found.append(done.stdout.split())
        deadline = time.monotonic() + 15
        while (
            time.monotonic() < deadline
            and len(list(tmp_path.rglob("tosa_*"))) == (kept or [0])[-1]
            and (found[-1][0] == "False")
        ):
            time.sleep(0.1)
        kept.append(len(list(tmp_path.rglob("tosa_*"))))
        if found[-1][0] == "True":
            break
    assert found[0] == ["False", "False"]
    assert found[-1] == ["True", "False"], "the last process compiles nothing and imports no compiler"
    assert kept == sorted(kept)
