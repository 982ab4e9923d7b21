"""Passes keep what a graph computes, leave their input alone, and give legal graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import check, oracle, passes, types
from tosa_engine.graph import Composite, Graph, Location, Operator, QParams, Tensor, copy_block, new_graph
from tosa_engine.lower import views
from tosa_engine.lower.composites import BODIES, grouped
from tosa_engine.lower.writer import Writer
from tosa_engine.passes import batch_norm, composites, dead_code, folding, names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(0)


def graph_of(shape: tuple[int, ...], build: Callable[[Writer, Tensor], Tensor]) -> Graph:
    """A graph with input `x` and one output."""
    graph = new_graph()
    block = graph.main
    x = block.add(Tensor("x", types.fp32, shape))
    block.inputs = ["x"]
    block.outputs = [build(Writer(block), x).name]
    check.validate(graph)
    return graph


def run(graph: Graph, x: Array) -> Array:
    check.validate(graph)
    return oracle.run(graph, {"x": x})[graph.main.outputs[0]]


def kinds(graph: Graph) -> list[str]:
    return [op.op for op in graph.main.operators if op.op not in ("CONST", "CONST_SHAPE")]


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def composite(name: str, **attributes: Any) -> Callable[[Writer, Tensor], Tensor]:
    def build(emit: Writer, x: Tensor) -> Tensor:
        return grouped(emit, name, x, **attributes)

    return build


MEANINGS: list[tuple[str, dict[str, Any], Callable[[Any], Any]]] = [
    ("sigmoid", {}, lambda x: 1 / (1 + np.exp(-x))),
    ("tanh", {}, np.tanh),
    ("softmax", {"axis": 1}, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    ("mean", {"axes": (2, 1)}, lambda x: x.mean((1, 2), keepdims=True)),
]


@pytest.mark.parametrize(("name", "attributes", "meaning"), MEANINGS, ids=[m[0] for m in MEANINGS])
def test_composites_mean_what_their_names_say(
    name: str, attributes: dict[str, Any], meaning: Callable[[Any], Any]
) -> None:
    x = normal(2, 3, 4)
    graph = graph_of(x.shape, composite(name, **attributes))
    expanded = composites.expand(graph)
    assert kinds(graph) == [name]
    assert name not in kinds(expanded)
    np.testing.assert_allclose(run(graph, x), meaning(x.astype(np.float64)), atol=1e-6)
    assert run(expanded, x).tobytes() == run(graph, x).tobytes()


def test_every_composite_is_tested() -> None:
    assert {m[0] for m in MEANINGS} == set(BODIES)


def test_expanding_twice_the_same_composite_keeps_names_apart() -> None:
    def build(emit: Writer, x: Tensor) -> Tensor:
        return emit.binary(
            "ADD", composite("sigmoid")(emit, composite("sigmoid")(emit, x)), composite("sigmoid")(emit, x)
        )

    x = normal(3)
    graph = graph_of(x.shape, build)
    expanded = composites.run(graph)
    check.validate(expanded)
    assert run(expanded, x).tobytes() == run(graph, x).tobytes()
    assert not any(isinstance(op, Composite) for op in expanded.main.operators)


def test_dead_code() -> None:
    def build(emit: Writer, x: Tensor) -> Tensor:
        emit.unary("EXP", emit.unary("ABS", x))
        emit.const(normal(3), types.fp32)
        return emit.unary("ABS", x)

    graph = graph_of((3,), build)
    graph.main.add(Tensor("stray", types.fp32, (1,)))
    graph.main.add(Tensor("unused input", types.fp32, (1,)))
    graph.main.inputs.append("unused input")
    cleaned = dead_code.run(graph)
    assert kinds(cleaned) == ["ABS"]
    assert set(cleaned.main.tensors) == {"x", "unused input", graph.main.outputs[0]}
    assert len(graph.main.operators) == 4


def test_folding_computes_constants_with_the_oracle() -> None:
    a, b = normal(2, 3), normal(1, 3)

    def build(emit: Writer, x: Tensor) -> Tensor:
        total = emit.binary("ADD", emit.const(a, types.fp32), emit.const(b, types.fp32))
        turned = emit.operator("TRANSPOSE", [total], (3, 2), perms=(1, 0))
        joined = emit.concat([turned, turned], 0)
        return emit.binary("MUL", x, emit.unary("EXP", joined))

    graph = graph_of((6, 2), build)
    folded = folding.run(graph)
    assert kinds(folded) == ["MUL"]
    x = normal(6, 2)
    assert run(folded, x).tobytes() == run(graph, x).tobytes()
    assert kinds(graph) == ["ADD", "TRANSPOSE", "CONCAT", "EXP", "MUL"]


def test_folding_doesnt_blow_up_and_keeps_what_a_require_forbids() -> None:
    graph = new_graph()
    emit = Writer(graph.main)
    narrow = emit.const(np.ones((1, 1 << 13)), types.fp32)
    tall = emit.const(np.ones((1 << 13, 1)), types.fp32)
    wide = emit.binary("ADD", narrow, tall)
    low = emit.const(np.array([-(1 << 31)]), types.i32)
    over = emit.binary("ADD", low, low)
    graph.main.outputs = [wide.name, over.name]
    assert kinds(folding.run(graph)) == ["ADD", "ADD"]


def convolution(op: str, *, gain: Array, offset: Array, sub: bool = False, twice: bool = False) -> Graph:
    """x -> convolution -> MUL gain -> ADD offset (or offset - that)."""

    def build(emit: Writer, x: Tensor) -> Tensor:
        zero = emit.scalar(0.0)
        weight = normal(6, 3, 3, 2) if op == "CONV2D" else normal(3, 3, 2, 3)
        inputs = [x, emit.const(weight, types.fp32), emit.const(normal(6), types.fp32), zero, zero]
        y = emit.operator(
            op,
            inputs,
            (1, 5, 5, 6),
            types.fp32,
            pad=(1, 1, 1, 1),
            stride=(1, 1),
            dilation=(1, 1),
            acc_type=types.fp32,
            local_bound=False,
        )
        scaled = emit.binary("MUL", emit.const(gain, types.fp32), y)
        moved = emit.const(offset, types.fp32)
        z = emit.binary("SUB", moved, scaled) if sub else emit.binary("ADD", scaled, moved)
        return emit.binary("ADD", z, y) if twice else z

    return graph_of((1, 5, 5, 2), build)


@pytest.mark.parametrize("op", ["CONV2D", "DEPTHWISE_CONV2D"])
@pytest.mark.parametrize("shape", [(1, 1, 1, 6), (1, 1, 1, 1)])
@pytest.mark.parametrize("sub", [False, True])
def test_batch_norm_goes_into_the_convolution(op: str, shape: tuple[int, ...], sub: bool) -> None:
    graph = convolution(op, gain=normal(*shape), offset=normal(*shape), sub=sub)
    folded = batch_norm.run(graph)
    assert kinds(folded) == [op]
    assert folded.main.outputs == graph.main.outputs
    x = normal(1, 5, 5, 2)
    np.testing.assert_allclose(run(folded, x), run(graph, x), rtol=1e-5, atol=1e-5)


def product(steps: list[tuple[str, Any]], *, twice: bool = False) -> Graph:
    """x -> CONV2D of 1 x 1 to 6 channels -> RESHAPEs to shapes, and operators with constants."""

    def build(emit: Writer, x: Tensor) -> Tensor:
        zero = emit.scalar(0.0)
        inputs = [x, emit.const(normal(6, 1, 1, 4), types.fp32), emit.const(normal(6), types.fp32), zero, zero]
        attributes = {"pad": (0,) * 4, "stride": (1, 1), "dilation": (1, 1), "acc_type": types.fp32}
        y = first = emit.operator("CONV2D", inputs, (15, 1, 1, 6), types.fp32, local_bound=False, **attributes)
        for op, given in steps:
            y = emit.reshape(y, given) if op == "RESHAPE" else emit.binary(op, y, emit.const(given, types.fp32))
        return emit.binary("ADD", y, emit.reshape(first, y.shape)) if twice else y

    return graph_of((15, 1, 1, 4), build)


ROWS = ("RESHAPE", (3, 5, 6))


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([ROWS, ("ADD", normal(1, 1, 6))], ["CONV2D", "RESHAPE"]),
        (
            [("MUL", normal(1, 1, 1, 6)), ROWS, ("SUB", normal(1, 1, 1))],
            ["CONV2D", "RESHAPE"],
        ),
        ([ROWS, ("ADD", normal(1, 1, 6)), ("RESHAPE", (15, 6)), ("ADD", normal(1, 6))], ["CONV2D", "RESHAPE"]),
        ([ROWS, ("ADD", normal(1, 1, 6)), ("RESHAPE", (15, 6))], ["CONV2D", "RESHAPE", "RESHAPE"]),
        ([ROWS, ("MUL", normal(1, 1, 6))], ["CONV2D", "RESHAPE", "MUL"]),
        ([("RESHAPE", (3, 6, 5)), ("ADD", normal(1, 6, 1))], ["CONV2D", "RESHAPE", "ADD"]),
        ([("RESHAPE", (6, 15)), ("ADD", normal(1, 15))], ["CONV2D", "RESHAPE", "ADD"]),
        ([ROWS, ("ADD", normal(1, 5, 6))], ["CONV2D", "RESHAPE", "ADD"]),
    ],
)
def test_a_bias_behind_a_reshape_goes_into_the_convolution(steps: list[tuple[str, Any]], left: list[str]) -> None:
    graph = product(steps)
    folded = batch_norm.run(graph)
    assert kinds(folded) == left
    assert folded.main.outputs == graph.main.outputs
    x = normal(15, 1, 1, 4)
    np.testing.assert_allclose(run(folded, x), run(graph, x), rtol=1e-5, atol=1e-5)


def test_the_name_of_a_result_without_its_bias_is_gone() -> None:
    """What the convolution gives is another number now; the result with its bias keeps its name."""
    graph = product([ROWS, ("ADD", normal(1, 1, 6))])
    names = {op.op: op.outputs[0] for op in graph.main.operators}
    folded = dead_code.run(batch_norm.run(graph))
    assert names["ADD"] in folded.main.tensors
    assert not {names["CONV2D"], names["RESHAPE"]} & folded.main.tensors.keys()
    for name in (names["CONV2D"], names["RESHAPE"]):
        hinted = product([ROWS, ("ADD", normal(1, 1, 6))])
        hinted.main.tensors[name].quant = QParams((0.5,), (0,))
        assert kinds(batch_norm.run(hinted)) == kinds(hinted)
    read = product([ROWS, ("ADD", normal(1, 1, 6))], twice=True)
    assert kinds(batch_norm.run(read)) == kinds(read)


def test_batch_norm_leaves_a_convolution_with_another_reader_or_a_spatial_factor() -> None:
    twice = convolution("CONV2D", gain=normal(1, 1, 1, 6), offset=normal(1, 1, 1, 6), twice=True)
    assert kinds(batch_norm.run(twice)) == ["CONV2D", "MUL", "ADD", "ADD"]
    spatial = convolution("CONV2D", gain=normal(1, 5, 1, 1), offset=normal(1, 1, 1, 6))
    assert kinds(batch_norm.run(spatial)) == ["CONV2D", "MUL", "ADD"]
    output = convolution("CONV2D", gain=normal(1, 1, 1, 6), offset=normal(1, 1, 1, 6))
    conv = next(op for op in output.main.operators if op.op == "CONV2D")
    output.main.outputs.append(conv.outputs[0])
    assert kinds(batch_norm.run(output)) == ["CONV2D", "MUL", "ADD"]


def test_batch_norm_leaves_weights_that_others_read() -> None:
    graph = convolution("CONV2D", gain=normal(1, 1, 1, 6), offset=normal(1, 1, 1, 6))
    conv = next(op for op in graph.main.operators if op.op == "CONV2D")
    graph.main.outputs.append(conv.inputs[1])
    before = oracle.run(graph, {"x": normal(1, 5, 5, 2)})[conv.inputs[1]]
    after = oracle.run(batch_norm.run(graph), {"x": normal(1, 5, 5, 2)})[conv.inputs[1]]
    assert before.tobytes() == after.tobytes()


def test_names() -> None:
    graph = graph_of((3,), lambda e, x: e.unary("ABS", composite("sigmoid")(e, e.unary("EXP", x))))
    inner = [n for n in graph.main.tensors if n not in ("x", *graph.main.outputs)]
    for name in inner:
        graph.main.tensors[name].source = Location("f", 1, f"value of {name}")
    graph.main.tensors[graph.main.outputs[0]].source = Location("f", 1, "another")
    named = names.run(graph)
    assert {f"value of {n}" for n in inner} < set(named.main.tensors)
    assert named.main.outputs == graph.main.outputs
    assert all(name == tensor.name for name, tensor in named.main.tensors.items())
    x = normal(3)
    assert run(composites.run(named), x).tobytes() == run(graph, x).tobytes()


def test_names_of_two_views_dont_meet() -> None:
    graph = graph_of((3,), lambda e, x: e.unary("ABS", e.unary("EXP", e.unary("EXP", x))))
    for tensor in graph.main.tensors.values():
        tensor.source = Location("f", 1, "v")
    named = names.run(graph)
    check.validate(named)
    assert "v" in named.main.tensors


@pytest.mark.parametrize(
    ("old", "axis", "new", "wanted"),
    [
        ((4, 3), 0, (4, 1, 1, 3), 0),
        ((1, 4), 1, (4,), 0),
        ((1, 4, 1, 1), 1, (1, 4), 1),
        ((3, 3, 6, 1), 2, (3, 3, 2, 3), 2),
        ((3, 3, 6, 1), 2, (3, 3, 1, 6), 3),
        ((2, 4), 1, (8,), None),
        ((2, 4), 0, (8,), None),
        ((2, 6), 1, (2, 4, 3), None),
    ],
)
def test_hints_through_reshape(old: tuple[int, ...], axis: int, new: tuple[int, ...], wanted: int | None) -> None:
    quant = QParams((1.0,) * old[axis], (0,) * old[axis], axis=axis)
    found = views.reshaped(quant, old, new)
    assert (None if found is None else found.axis) == wanted


@pytest.mark.parametrize("perms", [(0, 2, 3, 1), (3, 1, 0, 2)])
def test_hints_through_transpose(perms: tuple[int, ...]) -> None:
    shape = (2, 3, 4, 5)
    for axis in range(4):
        found = views.transposed(QParams((1.0,) * shape[axis], (0,), axis=axis), perms)
        assert found is not None
        assert found.axis is not None
        assert np.zeros(shape).transpose(perms).shape[found.axis] == shape[axis]
    assert views.transposed(None, perms) is None
    per_tensor = QParams((1.0,), (0,))
    assert views.transposed(per_tensor, perms) is per_tensor


@pytest.mark.parametrize("name", [*sorted(passes.PIPELINE), "run_pipeline"])
def test_no_pass_changes_its_input(name: str, digits: Path) -> None:
    from tosa_engine.frontends import nnef

    graph = nnef.map_document(nnef.load_document(digits / "digits.nnef"))
    run_pass = passes.run_pipeline
    for step, change in passes.PIPELINE.items() if name in passes.PIPELINE else ():
        if step == name:
            run_pass = getattr(passes, step.split()[0]).run
            break
        change(graph)
    block, before = graph.main, copy_block(graph.main)
    after = run_pass(graph)
    assert block.inputs == before.inputs
    assert block.outputs == before.outputs
    assert [(o.op, o.inputs, o.outputs, o.attributes) for o in block.operators] == [
        (o.op, o.inputs, o.outputs, o.attributes) for o in before.operators
    ]
    assert {n: (t.shape, t.quant, t.source, id(t.data)) for n, t in block.tensors.items()} == {
        n: (t.shape, t.quant, t.source, id(t.data)) for n, t in before.tensors.items()
    }
    check.validate(after)


def test_parts_of_a_tensor_have_its_hint_while_their_values_are_its_own() -> None:
    graph = new_graph()
    emit = Writer(graph.main)
    hint, per_channel = QParams((0.5,), (3,)), QParams((0.5, 1.0), (0, 0), axis=1)
    x = graph.main.add(Tensor("x", types.fp32, (2, 2), quant=hint))
    assert emit.pad(x, (1, 0), (0, 0)).quant == hint
    assert emit.pad(x, (1, 0), (0, 0), 2.5).quant is None
    assert emit.slice(x, (0, 1), (2, 1)).quant == hint
    x.quant = per_channel
    assert emit.pad(x, (1, 0), (0, 0)).quant is None
    assert emit.slice(x, (0, 1), (2, 1)).quant is None


def test_passes_leave_unknown_operators_alone() -> None:
    graph = graph_of((3,), lambda e, x: e.unary("ABS", x))
    graph.main.operators.append(Operator("ERF", [graph.main.outputs[0]], ["z"]))
    graph.main.add(Tensor("z", types.fp32, (3,)))
    graph.main.outputs = ["z"]
    assert kinds(passes.run_pipeline(graph)) == ["ABS", "ERF"]


ENDLESS = np.float32([[0, -np.inf, 0.5], [0, 0, -1e30]])


@pytest.mark.parametrize(
    ("mask", "wanted"),
    [
        (ENDLESS, ["ADD", "SELECT", "softmax"]),
        (np.minimum(ENDLESS, 0), ["SELECT", "softmax"]),
        (np.maximum(ENDLESS, -30), ["ADD", "softmax"]),
        (ENDLESS[:, 1:2], ["ADD", "softmax"]),
        (np.float32([[0, 0, 0], [-np.inf] * 3]), ["ADD", "softmax"]),
    ],
    ids=["and numbers", "alone", "of numbers in range", "of rows", "that leaves nothing of a row"],
)
def test_masks_before_softmax(mask: Array, wanted: list[str]) -> None:
    def added(e: Writer, x: Tensor) -> Tensor:
        return grouped(e, "softmax", e.binary("ADD", x, e.const(mask, types.fp32)), axis=1)

    graph = graph_of((2, 3), added)
    made = passes.masks.run(graph)
    check.validate(made)
    assert kinds(made) == wanted
    x = np.float32([[1, 2, 3], [-1, 5, 900]])
    got, exact = (oracle.run(g, {"x": x})[g.main.outputs[0]] for g in (made, graph))
    np.testing.assert_array_equal(got, exact)


@pytest.mark.parametrize("hint", [None, QParams((0.5,), (3,))])
def test_a_mask_with_a_hint_or_another_reader_stays(hint: QParams | None) -> None:
    def added(e: Writer, x: Tensor) -> Tensor:
        total = e.binary("ADD", x, e.const(ENDLESS, types.fp32))
        total.quant = hint
        found = grouped(e, "softmax", total, axis=1)
        return found if hint is not None else e.binary("ADD", total, found)

    assert "SELECT" not in kinds(passes.masks.run(graph_of((2, 3), added)))


@pytest.mark.parametrize("least", [-1e9, -1e4, -100.0])
def test_a_low_number_that_a_mask_chooses_before_softmax_is_endless(least: float) -> None:
    def masked(e: Writer, x: Tensor) -> Tensor:
        test = e.const(np.tri(3, dtype=np.bool_), types.bool_)
        chosen = e.operator("SELECT", [test, x, e.const(np.full((1, 1), least), types.fp32)], (3, 3), types.fp32)
        return grouped(e, "softmax", chosen, axis=1)

    made = passes.masks.run(graph_of((3, 3), masked)).main
    (select,) = [op for op in made.operators if op.op == "SELECT"]
    data = made.tensors[select.inputs[2]].data
    assert data is not None
    assert float(data.max()) == (least if least > -1e4 else -np.inf)
