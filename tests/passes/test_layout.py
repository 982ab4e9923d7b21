"""Moving transposes: random graphs compute the same bytes with fewer of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trait_checks import Use

from tosa_engine import check, oracle, types
from tosa_engine.graph import Graph, Location, Operator, QParams, Tensor, new_graph
from tosa_engine.infer import infer
from tosa_engine.lower.composites import grouped
from tosa_engine.lower.writer import Writer
from tosa_engine.passes import composites, dead_code, layout
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.spec import OpSpec
    from tosa_engine.types import Array

NHWC, NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


class Random:
    """Grows a graph by drawing operators; every tensor has rank 4 or less."""

    def __init__(self, data: st.DataObject) -> None:
        self.data, self.graph = data, new_graph()
        self.emit = Writer(self.graph.main)
        self.tensors: list[Tensor] = []
        for name, shape in (("a", (1, 2, 3, 4)), ("b", (2, 1, 4, 3))):
            self.tensors.append(self.graph.main.add(Tensor(name, types.fp32, shape)))
            self.graph.main.inputs.append(name)

    def grow(self) -> Graph:
        steps: list[Callable[[], Tensor]] = [
            self.transpose,
            self.transpose,
            self.unary,
            self.constant,
            self.binary,
            self.reduce,
            self.concat,
            self.pad,
            self.slice,
            self.reshape,
            self.composite,
            self.pool,
        ]
        for _ in range(self.data.draw(st.integers(1, 12))):
            self.tensors.append(self.data.draw(st.sampled_from(steps))())
        outputs = self.data.draw(st.lists(st.sampled_from(self.tensors), min_size=1, max_size=3, unique_by=id))
        self.graph.main.outputs = [t.name for t in outputs]
        return self.graph

    def pick(self) -> Tensor:
        return self.data.draw(st.sampled_from(self.tensors))

    def axis(self, x: Tensor) -> int:
        return self.data.draw(st.integers(0, len(x.shape or ()) - 1))

    def transpose(self) -> Tensor:
        x = self.pick()
        perms = tuple(self.data.draw(st.permutations(range(len(x.shape or ())))))
        return self.emit.operator("TRANSPOSE", [x], tuple((x.shape or ())[p] for p in perms), perms=perms)

    def unary(self) -> Tensor:
        x = self.pick()
        return self.emit.negate(x) if self.data.draw(st.booleans()) else self.emit.clamp(x, -0.5, 0.5)

    def constant(self) -> Tensor:
        shape = tuple(self.data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
        return self.emit.const(np.random.default_rng(len(self.tensors)).standard_normal(shape), types.fp32)

    def binary(self) -> Tensor:
        x = self.pick()
        fitting = [t for t in self.tensors if broadcasts(x, t)]
        y = self.data.draw(st.sampled_from(fitting))
        op = self.data.draw(st.sampled_from(["ADD", "SUB", "MUL", "MAXIMUM"]))
        return self.emit.binary(op, *((x, y) if self.data.draw(st.booleans()) else (y, x)))

    def reduce(self) -> Tensor:
        x = self.pick()
        return self.emit.reduce(self.data.draw(st.sampled_from(["REDUCE_SUM", "REDUCE_MAX"])), x, self.axis(x))

    def concat(self) -> Tensor:
        x = self.pick()
        return self.emit.operator("CONCAT", [x, x], tuple(
            n * 2 if i == 0 else n for i, n in enumerate(x.shape or ())), axis=0)  # fmt: skip

    def pad(self) -> Tensor:
        x = self.pick()
        rank = len(x.shape or ())
        before = [self.data.draw(st.integers(0, 1)) for _ in range(rank)]
        return self.emit.pad(x, before, before[::-1], 0.25)

    def slice(self) -> Tensor:
        x = self.pick()
        start = [self.data.draw(st.integers(0, n - 1)) for n in x.shape or ()]
        return self.emit.slice(x, start, [n - s for n, s in zip(x.shape or (), start, strict=True)])

    def reshape(self) -> Tensor:
        x = self.pick()
        shape = [n for n in x.shape or () if n != 1] or [1]
        while len(shape) < 4 and self.data.draw(st.booleans()):
            shape.insert(self.data.draw(st.integers(0, len(shape))), 1)
        if len(shape) > 1 and self.data.draw(st.booleans()):
            shape[:2] = [shape[0] * shape[1]]
        return self.emit.operator("RESHAPE", [x, self.emit.dims(shape)], tuple(shape))

    def composite(self) -> Tensor:
        x = self.pick()
        name = self.data.draw(st.sampled_from(["sigmoid", "tanh", "softmax", "mean"]))
        attributes: dict[str, Any] = {"softmax": {"axis": self.axis(x)}, "mean": {"axes": (self.axis(x),)}}.get(
            name, {}
        )
        return grouped(self.emit, name, x, **attributes)

    def pool(self) -> Tensor:
        rank4 = [t for t in self.tensors if len(t.shape or ()) == 4]
        x = self.data.draw(st.sampled_from(rank4))
        return self.emit.operator(
            "MAX_POOL2D", [x], x.shape or (), kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0), nan_mode="PROPAGATE"
        )


def broadcasts(x: Tensor, y: Tensor) -> bool:
    a, b = x.shape or (), y.shape or ()
    return len(a) == len(b) and all(m == n or 1 in (m, n) for m, n in zip(a, b, strict=True))


def transposes(graph: Graph) -> int:
    return sum(op.op == "TRANSPOSE" for op in graph.main.operators)


@given(st.data())
def test_random_graphs_compute_the_same_bytes(data: st.DataObject) -> None:
    graph = Random(data).grow()
    check.validate(graph)
    rng = np.random.default_rng(1)
    feeds = {t.name: rng.standard_normal(t.shape or ()).astype(np.float32) for t in graph.inputs}
    moved = layout.run(graph)
    check.validate(moved)
    check.validate(composites.run(dead_code.run(moved)))
    assert moved.main.inputs == graph.main.inputs
    assert moved.main.outputs == graph.main.outputs
    before, after = oracle.run(graph, feeds), oracle.run(moved, feeds)
    for name, wanted in before.items():
        assert after[name].shape == wanted.shape
        assert after[name].tobytes() == wanted.tobytes()


def chain(build: Callable[[Writer, Tensor], Tensor], shape: tuple[int, ...] = (1, 3, 4, 5)) -> Graph:
    graph = new_graph()
    x = graph.main.add(Tensor("x", types.fp32, shape))
    graph.main.inputs = ["x"]
    graph.main.outputs = [build(Writer(graph.main), x).name]
    moved = dead_code.run(layout.run(graph))
    check.validate(moved)
    feeds = {"x": np.random.default_rng(3).standard_normal(shape).astype(np.float32)}
    name = graph.main.outputs[0]
    assert oracle.run(moved, feeds)[name].tobytes() == oracle.run(graph, feeds)[name].tobytes()
    return moved


def test_a_chain_of_any_layout_keeps_no_inner_transpose() -> None:
    def build(emit: Writer, x: Tensor) -> Tensor:
        for i in range(3):
            x = emit.transpose(x, NHWC)
            x = emit.operator("MAX_POOL2D", [x], x.shape or (), kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0),
                              nan_mode="PROPAGATE")  # fmt: skip
            x = emit.transpose(x, NCHW)
            x = emit.binary("ADD", emit.negate(x), emit.const(np.ones((1, 3, 1, 1)) * i, types.fp32))
            x = emit.concat([emit.pad(x, (0, 1, 0, 0), (0, 0, 2, 0)), emit.pad(x, (0, 0, 2, 0), (0, 1, 0, 0))], 3)
            x = emit.slice(x, (0, 1, 0, 2), (1, 3, 4, 5))
        return x

    moved = chain(build)
    assert transposes(moved) == 2  # one at each border
    assert next(op.op for op in moved.main.operators if not op.op.startswith("CONST")) == "TRANSPOSE"
    assert moved.main.operators[-1].op == "TRANSPOSE"


def test_transposes_that_cancel_at_an_output_leave_a_copy() -> None:
    moved = chain(lambda e, x: e.operator("TRANSPOSE", [e.transpose(x, NHWC)], (1, 3, 4, 5), perms=NCHW))
    assert [op.op for op in moved.main.operators] == ["IDENTITY"]


def test_a_transpose_of_extents_of_1_is_a_reshape_and_reshapes_merge() -> None:
    moved = chain(lambda e, x: e.transpose(x, NHWC), (1, 1, 4, 5))
    assert [op.op for op in moved.main.operators] == ["CONST_SHAPE", "RESHAPE"]
    merged = chain(lambda e, x: e.negate(e.reshape(e.reshape(e.reshape(x, (60,)), (2, 30)), (3, 20))))
    assert [op.op for op in merged.main.operators if not op.op.startswith("CONST")] == ["RESHAPE", "NEGATE"]
    back = chain(lambda e, x: e.negate(e.reshape(e.reshape(x, (60,)), (1, 3, 4, 5))))
    assert [op.op for op in back.main.operators if not op.op.startswith("CONST")] == ["NEGATE"]


def test_hints_and_sources_follow() -> None:
    graph = new_graph()
    emit = Writer(graph.main)
    x = graph.main.add(Tensor("x", types.fp32, (1, 3, 4, 5)))
    graph.main.inputs = ["x"]
    image = emit.transpose(x, NHWC)
    pooled = emit.operator("MAX_POOL2D", [image], (1, 4, 5, 3), kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0),
                           nan_mode="PROPAGATE")  # fmt: skip
    y = emit.negate(emit.operator("TRANSPOSE", [pooled], (1, 3, 4, 5), perms=NCHW))
    y.source, y.quant = Location("f", 7, "y"), QParams((1.0,) * 3, (0,) * 3, axis=1)
    graph.main.outputs = [emit.transpose(y, NHWC).name]
    moved = layout.run(graph).main
    assert moved.tensors[y.name].shape == (1, 4, 5, 3)
    assert moved.tensors[y.name].quant == QParams((1.0,) * 3, (0,) * 3, axis=3)
    assert moved.tensors[y.name].source == Location("f", 7, "y")


def test_a_per_channel_rescale_stays_in_its_layout() -> None:
    graph = new_graph()
    emit = Writer(graph.main)
    x = graph.main.add(Tensor("x", types.i32, (1, 3, 4, 5)))
    graph.main.inputs = ["x"]
    turned = emit.transpose(x, NHWC)
    channels = emit.const(np.full(3, 1 << 30), types.i32), emit.const(np.full(3, 30), types.i8)
    y = emit.operator(
        "RESCALE",
        [turned, *channels, emit.scalar(0, types.i32), emit.scalar(0, types.i8)],
        (1, 4, 5, 3),
        types.i8,
        scale32=True,
        rounding_mode="SINGLE_ROUND",
        per_channel=True,
        input_unsigned=False,
        output_unsigned=False,
    )
    graph.main.outputs = [y.name]
    moved = layout.run(graph)
    check.validate(moved)
    assert [op.op for op in moved.main.operators if not op.op.startswith("CONST")] == ["TRANSPOSE", "RESCALE"]
    feeds = {"x": np.arange(60, dtype=np.int32).reshape(1, 3, 4, 5)}
    assert oracle.run(moved, feeds)[y.name].tobytes() == oracle.run(graph, feeds)[y.name].tobytes()


def test_two_outputs_may_have_one_stand_in() -> None:
    graph = new_graph()
    emit = Writer(graph.main)
    x = graph.main.add(Tensor("x", types.fp32, (1, 2, 3, 4)))
    graph.main.inputs = ["x"]
    flat = emit.operator("RESHAPE", [x, emit.dims((2, 3, 4))], (2, 3, 4))
    turned = emit.operator("TRANSPOSE", [flat], (2, 4, 3), perms=(0, 2, 1))
    same = emit.operator("TRANSPOSE", [flat], (2, 3, 4), perms=(0, 1, 2))
    graph.main.outputs = [flat.name, turned.name, same.name]
    feeds = {"x": np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)}
    moved = layout.run(graph)
    check.validate(moved)
    before, after = oracle.run(graph, feeds), oracle.run(moved, feeds)
    assert {n: a.tobytes() for n, a in after.items()} == {n: a.tobytes() for n, a in before.items()}


def pooled(emit: Writer, x: Tensor) -> Tensor:
    """An operator that keeps its layout, so that the transposes around it can't simply cancel."""
    image = emit.transpose(x, NHWC)
    output = emit.operator(
        "MAX_POOL2D", [image], image.shape or (), kernel=(1, 1), stride=(1, 1), pad=(0, 0, 0, 0), nan_mode="PROPAGATE"
    )
    return emit.operator("TRANSPOSE", [output], x.shape or (), perms=NCHW)


def composite(emit: Writer, x: Tensor, name: str, **attributes: Any) -> Tensor:
    return grouped(emit, name, x, **attributes)


BINARY = ("ADD", "MAXIMUM", "MINIMUM", "MUL", "SUB")
CONSTANT = np.random.default_rng(5).standard_normal((1, 3, 1, 5))
APPLY: dict[str, Callable[[Writer, Tensor, int], Tensor]] = {
    "ABS": lambda e, x, _: e.unary("ABS", x),
    "CAST": lambda e, x, _: e.operator("CAST", [x], x.shape or (), types.i32),
    "CLAMP": lambda e, x, _: e.clamp(x, -0.25, 0.5),
    "EXP": lambda e, x, _: e.unary("EXP", x),
    "IDENTITY": lambda e, x, _: e.unary("IDENTITY", x),
    "NEGATE": lambda e, x, _: e.negate(x),
    "RECIPROCAL": lambda e, x, _: e.unary("RECIPROCAL", x),
    **{op: lambda e, x, _, op=op: e.binary(op, e.const(CONSTANT, types.fp32), x) for op in BINARY},
    "CONCAT": lambda e, x, axis: e.concat([x, e.negate(x)], axis),
    "REDUCE_MAX": lambda e, x, axis: e.reduce("REDUCE_MAX", x, axis),
    "REDUCE_SUM": lambda e, x, axis: e.reduce("REDUCE_SUM", x, axis),
    "PAD": lambda e, x, axis: e.pad(x, [int(i == axis) for i in range(4)], (1, 0, 2, 0), 0.5),
    "SLICE": lambda e, x, axis: e.slice(x, [int(i == axis > 0) for i in range(4)], (1, 2, 3, 4)),
    "mean": lambda e, x, axis: composite(e, x, "mean", axes=(axis, (axis + 1) % 4)),
    "sigmoid": lambda e, x, _: composite(e, x, "sigmoid"),
    "softmax": lambda e, x, axis: composite(e, x, "softmax", axis=axis),
    "tanh": lambda e, x, _: composite(e, x, "tanh"),
}


@pytest.mark.parametrize("op", sorted(APPLY))
@pytest.mark.parametrize("axis", range(4))
def test_each_rule_moves_its_operator_into_the_other_layout(op: str, axis: int) -> None:
    graph = new_graph()
    emit = Writer(graph.main)
    x = graph.main.add(Tensor("x", types.fp32, (1, 3, 4, 5)))
    graph.main.inputs = ["x"]
    graph.main.outputs = [APPLY[op](emit, pooled(emit, x), axis).name]
    check.validate(graph)
    moved = dead_code.run(layout.run(graph))
    check.validate(moved)
    kinds = [o.op for o in moved.main.operators]
    assert kinds.index("MAX_POOL2D") < kinds.index(op)
    assert kinds[-1] in ("TRANSPOSE", "RESHAPE", op)
    between = kinds[kinds.index("MAX_POOL2D") : kinds.index(op)]
    assert "TRANSPOSE" not in between or op in BINARY  # the constant's own
    feeds = {"x": np.random.default_rng(2).standard_normal((1, 3, 4, 5)).astype(np.float32)}
    name = graph.main.outputs[0]
    assert oracle.run(moved, feeds)[name].tobytes() == oracle.run(graph, feeds)[name].tobytes()


COMPUTING = [spec for spec in TABLE.values() if spec.pure and not spec.is_constant]
FIXED = {
    "ARGMAX", "AVG_POOL2D", "CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "FFT2D", "GATHER", "MATMUL", "MAX_POOL2D",
    "RESHAPE", "RESIZE", "RFFT2D", "SCATTER", "TILE", "TRANSPOSE", "TRANSPOSE_CONV2D",
}  # fmt: skip


def between_transposes(spec: OpSpec) -> tuple[Graph, dict[str, Array]]:
    """The example of an operator, with its axes in another order behind it and, for each operand, before it."""
    use = Use.of(spec, spec.rows[0])
    graph, feeds = use.case.graph(), use.arrays()
    infer(graph)
    block = graph.main
    for name in block.inputs:
        turned = block.tensors[name]
        rank = len(turned.shape or ())
        perms, back = (*range(1, rank), 0), (rank - 1, *range(rank - 1))
        source = block.add(Tensor(f"{name}_source", turned.dtype, tuple((turned.shape or ())[i] for i in back)))
        block.operators.insert(0, Operator("TRANSPOSE", [source.name], [name], {"perms": perms}))
        feeds[source.name] = feeds.pop(name).astype(turned.dtype.storage).transpose(back)
    block.inputs = [f"{name}_source" for name in block.inputs]
    for i, name in enumerate(block.outputs):
        tensor = block.tensors[name]
        rank = len(tensor.shape or ())
        block.add(Tensor(f"back_{i}", tensor.dtype, None))
        block.operators.append(Operator("TRANSPOSE", [name], [f"back_{i}"], {"perms": (rank - 1, *range(rank - 1))}))
    block.outputs = [f"back_{i}" for i in range(len(block.outputs))]
    infer(graph)
    return graph, feeds


@pytest.mark.parametrize("spec", COMPUTING, ids=lambda s: s.name)
def test_no_transpose_is_left_around_an_operator_of_any_layout(spec: OpSpec) -> None:
    """Whose axes have no meaning of their own, or are named by what it is given. A view of others stays one step."""
    graph, feeds = between_transposes(spec)
    moved = dead_code.run(layout.run(graph))
    check.validate(moved)
    assert (transposes(moved) > 0) == (spec.name in FIXED)
    after = oracle.run(moved, feeds)
    assert all(after[n].tobytes() == a.tobytes() for n, a in oracle.run(graph, feeds).items())
