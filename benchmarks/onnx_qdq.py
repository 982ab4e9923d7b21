"""Quantized ONNX files, ONNX Runtime and the `.tosa`: python benchmarks/onnx_qdq.py MODELS [--record]

MODELS has `perf/NAME/` with `int8_qdq.onnx`, `float.onnx` and `float_io.npz`, and `tosa/NAME.int8/model.tosa`, the same
network quantized by another tool. Where that isn't there, `quantize float.onnx --data` makes it.

- *float*: the largest difference of `float.onnx`, if it is there, from ONNX Runtime, relative to the largest output.
- *output*: the share of the outputs of `int8_qdq.onnx` that are within 1 unit of ONNX Runtime's, all its optimizations
  off, over the input of `float_io.npz` and seven that are rolled along their last axis; *its own*: the same share for
  ONNX Runtime with its optimizations on: roundings by one unit spread from layer to layer. *layers*: the least share of
  any layer, from equal integers (onnx_layers.py).
- *time*: best milliseconds with one thread, in rounds that take turns; *ratio* is the median of the rounds'.

Exit code 1: the share of a layer is below 99.9 %.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from onnx_layers import ENOUGH, compare, runtime_values
from onnx_models import versions
from pages import record

from tosa_engine import Session, cli
from tosa_engine.load import load
from tosa_engine.runtime.real import stored

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, np.dtype[Any]]
HEADING = "Quantized ONNX files"
INPUTS, ROUNDS, ROUND_SECONDS = 8, 15, 0.2
HEAD = ("network", "float", "output within 1", "its own", "layers within 1", "ms from QDQ", "ms of the .tosa", "ratio")


def runtime(model: Path, *, optimized: bool = False) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimized else level.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def inputs_of(folder: Path) -> list[Array]:
    with np.load(folder / "float_io.npz") as bundle:
        x = bundle["in0"]
    return [np.roll(x, i * x.shape[-1] // INPUTS, -1) for i in range(INPUTS)]


def float_difference(model: Path, inputs: Sequence[Array]) -> str:
    if not model.is_file():
        return "-"
    session, peer = Session(load(model), threads=1, compiled=True), runtime(model)
    most = 0.0
    for x in inputs:
        (wanted,), (found,) = peer.run(None, {"in0": x}), session.run(None, {"in0": x})
        most = max(most, float(np.abs(found - wanted).max() / np.abs(wanted).max()))
    return f"{most:.1e}"


def shares(folder: Path, integer: Path, inputs: Sequence[Array]) -> tuple[float, float, float]:
    """Of the outputs of whole runs, of those of ONNX Runtime itself, and of the worst layer from equal integers."""
    graph, model = load(integer), folder / "int8_qdq.onnx"
    session, peer, optimized = Session(graph, threads=1, compiled=True), runtime(model), runtime(model, optimized=True)
    (port,) = session.outputs
    assert port.quant is not None, "the output has no scale"
    near, size, layers = np.zeros(2), 0, 1.0
    for x in inputs:
        wanted = peer.run(None, {"in0": x})[0]
        found = session.run_real(None, {"in0": x})[0], optimized.run(None, {"in0": x})[0]
        near += [np.count_nonzero(np.abs(one - wanted) < 1.5 * port.quant.scale[0]) for one in found]
        size += wanted.size
        rows = compare(graph, runtime_values(model, {"in0": x}), stored(session.inputs, {"in0": x}))
        layers = min([layers, *(row.within for row in rows)])
    return float(near[0] / size), float(near[1] / size), layers


def times(first: Path, second: Path) -> tuple[float, float, float]:
    """Best seconds of each, and the median ratio of the rounds."""
    sides = []
    for path in (first, second):
        session = Session(path, threads=1, compiled=True)
        random = np.random.default_rng(0)
        feeds = {
            port.name: random.integers(-100, 100, port.shape).astype(port.dtype)
            if port.dtype.kind == "i"
            else random.standard_normal(port.shape).astype(port.dtype)
            for port in session.inputs
        }
        sides.append((session, feeds))
    repeats = max(1, int(ROUND_SECONDS / max(_best(*side, 3) for side in sides)))
    rounds = [[_best(*side, repeats) for side in sides] for _ in range(ROUNDS)]
    least = [min(column) for column in zip(*rounds, strict=True)]
    return least[0], least[1], statistics.median(a / b for a, b in rounds)


def _best(session: Session, feeds: dict[str, Array], repeats: int) -> float:
    found = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        session.run(None, feeds)
        found = min(found, time.perf_counter() - start)
    return found


def quantized(words: Sequence[object], made: Path) -> Path:
    if code := cli.main([str(word) for word in ("quantize", *words, "-q", "-o", made)]):
        raise SystemExit(code)
    return made


def other(models: Path, folder: Path, scratch: Path, inputs: Sequence[Array]) -> Path:
    """The `.tosa` of the same network."""
    there = models / "tosa" / f"{folder.name}.int8" / "model.tosa"
    if there.is_file():
        return there
    data = scratch / f"{folder.name}.npz"
    np.savez(data, in0=np.stack(inputs))
    return quantized([folder / "float.onnx", "--data", data], scratch / f"{folder.name}.float.tosa")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, metavar="MODELS")
    parser.add_argument("--networks", nargs="*", default=[], metavar="NAME", help="these only")
    parser.add_argument("--record", action="store_true", help="write the table to benchmarks/RESULTS.md")
    args = parser.parse_args(words)
    lines, least = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"], 1.0
    for folder in sorted((args.models / "perf").iterdir()):
        if args.networks and folder.name not in args.networks:
            continue
        inputs = inputs_of(folder)
        with tempfile.TemporaryDirectory() as name:
            scratch = Path(name)
            made = quantized([folder / "int8_qdq.onnx"], scratch / "qdq.tosa")
            output, own, layers = shares(folder, made, inputs)
            first, second, ratio = times(made, other(args.models, folder, scratch, inputs))
        least = min(least, layers)
        cells = [folder.name, float_difference(folder / "float.onnx", inputs), f"{100 * output:.3f} %"]
        cells += [
            f"{100 * own:.3f} %",
            f"{100 * layers:.3f} %",
            f"{1e3 * first:.3f}",
            f"{1e3 * second:.3f}",
            f"{ratio:.3f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    text = "\n".join([f"{versions()} `python benchmarks/onnx_qdq.py MODELS`:", "", *lines])
    print(text)
    if args.record:
        record(HEADING, text)
    return int(least < ENOUGH)


if __name__ == "__main__":
    sys.exit(main())
