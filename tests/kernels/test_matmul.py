"""MATMUL of bytes in quads: both zero points at their ends, sums at the ends of int32, every shape of a panel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net
from vector_units import UNITS

from tosa_engine import Session, oracle, types
from tosa_engine.errors import RequireViolation
from tosa_engine.kernels._jit import JIT
from tosa_engine.kernels._jit.variants import VARIANTS, variant
from tosa_engine.kernels.tile import matmul
from tosa_engine.plan import expand, make_plan

from .test_emission import PROCESSORS, WANTED, compiled

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.kernels._jit.variants import Variant
    from tosa_engine.types import Array

i8, i32 = types.i8, types.i32
LONGEST = (2**31 - 1) // 255**2  # products of 255 * 255 whose sums fit int32


def product(shape: tuple[int, ...], zeros: tuple[int, int], scale: str = "") -> Graph:
    """[N, H, C] x [N, C, W], then a RESCALE of a `scale`, and a TABLE."""
    N, H, C, W = shape
    net = Net()
    a, b = net.input("a", i8, N, H, C), net.input("b", i8, N, C, W)
    net.op("MATMUL", "sums", i32, a, b, *(net.const(i8, [zero]) for zero in zeros))
    if not scale:
        return net.done("sums")
    shift = {"high words": 40, "words": 30, "channels": 36 + np.arange(W) % 5, "twice": 40, "table": 40}[scale]
    multiplier = np.full(np.size(shift), 40000 if scale == "words" else 1518500250)
    mode = "DOUBLE_ROUND" if scale == "twice" else "SINGLE_ROUND"
    net.rescale("y", "sums", i32, i8, shift, zero=(0, -7), multiplier=multiplier, rounding_mode=mode)
    return net.done(net.op("TABLE", "t", i8, "y", net.const(i8, np.arange(127, -129, -1))) if scale == "table" else "y")


def some(shape: tuple[int, ...]) -> dict[str, Array]:
    N, H, C, W = shape
    rng = np.random.default_rng(C)
    return {n: rng.integers(-128, 128, s).astype(np.int8) for n, s in (("a", (N, H, C)), ("b", (N, C, W)))}


def check(graph: Graph, feeds: dict[str, Array]) -> None:
    (wanted,) = (oracle.run(graph, feeds)[name] for name in graph.main.outputs)
    for threads in (1, 2, 3, 8):
        np.testing.assert_array_equal(Session(graph, threads).run(None, feeds)[0], wanted)


SHAPES = [(1, 1, 1, 1), (2, 5, 3, 7), (3, 13, 33, 17), (4, 64, 32, 64), (1, 300, 700, 20), (2, 25, 8, 33)]


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_panels_and_rows(shape: tuple[int, ...], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", name)
    simd = variant()
    (step,) = make_plan(expand(product(shape, (3, -5)))).steps
    kernel = "matmul_quads." if simd.quads or simd.signed else "matmul_pairs."
    assert step.work is not None
    assert step.work.bind.__qualname__.startswith(kernel)
    for zeros in ((3, -5), (-128, 127), (0, 0)):
        check(product(shape, zeros), some(shape))


@pytest.mark.parametrize("scale", ["high words", "words", "channels", "twice", "table"])
def test_every_scale_behind_it(scale: str) -> None:
    shape = (2, 29, 35, 37)
    check(product(shape, (-128, 127), scale), some(shape))


@pytest.mark.parametrize("zero_a", [-128, 0, 127])
@pytest.mark.parametrize("zero_b", [-128, 0, 127])
def test_sums_at_the_ends_of_int32(zero_a: int, zero_b: int) -> None:
    graph = product((1, 3, LONGEST, 17), (zero_a, zero_b))
    for first in (-128, 127):
        for second in (-128, 127):
            feeds = {"a": np.full((1, 3, LONGEST), first, np.int8), "b": np.full((1, LONGEST, 17), second, np.int8)}
            (got,) = Session(graph, 1).run(None, feeds)
            assert np.unique(got).tolist() == [LONGEST * (first - zero_a) * (second - zero_b)]


def test_one_product_more_may_leave_int32() -> None:
    """Not proved, so tested in 64 bits."""
    graph = product((1, 1, LONGEST + 1, 1), (-128, -128))
    ones = {"a": np.full((1, 1, LONGEST + 1), 127, np.int8), "b": np.full((1, LONGEST + 1, 1), 127, np.int8)}
    with pytest.raises(RequireViolation, match=r"MATMUL\.R1"):
        Session(graph, 1).run(None, ones)
    ones["a"][0, 0, 0] = -128
    assert Session(graph, 1).run(None, ones)[0].item() == LONGEST * 255**2


def test_quads_and_pairs_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    if not (variant().quads or variant().signed):
        pytest.skip("this processor multiplies no quads")
    shape = (3, 50, 46, 70)
    graph = product(shape, (17, -101), "high words")
    quads = Session(graph, 1).run(None, some(shape))
    monkeypatch.setattr(matmul, "matmul_quads", matmul.matmul_pairs)
    assert [a.tobytes() for a in Session(graph, 1).run(None, some(shape))] == [a.tobytes() for a in quads]


@pytest.mark.skipif(not JIT, reason="without the JIT there is only the plain form")
@pytest.mark.parametrize(("depth", "width"), [(1, 16), (4, 16), (7, 40), (33, 17)])
def test_packing_is_its_plain_twin(depth: int, width: int) -> None:
    from tosa_engine.kernels._jit import jit
    from tosa_engine.kernels.tile import quad_panels

    simd, steps = variant(), -(-depth // 4)
    if not (simd.quads or simd.signed):
        pytest.skip("this processor multiplies no quads")
    y = np.random.default_rng(depth).integers(-128, 128, depth * width).astype(np.int8)

    @jit
    def packed(simd: Any, y: Any, width: int, depth: int, steps: int, blank: Any, b: Any, sums: Any) -> None:
        quad_panels.pack(simd, y, width - 16, width, depth, steps, blank, b, 3, sums, 5)

    found = []
    for pack in (packed, lambda *a: quad_panels.plain_pack(a[0], a[1], width - 16, *a[2:7], 3, a[7], 5)):
        b, sums = np.full(steps * 64 + 7, 99, np.int8), np.full(30, 99, np.int32)
        pack(simd, y, width, depth, steps, np.zeros(16, np.int8), b, sums)
        found.append((b.tolist(), sums.tolist()))
    assert found[0] == found[1]


@pytest.mark.skipif(not JIT, reason="without the JIT nothing is emitted")
@pytest.mark.parametrize("simd", [v for v in VARIANTS if v.quads or v.signed], ids=lambda v: v.name)
def test_columns_are_added_up_by_the_instruction(simd: Variant) -> None:
    from llvmlite import ir

    from tosa_engine.kernels._jit import llvm as e
    from tosa_engine.kernels.tile.quad_panels import emit_pack

    triple, processor = PROCESSORS[simd.name]
    module = ir.Module()
    module.triple = triple
    kinds = [e.I8.as_pointer()] * 3 + [e.I32.as_pointer()] + [e.I64] * 3
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), "pack")
    builder = ir.IRBuilder(function.append_basic_block())
    emit_pack(builder, simd, function.args[:4], *function.args[4:])
    builder.ret_void()
    assert len(re.findall(WANTED[simd.name, "quads"], compiled(module, processor))) == 16 // simd.lanes
