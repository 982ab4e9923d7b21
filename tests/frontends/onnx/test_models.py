"""ONNX models as a whole: ports, known shapes, branches, functions, external data, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import quant
from tosa_engine import oracle, types
from tosa_engine.check import validate
from tosa_engine.errors import DataError, Problems, TosaEngineError, Unsupported, UsageError
from tosa_engine.graph import QParams
from tosa_engine.load import load, open_model

pytest.importorskip("onnx", reason="needs the extra `onnx`")

from onnx import TensorProto, helper
from onnx_models import model, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome


def test_a_free_dimension_says_how_it_is_bound(tmp_path: Path) -> None:
    path = written(tmp_path, model([helper.make_node("Relu", ["x"], ["y"])], {"x": ["batch", 3]}, ["y"]))
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(caught.value) == ("m.onnx: input 'x' has the shape [batch, 3]: --shape x=N,3, or --dim batch=N binds it")
    assert load(path, dim={"batch": 2}).inputs[0].shape == (2, 3)
    assert load(path, shape={"x": (4, 5)}).inputs[0].shape == (4, 5)


def test_the_command_line_binds(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    node = helper.make_node("Mul", ["x", "k"], ["y"])
    path = written(tmp_path, model([node], {"x": ["n"], "k": []}, ["y"]))
    np.save(tmp_path / "x.npy", np.array([1, 2], np.float32))
    out = tmp_path / "y.npy"
    done = command("run", path, "--dim", "n=2", "--constant", "k=3", "-i", tmp_path / "x.npy", "-o", out)
    assert done.code == 0, done.err
    assert np.load(out).tolist() == [3, 6]
    assert command("run", path, "--dim", "m=2").err == "error: the model has no dimension 'm'; it has 'n'\n"


def test_shapes_that_a_model_computes_are_known(tmp_path: Path) -> None:
    """Flatten by Shape, Gather, Concat and Reshape."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Concat", ["n", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    constants = {"zero": np.array([0]), "rest": np.array([-1])}
    graph = load(written(tmp_path, model(nodes, {"x": [2, 3, 4]}, ["y"], constants)))
    assert [op.op for op in graph.main.operators if not op.op.startswith("CONST")] == ["RESHAPE"]
    assert graph.outputs[0].shape == (2, 12)


def test_what_depends_on_data_is_named_with_its_way(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], name="to_int", to=TensorProto.INT64),
        helper.make_node("Reshape", ["v", "i"], ["y"], name="last"),
    ]
    path = written(tmp_path, model(nodes, {"x": [2], "v": [6]}, ["y"]))
    with pytest.raises(Unsupported) as caught:
        load(path)
    assert str(caught.value) == (
        "m.onnx: Reshape last: the shape must be known before the graph runs, but depends on data: Cast to_int <- 'x'"
    )


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["a"]),
        helper.make_node("Abs", ["a"], ["b"]),
        helper.make_node("Nonsense", ["x"], ["c"], name="n"),
    ]
    with pytest.raises(Problems) as caught:
        load(written(tmp_path, model(nodes, {"x": [3]}, ["b", "c"])))
    assert [str(one) for one in caught.value.problems] == [
        "m.onnx: NonZero of 'a': TOSA can't express it: the shape of its result depends on data",
        "m.onnx: Nonsense n: this operator is unknown",
    ]


def test_a_branch_that_is_not_taken_may_be_wrong(tmp_path: Path) -> None:
    branches = [
        helper.make_graph([helper.make_node(op, ["x"], [name])], name, [], [helper.make_empty_tensor_value_info(name)])
        for op, name in (("Abs", "yes"), ("Nonsense", "no"))
    ]
    node = helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])
    graph = load(written(tmp_path, model([node], {"x": [3]}, ["y"], {"c": np.array(True)})))
    assert oracle.run(graph, {"x": np.array([-1, 2, -3], np.float32)})["y"].tolist() == [1, 2, 3]


def test_functions_of_the_model_are_mapped_where_they_are_called(tmp_path: Path) -> None:
    body = [helper.make_node("Mul", ["a", "a"], ["q"]), helper.make_node("Elu", ["q"], ["r"])]
    body[1].attribute.add(name="alpha", ref_attr_name="alpha", type=1)
    sets = [helper.make_opsetid("", 20)]
    function = helper.make_function("own", "Square", ["a"], ["r"], body, sets, ["alpha"])
    node = helper.make_node("Square", ["x"], ["y"], domain="own", name="sq", alpha=0.5)
    graph = load(written(tmp_path, model([node], {"x": [3]}, ["y"], functions=[function])))
    assert oracle.run(graph, {"x": np.array([1, 2, 3], np.float32)})["y"].tolist() == [1, 4, 9]
    assert "sq/q" in graph.main.tensors


def test_functions_without_end_are_refused(tmp_path: Path) -> None:
    sets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    body = [helper.make_node("Again", ["a"], ["r"], domain="own")]
    function = helper.make_function("own", "Again", ["a"], ["r"], body, sets)
    node = helper.make_node("Again", ["x"], ["y"], domain="own")
    with pytest.raises(Unsupported, match=r"nested more than 32 deep"):
        load(written(tmp_path, model([node], {"x": [3]}, ["y"], functions=[function])))


@pytest.mark.parametrize("place", ["../w.bin", "/etc/passwd", "a\\b", "", "link.bin"])
def test_external_data_stay_in_the_folder(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(b"\0" * 12)
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": [3]}, ["y"], {"w": np.zeros(3, np.float32)})
    held = proto.graph.initializer[0]
    held.ClearField("raw_data")
    held.data_location = TensorProto.EXTERNAL
    held.external_data.add(key="location", value=place)
    with pytest.raises(DataError, match="folder"):
        load(written(folder, proto))


def test_external_data_are_read(tmp_path: Path) -> None:
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": [3]}, ["y"], {"w": np.zeros(3, np.float32)})
    held = proto.graph.initializer[0]
    held.ClearField("raw_data")
    held.data_location = TensorProto.EXTERNAL
    held.external_data.add(key="location", value="w.bin")
    held.external_data.add(key="offset", value="4")
    (tmp_path / "w.bin").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    graph = load(written(tmp_path, proto))
    assert oracle.run(graph, {"x": np.zeros(3, np.float32)})["y"].tolist() == [1, 2, 3]
    (tmp_path / "w.bin").write_bytes(b"\0" * 15)
    with pytest.raises(DataError, match=r"w\.bin ends before byte 16"):
        load(tmp_path / "m.onnx")


@pytest.mark.parametrize("dims", [[1 << 40], [1 << 20, 1 << 20], [-1]])
def test_tensors_that_would_fill_the_memory_are_refused(tmp_path: Path, dims: list[int]) -> None:
    proto = model([helper.make_node("Add", ["x", "w"], ["y"])], {"x": [3]}, ["y"], {"w": np.zeros(3, np.float32)})
    proto.graph.initializer[0].dims[:] = dims
    with pytest.raises(DataError, match=r"initializer .w. has shape"):
        load(written(tmp_path, proto))
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["w"]), helper.make_node("Add", ["x", "w"], ["y"])]
    with pytest.raises(TosaEngineError, match=r"a (constant|result) of shape"):
        load(written(tmp_path, model(nodes, {"x": [3]}, ["y"], {"n": np.array(dims)})))


def test_a_cut_file_is_one_error(tmp_path: Path) -> None:
    """Only without its last operator set, which no node uses, a model is still whole."""
    proto = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [3]}, ["y"])
    whole, last = proto.SerializeToString(), proto.opset_import[1].ByteSize() + 2
    for size in set(range(len(whole))) - {len(whole) - last}:
        path = tmp_path / "m.onnx"
        path.write_bytes(whole[:size])
        with pytest.raises(TosaEngineError):
            load(path)


def test_a_circle_is_one_error(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Abs", ["a"], ["b"])]
    with pytest.raises(DataError, match="Add of 'a': reads 'b', which nothing before it computes"):
        load(written(tmp_path, model(nodes, {"x": [3]}, ["b"])))


@pytest.mark.slow("a hundred thousand nodes: 5 s")
def test_a_hundred_thousand_nodes_are_read(tmp_path: Path) -> None:
    """One Identity after the other."""
    count = 100_000
    nodes = [helper.make_node("Identity", [f"t{i}"], [f"t{i + 1}"]) for i in range(count)]
    graph = load(written(tmp_path, model(nodes, {"t0": [3]}, [f"t{count}"])))
    assert len(graph.main.operators) == 1


def quantized_network() -> Any:
    """Conv, whose ReLU is the zero point of the QuantizeLinear behind it, and a global mean."""
    rng = np.random.default_rng(3)
    constants = {
        "sx": np.float32(0.02), "zx": np.int8(5), "sy": np.float32(0.05), "zy": np.int8(-128),
        "sw": rng.uniform(0.01, 0.03, 4).astype(np.float32), "zw": np.zeros(4, np.int8),
        "w": rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8), "b": rng.standard_normal(4).astype(np.float32),
        "sz": np.float32(0.03), "zz": np.int8(-100),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xr"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wr"], axis=0),
        helper.make_node("Conv", ["xr", "wr", "b"], ["y"], pads=[1, 1, 1, 1]),
        helper.make_node("QuantizeLinear", ["y", "sy", "zy"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "sy", "zy"], ["yr"]),
        helper.make_node("GlobalAveragePool", ["yr"], ["z"]),
        helper.make_node("QuantizeLinear", ["z", "sz", "zz"], ["zq"]),
        helper.make_node("DequantizeLinear", ["zq", "sz", "zz"], ["out"]),
    ]
    return model(nodes, {"x": [1, 3, 6, 6]}, ["out"], constants)


def test_a_quantized_model_becomes_integers(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    """The same as the floats that the model says, within one unit of the output."""
    path, made = written(tmp_path, quantized_network()), tmp_path / "made.tosa"
    done = command("quantize", path, "-o", made)
    assert done.code == 0, done.err
    integers, floats = load(made), load(path)
    assert not any(tensor.dtype.is_float for tensor in integers.main.tensors.values())
    assert not any(op.op == "CLAMP" for op in integers.main.operators)  # saturation does what is left of the ReLU
    x = np.random.default_rng(1).uniform(-2, 2, (1, 3, 6, 6)).astype(np.float32)
    stored = np.clip(np.rint(x / np.float32(0.02)) + 5, -128, 127).astype(np.int8)
    ours = oracle.run(integers, {"x": stored})[integers.main.outputs[0]].astype(np.float64)
    said = oracle.run(floats, {"x": x})["out"]
    assert np.abs((ours + 100) * 0.03 - said).max() < 0.0301
    assert len(np.unique(ours)) > 2


def test_unsigned_and_wide_integers_at_the_border(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["a", "a"], ["b"]),
        helper.make_node("Max", ["i", "k"], ["j"]),
    ]
    ports = {"a": (TensorProto.UINT8, [3]), "i": (TensorProto.INT64, [1])}
    graph = load(written(tmp_path, model(nodes, ports, ["b", "j"], {"k": np.array([9])})))
    validate(graph)
    assert [str(t.dtype) for t in (*graph.inputs, *graph.outputs)] == ["i8", "i32", "i8", "i32"]
    bits = np.array([1, 127, 200], np.uint8).view(np.int8)
    found = oracle.run(graph, {"a": bits, "i": np.array([7], np.int32)})
    assert found["b"].view(np.uint8).tolist() == [2, 254, 144]
    assert found["j"].tolist() == [9]


@pytest.mark.parametrize("kind", [TensorProto.UINT8, TensorProto.UINT16])
def test_unsigned_ports_are_legal_and_keep_every_value(kind: int, tmp_path: Path) -> None:
    """RESCALE takes no unsigned bits to i32, and none from it."""
    graph = load(written(tmp_path, model([helper.make_node("Identity", ["a"], ["b"])], {"a": (kind, [5])}, ["b"])))
    validate(graph)
    storage = np.uint8 if kind == TensorProto.UINT8 else np.uint16
    most = int(np.iinfo(storage).max)
    values = np.array([0, 1, most // 2, most // 2 + 1, most], storage)
    found = oracle.run(graph, {"a": values.view(graph.inputs[0].dtype.storage)})["b"]
    assert found.view(storage).tolist() == values.tolist()


def test_what_a_node_computes_in_another_layout_has_the_name_of_its_result(tmp_path: Path) -> None:
    """Otherwise its range, which calibration sees, would be taken for that of a tensor that the model doesn't know."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Sub", ["x", "c"], ["y"])]
    path = written(tmp_path, model(nodes, {"x": [1, 2, 3, 3]}, ["y"], {"w": np.ones((2, 2, 1, 1), np.float32)}))
    block = load(path).main
    (result,) = (op.outputs[0] for op in block.operators if op.op == "CONV2D")
    assert block.tensors[result].source_name == "c"
    assert {op.op: block.tensors[op.outputs[0]].source_name for op in block.operators}["SUB"] == "y"


def test_what_a_quantized_model_has_no_scale_for_stays_float(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    """Sqrt before the first QuantizeLinear: the rest is integers, and `quantize` names what isn't."""
    pytest.importorskip("quant")
    nodes = [
        helper.make_node("Sqrt", ["x"], ["root"]),
        helper.make_node("QuantizeLinear", ["root", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("Relu", ["d"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "s", "z"], ["qr"]),
        helper.make_node("DequantizeLinear", ["qr", "s", "z"], ["y"]),
    ]
    path = written(tmp_path, model(nodes, {"x": [4]}, ["y"], {"s": np.float32(0.5), "z": np.int8(0)}))
    out = tmp_path / "m.tosa"
    done = command("quantize", path, "-o", out)
    assert done.code == 0, done.err
    assert "stay float, because the model has no scale for them, and no samples were given: " in done.err
    assert "no scale for them" in command("inspect", out).out
    graph = load(out)
    x = np.float32([1, 4, 9, 10])
    (found,) = oracle.run(graph, {"x": x}).values()
    quant = graph.outputs[0].quant
    assert quant is not None
    assert (quant.scale[0], quant.zero_point[0]) == (0.5, 0)
    assert found.tolist() == [2, 4, 6, 6]


def test_what_a_quantized_model_has_no_scale_for_gets_16_bits_from_samples(
    tmp_path: Path, command: Callable[..., Outcome]
) -> None:
    """Tanh of x - 100: in 8 bits only where --layer says so. Scales that are there stay."""
    pytest.importorskip("quant")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("Relu", ["d"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "s", "z"], ["qr"]),
        helper.make_node("DequantizeLinear", ["qr", "s", "z"], ["dr"]),
        helper.make_node("Sub", ["dr", "mean"], ["centred"], name="sub"),
        helper.make_node("Tanh", ["centred"], ["y"]),
    ]
    constants = {"s": np.float32(0.5), "z": np.int8(-128), "mean": np.float32([100.0])}
    path = written(tmp_path, model(nodes, {"x": [1, 64]}, ["y"], constants))
    data, out = tmp_path / "data.npz", tmp_path / "m.tosa"
    x = np.float32([np.linspace(0, 127, 64), np.linspace(96, 104, 64)]).reshape(2, 1, 64)
    np.savez(data, x=x)
    errors = []
    for words in ((), ("--layer", "*=int8")):
        done = command("quantize", path, "--data", data, *words, "-o", out)
        assert done.code == 0, done.err
        told = "the model has no scale for centred, y: int16 (--layer centred=int8: not so)" in done.out
        assert told == (not words)
        graph = load(out)
        source, result = graph.inputs[0], graph.outputs[0]
        assert source.quant is not None
        assert result.quant is not None
        assert (source.dtype, source.quant.scale[0]) == (types.i8, 0.5)
        steps = np.clip(np.rint(x[1] / 0.5) - 128, -128, 127).astype(np.int8)
        (found,) = oracle.run(graph, {"x": steps}).values()
        real = (found.astype(np.float64) - result.quant.zero_point[0]) * result.quant.scale[0]
        errors.append(float(np.abs(real - np.tanh((steps + 128.0) * 0.5 - 100)).max()))
    assert errors[0] < 1e-3 < 3e-3 < errors[1]


def test_arrays_of_int64_are_taken_where_they_fit(tmp_path: Path, command: Callable[..., Outcome]) -> None:
    table = np.float32([[1, 2], [3, 4], [5, 6]])
    node = helper.make_node("Gather", ["table", "ids"], ["y"])
    path = written(tmp_path, model([node], {"ids": (TensorProto.INT64, [2])}, ["y"], {"table": table}))
    out, ids = tmp_path / "y.npy", tmp_path / "ids.npy"
    np.save(ids, np.array([2, 0]))
    assert command("run", path, "-i", ids, "-o", out).code == 0
    assert np.load(out).tolist() == [[5, 6], [1, 2]]
    np.save(ids, np.array([2, 1 << 40]))
    done = command("run", path, "-i", ids)
    assert done.code == 6
    assert done.err == "error: DATA.int64: int64 values from 2 to 1099511627776 don't fit i32 (tensor 'ids')\n"


def test_a_result_that_an_operator_does_not_give_moves_no_other(tmp_path: Path) -> None:
    """The mean, the second output, isn't there: the sum is the fourth all the same."""
    node = helper.make_node(
        "SkipSimplifiedLayerNormalization", ["x", "k", "g"], ["y", "", "", "s"], domain="com.microsoft"
    )
    proto = model([node], {"x": [1, 2, 4], "k": [1, 2, 4]}, ["y", "s"], {"g": np.ones(4, np.float32)})
    proto.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 4)
    assert oracle.run(load(written(tmp_path, proto)), {"x": x, "k": x})["s"].tolist() == (x + x).tolist()


def test_halves_of_an_interpolation_in_a_quantized_model_go_to_even(
    tmp_path: Path, command: Callable[..., Outcome]
) -> None:
    """As QuantizeLinear says; RESCALE alone rounds them up."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("Resize", ["d", "", "factors"], ["r"], mode="linear"),
        helper.make_node("QuantizeLinear", ["r", "s", "z"], ["qr"]),
        helper.make_node("DequantizeLinear", ["qr", "s", "z"], ["y"]),
    ]
    constants = {"s": np.float32(0.5), "z": np.int8(-3), "factors": np.float32([1, 1, 2, 2])}
    path = written(tmp_path, model(nodes, {"x": [1, 1, 1, 8]}, ["y"], constants))
    out = tmp_path / "m.tosa"
    assert command("quantize", path, "-o", out).code == 0
    steps = np.array([0, 2, 4, 6, -6, -4, 1, 9])  # a quarter of each neighbour: halves at 0.5, 1.5, 2.5 ...
    (found,) = oracle.run(load(out), {"x": (steps - 3).astype(np.int8).reshape(1, 1, 1, 8)}).values()
    ends = np.pad(steps, 1, mode="edge")
    wide = np.stack([3 * steps + ends[:-2], 3 * steps + ends[2:]], -1).reshape(-1) / 4
    assert ((wide * 2) % 2 == 1).sum() >= 6
    assert (found[0, 0, 0] + 3).tolist() == np.rint(wide).tolist()


def test_scales_from_a_file_reach_a_convolution_whose_result_is_in_another_layout(tmp_path: Path) -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Abs", ["c"], ["y"])]
    weights = {"w": np.full((4, 3, 1, 1), 0.5, np.float32)}
    source = open_model(written(tmp_path, model(nodes, {"x": [1, 3, 4, 4]}, ["y"], weights)))
    integers = quant.quantize(source.graph(dict.fromkeys("xcy", QParams((0.25,), (0,))), for_integers=True))
    made = [op.op for op in integers.main.operators if op.op in ("CONV2D", "RESCALE")]
    assert made[:2] == ["CONV2D", "RESCALE"]
