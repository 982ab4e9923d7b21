"""TOSA files: what is written is read again, both forms mean the same, and what can't be written is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import serialize, types
from tosa_engine.check import check
from tosa_engine.errors import DataError, GraphError, Problems, Unsupported, UsageError
from tosa_engine.graph import Block, Graph, Location, Operator, Region, Tensor, new_graph
from tosa_engine.lower.composites import compose
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.spec import OpSpec, Row

ROWS = [(spec, row) for spec in TABLE.values() for row in spec.rows]
ROW_NAMES = [f"{spec.name}-{row.key}" for spec, row in ROWS]
MODELS = Path(__file__).parents[3] / "shared" / "models" / "tosa"


def described(graph: Graph) -> Any:
    """Everything a file keeps, in a form that `==` compares."""

    def tensor(t: Tensor) -> Any:
        data = None if t.data is None else (t.data.dtype, t.data.shape, t.data.tobytes())
        return t.name, t.dtype, t.shape, data, t.variable, t.variable_name

    def attribute(value: Any) -> Any:
        return (value.dtype, value.tolist()) if isinstance(value, np.ndarray) else value

    def block(b: Block) -> Any:
        operators = [
            (o.op, o.inputs, o.outputs, {n: attribute(v) for n, v in o.attributes.items()}, o.location)
            for o in b.operators
        ]
        return b.name, b.inputs, b.outputs, {n: tensor(t) for n, t in b.tensors.items()}, operators

    return graph.version, graph.draft, [(r.name, [block(b) for b in r.blocks]) for r in graph.regions]


def through_binary(graph: Graph) -> Graph:
    return serialize.tosa_from_bytes(serialize.tosa_to_bytes(graph))


def through_external(graph: Graph) -> Graph:
    return serialize.tosa_from_bytes(serialize.tosa_to_bytes(graph, external=True))


def through_json(graph: Graph) -> Graph:
    return serialize.json_from_text(serialize.json_to_text(graph))


FORMS = [through_binary, through_external, through_json]


def many_kinds() -> Graph:
    """Two regions, all kinds of tensors, names and locations that are hard to keep."""
    graph = Graph([Region("main", [Block("main")]), Region("then", [Block("a"), Block("b")])], (1, 1, 0), draft=True)
    block = graph.main
    block.add(Tensor("größe 大", types.i8, (2, 0x7FFFFFFF)))
    block.add(Tensor("scalar", types.fp32, (), np.asarray(np.nan, np.float32)))
    block.add(Tensor("unknown", types.i32, None))
    block.add(Tensor("state", types.i16, (2,), np.asarray([-5, 7], np.int16), variable=True, variable_name="v\nv"))
    block.add(Tensor("empty_shape", types.shape, (0,), np.zeros(0, np.int64)))
    block.add(Tensor("shape", types.shape, (2,), np.asarray([-1, 1 << 62], np.int64)))
    block.add(Tensor("dynamic_shape", types.shape, (3,)))
    block.add(Tensor("empty", types.i48, (3, 0), np.zeros((3, 0), np.int64)))
    block.inputs, block.outputs = ["größe 大", "unknown"], ["shape"]
    block.operators = [
        Operator("CONST", [], ["scalar"], location=Location(name='layer "1"\\\u0007')),
        Operator("CONST", [], ["empty"]),
        Operator("CONST_SHAPE", [], ["empty_shape"]),
        Operator("ADD", ["nowhere", "größe 大"], ["also nowhere"]),
    ]
    return graph


@pytest.mark.parametrize("through", FORMS)
@pytest.mark.parametrize(("spec", "row"), ROWS, ids=ROW_NAMES)
def test_every_row_survives(spec: OpSpec, row: Row, through: Callable[[Graph], Graph]) -> None:
    graph = spec.example(row).graph()
    wanted = graph.copy()
    for operator in wanted.main.operators:  # defaults are written out
        known = TABLE[operator.op].attributes
        operator.attributes = {a.name: operator.attributes.get(a.name, a.default) for a in known}
    again = through(graph)
    assert described(again) == described(wanted)
    assert check(again) == []
    assert serialize.tosa_to_bytes(again) == serialize.tosa_to_bytes(graph)


@pytest.mark.parametrize("through", FORMS)
def test_every_field_survives(through: Callable[[Graph], Graph]) -> None:
    assert described(through(many_kinds())) == described(many_kinds())


@pytest.mark.parametrize("through", FORMS)
def test_every_format_survives(through: Callable[[Graph], Graph]) -> None:
    rng = np.random.default_rng(3)
    graph = new_graph()
    for dtype in types.ALL:
        if dtype is types.shape:
            continue
        bits = 1 if dtype is types.bool_ else dtype.bits
        shift = np.uint64(64 - bits)
        raw = rng.integers(0, 1 << 64, 33, np.uint64, endpoint=False) >> shift
        if dtype.is_int:
            values = ((raw << shift).view(np.int64) >> np.int64(64 - bits)).astype(dtype.storage)
        elif dtype.storage.kind == "f":
            values = raw.astype(f"u{dtype.storage.itemsize}").view(dtype.storage)
        else:
            values = raw.astype(dtype.storage)
        graph.main.add(Tensor(dtype.name, dtype, (3, 11), values.reshape(3, 11)))
        graph.main.operators.append(Operator("CONST", [], [dtype.name]))
    assert described(through(graph)) == described(graph)


def test_data_read_is_writable_and_aligned() -> None:
    graph = through_binary(TABLE["CONST"].example(TABLE["CONST"].row("i48")).graph())
    data = graph.outputs[0].data
    assert data is not None
    assert data.flags.writeable
    assert data.flags.aligned
    assert data.flags.c_contiguous


def test_the_unknown_place_of_mlir_is_no_name() -> None:
    graph = many_kinds()
    graph.main.operators[0].location = Location(name="loc(unknown)")
    assert through_binary(graph).main.operators[0].location is None


def test_a_location_without_a_name_is_written_as_its_place() -> None:
    graph = many_kinds()
    graph.main.operators[0].location = Location("net.nnef", 12)
    graph.main.operators[1].location = Location("net.nnef", 13, "conv1")
    graph.main.operators[2].location = Location()
    found = [op.location for op in through_binary(graph).main.operators]
    assert found[:3] == [Location(name="net.nnef:12"), Location(name="conv1"), None]


def test_both_forms_in_files(tmp_path: Path) -> None:
    for name in ("g.tosa", "g.json", "other.TOSA"):
        serialize.write(many_kinds(), tmp_path / name)
        again = serialize.read(tmp_path / name)
        assert described(again) == described(many_kinds())
        assert again.source == str(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["g.json", "g.tosa", "other.TOSA"]


def test_constants_too_large_for_the_flatbuffer_lie_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = many_kinds()
    inline, behind = serialize.tosa_to_bytes(graph), serialize.tosa_to_bytes(graph, external=True)
    assert inline != behind
    monkeypatch.setattr(serialize, "INLINE_LIMIT", 7)
    assert serialize.tosa_to_bytes(graph) == behind
    monkeypatch.setattr(serialize, "INLINE_LIMIT", 8)
    assert serialize.tosa_to_bytes(graph) == inline


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "g.tosa"
    serialize.write(many_kinds(), path)
    broken = many_kinds()
    broken.main.operators[3].attributes["axis"] = 1
    with pytest.raises(GraphError, match="ADD has no attributes called axis"):
        serialize.write(broken, path)
    assert described(serialize.read(path)) == described(many_kinds())
    (tmp_path / "folder.tosa").mkdir()
    with pytest.raises(DataError, match=r"folder\.tosa: Is a directory"):
        serialize.write(many_kinds(), tmp_path / "folder.tosa")
    with pytest.raises(DataError, match=r"g\.tosa: No such file"):
        serialize.write(many_kinds(), tmp_path / "nowhere" / "g.tosa")
    assert sorted(os.listdir(tmp_path)) == ["folder.tosa", "g.tosa"]


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.tosa: No such file"):
        serialize.read(tmp_path / "nothing.tosa")
    (tmp_path / "d.json").mkdir()
    with pytest.raises(DataError, match="Is a directory"):
        serialize.read(tmp_path / "d.json")
    with pytest.raises(UsageError, match=r"g\.onnx: a TOSA file ends in \.tosa or \.json"):
        serialize.read(tmp_path / "g.onnx")
    with pytest.raises(UsageError, match=r"external=True is for \.tosa"):
        serialize.write(many_kinds(), tmp_path / "g.json", external=True)


def case_graph(name: str, row: int = 0, **attributes: Any) -> Graph:
    graph = TABLE[name].example(TABLE[name].rows[row]).graph()
    graph.main.operators[-1].attributes.update(attributes)
    return graph


def const_graph(dtype: types.DType, values: Any, shape: types.Shape | None = None) -> Graph:
    graph = new_graph()
    graph.main.add(Tensor("c", dtype, np.shape(values) if shape is None else shape, np.asarray(values)))
    return graph


REFUSED = {
    "CLAMP: max_val: i8 can't hold 300 (node 'output')": case_graph("CLAMP", max_val=300),
    "CLAMP: min_val: i8 can't hold the number 0.5 (node 'output')": case_graph("CLAMP", min_val=0.5),
    "CLAMP: max_val: 1e+39 is beyond the largest fp32 (node 'output')": case_graph("CLAMP", -1, max_val=1e39),
    "CLAMP: nan_mode: can't hold 'MAYBE' (node 'output')": case_graph("CLAMP", nan_mode="MAYBE"),
    "REDUCE_SUM: axis 2147483648 doesn't fit the 32 bits of the file (node 'output')": case_graph(
        "REDUCE_SUM", axis=1 << 31
    ),
    "REDUCE_SUM: axis: can't hold '1' (node 'output')": case_graph("REDUCE_SUM", axis="1"),
    "TRANSPOSE: perms: can't hold 3 (node 'output')": case_graph("TRANSPOSE", perms=3),
    "RESCALE: attribute 'scale32' is missing (node 'output')": case_graph("RESCALE", scale32=None),
    "RESCALE: scale32: can't hold 'yes' (node 'output')": case_graph("RESCALE", scale32="yes"),
    "i4 holds -8 to 7, got 8 at element 1 (tensor 'c')": const_graph(types.i4, np.asarray([1, 8], np.int8)),
    "i48 holds -140737488355328 to 140737488355327, got 140737488355328 at element 0 (tensor 'c')": const_graph(
        types.i48, np.asarray([1 << 47])
    ),
    "fp4e2m1 holds 0 to 15, got 16 at element 0 (tensor 'c')": const_graph(types.fp4e2m1, np.asarray([16], np.uint8)),
    "i8 is held in int8, got int64 (tensor 'c')": const_graph(types.i8, np.asarray([1])),
    "the data has shape [2], the tensor [3] (tensor 'c')": const_graph(types.i8, np.zeros(2, np.int8), (3,)),
    "a shape is a list of sizes: one dimension, not a variable (tensor 'c')": const_graph(
        types.shape, np.zeros((1, 1), np.int64)
    ),
    "dimension 2147483648 doesn't fit the 32 bits of the file (tensor 'c')": Graph(
        [Region("main", [Block("main", tensors={"c": Tensor("c", types.i8, (1 << 31,))})])]
    ),
    "'\\ud800' can't be written as UTF-8": Graph([Region("main", [Block("\ud800")])]),
    "block 'main' calls the tensor 'c' 'd'": Graph(
        [Region("main", [Block("main", tensors={"d": Tensor("c", types.i8, ())})])]
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_a_file_cannot_hold_is_refused(message: str) -> None:
    for convert in (serialize.tosa_to_bytes, serialize.json_to_text):
        with pytest.raises(GraphError) as caught:
            convert(REFUSED[message])
        assert str(caught.value) == message


def test_operators_without_an_entry_cannot_be_written_and_are_all_named() -> None:
    graph = many_kinds()
    graph.main.operators[0].op, graph.main.operators[1].op = "DIM", "FFT3D"
    with pytest.raises(Problems) as caught:
        serialize.tosa_to_bytes(graph)
    assert [p.message for p in caught.value.problems] == [
        "no operator DIM: it can't be written", "no operator FFT3D: it can't be written",
    ]  # fmt: skip


UNKNOWN_OPERATORS = """{
  "version": {"_major": 1, "_minor": 1, "_patch": 0},
  "regions": [{"name": "main", "blocks": [{"name": "main", "inputs": ["x"], "outputs": ["y"],
    "tensors": [{"name": "x", "type": "FP8UE8M0", "shape": [2]}, {"name": "y", "type": "MXINT8", "shape": [2]}],
    "operators": [
      {"op": "MATMUL_T", "attribute_type": "MatMulTAttribute", "inputs": ["x"], "outputs": ["h"],
       "attribute": {"operator_name": "}]\\"{", "implementation_attrs": [1, 2], "more": [{"a": [null, 1.5]}]}},
      {"op": "DIM", "attribute_type": "DimAttribute", "attribute": {}, "inputs": ["h"], "outputs": ["i"]},
      {"op": 5000, "inputs": ["i"], "outputs": ["y"]}
    ]}]}]}"""


def test_operators_without_an_entry_are_kept_by_name() -> None:
    graph = serialize.json_from_text(UNKNOWN_OPERATORS)
    assert [op.op for op in graph.main.operators] == ["MATMUL_T", "DIM", "OP_5000"]
    assert [op.attributes for op in graph.main.operators] == [{}, {}, {}]
    assert (graph.version, graph.draft) == ((1, 1, 0), True)
    assert [t.dtype for t in graph.inputs] == [types.fp8ue8m0]
    unsupported = [p for p in check(graph) if isinstance(p, Unsupported)]
    assert [any(name in str(p) for p in unsupported) for name in ("MATMUL_T", "DIM", "OP_5000")] == [True] * 3


def test_composites_are_expanded_when_written() -> None:
    graph = new_graph()
    x, y = (graph.main.add(Tensor(name, types.fp32, (2, 5))) for name in "xy")
    graph.main.inputs, graph.main.outputs = ["x"], ["y"]
    graph.main.operators = [compose("softmax", x, y, {"axis": 1})]
    for through in FORMS:
        again = through(graph)
        assert {op.op for op in again.main.operators} == {
            "REDUCE_MAX",
            "SUB",
            "EXP",
            "REDUCE_SUM",
            "RECIPROCAL",
            "MUL",
            "CONST",
        }
        assert check(again) == []
    assert [op.op for op in graph.main.operators] == ["softmax"]


def test_reading_and_writing_import_no_numba(tmp_path: Path) -> None:
    serialize.write(many_kinds(), tmp_path / "g.tosa")
    code = (
        "import sys; from tosa_engine import serialize as s; name = sys.argv[1]; s.write(s.read(name), name + '.json')"
    )
    code += "; sys.exit('numba' in sys.modules)"
    root = Path(serialize.__file__).parents[2]
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "g.tosa")], check=True, cwd=root)


def test_twenty_megabytes_are_read_without_a_loop_over_elements() -> None:
    graph = new_graph()
    for dtype, count in ((types.i8, 16_000_000), (types.i4, 2_000_000), (types.i48, 400_000), (types.i32, 200_000)):
        values = (np.arange(count) % 15 - 7).astype(dtype.storage)
        graph.main.add(Tensor(dtype.name, dtype, (count,), values))
    content = serialize.tosa_to_bytes(graph)
    start = time.process_time()
    serialize.tosa_from_bytes(content)
    assert time.process_time() - start < 5  # of processor time; 0.1 s as measured


@pytest.mark.skipif(not MODELS.is_dir(), reason="needs the folder ../shared/models/tosa")
@pytest.mark.parametrize("name", ["small_cnn.int8", "ds_cnn_kws.int16", "lstm_T8.int8", "autoencoder_640.int8"])
def test_graphs_by_other_writers(name: str) -> None:
    graph = serialize.read(MODELS / name / "model.tosa")
    assert check(graph) == []
    for through in FORMS:
        assert described(through(graph)) == described(graph)
