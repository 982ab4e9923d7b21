"""The networks that overview.py measures, and how each runtime that takes their files runs them once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from runtimes import rebatched

from tosa_engine import Session, cli
from tosa_engine.errors import TosaEngineError
from tosa_engine.load import load
from tosa_engine.plan import batch as batches
from tosa_engine.plan import expand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tosa_engine.graph import Graph

Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[[], object]


@dataclass
class Network:
    """A network of a group: how ours is made, the files of others, and a recorded case."""

    name: str
    group: str
    ours: Path
    quantized: bool = False  # made integers by `quantize`
    samples: int = 0  # random ones, where the file has no scales
    onnx: Path | None = None
    tflite: Path | None = None
    feeds: Mapping[str, Array] = field(default_factory=dict)
    constants: Mapping[str, Array] = field(default_factory=dict)
    batch: int = 1


def networks(models: Path) -> Iterator[Network]:
    for folder in sorted(path for path in (models / "perf").glob("*") if path.is_dir()):
        if (folder / "int8_qdq.onnx").is_file():
            files = {"onnx": folder / "int8_qdq.onnx", "tflite": folder / "int8.tflite"}
            yield Network(f"{folder.name}.int8", "perf int8", files["onnx"], quantized=True, **files)
        if (folder / "float.onnx").is_file():
            yield Network(f"{folder.name}.fp32", "perf fp32", folder / "float.onnx", onnx=folder / "float.onnx")
    for folder in sorted(path.parent for path in (models / "perf_tflite").glob("*/model.tosa")):
        yield Network(folder.name, "perf_tflite", folder / "model.tosa", tflite=folder / "model.tflite")
    yield from real(models / "real")
    for folder in sorted(path.parent for path in (models / "tosa").glob("*/model.tosa")):
        yield Network(folder.name, "tosa", folder / "model.tosa")


def real(folders: Path) -> Iterator[Network]:
    """The trained networks, for the first case of each; those with scales become integers."""
    for model in sorted(folders.glob("*/model.onnx")):
        import onnx
        from onnx_models import cases_of  # with ONNX Runtime

        inputs = cases_of(model.with_name("io.npz"))[0].inputs
        fed, fixed = ({n: a for n, a in inputs.items() if (a.ndim == 0) == scalar} for scalar in (False, True))
        quantized = any(node.op_type == "QuantizeLinear" for node in onnx.load(str(model)).graph.node)
        yield Network(
            model.parent.name, "real", model, quantized=quantized, onnx=model, feeds=fed, constants=fixed
        )  # fmt: skip


def random_array(dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
    rng = np.random.default_rng(0)
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def repeated(array: Array, batch: int) -> Array:
    return np.concatenate([array] * batch)


def graph_of(network: Network, scratch: Path) -> Graph:
    """Ours: integers by `quantize` where they are wanted, bound to the shapes of the recorded case."""
    if network.quantized:
        made = scratch / f"{network.name.replace('/', '.')}.tosa"
        data = ["--random", str(network.samples)] if network.samples else []
        if code := cli.main(["quantize", str(network.ours), *data, "-q", "-o", str(made)]):
            raise SystemExit(code)
        return load(made)
    shapes = {name: array.shape for name, array in network.feeds.items()}
    options: dict[str, Any] = {"shape": shapes, "constant": dict(network.constants)} if network.feeds else {}
    return load(network.ours, **options)


def ours(network: Network, scratch: Path) -> Run:
    """A batch is the model's own where its samples don't meet, else as many runs at once."""
    graph = graph_of(network, scratch)
    session, size = Session(graph, 1, compiled=True), network.batch
    feeds = {
        port.name: network.feeds[port.name].astype(port.dtype)
        if port.name in network.feeds
        else random_array(port.dtype, port.shape)
        for port in session.inputs
    }
    if size == 1:
        return lambda: session.run(None, feeds)
    try:
        folded = batches.with_constants(expand(graph), session.plan().constants)
        large = Session(batches.with_batch(folded, size), 1, compiled=True)
        whole = {name: repeated(array, size) for name, array in feeds.items()}
        large.run(None, whole)
        return lambda: large.run(None, whole)
    except TosaEngineError:
        each = {name: np.stack([array] * size) for name, array in feeds.items()}
        return lambda: session.run_each(None, each)


def in_a_row(prepare: Callable[[Network], Run]) -> Callable[[Network], Run]:
    """A runtime's run of a batch; of one sample after the other where the file or the runtime takes no batch."""

    @wraps(prepare)
    def prepared(network: Network) -> Run:
        if network.batch == 1:
            return prepare(network)
        try:
            run = prepare(network)
            run()
        except Exception:  # noqa: BLE001  # the errors of ONNX Runtime have no other class in common
            single = prepare(replace(network, batch=1))
            return lambda: [single() for _ in range(network.batch)]
        return run

    return prepared


@in_a_row
def litert(network: Network) -> Run:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(network.tflite), num_threads=1)
    if network.batch > 1:
        for one in interpreter.get_input_details():
            interpreter.resize_tensor_input(one["index"], [network.batch, *one["shape"][1:]], strict=False)
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()
    arrays = [(one["index"], random_array(np.dtype(one["dtype"]), one["shape"])) for one in details]
    outputs = [one["index"] for one in interpreter.get_output_details()]

    def run() -> list[Array]:
        for index, array in arrays:
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        found = [interpreter.get_tensor(index) for index in outputs]
        if network.batch > 1 and any(array.shape[:1] != (network.batch,) for array in found):
            raise ValueError("a result that isn't one of the batch")
        return found

    return run


def onnx_file(network: Network) -> bytes:
    assert network.onnx is not None
    return network.onnx.read_bytes() if network.batch == 1 else rebatched(network.onnx, network.batch)


def onnx_feeds(network: Network) -> dict[str, Array]:
    return {name: repeated(array, network.batch) for name, array in network.feeds.items()} | dict(network.constants)


@in_a_row
def onnxruntime(network: Network) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 4
    session = ort.InferenceSession(onnx_file(network), options, providers=["CPUExecutionProvider"])
    feeds = onnx_feeds(network)
    for port in session.get_inputs():
        if port.name not in feeds:
            feeds[port.name] = random_array(np.dtype(np.float32), port.shape)
    return lambda: session.run(None, feeds)


@in_a_row
def openvino(network: Network) -> Run:
    import openvino as ov

    core = ov.Core()
    model = core.read_model(onnx_file(network))
    feeds = onnx_feeds(network)
    if feeds:
        model.reshape({name: array.shape for name, array in feeds.items()})
    settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    given = {p.any_name: feeds.get(p.any_name, random_array(np.dtype(np.float32), p.shape)) for p in model.inputs}
    return lambda: list(request.infer(given).values())


PEERS: dict[str, tuple[str, Callable[[Network], Run]]] = {
    "LiteRT": ("tflite", litert), "ONNX Runtime": ("onnx", onnxruntime), "OpenVINO": ("onnx", openvino),
}  # fmt: skip
