"""Small files of every kind that verbs read: what `fuzz_commands.py` breaks."""

from __future__ import annotations

import io
import json
import tarfile
from typing import TYPE_CHECKING, Any, Final

import common_ir_documents as cir
import numpy as np
from nets import feeds_of, residual_net, words_net
from scenes import DATA, ROUNDING
from tflite_tools import ADD, DEQUANTIZE, INT8, QUANTIZE, TANH, Held, Node, tflite

from tosa_engine import serialize, types
from tosa_engine.builder import Builder
from tosa_engine.cli import main
from tosa_engine.frontends import nnef
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph

FLOAT: Final = """version 1.0;
extension KHR_enable_fragment_definitions;
fragment twice(x: tensor<scalar>, times: integer = 1) -> (y: tensor<scalar>) { y = add(x, x); }
graph net(input) -> (output)
{
    input = external(shape = [1, 3, 8, 8]);
    filter = variable(shape = [4, 3, 3, 3], label = 'filter');
    bias = variable(shape = [1, 4], label = 'bias');
    c = conv(input, filter, bias, padding = [(1, 1), (1, 1)], stride = [2, 2]);
    r = relu(c);
    t = twice(r, times = 2);
    p = max_pool(t, size = [1, 1, 2, 2], stride = [1, 1, 2, 2], padding = [(0, 0), (0, 0), (0, 0), (0, 0)]);
    m = mean_reduce(p, axes = [2, 3]);
    s = softmax(m, axes = [1]);
    output = reshape(s, shape = [1, 4]);
}
"""


def make(folder: Path) -> None:
    """Write all files into a folder, which has to be the current one."""
    rng = np.random.default_rng(0)
    (folder / "net.nnef").mkdir()
    _document(folder / "net.nnef", rng)
    with tarfile.open(folder / "net.nnef.tgz", "w:gz") as packed:
        for file in sorted((folder / "net.nnef").iterdir()):
            packed.add(file, file.name)
    image = rng.standard_normal((1, 3, 8, 8)).astype(np.float32)
    samples = rng.standard_normal((3, 1, 3, 8, 8)).astype(np.float32)
    np.save("input.npy", image)
    np.save("samples.npy", samples)
    np.savez("samples.npz", input=samples)
    _graphs(rng)
    _operators(folder / "operators")
    _pictures(folder / "pictures", rng)
    onnx_models(rng)
    (folder / "library.cir.json").write_text(json.dumps(cir.OPERATORS), encoding="utf-8")
    (folder / "small.cir.json").write_text(json.dumps(common_ir_graph()), encoding="utf-8")
    (folder / "net.tflite").write_bytes(tflite_model())
    np.save("pair.npy", np.ones(2, np.float32))
    np.save("row.npy", np.ones((1, 2), np.float32))
    np.save("labels.npy", np.array([0, 1, 2]))
    np.savez("labels.npz", y=np.array([0, 1, 2]))
    (folder / "layers.txt").write_text("c=int16\nop:CONV2D=int8\n*=int8\n", encoding="utf-8")
    (folder / "map.json").write_text(json.dumps({"x": "x", "stem_i8": "stem_i8"}), encoding="utf-8")
    for line in (
        "convert net.nnef -o float.tosa",
        "quantize net.nnef --random 2 -o q.tosa",
        "convert q.tosa -o q.json",
        "calibrate net.nnef --random 2 --statistics net.stats.json -o graph.quant",
        f"sensitivity net.nnef {DATA} --journal journal.jsonl",
        f"search net.nnef {DATA} --sqnr 20 --journal search.jsonl",
        ROUNDING,
        "convert net.onnx -o net.cir.json",
        "run int.tosa -i x.npz --dump-intermediates device -o device.npz",
    ):
        assert main([*line.split()]) == 0, line
    np.save("codes.npy", np.zeros((1, 3, 8, 8), np.int8))
    (folder / "quantized.nnef").mkdir()
    _document(folder / "quantized.nnef", np.random.default_rng(0))
    (folder / "graph.quant").rename(folder / "quantized.nnef" / "graph.quant")


def _document(folder: Path, rng: np.random.Generator) -> None:
    (folder / "graph.nnef").write_text(FLOAT, encoding="utf-8")
    for name, shape in (("filter", (4, 3, 3, 3)), ("bias", (1, 4))):
        (folder / f"{name}.dat").write_bytes(nnef.write_dat(rng.standard_normal(shape).astype(np.float32)))


def _graphs(rng: np.random.Generator) -> None:
    for name, graph in (
        ("int", residual_net(4, 4)),
        ("words", words_net(3, 2)),
        ("loops", loops()),
        ("variables", variables()),
    ):
        serialize.write(graph, f"{name}.json")
        serialize.write(graph, f"{name}.tosa")
        if name in ("int", "words"):
            feeds = feeds_of(graph)
            np.savez("x.npz" if name == "int" else "words.npz", **feeds)
            np.save("x.npy" if name == "int" else "words.npy", next(iter(feeds.values())))
    np.save("n.npy", np.array(3, np.int32))


def onnx_models(rng: np.random.Generator) -> None:
    """A network; a branch, a loop, a function and attributes of all kinds; and weights in a file of their own."""
    from onnx import TensorProto, helper, numpy_helper, save_model

    def ports(**shapes: list[int] | None) -> list[Any]:
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]

    def model(nodes: list[Any], inputs: list[Any], outputs: list[Any], held: dict[str, Any], **more: Any) -> Any:
        constants = [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()]
        graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
        sets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
        return helper.make_model(graph, opset_imports=sets, **more)

    node = helper.make_node
    kernel = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    nodes = [
        node("Conv", ["input", "w", "b"], ["c"], name="c", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], auto_pad="SAME_UPPER"),
        node("Shape", ["p"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Concat", ["n", "rest"], ["t"], axis=0),
        node("Reshape", ["p", "t"], ["f"]),
        node("Softmax", ["f"], ["output"], axis=-1),
    ]
    held = {"w": kernel, "b": np.ones(4, np.float32), "zero": np.array([0]), "rest": np.array([-1])}
    save_model(model(nodes, ports(input=[1, 3, 8, 8]), ports(output=[1, 64]), held), "net.onnx")
    then = helper.make_graph([node("Add", ["y", "y"], ["v"])], "then", [], ports(v=[4]))
    other = helper.make_graph([node("Neg", ["y"], ["u"])], "other", [], ports(u=[4]))
    number = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    truth = helper.make_tensor_value_info("k", TensorProto.BOOL, [])
    going = helper.make_tensor_value_info("g", TensorProto.BOOL, [])
    step = [node("Identity", ["k"], ["g"]), node("Add", ["a", "a"], ["d"])]
    body = helper.make_graph(step, "body", [number, truth, *ports(a=[4])], [going, *ports(d=[4])])
    twice = helper.make_function(
        "own", "Twice", ["a"], ["d"], [node("Add", ["a", "a"], ["d"])], [helper.make_opsetid("", 20)], []
    )
    nodes = [
        node("Twice", ["x"], ["y"], domain="own"),
        node("If", ["yes"], ["z"], then_branch=then, else_branch=other),
        node("Loop", ["three", "yes", "z"], ["l"], body=body),
        node("Constant", [], ["half"], value_float=0.5),
        node("Pad", ["l", "pads", "half"], ["padded"], mode="constant"),
        node("Slice", ["padded", "zero", "four"], ["cut"]),
        node("QuantizeLinear", ["cut", "scale", "point"], ["q"]),
        node("DequantizeLinear", ["q", "scale", "point"], ["out"]),
    ]
    held = {
        "yes": np.array(True), "three": np.array(3), "pads": np.array([1, 1]), "zero": np.array([0]),
        "four": np.array([4]), "scale": np.float32(0.1), "point": np.int8(3),
    }  # fmt: skip
    save_model(model(nodes, ports(x=[4]), ports(out=None), held, functions=[twice]), "ops.onnx")
    held = {"m": rng.standard_normal((4, 300)).astype(np.float32)}
    weights = model([node("MatMul", ["x", "m"], ["out"])], ports(x=[4]), ports(out=None), held)
    save_model(weights, "weights.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    np.save("vector.npy", rng.standard_normal(4).astype(np.float32))


def common_ir_graph() -> dict[str, Any]:
    """A graph of Common IR with a library in a file of its own, a function, a variable dimension and metadata."""
    twice = {
        "name": "Twice", "inputs": [cir.port("a", cir.tensor("m*"))], "outputs": [cir.port("d", cir.tensor("m*"))],
        "nodes": [cir.node("t", "Add", ["a", "a"], ["d"])],
    }  # fmt: skip
    nodes = [
        cir.node("a", "Relu", ["x"], ["r"]),
        cir.node("b", "Twice", ["r"], ["t"], domain="org.example"),
        cir.node(
            "c",
            "Concat",
            ["t", "x"],
            ["y"],
            arg_count=[2],
            attributes=[{"name": "axis", "type": "int64", "value": 0}],
            control_inputs=["a"],
        ),
    ]
    return cir.graph(
        nodes,
        {"x": cir.tensor("n")},
        [cir.port("y", cir.tensor("*"))],
        imports=["library.cir.json"],
        bundled={},
        functions=[twice],
    )


def tflite_model() -> bytes:
    """QUANTIZE, DEQUANTIZE, TANH, and an ADD with a constant."""
    tensors = [
        Held("x", (1, 2), signature=(-1, 2)), Held("q", (1, 2), INT8, signature=(-1, 2), scale=(0.5, 3)),
        Held("d", (1, 2), signature=(-1, 2)), Held("t", (1, 2), signature=(-1, 2)),
        Held("c", (1, 2), data=np.float32([1, 2])), Held("y", (1, 2), signature=(-1, 2)),
    ]  # fmt: skip
    nodes = [
        Node(QUANTIZE, [0], [1]),
        Node(DEQUANTIZE, [1], [2]),
        Node(TANH, [2], [3]),
        Node(ADD, [3, 4], [5], options=11),
    ]
    return tflite(tensors, nodes, [0], [5])


def loops() -> Graph:
    """A loop that calls a choice."""
    b = Builder()
    cond, body, then, other = (b.region(name) for name in ("cond", "body", "then", "other"))
    n, _ = (cond.input(types.i32, (), name) for name in ("n", "f"))
    cond.output(cond.op("GREATER", n, 0))
    for region in (then, other):
        v = region.input(types.i32, (), "v")
        region.output(region.op("ADD", v, 1 if region is then else 2))
    n, f = (body.input(types.i32, (), name) for name in ("n", "f"))
    chosen = body.op("COND_IF", body.op("GREATER", f, 5), [f], then_graph="then", else_graph="other")
    body.output(
        body.op("SUB", n, 1),
        *(chosen if isinstance(chosen, (list, tuple)) and not isinstance(chosen, str) else [chosen]),
    )
    x = b.input(types.i32, (), "x")
    one = b.const(np.int32(1).reshape(()), types.i32)
    b.output(*b.op("WHILE_LOOP", [x, one], cond_graph="cond", body_graph="body"))
    return b.graph()


def variables() -> Graph:
    row = TABLE["VARIABLE_READ"].rows[0]
    return TABLE["VARIABLE_READ"].example(row).graph()


def _operators(folder: Path) -> None:
    """A graph for each operator of the table, with its inputs."""
    folder.mkdir()
    for name, spec in TABLE.items():
        if name == "CUSTOM":
            continue
        graph = spec.example(spec.rows[0]).graph()
        serialize.write(graph, folder / f"{name}.tosa")
        np.savez(folder / f"{name}.tosa.npz", **feeds_of(graph))


def _pictures(folder: Path, rng: np.random.Generator) -> None:
    from PIL import Image

    folder.mkdir()
    for name in ("a.png", "b.jpg", "c.bmp", "d.gif", "e.tiff", "f.webp", "g.ppm"):
        packed = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, (9, 10, 3), np.uint8)).save(
            packed, {"jpg": "JPEG"}.get(name[2:], name[2:].upper())
        )
        (folder / name).write_bytes(packed.getvalue())
