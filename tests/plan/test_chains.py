"""Elementwise operators that become one step: the same bytes as one operator after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import types
from tosa_engine.builder import Builder
from tosa_engine.kernels._jit import JIT
from tosa_engine.kernels.elementwise import chain_loops
from tosa_engine.plan import make_plan
from tosa_engine.probe import Probe
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

SHAPE = (1, 20, 25, 24)
SPECIALS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38], np.float32)


def one(b: Builder, number: float, rank: int = 4) -> Any:
    return b.const(np.full((1,) * rank, number, np.float32))


def hard_swish(b: Builder, x: Any) -> Any:
    return b.op(
        "MUL", x, b.op("MUL", b.op("CLAMP", b.op("ADD", x, one(b, 3.0)), min_val=0.0, max_val=6.0), one(b, 1 / 6), 0), 0
    )


def gelu(b: Builder, x: Any) -> Any:
    inside = b.op("ADD", b.op("ERF", b.op("MUL", x, one(b, 0.70710678), 0)), one(b, 1.0))
    return b.op("MUL", b.op("MUL", x, inside, 0), one(b, 0.5), 0)


def scaled_by_channel(b: Builder, x: Any) -> Any:
    """With a vector for the last axis, one number for each pixel, and one that is an input."""
    rng = np.random.default_rng(1)
    gain, pixels = (b.const(rng.standard_normal(s).astype(np.float32)) for s in ((1, 1, 1, 24), (1, 20, 25, 1)))
    number = b.input(types.fp32, (1, 1, 1, 1), "number")
    y = b.op("MUL", b.op("ADD", b.op("MUL", x, gain, 0), pixels), number, 0)
    return b.op("SUB", b.op("TANH", y), number)


def chosen(b: Builder, x: Any) -> Any:
    """Through Booleans."""
    large = b.op("LOGICAL_AND", b.op("GREATER", x, one(b, 0.5)), b.op("LOGICAL_NOT", b.op("EQUAL", x, one(b, 1.0))))
    whole = b.op("CLAMP", b.op("FLOOR", x), min_val=-2.0, max_val=2.0, nan_mode="IGNORE")
    return b.op("SELECT", large, whole, b.op("NEGATE", x, 0, 0))


def halves(b: Builder, x: Any) -> Any:
    y = b.op("CAST", x, dtype=types.fp16)
    return b.op("CAST", b.op("MUL", b.op("ADD", y, y), b.op("SIGMOID", y), 0), dtype=types.fp32)


CHAINS = {f.__name__: f for f in (hard_swish, gelu, scaled_by_channel, chosen, halves)}


def net(name: str) -> tuple[Graph, dict[str, Array]]:
    b, rng = Builder(), np.random.default_rng(2)
    b.output(CHAINS[name](b, b.input(types.fp32, SHAPE, "x")))
    x = rng.standard_normal(SHAPE).astype(np.float32) * 3
    x.reshape(-1)[rng.choice(x.size, 400, replace=False)] = np.resize(SPECIALS, 400)
    return b.graph(), {"x": x, "number": np.full((1, 1, 1, 1), 0.7, np.float32)}


def run(graph: Graph, feeds: dict[str, Array], threads: int, keep: tuple[str, ...] = ()) -> Array:
    used = {name: feeds[name] for name in graph.main.inputs}
    probes = [Probe(lambda *_: None, list(keep))] if keep else []
    (found,) = Session(graph, threads).run(None, used, probes)
    return found.view(np.uint32)


@pytest.mark.parametrize("name", list(CHAINS))
def test_chains_have_the_bytes_of_one_operator_after_the_other(name: str) -> None:
    graph, feeds = net(name)
    steps = [len(step.calls) for step in make_plan(graph).steps if step.work is not None]
    assert len(steps) <= 2, steps
    every = tuple(n for op in graph.main.operators if op.op != "CONST" for n in op.outputs)
    apart = run(graph, feeds, 1, every)
    for threads in (1, 3):
        np.testing.assert_array_equal(run(graph, feeds, threads), apart)


@pytest.mark.parametrize("name", list(CHAINS))
@pytest.mark.skipif(not JIT, reason="compares compiled code with plain code")
def test_compiled_chains_are_what_plain_ones_compute(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, feeds = net(name)
    wanted = run(graph, feeds, 1)
    monkeypatch.setattr(chain_loops, "LOOPS", {})
    monkeypatch.setattr(chain_loops, "JIT", False)
    monkeypatch.setattr(chain_loops, "jit", lambda function: function)
    compiled: Any = chain_loops.lines_from
    monkeypatch.setattr(chain_loops, "lines_from", compiled.py_func)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(graph, feeds, 1), wanted)


def test_what_others_read_or_is_kept_stays_a_tensor() -> None:
    b = Builder()
    x = b.input(types.fp32, (1, 60, 60, 24), "x")
    y = b.op("MUL", x, one(b, 2.0), 0, output="y")
    z = b.op("EXP", b.op("ADD", y, one(b, 1.0), output="inside"), output="z")
    b.output(z)
    b.output(b.op("REDUCE_SUM", y, axis=3))
    graph = b.graph()
    assert [step.operators for step in make_plan(graph).steps] == ["MUL", "ADD+EXP", "REDUCE_SUM"]
    kept = make_plan(graph, keep=frozenset({"inside"}))
    assert [step.operators for step in kept.steps] == ["MUL", "ADD", "EXP", "REDUCE_SUM"]


def test_what_saves_little_or_has_too_many_inputs_stays_apart() -> None:
    b = Builder()
    b.output(b.op("SUB", b.op("ADD", b.input(types.fp32, (1, 30), "x"), one(b, 1.0, 2)), one(b, 2.0, 2)))
    assert [step.operators for step in make_plan(b.graph()).steps] == ["ADD", "SUB"]
    b = Builder()
    x = [b.input(types.fp32, SHAPE, f"x{i}") for i in range(5)]
    total = x[4]
    for other in x[3::-1]:
        total = b.op("ADD", other, total)
    b.output(total)
    assert [step.operators for step in make_plan(b.graph()).steps] == ["ADD+ADD", "ADD+ADD"]


def test_integers_become_floats_in_one_step() -> None:
    """However few: as at the end of a network of int8 from TFLite."""
    b = Builder()
    real = b.op("CAST", b.input(types.i8, (1, 5, 128, 1), "x"), dtype=types.fp32)
    b.output(b.op("MUL", b.op("SUB", real, one(b, 83.0)), one(b, 0.38), 0))
    graph = b.graph()
    assert [step.operators for step in make_plan(graph).steps] == ["CAST+SUB+MUL"]
    feeds = {"x": np.random.default_rng(1).integers(-128, 128, (1, 5, 128, 1)).astype(np.int8)}
    every = tuple(n for op in graph.main.operators if op.op != "CONST" for n in op.outputs)
    for threads in (1, 3):
        np.testing.assert_array_equal(run(graph, feeds, threads), run(graph, feeds, 1, every))
