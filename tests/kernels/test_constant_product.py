"""MATMUL by a constant matrix: packed once, with the bytes of a matrix that is an input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net

from tosa_engine import Session, oracle, types
from tosa_engine.plan import make_plan

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType


def product(kind: DType, y: Array, *, constant: bool, rows: int, scaled: bool = False) -> Graph:
    """[1, rows, C] x [1, C, W] with the zero points 3 and -5 of int8, then a RESCALE."""
    net, (_, C, W) = Net(), y.shape
    sums = types.i32 if kind is types.i8 else kind
    zeros = [net.const(kind, [zero]) for zero in ((3, -5) if kind is types.i8 else (0, 0))]
    other = net.const(kind, y) if constant else net.input("y", kind, 1, C, W)
    net.op("MATMUL", "z", sums, net.input("x", kind, 1, rows, C), other, *zeros)
    if not scaled:
        return net.done("z")
    return net.done(
        net.rescale("s", "z", types.i32, types.i8, np.full(W, 40), zero=(0, -7), multiplier=np.arange(W) + (1 << 30))
    )


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(("rows", "C", "W"), [(1, 8, 5), (11, 33, 40), (25, 64, 32)])
def test_integers_are_those_of_the_oracle(rows: int, C: int, W: int, scaled: bool) -> None:
    rng = np.random.default_rng(rows)
    x, y = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((1, rows, C), (1, C, W)))
    graph = product(types.i8, y, constant=True, rows=rows, scaled=scaled)
    (wanted,) = oracle.run(graph, {"x": x}).values()
    for threads in (1, 3):
        np.testing.assert_array_equal(Session(graph, threads).run(None, {"x": x})[0], wanted)


@pytest.mark.parametrize("rows", [1, 5, 19])
def test_floats_have_the_bits_of_a_matrix_that_is_an_input(rows: int) -> None:
    rng = np.random.default_rng(rows)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, rows, 30), (1, 30, 37)))
    found: list[Any] = [
        Session(product(types.fp32, y, constant=constant, rows=rows), 1).run(
            None, {"x": x, "y": y} if not constant else {"x": x}
        )
        for constant in (True, False)
    ]
    np.testing.assert_array_equal(found[0][0].view(np.int32), found[1][0].view(np.int32))


@pytest.mark.parametrize("kind", [types.i8, types.fp32], ids=str)
def test_a_constant_matrix_is_packed_when_the_plan_is_made(kind: DType) -> None:
    """Then no worker needs memory for panels of it."""
    y = np.ones((1, 512, 512), kind.storage)
    fixed, moving = (make_plan(product(kind, y, constant=c, rows=24)).steps[-1].work for c in (True, False))
    assert fixed is not None
    assert moving is not None
    assert fixed.scratch_bytes < moving.scratch_bytes
