"""The builder: graphs by operator name, with inferred types and shapes."""

from __future__ import annotations

import numpy as np
import pytest

from tosa_engine import Session, oracle, types
from tosa_engine.builder import Builder
from tosa_engine.errors import ErrorIf, Problems, UsageError


@pytest.mark.parametrize(("zp", "constant"), [((0, 0), True), ((-3, 0), True), ((5, -7), False)])
def test_fully_connected_is_a_matrix_product(zp: tuple[int, int], constant: bool) -> None:
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((5, 7), (3, 7)))
    bias = rng.integers(-1000, 1000, 3).astype(np.int32)
    b = Builder()
    weight = w if constant else b.input(types.i8, (3, 7), "w")
    b.output(b.fully_connected(b.input(types.i8, (5, 7), "x"), weight, bias, *zp))
    graph = b.graph()
    assert [op.op for op in graph.main.operators if not op.op.startswith("CONST")] == [
        "RESHAPE",
        "RESHAPE",
        "CONV2D",
        "RESHAPE",
    ]
    feeds = {"x": x} if constant else {"x": x, "w": w}
    wanted = (x.astype(np.int32) - zp[0]) @ (w.astype(np.int32) - zp[1]).T + bias
    (found,) = Session(graph).run(None, feeds)
    np.testing.assert_array_equal(found, wanted)
    (found,) = oracle.run(graph, feeds).values()
    np.testing.assert_array_equal(found, wanted)


def test_types_and_shapes_are_inferred() -> None:
    b = Builder()
    x = b.input(types.i8, (1, 8, 8, 3), "x")
    y = b.op("MAX_POOL2D", x, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0), nan_mode="PROPAGATE")
    assert (y.dtype, y.shape) == (types.i8, (1, 4, 4, 3))
    z = b.op("CONCAT", [y, y, y], axis=3)
    assert (z.dtype, z.shape) == (types.i8, (1, 4, 4, 9))
    w = b.op("MUL", z, z, 0)
    assert (w.dtype, w.shape) == (types.i32, (1, 4, 4, 9))
    c = b.op("CAST", w, dtype=types.i16, output="narrow")
    assert (c.name, c.dtype) == ("narrow", types.i16)
    b.output(c)
    assert [t.name for t in b.graph().outputs] == ["narrow"]


def test_what_is_not_clear_or_not_legal_is_refused_at_once() -> None:
    b = Builder()
    x = b.input(types.i32, (2, 3), "x")
    with pytest.raises(
        UsageError, match=r"^CAST: the inputs leave a choice of outputs: bool, i8, i16, fp16, bf16, fp32; give dtype$"
    ):
        b.op("CAST", x)
    with pytest.raises(UsageError, match=r"^no operator FULLY_CONNECTED$"):
        b.op("FULLY_CONNECTED", x)
    with pytest.raises(UsageError, match=r"^ADD needs 2 inputs \(input1, input2\), got 1$"):
        b.op("ADD", x)
    with pytest.raises(UsageError, match="a constant needs a dtype"):
        b.const([1, 2])
    with pytest.raises(UsageError, match=r"aren't all values of i8: \[300\]"):
        b.const([300], types.i8)
    with pytest.raises((ErrorIf, Problems), match=r"REVERSE\.E1|REVERSE\.E2|axis"):
        b.op("REVERSE", x, axis=2)
    with pytest.raises(UsageError, match="CUSTOM needs dtype"):
        b.op("CUSTOM", [x], domain_name="d", operator_name="o")
    b.region("body")
    with pytest.raises(UsageError, match="there is a region 'body' already"):
        b.region("body")
    assert set(b._graph.main.tensors) == {"x"}
