"""The runtimes that compare.py compares: each makes of a job a function that runs the network once.

A runtime gets what it is best at: the file that its own tools quantized, or the `.tosa` where it reads TOSA. Inputs are
set and outputs read in every run. Those that claim exact TOSA are compared with the recorded bytes before they are
timed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from cases import read_case, same

if TYPE_CHECKING:
    from collections.abc import Callable

BIN = Path(sys.executable).parent
DIFFERENT = "other bytes than recorded"
FAR = 1e-4  # of the largest output, for floats


class LeftOut(Exception):
    """This runtime doesn't run this job; the message says why."""


@dataclass(frozen=True)
class Job:
    """A network in folders, and how to run it: `perf` holds the files of those that don't read TOSA. `tosa` is an NNEF
    folder where the network is one of floats.
    """

    tosa: Path
    perf: Path
    scratch: Path
    threads: int
    batch: int

    @property
    def floats(self) -> bool:
        return self.tosa.suffix == ".nnef"


@dataclass(frozen=True)
class Loaded:
    """A function that does the job once, how it does so where that isn't plain, and its multiply-accumulates if it is
    no network.
    """

    run: Callable[[], Any]
    note: str = ""
    macs: int = 0


@dataclass(frozen=True)
class Runtime:
    """A runtime and the packages it needs. `exact`: it computes TOSA's bytes."""

    name: str
    packages: tuple[str, ...]
    load: Callable[[Job], Loaded]
    exact: bool = False
    once: bool = False  # measured at batch 1 with 1 thread only
    slow: bool = False  # a process for every run

    def version(self) -> str | None:
        """The version of the first package; None where one isn't installed."""
        try:
            first, *_ = [metadata.version(package) for package in self.packages]
        except metadata.PackageNotFoundError:
            return None
        return first


def _checked(run: Callable[[], list[Any]], job: Job) -> None:
    if not same(run(), read_case(job.tosa)[1]):
        raise LeftOut(DIFFERENT)


def _in_a_row(run: Callable[[], Any], batch: int) -> Loaded:
    if batch == 1:
        return Loaded(run)

    def several() -> None:
        for _ in range(batch):
            run()

    return Loaded(several, f"{batch} runs, one after another")


def _our_run(job: Job, threads: int) -> Callable[[], Any]:
    """A run of one session."""
    from tosa_engine import Session
    from tosa_engine.errors import TosaEngineError

    if job.floats:
        return _our_float_run(job, threads)
    feeds, wanted, _ = read_case(job.tosa)
    try:
        session = Session(job.tosa / "model.tosa", threads, compiled=True)
    except TosaEngineError as error:
        raise LeftOut(str(error).splitlines()[0]) from error
    _checked(lambda: session.run(list(wanted), feeds), job)
    return lambda: session.run(None, feeds)


def _our_float_run(job: Job, threads: int) -> Callable[[], Any]:
    from tosa_engine import Session
    from tosa_engine.errors import TosaEngineError

    try:
        session = Session(job.tosa, threads, compiled=True)
    except TosaEngineError as error:
        raise LeftOut(str(error).splitlines()[0]) from error
    with np.load(job.perf / "float_io.npz", allow_pickle=False) as bundle:
        feeds, wanted = {session.inputs[0].name: bundle["in0"]}, bundle["out0"]
    (found,) = session.run(None, feeds)
    if not np.allclose(found, wanted, rtol=0, atol=FAR * float(abs(wanted).max())):
        raise LeftOut(DIFFERENT)
    return lambda: session.run(None, feeds)


def _ours(job: Job) -> Loaded:
    if job.batch == 1 or job.floats:
        return _in_a_row(_our_run(job, job.threads), job.batch)
    return _our_batch(job)


def _our_batch(job: Job) -> Loaded:
    """A model of one sample with a batch of its own where its samples don't meet, else as many runs at once."""
    from tosa_engine import Session
    from tosa_engine.errors import TosaEngineError
    from tosa_engine.load import load
    from tosa_engine.plan import batch, expand

    feeds, wanted, _ = read_case(job.tosa)
    names = list(wanted)
    try:
        if any(array.shape[0] != 1 for array in feeds.values()):
            raise LeftOut("several samples already")
        large = batch.with_batch(expand(load(job.tosa / "model.tosa")), job.batch)
        session = Session(large, job.threads, compiled=True)
        whole = {name: np.concatenate([array] * job.batch) for name, array in feeds.items()}
        run, note = lambda: session.run(names, whole), "a batch of the model's own"
        found = [array[:1] for array in run()]
    except (LeftOut, TosaEngineError):
        session = Session(job.tosa / "model.tosa", job.threads, compiled=True)
        each = {name: np.stack([array] * job.batch) for name, array in feeds.items()}
        run, note = lambda: session.run_each(names, each), f"{job.batch} runs at once"
        found = [array[0] for array in run()]
    _checked(lambda: found, job)
    return Loaded(run, note)


def _ours_by_samples(job: Job) -> Loaded:
    """Python threads that call one session, each with another sample."""
    if job.batch == 1 or job.threads == 1:
        raise LeftOut("")
    run = _our_run(job, 1)
    pool = ThreadPoolExecutor(job.threads)
    return Loaded(
        lambda: list(pool.map(lambda _: run(), range(job.batch))),
        f"{job.batch} runs of one session, from {job.threads} threads",
    )


def _reference(job: Job) -> Loaded:
    if job.floats:
        raise LeftOut("")
    _, wanted, case = read_case(job.tosa)
    files = [f"reference_{i}.npy" for i in range(len(wanted))]
    command = [
        str(BIN / "tosa_reference_model"), "--tosa_file", "model.tosa", "--flatbuffer_dir", str(job.tosa),
        "--output_dir", str(job.scratch), "--ifm_name", ",".join(case["ifm_name"]),
        "--ifm_file", ",".join(case["ifm_file"]), "--ofm_name", ",".join(case["ofm_name"]),
        "--ofm_file", ",".join(files),
    ]  # fmt: skip

    def run() -> list[Any]:
        subprocess.run(command, check=True, capture_output=True)
        return [np.load(job.scratch / name, allow_pickle=False) for name in files]

    _checked(run, job)
    return Loaded(run, "a process per run")


def _iree_module(job: Job) -> Path:
    """The network compiled for this processor; kept by the content of the file and the compiler's version."""
    model = job.tosa / "model.tosa"
    versions = "".join(metadata.version(name) for name in ("iree-base-compiler", "tosa-tools"))
    name = hashlib.sha256(model.read_bytes() + versions.encode()).hexdigest()[:16]
    empty, text, module = (job.scratch / f"{name}.{kind}" for kind in ("empty.mlir", "mlir", "vmfb"))
    if not module.exists():
        empty.write_text("module {}\n", encoding="utf-8")
        read = f"--tosa-deserialize=tosa-flatbuffer-filename={model}"
        # tosa-opt and IREE print the short form of operators differently; both read the generic form
        _compile(BIN / "tosa-opt", read, "--mlir-print-op-generic", empty, "-o", text)
        flags = ("--iree-input-type=tosa", "--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host")
        _compile(BIN / "iree-compile", *flags, text, "-o", module.with_suffix(".part"))
        module.with_suffix(".part").rename(module)
    return module


def _compile(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line.partition("error: ")[2] for line in done.stderr.splitlines() if "error: " in line]
        program = Path(str(command[0])).name
        raise LeftOut(f"{program} refuses: {said[0][:100] if said else f'exit status {done.returncode}'}")


def _iree(job: Job) -> Loaded:
    if job.batch > 1 or job.floats:
        raise LeftOut("")  # the graph's batch is 1
    module = _iree_module(job)
    import iree.runtime as rt

    rt.flags.parse_flags(f"--task_topology_group_count={job.threads}")
    config = rt.Config("local-sync" if job.threads == 1 else "local-task")
    function = rt.load_vm_module(rt.VmModule.mmap(config.vm_instance, str(module)), config)["main"]
    feeds, _, _ = read_case(job.tosa)
    inputs = [rt.asdevicearray(config.device, array) for array in feeds.values()]

    def run() -> list[Any]:
        found = function(*inputs)
        return [array.to_host() for array in (found if isinstance(found, (list, tuple)) else [found])]

    _checked(run, job)
    return Loaded(run)


def _peer_file(job: Job, name: str) -> Path:
    if not (job.perf / name).exists():
        raise LeftOut("")
    return job.perf / name


def _sample(job: Job, name: str) -> np.ndarray[Any, Any]:
    """The recorded input, as often as the batch needs it."""
    with np.load(job.perf / name, allow_pickle=False) as bundle:
        sample = bundle["in0"]
    return np.ascontiguousarray(np.repeat(sample, job.batch, axis=0))


def _litert(job: Job) -> Loaded:
    if job.floats:
        raise LeftOut("")
    path = str(_peer_file(job, "int8.tflite"))
    from ai_edge_litert.interpreter import Interpreter

    def prepare(batch: int) -> Any:
        interpreter = Interpreter(path, num_threads=job.threads)
        port = interpreter.get_input_details()[0]
        if batch > 1:
            interpreter.resize_tensor_input(port["index"], [batch, *port["shape"][1:]])
        interpreter.allocate_tensors()
        return interpreter

    note = ""
    try:
        interpreter = prepare(job.batch)
    except RuntimeError:  # a RESHAPE to a fixed shape
        interpreter, note = prepare(1), "its model takes one sample at a time"
    (source,), (sink,) = interpreter.get_input_details(), interpreter.get_output_details()
    sample = _sample(job, "int8_tflite_io.npz")[: source["shape"][0]]

    def run() -> Any:
        interpreter.set_tensor(source["index"], sample)
        interpreter.invoke()
        return interpreter.get_tensor(sink["index"])

    return _in_a_row(run, job.batch) if note else Loaded(run)


def rebatched(path: Path, batch: int) -> bytes:
    """An ONNX model for a batch: its inputs, outputs and the fixed shapes of its Reshapes, whose first axis is the
    batch or the product of it and others. ValueError where one has no axis.
    """
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    graph = model.graph
    shapes = {node.input[1] for node in graph.node if node.op_type == "Reshape"}
    del graph.value_info[:]
    for value in (*graph.input, *graph.output):
        if not value.type.tensor_type.shape.dim:
            raise ValueError(f"{value.name!r} has no axis for a batch")
        value.type.tensor_type.shape.dim[0].dim_value = batch
    for constant in graph.initializer:
        if constant.name in shapes:
            shape = numpy_helper.to_array(constant).copy()
            shape[0] *= batch if shape[0] > 0 else 1
            constant.CopyFrom(numpy_helper.from_array(shape, constant.name))
    found: bytes = model.SerializeToString()
    return found


def _onnx_file(job: Job) -> bytes:
    path = _peer_file(job, "float.onnx" if job.floats else "int8_qdq.onnx")
    return path.read_bytes() if job.batch == 1 else rebatched(path, job.batch)


def _onnxruntime(job: Job) -> Loaded:
    model = _onnx_file(job)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = job.threads, 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feeds = {session.get_inputs()[0].name: _sample(job, "float_io.npz")}
    return Loaded(lambda: session.run(None, feeds))


def _openvino(job: Job) -> Loaded:
    model = _onnx_file(job)
    import openvino

    settings = {"INFERENCE_NUM_THREADS": job.threads, "PERFORMANCE_HINT": "LATENCY"}
    if job.floats:
        settings["INFERENCE_PRECISION_HINT"] = "f32"  # else bf16, where the processor has it
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model, b""), "CPU", settings)
    request, sample = compiled.create_infer_request(), openvino.Tensor(_sample(job, "float_io.npz"), shared_memory=True)
    request.set_input_tensor(sample)

    def run() -> Any:
        request.infer()
        return request.get_output_tensor(0).data.copy()

    return Loaded(run)


def _tile(job: Job) -> Loaded:
    from tile import best_product

    run, macs = best_product()
    return Loaded(run, macs=macs)


def _start_up(job: Job) -> Loaded:
    """The reference model on a graph that does nothing."""
    from tosa_engine import serialize, types
    from tosa_engine.builder import Builder

    b = Builder()
    b.output(b.op("IDENTITY", b.input(types.i8, (1,), "x"), output="y"))
    folder = job.scratch / "start_up"
    folder.mkdir(exist_ok=True)
    serialize.write(b.graph(), folder / "model.tosa")
    np.save(folder / "x.npy", np.zeros(1, np.int8))
    np.save(folder / "wanted.npy", np.zeros(1, np.int8))
    names = '"ifm_name": ["x"], "ifm_file": ["x.npy"], "ofm_name": ["y"], "ofm_file": ["wanted.npy"]'
    (folder / "x_desc.json").write_text(f"{{{names}}}", encoding="utf-8")
    return _reference(Job(folder, job.perf, job.scratch, 1, 1))


OURS = "tosa_engine"
OURS_BY_SAMPLES = "tosa_engine, by samples"
REFERENCE = "tosa_reference_model"
START_UP = "start of tosa_reference_model"
TILE = "tile"
RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        Runtime(OURS, ("tosa-engine",), _ours, exact=True),
        Runtime(OURS_BY_SAMPLES, ("tosa-engine",), _ours_by_samples, exact=True),
        Runtime("LiteRT", ("ai-edge-litert",), _litert),
        Runtime("ONNX Runtime", ("onnxruntime",), _onnxruntime),
        Runtime("OpenVINO", ("openvino",), _openvino),
        Runtime("IREE", ("iree-base-runtime", "iree-base-compiler", "tosa-tools"), _iree, exact=True),
        Runtime(REFERENCE, ("tosa-tools",), _reference, exact=True, once=True, slow=True),
        Runtime(START_UP, ("tosa-tools",), _start_up, once=True, slow=True),
        Runtime(TILE, ("tosa-engine",), _tile, once=True),
    )
}
