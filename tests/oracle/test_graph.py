"""Running graphs through the oracle: feeds, order, probes, composites; drawn cases give what their entries declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings

from tosa_engine import graph as g
from tosa_engine import oracle, types
from tosa_engine.compliance.cases import cases
from tosa_engine.errors import DataError, Problems, RequireViolation, Unsupported
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from tosa_engine.types import Array, DType, Shape


def block_of(
    operators: list[g.Operator], tensors: dict[str, tuple[DType, Shape | None]], inputs: list[str], outputs: list[str]
) -> g.Block:
    block = g.Block("main", inputs, outputs, {}, operators)
    for name, (dtype, shape) in tensors.items():
        block.add(g.Tensor(name, dtype, shape))
    return block


def graph_of(block: g.Block) -> g.Graph:
    return g.Graph([g.Region("main", [block])])


def sums(*operators: g.Operator) -> g.Graph:
    """Of inputs a and b: c = a + b, d = c + a."""
    pairs = dict.fromkeys("ab", (types.i32, (2,))) | dict.fromkeys("cd", (types.i32, None))
    ordered = [*operators] or [g.Operator("ADD", ["a", "b"], ["c"]), g.Operator("ADD", ["c", "a"], ["d"])]
    return graph_of(block_of(ordered, pairs, ["a", "b"], ["d", "a"]))


def ints(*values: int) -> Array:
    return np.array(values, np.int32)


FEEDS = {"a": ints(1, 2), "b": ints(10, 20)}


def test_outputs_by_name_and_graph_unchanged() -> None:
    graph = sums()
    outputs = oracle.run(graph, FEEDS)
    assert {name: array.tolist() for name, array in outputs.items()} == {"d": [12, 24], "a": [1, 2]}
    assert graph.main.tensors["d"].shape is None
    outputs["a"][0] = 99
    assert FEEDS["a"].tolist() == [1, 2]


def test_operators_run_in_the_order_of_their_data() -> None:
    graph = sums(g.Operator("ADD", ["c", "a"], ["d"]), g.Operator("ADD", ["a", "b"], ["c"]))
    assert oracle.run(graph, FEEDS)["d"].tolist() == [12, 24]


def test_probe_sees_every_operator_output_and_changes_nothing() -> None:
    seen: list[tuple[str, str, list[int]]] = []

    def probe(node: str, tensor: str, array: Array) -> None:
        seen.append((node, tensor, array.tolist()))
        array[...] = 0

    outputs = oracle.run(sums(), FEEDS, probe)
    assert seen == [("c", "c", [11, 22]), ("d", "d", [12, 24])]
    assert outputs["d"].tolist() == [12, 24]


def test_composites_run_their_body() -> None:
    pairs = dict.fromkeys("xyz", (types.i32, (2,))) | {"total": (types.i32, None)}
    body = block_of(
        [g.Operator("ADD", ["x", "y"], ["z"]), g.Operator("ADD", ["z", "z"], ["total"])], pairs, ["x", "y"], ["total"]
    )
    composite = g.Composite("twice", ["a", "b"], ["c"], {}, None, body)
    graph = sums(composite, g.Operator("ADD", ["c", "a"], ["d"]))
    seen: list[str] = []
    outputs = oracle.run(graph, FEEDS, lambda node, tensor, array: seen.append(f"{node}/{tensor}"))
    assert outputs["d"].tolist() == [23, 46]
    assert seen == ["z/z", "total/total", "c/c", "d/d"]


def test_violation_names_the_node_by_its_source() -> None:
    add = g.Operator("ADD", ["a", "b"], ["c"], {}, g.Location("m.nnef", 7, "sum1"))
    graph = sums(add, g.Operator("ADD", ["c", "a"], ["d"]))
    with pytest.raises(RequireViolation) as caught:
        oracle.run(graph, {"a": ints(0, 1), "b": ints(0, 2147483647)})
    assert str(caught.value) == (
        "ADD.R1: sum 2147483648 is beyond -2147483648 .. 2147483647 at [1] (node 'sum1', tensor 'c')"
    )
    assert caught.value.index == (1,)


@pytest.mark.parametrize(
    ("feeds", "text"),
    [
        ({"a": FEEDS["a"]}, "missing input, wanted int32[2] for i32 (tensor 'b')"),
        (FEEDS | {"c": ints(1)}, "unknown input; the graph's inputs: a, b (tensor 'c')"),
        (FEEDS | {"b": ints(1, 2, 3)}, "wrong input: wanted int32[2] for i32, got int32[3] (tensor 'b')"),
        (FEEDS | {"b": np.zeros(2, np.int64)}, "wrong input: wanted int32[2] for i32, got int64[2] (tensor 'b')"),
    ],
)
def test_wrong_feeds(feeds: dict[str, Array], text: str) -> None:
    with pytest.raises(DataError) as caught:
        oracle.run(sums(), feeds)
    assert str(caught.value) == text


def test_all_wrong_feeds_at_once() -> None:
    with pytest.raises(Problems) as caught:
        oracle.run(sums(), {"b": np.zeros((), np.int8), "e": ints(1)})
    assert [problem.tensor for problem in caught.value.problems] == ["e", "a", "b"]
    assert caught.value.exit_code == 6


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        (types.i4, 8, "wrong input: wanted -8 .. 7 for i4, got 8 .. 8 (tensor 'a')"),
        (types.i48, 1 << 47, "wrong input: wanted -{0} .. {1} for i48, got {0} .. {0} (tensor 'a')"),
    ],
)
def test_feeds_beyond_narrow_formats(dtype: DType, value: int, text: str) -> None:
    pairs = {"a": (dtype, (1,)), "c": (dtype, None)}
    graph = graph_of(block_of([g.Operator("IDENTITY", ["a"], ["c"])], pairs, ["a"], ["c"]))
    with pytest.raises(DataError) as caught:
        oracle.run(graph, {"a": np.array([value], dtype.storage)})
    assert str(caught.value) == text.format(1 << 47, (1 << 47) - 1)


def test_unknown_operator() -> None:
    graph = sums(g.Operator("FFT3D", ["a", "b"], ["c"]), g.Operator("ADD", ["c", "a"], ["d"]))
    with pytest.raises((Unsupported, Problems), match="FFT3D"):
        oracle.run(graph, FEEDS)


ROWS = [(spec.name, row.key) for spec in TABLE.values() for row in spec.rows if spec.pure]


@pytest.mark.parametrize(("op", "row"), ROWS, ids=[f"{op}-{row}" for op, row in ROWS])
def test_every_row_gives_what_its_entry_declares(op: str, row: str) -> None:
    """Format, shape and range of the output; a label of the entry on a violation; inputs stay as they are."""

    @settings(max_examples=25)
    @given(cases(op, row))
    def check(case: tuple[g.Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        before = {name: array.copy() for name, array in feeds.items()}
        output = outcome(graph, feeds)
        if isinstance(output, RequireViolation):
            check_violation(output, graph)
        else:
            wanted = graph.outputs[0]
            assert isinstance(output, np.ndarray)
            assert (output.dtype, output.shape) == (wanted.dtype.storage, wanted.shape)
            if wanted.dtype.is_int:
                assert output.min() >= wanted.dtype.minimum
                assert output.max() <= wanted.dtype.maximum
        for name, array in feeds.items():
            assert array.tobytes() == before[name].tobytes()

    check()


def outcome(graph: g.Graph, feeds: dict[str, Array]) -> Array | RequireViolation:
    try:
        return oracle.run(graph, feeds)[graph.main.outputs[0]]
    except RequireViolation as error:
        return error


def check_violation(error: RequireViolation, graph: g.Graph) -> None:
    requires = TABLE[graph.main.operators[-1].op].requires
    assert error.label in {require.label for require in requires}
    shape = graph.outputs[0].shape or ()
    assert error.index is not None
    assert all(0 <= i < n for i, n in zip(error.index, shape, strict=True))
